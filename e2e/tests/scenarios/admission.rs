//! What the API server fills in and refuses by the definitions and policies that are shipped.

mod jobs;
mod others;
mod queue_use;
mod queues;
mod requester;
mod rights;
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

/// Has the API server judge what somebody does, as `kubectl --dry-run=server` does.
fn by(lab: &LabGuard, user: &str, verb: &[&str], text: &str) -> Result<String> {
    let user = format!("--as={user}");
    let arguments = [verb, &[user.as_str(), "--dry-run=server"][..]].concat();
    lab.cluster().kubectl(&arguments, text)
}

/// Has it judge what somebody creates.
fn create_by(lab: &LabGuard, user: &str, object: &Value) -> Result<String> {
    by(lab, user, &["create", "-f", "-"], &object.to_string())
}

/// It is refused with these words.
fn refused(answer: Result<String>, words: &str) -> Result<()> {
    let Err(error) = answer else {
        bail!("it is taken, not refused with {words:?}");
    };
    let told = format!("{error:#}");
    ensure!(told.contains(words), "it says: {told}");
    Ok(())
}

/// Lets jane edit the namespace `default` while something is looked at.
fn while_jane_edits(lab: &LabGuard, look: impl FnOnce() -> Result<()>) -> Result<()> {
    let binding = ["rolebinding", "admission-jane-edits"];
    let grant = ["--clusterrole=edit", "--user=jane"];
    let cluster = lab.cluster();
    cluster.kubectl(&[&["create"], &binding[..], &grant].concat(), "")?;
    let found = look();
    cluster.kubectl(&[&["delete"], &binding[..]].concat(), "")?;
    found
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
