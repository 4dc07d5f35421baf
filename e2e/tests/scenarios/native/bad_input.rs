//! Groups that are missing, that go, that ask for more pods than there are, and pods that name two.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, NodeShape, Scheduler, Setup, pod_group};
use serde_json::json;

use super::{
    NATIVE, make_gang, make_members, native_group, native_member, wait_event, wait_placed,
    wait_told,
};
use crate::{GROUPS, PODS, stays_pending, wait_running};

const MISSING: &str = "of scheduling.k8s.io, which spec.schedulingGroup names, not found";

#[test]
fn pods_whose_group_is_missing_say_so_until_somebody_makes_it_in_their_namespace() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    // Neither counts: one of another namespace, and one of Volcano.
    lab.cluster().create_namespace("elsewhere")?;
    let spec = json!({"schedulingPolicy": {"basic": {}}});
    let elsewhere = NATIVE.replace("/default/", "/elsewhere/");
    lab.rest()
        .create(&elsewhere, &native_group("late", &spec))?;
    let volcano = pod_group("late", &json!({"minMember": 1, "queue": "default"}));
    lab.rest().create(GROUPS, &volcano)?;
    make_members(&lab, "late", 0..2)?;
    wait_told(&lab, &scheduler, "late-0", MISSING)?;
    stays_pending(&lab, "late-")?;
    make_gang(&lab, "late", 2)?;
    wait_running(&lab, &scheduler, "late-", 2)?;
    wait_placed(&lab, &scheduler, "late", true).map(|_| ())
}

#[test]
fn a_group_that_goes_takes_no_pod_away_and_those_that_wait_wait_for_another_one() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "2", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_gang(&lab, "gone", 2)?;
    make_members(&lab, "gone", 0..3)?;
    wait_running(&lab, &scheduler, "gone-", 2)?;
    // Kubernetes keeps it until its pods have ended; somebody takes the finalizer off.
    let path = format!("{NATIVE}/gone");
    lab.delete(&path)?;
    let going = lab.rest().get(&path)?;
    ensure!(
        going["metadata"]["deletionTimestamp"].is_string(),
        "{going}"
    );
    let free = json!({"metadata": {"finalizers": null}});
    lab.rest().patch(&path, &free)?;
    let waits = lab.rest().list(PODS)?;
    let waits = waits.iter().find(|pod| pod["spec"]["nodeName"].is_null());
    let waits = waits.and_then(|pod| pod["metadata"]["name"].as_str());
    let waits = waits.context("one that waits")?.to_owned();
    wait_told(&lab, &scheduler, &waits, MISSING)?;
    let more = NodeShape::default().object("more");
    lab.rest().create("/api/v1/nodes", &more)?;
    std::thread::sleep(crate::QUIET);
    ensure!(lab.running("gone-")? == 2, "bound without its group");
    make_gang(&lab, "gone", 2)?;
    wait_running(&lab, &scheduler, "gone-", 3)
}

#[test]
fn a_gang_that_asks_for_more_pods_than_there_are_says_both_numbers() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "16", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_gang(&lab, "many", 7)?;
    make_members(&lab, "many", 0..4)?;
    let numbers = "valid: 4, min: 7: make 3 more of its pods, or lower minCount";
    wait_told(&lab, &scheduler, "many-3", numbers)?;
    let why = wait_placed(&lab, &scheduler, "many", false)?;
    // The numbers of the group follow a while later.
    ensure!(why.contains("min: 7"), "{why}");
    stays_pending(&lab, "many-")?;
    make_members(&lab, "many", 4..7)?;
    wait_running(&lab, &scheduler, "many-", 7)
}

#[test]
fn of_two_groups_that_a_pod_names_the_one_of_kubernetes_counts_and_says_so() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let volcano = pod_group("easy", &json!({"minMember": 1, "queue": "default"}));
    lab.rest().create(GROUPS, &volcano)?;
    make_gang(&lab, "both", 2)?;
    let mut member = native_member("both-0", "both");
    member["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "easy"});
    lab.rest().create(PODS, &member)?;
    let told = wait_event(&lab, &scheduler, "both", "GroupNamedTwice")?;
    ensure!(told.contains("both-0"), "{told}");
    stays_pending(&lab, "both-")?;
    make_members(&lab, "both", 1..2)?;
    wait_running(&lab, &scheduler, "both-", 2)?;
    // The other one has no pods, and says nothing else.
    let phase = lab.group_phase("easy")?;
    ensure!(["Pending", "Inqueue"].contains(&&*phase), "{phase}");
    Ok(())
}

#[test]
fn what_a_group_asks_and_nobody_does_is_told_and_its_pods_wait() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    // The API server refuses what has no sense, before anybody reads it.
    for policy in [json!({}), json!({"gang": {"minCount": 0}})] {
        let spec = json!({"schedulingPolicy": policy});
        let refused = lab.rest().create(NATIVE, &native_group("no", &spec));
        ensure!(refused.is_err(), "{policy}: {refused:?}");
    }
    // A label that no node has.
    let spec = json!({
        "schedulingPolicy": {"basic": {}},
        "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
    });
    lab.rest().create(NATIVE, &native_group("racked", &spec))?;
    make_members(&lab, "racked", 0..1)?;
    wait_told(&lab, &scheduler, "racked-0", "label example.com/rack")?;
    let why = wait_placed(&lab, &scheduler, "racked", false)?;
    ensure!(why.contains("example.com/rack"), "{why}");
    stays_pending(&lab, "racked-")
}
