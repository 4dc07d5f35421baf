//! Who asked for what: the policy that writes it, tried as jane, and what the controllers make of it.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Controllers, Identity, Lab, LabGuard, Setup, eventually};
use serde_json::{Value, json};

use super::{object, while_jane_edits};
use crate::controllers::{job, make_queue};
use crate::{GROUPS, LIMIT, LONG};

const POLICY: &str = include_str!("../../../../deploy/optional/requester.yaml");
const KEY: &str = "pumice.sh/requester";
const SCHEDULING: &str = "scheduling.volcano.sh/v1beta1";

/// The object as somebody who does this gets it back.
fn done_by(lab: &LabGuard, user: &str, verb: &[&str], text: &str) -> Result<Value> {
    let user = format!("--as={user}");
    let arguments = [verb, &[user.as_str(), "-o", "json"]].concat();
    Ok(serde_json::from_str(
        &lab.cluster().kubectl(&arguments, text)?,
    )?)
}

/// Whom the API server takes for the requester of an object that somebody makes.
fn of_new(lab: &LabGuard, user: &str, object: &Value) -> Result<Value> {
    let verb = ["create", "--dry-run=server", "-f", "-"];
    let made = done_by(lab, user, &verb, &object.to_string())?;
    Ok(made["metadata"]["annotations"][KEY].clone())
}

/// It names a requester, as its writer likes.
fn naming(mut object: Value, requester: &str) -> Value {
    object["metadata"]["annotations"] = json!({KEY: requester, "note": "a"});
    object
}

fn group(name: &str) -> Value {
    object(SCHEDULING, "PodGroup", name, json!({"minMember": 1}))
}

/// Everything that has a requester.
fn kinds() -> Vec<Value> {
    let job = job("j", 1);
    let cron = json!({"schedule": "@daily", "jobTemplate": {"spec": job["spec"]}});
    let flow = json!({"flows": [{"name": "step"}]});
    vec![
        job,
        object("batch.volcano.sh/v1alpha1", "CronJob", "c", cron),
        object("flow.volcano.sh/v1alpha1", "JobFlow", "f", flow),
        group("g"),
    ]
}

#[test]
fn who_asked_for_something_is_written_on_it_and_by_nobody_else() -> Result<()> {
    let lab = Lab::take()?;
    make_queue(&lab)?;
    lab.cluster().apply(POLICY)?;
    while_jane_edits(&lab, || {
        eventually(LIMIT, "the policy is in force, and jane may edit", || {
            let made = of_new(&lab, "jane", &naming(group("g"), "eve"))?;
            Ok((made == "jane").then_some(()))
        })?;
        for kind in kinds() {
            let plain = of_new(&lab, "jane", &kind)?;
            let forged = of_new(&lab, "jane", &naming(kind.clone(), "eve"))?;
            ensure!(
                plain == "jane" && forged == "jane",
                "{kind}: {plain} {forged}"
            );
            // They make no others.
            if !["Job", "PodGroup"].contains(&kind["kind"].as_str().unwrap_or_default()) {
                continue;
            }
            let controllers = Identity::Controllers.user();
            let plain = of_new(&lab, controllers, &kind)?;
            let told = of_new(&lab, controllers, &naming(kind.clone(), "ada"))?;
            ensure!(plain.is_null() && told == "ada", "{kind}: {plain} {told}");
        }
        stays(&lab)?;
        goes_on_to_its_group(&lab)?;
        writers_say_it_themselves(&lab)
    })
}

/// Whom `custom.requester_writers` names says who asks for what it makes, and of what is there no more than others.
fn writers_say_it_themselves(lab: &LabGuard) -> Result<()> {
    let named = "volcano-controllers', 'jane']";
    let policy = POLICY.replace("volcano-controllers']", named);
    ensure!(policy.contains(named), "the policy names writers otherwise");
    lab.cluster().apply(&policy)?;
    eventually(LIMIT, "jane is a writer", || {
        let made = of_new(lab, "jane", &naming(group("g"), "eve"))?;
        Ok((made == "eve").then_some(()))
    })?;
    ensure!(of_new(lab, "jane", &group("g"))?.is_null());
    let change = json!({"metadata": {"annotations": {KEY: "eve"}}}).to_string();
    let patch = ["patch", "podgroups.scheduling.volcano.sh", "hers"];
    let patch = [&patch[..], &["--type=merge", "-p", &change]].concat();
    let left = done_by(lab, "jane", &patch, "")?;
    ensure!(left["metadata"]["annotations"][KEY] == "jane", "{left}");
    Ok(())
}

/// What is there keeps its requester, or has none, whoever writes what.
fn stays(lab: &LabGuard) -> Result<()> {
    let create = ["create", "-f", "-"];
    done_by(lab, "jane", &create, &group("hers").to_string())?;
    let controllers = Identity::Controllers.user();
    done_by(lab, controllers, &create, &group("nobodys").to_string())?;
    for (name, expected) in [("hers", json!("jane")), ("nobodys", Value::Null)] {
        for annotations in [json!({KEY: "eve"}), json!({KEY: null}), Value::Null] {
            let change = json!({"metadata": {"annotations": annotations}}).to_string();
            let patch = ["patch", "podgroups.scheduling.volcano.sh", name];
            let patch = [&patch[..], &["--type=merge", "-p", &change]].concat();
            for user in ["jane", controllers] {
                let left = done_by(lab, user, &patch, "")?;
                let left = &left["metadata"]["annotations"][KEY];
                ensure!(*left == expected, "{name} {user} {change}: {left}");
            }
        }
    }
    Ok(())
}

/// The PodGroup that the controllers make for a Job of jane is hers.
fn goes_on_to_its_group(lab: &LabGuard) -> Result<()> {
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let forged = naming(job("train", 1), "eve");
    done_by(lab, "jane", &["create", "-f", "-"], &forged.to_string())?;
    let made = controllers.eventually(LONG, "the Job has its PodGroup", || {
        let groups = lab.rest().list(GROUPS)?;
        let is_its = |group: &&Value| {
            let name = group["metadata"]["name"].as_str();
            name.is_some_and(|name| name.starts_with("train-"))
        };
        Ok(groups.iter().find(is_its).cloned())
    })?;
    let annotations = made["metadata"]["annotations"].as_object();
    let annotations = annotations.context("annotations")?;
    ensure!(
        annotations.get(KEY) == Some(&json!("jane")) && annotations.contains_key("note"),
        "{annotations:?}"
    );
    Ok(())
}
