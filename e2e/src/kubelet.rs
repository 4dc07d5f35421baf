//! The part of all kubelets that a scheduler can see: bound pods run, deleted pods end.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::WatchParams;
use kube::core::WatchEvent;
use kube::{Api, Client, ResourceExt};
use pumice_sim::device_plugin::{gpushare, vgpu};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::wait::runtime;

/// Seconds after which the API server ends a watch.
const WATCH_SECONDS: u32 = 280;

/// Writes in flight.
const AT_ONCE: usize = 16;

/// How often a write is tried, and the pause between.
const TRIES: u32 = 8;
const PAUSE: Duration = Duration::from_millis(250);

/// One task in place of all kubelets. Ends when dropped.
pub struct Kubelet {
    works: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Kubelet {
    /// Starts to look after all pods that have a node.
    pub fn start(client: Client) -> Self {
        let (works, is_working) = watch::channel(true);
        let task = runtime().spawn(serve(client, is_working));
        Self { works, task }
    }

    /// Stops reacting: bound pods stay Pending, deleted ones stay terminating.
    pub fn pause(&self) {
        self.works.send_replace(false);
    }

    /// Reacts again, also to what happened meanwhile.
    pub fn resume(&self) {
        self.works.send_replace(true);
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Watches for ever; a broken watch is begun anew and brings every pod again.
async fn serve(client: Client, works: watch::Receiver<bool>) {
    loop {
        let _ = follow(&client, works.clone()).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow(client: &Client, mut works: watch::Receiver<bool>) -> Result<()> {
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    // Pods that have a node, as the kubelets watch them, but of all nodes.
    let bound = WatchParams::default()
        .fields("spec.nodeName!=")
        .timeout(WATCH_SECONDS);
    let pods: Api<Pod> = Api::all(client.clone());
    let mut events = Box::pin(pods.watch(&bound, "0").await?);
    while let Some(event) = events.next().await {
        works.wait_for(|works| *works).await?;
        let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event? else {
            continue;
        };
        let Some(reaction) = reaction(&pod) else {
            continue;
        };
        let slot = Arc::clone(&slots).acquire_owned().await?;
        let client = client.clone();
        tokio::spawn(async move {
            write(&client, reaction).await;
            drop(slot);
        });
    }
    Ok(())
}

/// A write that follows from the state of a pod.
struct Reaction {
    method: &'static str,
    path: String,
    body: Value,
}

fn reaction(pod: &Pod) -> Option<Reaction> {
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
    if phase != Some("Pending") || waits_for_devices(&pod.metadata) {
        return None;
    }
    let now = jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string();
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
    Some(Reaction {
        method: "PATCH",
        path: format!("{path}/status"),
        body: json!({
            "metadata": {"uid": uid},
            "status": {
                "phase": "Running",
                "startTime": now,
                "conditions": [
                    condition("Initialized"), condition("ContainersReady"), condition("Ready"),
                ],
            },
        }),
    })
}

/// A pod is not started before the device plugins have answered for it.
fn waits_for_devices(pod: &ObjectMeta) -> bool {
    let value = |key: &str| Some(pod.annotations.as_ref()?.get(key)?.as_str());
    let phase = value(vgpu::PHASE);
    let asked = value(gpushare::TIME).is_some() && value(gpushare::INDEX).is_some();
    phase.is_some_and(|phase| phase != vgpu::SUCCESS)
        || asked && value(gpushare::ASSIGNED) != Some("true")
}

/// Tries until the API server has taken it, or says that the pod is gone or another one.
async fn write(client: &Client, reaction: Reaction) {
    for _ in 0..TRIES {
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
        let Ok(request) = request else { return };
        match client.request_text(request).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => return,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
