//! A watch on a scripted server, and what it told.

use std::time::Duration;

use super::turns::{Turn, Turns};
use pumice_cluster::client::{ConnectOptions, connect};
use pumice_cluster::follow::board::KindStatus;
use pumice_cluster::follow::{ReadWay, WatchTimes};
use pumice_cluster::watch::{WatchHandle, WatchInput, WatchOptions, start};
use pumice_model::Delta;
use pumice_scripted::{Seen, Server};
use tokio::sync::mpsc::{Receiver, channel};

/// Nothing here takes this long, unless it hangs.
const HANGS: Duration = Duration::from_secs(60);

/// A watch, its server, and what it told so far.
pub struct Setup {
    pub server: Server,
    pub inputs: Receiver<WatchInput>,
    pub handle: WatchHandle,
}

/// No waiting for what is a matter of minutes elsewhere.
fn pace() -> WatchTimes {
    let short = Duration::from_millis(5);
    WatchTimes {
        first_retry: short,
        longest_retry: short,
        // Looks would take answers that are meant for the watch.
        look: Duration::from_secs(3600),
        first_absent_retry: short,
        longest_absent_retry: short,
        lease: short,
        ..WatchTimes::default()
    }
}

/// Only the kinds nothing can do without, and Queue, PodGroup and Service.
pub fn options() -> WatchOptions {
    WatchOptions {
        workloads: false,
        priority_class: false,
        pace: pace(),
        ..WatchOptions::default()
    }
}

pub async fn watch(options: WatchOptions, scripts: Vec<(&'static str, Vec<Turn>)>) -> Setup {
    let mut turns = Turns::new(scripts);
    let server = Server::start(move |seen| turns.answer(seen)).await;
    let connect_options = ConnectOptions {
        master: Some(server.url()),
        ..ConnectOptions::default()
    };
    let clients = connect(&connect_options).await.unwrap();
    let (sender, inputs) = channel(1_000);
    Setup {
        server,
        inputs,
        handle: start(ReadWay::from(&clients), options, sender, None),
    }
}

impl Setup {
    /// Queries of the requests to a path so far.
    pub fn requests(&self, path: &str) -> Vec<String> {
        let log = self.server.log();
        let of_path = log.iter().map(Seen::split).filter(|(to, _)| *to == path);
        of_path.map(|(_, query)| query.to_owned()).collect()
    }

    /// The next input.
    pub async fn next(&mut self) -> WatchInput {
        let next = tokio::time::timeout(HANGS, self.inputs.recv()).await;
        let Ok(Some(input)) = next else {
            panic!("no input; {:#?}", self.handle.kinds());
        };
        input
    }

    /// The next input that is not [`WatchInput::Synced`], which comes whenever the other kinds are done.
    pub async fn told(&mut self) -> WatchInput {
        loop {
            match self.next().await {
                WatchInput::Synced => {}
                input => return input,
            }
        }
    }

    /// The next deltas, in short.
    pub async fn deltas(&mut self) -> Vec<String> {
        match self.told().await {
            WatchInput::Deltas(deltas) => deltas.iter().map(short).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a kind stands as wanted.
    pub async fn until(&self, kind: &str, wanted: impl Fn(&KindStatus) -> bool) -> KindStatus {
        let ask = async {
            loop {
                let status = self.kind(kind);
                if wanted(&status) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(HANGS, ask).await {
            Ok(status) => status,
            Err(_) => panic!("{:#?}", self.kind(kind)),
        }
    }

    pub fn kind(&self, kind: &str) -> KindStatus {
        let mut kinds = self.handle.kinds().into_iter();
        kinds.find(|status| status.kind == kind).unwrap()
    }
}

/// `+` or `-`, and what it is about.
fn short(delta: &Delta) -> String {
    match delta {
        Delta::NodeApply(node) => format!("+node {}", node.name),
        Delta::NodeDelete(name) => format!("-node {name}"),
        Delta::PodApply(pod) => {
            let node = pod.node.as_deref().unwrap_or("no node");
            format!("+pod {} on {node}", pod.uid)
        }
        Delta::PodDelete(uid) => format!("-pod {uid}"),
        Delta::GroupApply(group) => format!("+group {}/{}", group.namespace, group.name),
        Delta::GroupDelete(namespace, name) => format!("-group {namespace}/{name}"),
        Delta::QueueApply(queue) => format!("+queue {} {}", queue.name, queue.weight),
        Delta::QueueDelete(name) => format!("-queue {name}"),
        Delta::GroupController(lease) => format!("group controller {lease:?}"),
        other => format!("{other:?}"),
    }
}
