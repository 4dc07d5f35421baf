//! The part of all kubelets that others can see: bound pods run and end as their commands say,
//! deleted pods end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::WatchParams;
use kube::core::WatchEvent;
use kube::{Api, Client, ResourceExt};
use pumice_sim::device_plugin::{gpushare, vgpu};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::containers::{Course, course};
use crate::wait::runtime;

/// Seconds after which the API server ends a watch.
const WATCH_SECONDS: u32 = 280;

/// Writes in flight.
const AT_ONCE: usize = 16;

/// How often a write is tried, and the pause between.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(250);

/// Pause before a container is started again.
const RESTART: Duration = Duration::from_millis(500);

/// UIDs of pods that need no answer of a device plugin any more; `None` where there are no plugins.
pub(crate) type Admitted = Option<HashSet<String>>;

/// One task in place of all kubelets. Ends when dropped.
pub struct Kubelet {
    switches: watch::Sender<KubeletSwitches>,
    admitted: watch::Sender<Admitted>,
    task: JoinHandle<()>,
}

/// What tests decide.
#[derive(Clone, Copy, Debug)]
struct KubeletSwitches {
    /// Kubelets react.
    work: bool,
    /// Containers without command end well; else they run for ever.
    images_end: bool,
}

const AT_FIRST: KubeletSwitches = KubeletSwitches {
    work: true,
    images_end: false,
};

impl Kubelet {
    /// Starts to look after all pods that have a node.
    pub fn start(client: Client) -> Self {
        let (switches, seen) = watch::channel(AT_FIRST);
        let admitted = watch::Sender::new(None);
        let task = runtime().spawn(serve(client, seen, admitted.subscribe()));
        Self {
            switches,
            admitted,
            task,
        }
    }

    /// Where device plugins say whose calls they have answered: while there are plugins, only such
    /// pods are started.
    pub(crate) fn admitted(&self) -> watch::Sender<Admitted> {
        self.admitted.clone()
    }

    /// Stops reacting: bound pods stay Pending, deleted ones stay terminating, containers run on.
    pub fn pause(&self) {
        self.switches.send_modify(|switches| switches.work = false);
    }

    /// Reacts again, also to what happened meanwhile.
    pub fn resume(&self) {
        self.switches.send_modify(|switches| switches.work = true);
    }

    /// Containers without command end well from now on, those that run and those to come.
    pub fn end_images(&self) {
        self.switches
            .send_modify(|switches| switches.images_end = true);
    }

    /// Does what it did at first.
    pub fn reset(&self) {
        self.switches.send_replace(AT_FIRST);
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Watches for ever; a broken watch is begun anew and brings every pod again.
async fn serve(
    client: Client,
    switches: watch::Receiver<KubeletSwitches>,
    admitted: watch::Receiver<Admitted>,
) {
    let mut started = HashSet::new();
    loop {
        let told = (switches.clone(), admitted.clone());
        let _ = follow(&client, told, &mut started).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// `started` are UIDs of pods that were started: none is started twice.
async fn follow(
    client: &Client,
    (mut switches, admitted): (watch::Receiver<KubeletSwitches>, watch::Receiver<Admitted>),
    started: &mut HashSet<String>,
) -> Result<()> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    // Pods that have a node, as the kubelets watch them, but of all nodes.
    let bound = WatchParams::default()
        .fields("spec.nodeName!=")
        .timeout(WATCH_SECONDS);
    let pods: Api<Pod> = Api::all(client.clone());
    let mut events = Box::pin(pods.watch(&bound, "0").await?);
    while let Some(event) = events.next().await {
        switches.wait_for(|switches| switches.work).await?;
        let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event? else {
            continue;
        };
        let has_plugins = admitted.borrow().is_some();
        let Some(reaction) = reaction(&pod, has_plugins) else {
            continue;
        };
        let is_start = reaction.method == "PATCH";
        if is_start && !started.insert(pod.uid().unwrap_or_default()) {
            continue;
        }
        let (client, switches, slots) = (client.clone(), switches.clone(), Arc::clone(&slots));
        let mut admitted = admitted.clone();
        tokio::spawn(async move {
            if is_start {
                let uid = pod.uid().unwrap_or_default();
                let is_admitted =
                    |all: &Admitted| all.as_ref().is_none_or(|all| all.contains(&uid));
                // It ends with the kubelet.
                let _ = admitted.wait_for(is_admitted).await;
            }
            let slot = slots.acquire().await;
            let is_done = write(&client, &reaction).await;
            drop(slot);
            if is_start && is_done {
                // Ends with the runtime of the tests, or when the pod is gone.
                let _ = run_containers(&client, &pod, switches).await;
            }
        });
    }
    Ok(())
}

/// Waits for the end of the containers, and starts again those that are to be.
async fn run_containers(
    client: &Client,
    pod: &Pod,
    mut switches: watch::Receiver<KubeletSwitches>,
) -> Option<()> {
    let spec = pod.spec.as_ref()?;
    let policy = spec.restart_policy.as_deref().unwrap_or("Always");
    let courses: Vec<Course> = spec.containers.iter().map(course).collect();
    for restarts in 0.. {
        let mut time = Duration::ZERO;
        let mut codes = Vec::new();
        for one in &courses {
            match one {
                Course::Endless => return None,
                Course::ByImage => {
                    let ended = switches.wait_for(|switches| switches.images_end).await;
                    ended.ok()?;
                    codes.push(0);
                }
                Course::Ends(after, code) => {
                    time = time.max(*after);
                    codes.push(*code);
                }
            }
        }
        tokio::time::sleep(time).await;
        switches.wait_for(|switches| switches.work).await.ok()?;
        let failed = codes.iter().any(|code| *code != 0);
        let is_over = policy == "Never" || policy == "OnFailure" && !failed;
        let status = match is_over {
            true => json!({
                "phase": if failed { "Failed" } else { "Succeeded" },
                "conditions": conditions("False"),
                "containerStatuses": containers(pod, restarts, Some(&codes)),
            }),
            false => json!({"containerStatuses": containers(pod, restarts + 1, None)}),
        };
        if !is_over {
            tokio::time::sleep(RESTART).await;
        }
        let is_done = write(client, &status_of(pod, status)?).await;
        if is_over || !is_done {
            return None;
        }
    }
    None
}

/// A write that follows from the state of a pod.
struct Reaction {
    method: &'static str,
    path: String,
    body: Value,
}

fn reaction(pod: &Pod, has_plugins: bool) -> Option<Reaction> {
    let uid = pod.uid()?;
    let path = format!(
        "/api/v1/namespaces/{}/pods/{}",
        pod.namespace()?,
        pod.name_any()
    );
    if pod.metadata.deletion_timestamp.is_some() {
        return Some(Reaction {
            method: "DELETE",
            path,
            body: json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}),
        });
    }
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let waits = !has_plugins && waits_for_devices(&pod.metadata);
    if phase != Some("Pending") || waits {
        return None;
    }
    let status = json!({
        "phase": "Running",
        "startTime": now(),
        "conditions": conditions("True"),
        "containerStatuses": containers(pod, 0, None),
    });
    status_of(pod, status)
}

/// Writes a part of the status of this very pod.
fn status_of(pod: &Pod, status: Value) -> Option<Reaction> {
    let (namespace, name) = (pod.namespace()?, pod.name_any());
    Some(Reaction {
        method: "PATCH",
        path: format!("/api/v1/namespaces/{namespace}/pods/{name}/status"),
        body: json!({"metadata": {"uid": pod.uid()?}, "status": status}),
    })
}

fn now() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn conditions(ready: &str) -> Value {
    let condition =
        |kind: &str, is: &str| json!({"type": kind, "status": is, "lastTransitionTime": now()});
    json!([
        condition("Initialized", "True"),
        condition("ContainersReady", ready),
        condition("Ready", ready),
    ])
}

/// Statuses of containers that run, or have ended with these codes.
fn containers(pod: &Pod, restarts: u32, codes: Option<&[i32]>) -> Value {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let status = |(at, container): (usize, &Container)| {
        let code = codes.and_then(|codes| codes.get(at));
        let state = match code {
            None => json!({"terminated": null, "running": {"startedAt": now()}}),
            Some(code) => json!({"running": null, "terminated": {
                "exitCode": code, "startedAt": now(), "finishedAt": now(),
                "reason": if *code == 0 { "Completed" } else { "Error" },
            }}),
        };
        json!({
            "name": container.name, "image": container.image, "imageID": "",
            "ready": code.is_none(), "started": code.is_none(),
            "restartCount": restarts, "state": state,
        })
    };
    containers.enumerate().map(status).collect()
}

/// Whether a pod waits for a device plugin, by its annotations: all there is where there are no plugins.
fn waits_for_devices(pod: &ObjectMeta) -> bool {
    let value = |key: &str| Some(pod.annotations.as_ref()?.get(key)?.as_str());
    let phase = value(vgpu::PHASE);
    let asked = value(gpushare::TIME).is_some() && value(gpushare::INDEX).is_some();
    phase.is_some_and(|phase| phase != vgpu::SUCCESS)
        || asked && value(gpushare::ASSIGNED) != Some("true")
}

/// Tries until the API server has taken it, or says that the pod is gone or another one. Whether it
/// has. A start whose answer was lost is not written over what has become of the pod since.
async fn write(client: &Client, reaction: &Reaction) -> bool {
    let is_start = reaction.body["status"]["phase"] == "Running";
    for tried in 0..TRIES {
        if tried > 0 && is_start && has_begun(client, &reaction.path).await {
            return true;
        }
        let request = Request::builder()
            .method(reaction.method)
            .uri(&reaction.path)
            .header(
                "content-type",
                match reaction.method {
                    "PATCH" => "application/strategic-merge-patch+json",
                    _ => "application/json",
                },
            )
            .body(reaction.body.to_string().into_bytes());
        let Ok(request) = request else { return false };
        match client.request_text(request).await {
            Ok(_) => return true,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => {
                return false;
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
    false
}

/// Whether the pod of this status is in another phase than Pending.
async fn has_begun(client: &Client, path: &str) -> bool {
    let Ok(request) = Request::get(path).body(Vec::new()) else {
        return false;
    };
    let read = client.request::<Pod>(request).await;
    let phase = read.ok().and_then(|pod| pod.status?.phase);
    phase.is_some_and(|phase| phase != "Pending")
}
