//! Workloads of Kubernetes itself, whose controllers make the pods of a job: a batch Job, and the Deployment of a leader.

use anyhow::{Context, Result};
use http::Method;
use pumice_e2e::{eventually, is_status};
use serde_json::{Value, json};

use super::{Knows, MIN_MEMBER, Made, QUEUE_NAME, StandIn, path};
use crate::LIMIT;

impl StandIn {
    /// All pods are deleted, and the PodGroup stays.
    pub(super) fn suspend(&self) -> Result<()> {
        let job = format!("{}/{}", self.jobs_path(), self.job_name());
        let options = json!({"propagationPolicy": "Foreground"});
        self.rest.call(Method::DELETE, &job, Some(&options))?;
        eventually(LIMIT, "the Job is gone", || {
            let is_gone = self
                .rest
                .get(&job)
                .is_err_and(|error| is_status(&error, 404));
            Ok((is_gone && self.pods()?.is_empty()).then_some(()))
        })
    }

    /// The Deployment of a JobManager.
    pub(super) fn keep_deployment(&self, leader: &Value) -> Result<()> {
        let deployments = path("apps/v1", self.operator.sample, "deployments");
        let worker = self.workers.first().context("a worker")?;
        let name = &worker["metadata"]["ownerReferences"][0]["name"];
        let name = name.as_str().context("the Deployment of the workers")?;
        if self.rest.get(&format!("{deployments}/{name}")).is_ok() {
            return Ok(());
        }
        let mut labels = leader["metadata"]["labels"].clone();
        if let Value::Object(labels) = &mut labels {
            labels.remove("pod-template-hash");
        }
        let annotations = &leader["metadata"]["annotations"];
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels, "annotations": annotations},
                    "spec": leader["spec"],
                },
            },
        });
        self.rest.create(&deployments, &deployment).map(|_| ())
    }

    /// The batch Job whose pods the members are.
    pub(super) fn keep_job(&self) -> Result<()> {
        let worker = self.workers.first().context("a worker")?;
        let meta = &worker["metadata"];
        let sizes = match self.operator.made {
            Made::IndexedJob => {
                json!({"parallelism": self.wanted, "completions": self.wanted})
            }
            _ => json!({"parallelism": self.wanted}),
        };
        let mut annotations = json!({QUEUE_NAME: self.operator.sample});
        if self.group.is_none() && self.knows == Knows::Volcano {
            annotations[MIN_MEMBER] = json!(self.wanted.to_string());
        }
        let path = format!("{}/{}", self.jobs_path(), self.job_name());
        match self.rest.get(&path) {
            Err(error) if is_status(&error, 404) => {}
            there => {
                if there?["spec"]["parallelism"] != sizes["parallelism"] {
                    let patch = json!({"metadata": {"annotations": annotations}, "spec": sizes});
                    self.rest.patch(&path, &patch)?;
                }
                return Ok(());
            }
        }
        let mut labels = meta["labels"].clone();
        if let Value::Object(labels) = &mut labels {
            labels.retain(|key, _| !key.starts_with("batch.kubernetes.io/"));
        }
        let mut template = meta["annotations"].clone();
        if let Value::Object(template) = &mut template {
            template.retain(|key, _| !key.starts_with("batch.kubernetes.io/"));
        }
        let mut spec = sizes;
        if self.operator.made == Made::IndexedJob {
            spec["completionMode"] = json!("Indexed");
        }
        spec["template"] = json!({
            "metadata": {"labels": labels, "annotations": template}, "spec": worker["spec"],
        });
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": self.job_name(), "annotations": annotations},
            "spec": spec,
        });
        self.rest.create(&self.jobs_path(), &job).map(|_| ())
    }

    pub(super) fn job_name(&self) -> &str {
        self.operator.job.trim_end_matches('-')
    }

    fn jobs_path(&self) -> String {
        path("batch/v1", self.operator.sample, "jobs")
    }
}
