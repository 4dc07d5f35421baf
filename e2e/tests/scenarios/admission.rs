//! What the API server fills in and refuses by the definitions and policies that are shipped.

mod jobs;
mod others;
mod queues;
mod rules;
mod trust;

use anyhow::{Context, Result, bail, ensure};
use pumice_e2e::{LabGuard, eventually, is_status};
use serde_json::{Value, json};

use crate::LIMIT;

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

/// Has the API server judge a new object, as `kubectl create --dry-run=server` does.
fn judge(lab: &LabGuard, collection: &str, object: &Value) -> Result<Value> {
    let path = format!("{collection}?dryRun=All&fieldValidation=Strict");
    lab.rest().create(&path, object)
}

/// The answer names this problem, as soon as the policies are in force.
fn is_refused(answer: impl Fn() -> Result<Value>, problem: &str) -> Result<()> {
    eventually(LIMIT, &format!("refused: {problem}"), || match answer() {
        Ok(object) => bail!("it is taken: {object}"),
        Err(error) => {
            let told = format!("{error:#}");
            ensure!(told.contains(problem), "it says: {told}");
            ensure!(
                is_status(&error, 422) || is_status(&error, 403),
                "another status: {told}"
            );
            Ok(Some(()))
        }
    })
}

/// Every object is refused with its problem; afterwards the good ones are taken.
fn hold(lab: &LabGuard, bad: &[(&str, Value, &str)], good: &[(&str, Value)]) -> Result<()> {
    for (collection, object, problem) in bad {
        is_refused(|| judge(lab, collection, object), problem)
            .with_context(|| object.to_string())?;
    }
    for (collection, object) in good {
        judge(lab, collection, object).with_context(|| format!("{object} is refused"))?;
    }
    Ok(())
}

fn object(version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn queue(name: &str, spec: Value) -> Value {
    object("scheduling.volcano.sh/v1beta1", "Queue", name, spec)
}

fn job(spec: Value) -> Value {
    object("batch.volcano.sh/v1alpha1", "Job", "j", spec)
}

/// A task with these fields and a template.
fn task(mut fields: Value) -> Value {
    if fields["template"].is_null() {
        fields["template"] = template(json!({}));
    }
    fields
}

/// A template of pods whose container has these fields.
fn template(mut container: Value) -> Value {
    container["name"] = json!("main");
    container["image"] = json!("example.com/none");
    json!({"spec": {"containers": [container]}})
}
