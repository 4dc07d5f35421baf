//! Stands in for the Job controller: PodGroups and pods of Volcano Jobs, by the same rules.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use http::Method;
use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;
use pumice_controllers::job;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::rest::{Rest, is_status};
use crate::wait::runtime;

/// Pause between two rounds over all Jobs.
const PAUSE: Duration = Duration::from_millis(200);

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/jobs";
const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

/// When a Job gets its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// When its PodGroup has left phase Pending, as the Job controller does it.
    WhenAdmitted,
    /// Before any scheduler has seen it, so that what the scheduler finds first is complete.
    AtOnce,
}

/// A task that makes what Jobs need. Ends when dropped.
pub struct JobController {
    task: JoinHandle<()>,
}

impl JobController {
    /// Starts to look after all Jobs.
    pub fn start(rest: Rest, creation: Creation) -> Self {
        let task = runtime().spawn(async move {
            loop {
                // Whatever fails is tried again in the next round.
                let _ = round(&rest, creation).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { task }
    }
}

impl Drop for JobController {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn round(rest: &Rest, creation: Creation) -> Result<()> {
    let jobs: Vec<Job> = items(rest, JOBS).await?;
    if jobs.is_empty() {
        return Ok(());
    }
    let classes: Vec<Value> = items(rest, CLASSES).await?;
    let value = |class: &Value| {
        let name = class["metadata"]["name"].as_str()?.to_owned();
        Some((name, i32::try_from(class["value"].as_i64()?).ok()?))
    };
    let classes: BTreeMap<String, i32> = classes.iter().filter_map(value).collect();
    for mut job in jobs {
        job::defaults(&mut job);
        sync(rest, &job, &classes, creation).await?;
    }
    Ok(())
}

async fn sync(
    rest: &Rest,
    job: &Job,
    classes: &BTreeMap<String, i32>,
    creation: Creation,
) -> Result<()> {
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    let group_name = job::pod_group_name(job);
    let groups = format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups");
    let group = match rest
        .send(Method::GET, &format!("{groups}/{group_name}"), None)
        .await
    {
        Err(error) if is_status(&error, 404) => {
            let made = job::pod_group(job, &|class| classes.get(class).copied().unwrap_or(0));
            create(rest, &groups, &made).await?
        }
        other => other?,
    };
    let phase = group["status"]["phase"].as_str().unwrap_or("Pending");
    if matches!(phase, "" | "Pending") && creation == Creation::WhenAdmitted {
        return Ok(());
    }
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let own = format!("{pods}?labelSelector=volcano.sh/job-name%3D{name}");
    let existing: Vec<Pod> = items(rest, &own).await?;
    for pod in job::pods(job, &group_name) {
        let is_there = existing
            .iter()
            .any(|other| other.metadata.name == pod.metadata.name);
        if !is_there {
            create(rest, &pods, &pod).await?;
        }
    }
    Ok(())
}

async fn items<T: serde::de::DeserializeOwned>(rest: &Rest, path: &str) -> Result<Vec<T>> {
    let mut list: Value = rest.read(path).await?;
    Ok(serde_json::from_value(list["items"].take())?)
}

/// Creates an object; one that is there already is fine.
async fn create(rest: &Rest, path: &str, object: &impl serde::Serialize) -> Result<Value> {
    let mut object = serde_json::to_value(object)?;
    if let Value::Object(metadata) = &mut object["metadata"] {
        metadata.remove("creationTimestamp");
        metadata.remove("uid");
    }
    match rest.send(Method::POST, path, Some(&object)).await {
        Err(error) if is_status(&error, 409) => Ok(json!({})),
        other => other,
    }
}
