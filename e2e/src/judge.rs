//! Judges Bindings by the objects as they stood when each was made, from what the API server alone
//! says: no word of the scheduler counts.
//!
//! ```text
//!  watch of nodes ─► versions of every node, with the time each was seen ─┐
//!  watch of pods  ─► the version in which a pod got its node ─────────────┴─► allowed then? since when not?
//! ```
//!
//! Versions of all kinds are numbered by one counter of etcd, so which came first is certain; only
//! how long something had been so is measured with this process's clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, Client, ResourceExt};
use pumice_units::quantity;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use crate::wait::runtime;

/// Pause before a watch that broke is begun anew.
const PAUSE: Duration = Duration::from_millis(100);

/// Seconds after which the API server ends a watch.
const WATCH_SECONDS: u32 = 280;

/// Annotation of nodes with vGPU cards, and the resource pods ask.
const CARDS: &str = "volcano.sh/node-vgpu-register";
const VGPU: &str = "volcano.sh/vgpu-number";

/// One Binding that the node, as it stood then, did not allow.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Name of the pod.
    pub pod: String,
    /// Name of the node.
    pub node: String,
    /// What forbade it.
    pub why: String,
    /// How long that had been so.
    pub stale: Duration,
}

/// A version of an object.
struct Version<T> {
    number: u64,
    seen: Instant,
    /// `None`: it was deleted.
    object: Option<T>,
}

struct Bound {
    pod: Pod,
    number: u64,
    seen: Instant,
}

#[derive(Default)]
struct History {
    nodes: BTreeMap<String, Vec<Version<Node>>>,
    /// By UID, as it was when it was first seen on a node.
    bound: BTreeMap<String, Bound>,
    /// Pods that were seen on two nodes.
    moved: Vec<String>,
}

/// Watches until it is dropped.
pub struct Judge {
    history: Arc<Mutex<History>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Judge {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Judge {
    /// Starts to watch, with a client that may see everything and goes around all proxies.
    pub fn start(client: &Client) -> Self {
        let history: Arc<Mutex<History>> = Arc::default();
        let (nodes, pods) = (Arc::clone(&history), Arc::clone(&history));
        let note_node = move |node, number, gone| lock(&nodes).note_node(node, number, gone);
        let note_pod = move |pod, number, gone| lock(&pods).note_pod(pod, number, gone);
        let tasks = vec![
            runtime().spawn(follow(Api::<Node>::all(client.clone()), note_node)),
            runtime().spawn(follow(Api::<Pod>::all(client.clone()), note_pod)),
        ];
        Self { history, tasks }
    }

    /// How many pods whose name begins so it has seen on a node.
    pub fn bound(&self, prefix: &str) -> usize {
        let history = lock(&self.history);
        let bound = history.bound.values();
        bound
            .filter(|bound| bound.pod.name_any().starts_with(prefix))
            .count()
    }

    /// Bindings of pods whose name begins so that were not allowed when they were made.
    pub fn forbidden(&self, prefix: &str) -> Vec<Verdict> {
        let history = lock(&self.history);
        let of_prefix = |bound: &&Bound| bound.pod.name_any().starts_with(prefix);
        let bound = history.bound.values().filter(of_prefix);
        bound.filter_map(|bound| history.judge(bound)).collect()
    }

    /// No Binding of these pods was stale, and none was made twice.
    ///
    /// # Errors
    /// Those that were.
    pub fn acquits(&self, prefix: &str) -> Result<()> {
        let forbidden = self.forbidden(prefix);
        ensure!(forbidden.is_empty(), "forbidden Bindings: {forbidden:#?}");
        let moved = lock(&self.history).moved.clone();
        ensure!(moved.is_empty(), "seen on two nodes: {moved:?}");
        Ok(())
    }
}

fn lock(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

impl History {
    fn note_node(&mut self, node: Node, number: u64, gone: bool) {
        let versions = self.nodes.entry(node.name_any()).or_default();
        versions.push(Version {
            number,
            seen: Instant::now(),
            object: (!gone).then_some(node),
        });
    }

    fn note_pod(&mut self, pod: Pod, number: u64, _gone: bool) {
        let Some(uid) = pod.uid().filter(|_| node_of(&pod).is_some()) else {
            return;
        };
        match self.bound.get(&uid) {
            Some(before) if node_of(&before.pod) != node_of(&pod) => {
                self.moved.push(pod.name_any());
            }
            Some(_) => {}
            None => {
                let seen = Instant::now();
                self.bound.insert(uid, Bound { pod, number, seen });
            }
        }
    }

    fn judge(&self, bound: &Bound) -> Option<Verdict> {
        let name = node_of(&bound.pod)?;
        let versions = self.nodes.get(name)?;
        let earlier = versions.iter().rev();
        let mut stale = Duration::ZERO;
        let mut why = None;
        for version in earlier.skip_while(|version| version.number >= bound.number) {
            let Some(reason) = self.objection(version.object.as_ref(), bound) else {
                break;
            };
            stale = bound.seen.saturating_duration_since(version.seen);
            why.get_or_insert(reason);
        }
        Some(Verdict {
            pod: bound.pod.name_any(),
            node: name.to_owned(),
            why: why?,
            stale,
        })
    }

    /// What of the node forbids the pod.
    fn objection(&self, node: Option<&Node>, bound: &Bound) -> Option<String> {
        let Some(node) = node else {
            return Some("the node does not exist".to_owned());
        };
        let (Some(spec), Some(pod)) = (&node.spec, &bound.pod.spec) else {
            return Some("no spec".to_owned());
        };
        if spec.unschedulable == Some(true) {
            return Some("cordoned".to_owned());
        }
        // The pods of the scenarios tolerate nothing but what the API server adds.
        let taints = spec.taints.iter().flatten();
        let mut hard = taints.filter(|taint| taint.effect != "PreferNoSchedule");
        if let Some(taint) = hard.find(|taint| !taint.key.starts_with("node.kubernetes.io/")) {
            return Some(format!("taint {}", taint.key));
        }
        let selector = pod.node_selector.iter().flatten();
        for (key, value) in selector {
            if node.labels().get(key) != Some(value) {
                return Some(format!("label {key} is not {value}"));
            }
        }
        if asks(&bound.pod, VGPU) > 0 && !node.annotations().contains_key(CARDS) {
            return Some("no cards".to_owned());
        }
        self.overcommitted(node, bound)
    }

    /// Whether the pods bound there up to this one ask more than there is. (Pods that have ended are
    /// counted too: the scenarios that ask end none.)
    fn overcommitted(&self, node: &Node, bound: &Bound) -> Option<String> {
        let allocatable = node.status.as_ref()?.allocatable.as_ref()?;
        let room = milli(&allocatable.get("cpu")?.0);
        let name = node_of(&bound.pod);
        let there = self
            .bound
            .values()
            .filter(|other| node_of(&other.pod) == name && other.number <= bound.number);
        let used: i64 = there.map(|other| asks(&other.pod, "cpu")).sum();
        (used > room).then(|| format!("{used} of {room} milli-cores"))
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// What its containers ask of a resource, in thousandths.
fn asks(pod: &Pod, resource: &str) -> i64 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let amounts = containers.filter_map(|container| {
        let resources = container.resources.as_ref()?;
        let of = |amounts: &Option<
            BTreeMap<_, k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
        >| {
            amounts
                .as_ref()?
                .get(resource)
                .map(|amount| milli(&amount.0))
        };
        of(&resources.requests).or_else(|| of(&resources.limits))
    });
    amounts.sum()
}

fn milli(text: &str) -> i64 {
    quantity::parse(text).map_or(0, |amount| amount.milli_ceil())
}

/// Hands on every version of every object; after a cut it goes on where it stopped, or lists anew.
async fn follow<K>(api: Api<K>, note: impl Fn(K, u64, bool) + Send)
where
    K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let mut from = None;
    loop {
        if stream(&api, &mut from, &note).await.is_err() {
            from = None;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn stream<K>(
    api: &Api<K>,
    from: &mut Option<String>,
    note: &impl Fn(K, u64, bool),
) -> Result<()>
where
    K: kube::Resource + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let version = match from.clone() {
        Some(version) => version,
        None => {
            let list = api.list(&ListParams::default()).await?;
            for object in list.items {
                let number = number(&object)?;
                note(object, number, false);
            }
            list.metadata.resource_version.context("a version")?
        }
    };
    let params = WatchParams::default().timeout(WATCH_SECONDS);
    let mut events = Box::pin(api.watch(&params, &version).await?);
    *from = Some(version);
    while let Some(event) = events.next().await {
        let (object, gone) = match event? {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(bookmark) => {
                *from = Some(bookmark.metadata.resource_version);
                continue;
            }
            WatchEvent::Error(status) => anyhow::bail!("{status:?}"),
        };
        *from = object.resource_version();
        let number = number(&object)?;
        note(object, number, gone);
    }
    Ok(())
}

fn number<K: kube::Resource>(object: &K) -> Result<u64> {
    let version = object.resource_version().context("a version")?;
    Ok(version.parse()?)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::NodeShape;

    fn judge(steps: &[(u64, Value)]) -> Vec<String> {
        let mut history = History::default();
        for (number, object) in steps {
            let gone = object["gone"] == true;
            match object["kind"] == "Node" {
                true => history.note_node(read(object), *number, gone),
                false => history.note_pod(read(object), *number, gone),
            }
        }
        let bound = history.bound.values();
        let verdicts = bound.filter_map(|bound| history.judge(bound));
        verdicts.map(|verdict| verdict.why).collect()
    }

    fn read<T: DeserializeOwned>(object: &Value) -> T {
        serde_json::from_value(object.clone()).expect("an object")
    }

    fn node(change: impl FnOnce(&mut Value)) -> Value {
        let mut node = NodeShape {
            cpu: "2",
            ..NodeShape::default()
        }
        .object("n");
        node["spec"] = json!({});
        change(&mut node);
        node
    }

    fn pod(uid: &str) -> Value {
        json!({
            "kind": "Pod",
            "metadata": {"name": uid, "uid": uid},
            "spec": {"nodeName": "n", "nodeSelector": {"kubernetes.io/os": "linux"}, "containers": [
                {"name": "c", "resources": {"requests": {"cpu": "1"}}},
            ]},
        })
    }

    #[test]
    fn a_binding_is_judged_by_the_node_as_it_stood_then() {
        let fine = || node(|_| {});
        let cordoned = || node(|node| node["spec"]["unschedulable"] = json!(true));
        let tainted =
            node(|node| node["spec"]["taints"] = json!([{"key": "k", "effect": "NoExecute"}]));
        let relabelled = node(|node| node["metadata"]["labels"] = json!({}));
        let smaller = node(|node| node["status"]["allocatable"]["cpu"] = json!("1"));
        let gone = node(|node| node["gone"] = json!(true));
        let after = |change: Value| judge(&[(1, fine()), (2, change), (3, pod("p"))]);
        assert_eq!(after(cordoned()), ["cordoned"]);
        assert_eq!(after(tainted), ["taint k"]);
        assert_eq!(after(relabelled), ["label kubernetes.io/os is not linux"]);
        assert_eq!(after(gone), ["the node does not exist"]);
        assert_eq!(after(fine()), Vec::<String>::new());
        let later = judge(&[(1, fine()), (2, pod("p")), (3, cordoned())]);
        assert_eq!(
            later,
            Vec::<String>::new(),
            "it became so after the Binding"
        );
        let two = judge(&[(1, fine()), (2, pod("p")), (3, smaller), (4, pod("q"))]);
        assert_eq!(two, ["2000 of 1000 milli-cores"]);
    }
}
