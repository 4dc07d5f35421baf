//! Where pods of a group are placed, and what the group says of it.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Controllers, Lab, NodeShape, Scheduler, Setup};
use serde_json::json;

use super::{
    NATIVE, PLACED, bound_names, condition_of, make_basic, make_gang, make_members, native_group,
    native_member, wait_placed, wait_told,
};
use crate::controllers::make_queue;
use crate::{GROUPS, PODS, bare_pod, stays_pending, wait_bound, wait_running};

#[test]
fn a_gang_is_bound_whole_or_not_at_all_and_says_for_ever_that_it_was() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "1", "8Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_gang(&lab, "train", 3)?;
    make_members(&lab, "train", 0..3)?;
    let why = wait_placed(&lab, &scheduler, "train", false)?;
    ensure!(
        why.contains("Insufficient cpu") || why.contains("full"),
        "{why}"
    );
    stays_pending(&lab, "train-")?;
    let waited = condition_of(&lab, "train", PLACED)?.context("a condition")?;
    let more = NodeShape::default().object("more");
    lab.rest().create("/api/v1/nodes", &more)?;
    wait_running(&lab, &scheduler, "train-", 3)?;
    wait_placed(&lab, &scheduler, "train", true)?;
    let placed = condition_of(&lab, "train", PLACED)?.context("a condition")?;
    let time = |told: &serde_json::Value| told["lastTransitionTime"].as_str().map(str::to_owned);
    ensure!(time(&waited) <= time(&placed), "{waited}, then {placed}");
    // Who comes in the place of one that is gone waits alone, and what was said stays.
    lab.delete("/api/v1/nodes/more")?;
    let gone = lab.bound("train-")?;
    let gone = gone.iter().find(|(_, node)| *node == "more");
    let (gone, _) = gone.context("a pod there")?;
    let name = gone.replacen("default/", "", 1);
    lab.delete(&format!("{PODS}/{name}"))?;
    make_members(&lab, "train", 3..4)?;
    wait_told(&lab, &scheduler, "train-3", "Unschedulable")?;
    let later = condition_of(&lab, "train", PLACED)?.context("a condition")?;
    ensure!(later == placed, "{placed}, then {later}");
    Ok(())
}

#[test]
fn a_gang_waits_until_as_many_pods_are_there_as_it_needs() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_gang(&lab, "pair", 2)?;
    make_members(&lab, "pair", 0..1)?;
    wait_told(&lab, &scheduler, "pair-0", "valid: 1, min: 2")?;
    stays_pending(&lab, "pair-")?;
    make_members(&lab, "pair", 1..2)?;
    wait_running(&lab, &scheduler, "pair-", 2)?;
    wait_placed(&lab, &scheduler, "pair", true).map(|_| ())
}

#[test]
fn pods_of_a_basic_group_are_bound_one_by_one() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "2", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_basic(&lab, "each")?;
    make_members(&lab, "each", 0..1)?;
    wait_running(&lab, &scheduler, "each-", 1)?;
    wait_placed(&lab, &scheduler, "each", true)?;
    make_members(&lab, "each", 1..4)?;
    wait_running(&lab, &scheduler, "each-", 2)?;
    let more = NodeShape {
        cpu: "8",
        ..NodeShape::default()
    };
    lab.rest().create("/api/v1/nodes", &more.object("more"))?;
    wait_running(&lab, &scheduler, "each-", 4)
}

#[test]
fn as_many_as_the_gang_needs_start_and_the_others_follow_when_there_is_room() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("blocks", Some("2")))?;
    wait_running(&lab, &scheduler, "blocks", 1)?;
    make_gang(&lab, "some", 2)?;
    make_members(&lab, "some", 0..4)?;
    wait_running(&lab, &scheduler, "some-", 2)?;
    wait_placed(&lab, &scheduler, "some", true)?;
    lab.delete(&format!("{PODS}/blocks"))?;
    wait_running(&lab, &scheduler, "some-", 4)
}

#[test]
fn of_two_gangs_that_fit_only_one_by_one_neither_keeps_the_other_out() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(3, "1", "8Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    for gang in ["one", "two"] {
        make_gang(&lab, gang, 3)?;
    }
    for n in 0..3 {
        make_members(&lab, "two", n..n + 1)?;
        make_members(&lab, "one", n..n + 1)?;
    }
    let first = scheduler.eventually(crate::LIMIT, "one of both runs", || {
        let whole = ["one", "two"].into_iter();
        let mut whole = whole.filter(|gang| lab.running(&format!("{gang}-")).ok() == Some(3));
        Ok(whole.next())
    })?;
    let other = ["one", "two"].into_iter().find(|gang| *gang != first);
    let other = other.context("another one")?;
    stays_pending(&lab, &format!("{other}-"))?;
    for name in bound_names(&lab, first)? {
        lab.delete(&format!("{PODS}/{name}"))?;
    }
    wait_running(&lab, &scheduler, &format!("{other}-"), 3)
}

#[test]
fn all_pods_of_a_group_go_into_the_one_rack_that_has_room_for_them() -> Result<()> {
    let lab = Lab::take()?;
    for (name, rack, cpu) in [("a-0", "a", "2"), ("b-0", "b", "1"), ("b-1", "b", "2")] {
        let mut node = NodeShape {
            cpu,
            ..NodeShape::default()
        }
        .object(name);
        node["metadata"]["labels"]["example.com/rack"] = json!(rack);
        lab.rest().create("/api/v1/nodes", &node)?;
    }
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let spec = json!({
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "example.com/rack"}]},
    });
    lab.rest().create(NATIVE, &native_group("close", &spec))?;
    make_members(&lab, "close", 0..3)?;
    wait_running(&lab, &scheduler, "close-", 3)?;
    let nodes = lab.bound("close-")?.into_values();
    let strays: Vec<_> = nodes.filter(|node| !node.starts_with("b-")).collect();
    ensure!(strays.is_empty(), "outside of the rack: {strays:?}");
    // As much room is left, and not in one rack.
    lab.rest().create(NATIVE, &native_group("wide", &spec))?;
    make_members(&lab, "wide", 0..3)?;
    wait_told(&lab, &scheduler, "wide-0", "rack")?;
    stays_pending(&lab, "wide-")
}

#[test]
fn the_queue_that_the_group_names_limits_it() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "small"}, "spec": {"weight": 1, "capability": {"cpu": "2"}},
    });
    lab.rest()
        .create("/apis/scheduling.volcano.sh/v1beta1/queues", &queue)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let in_queue = |name: &str, count: usize| -> Result<()> {
        let spec = json!({"schedulingPolicy": {"gang": {"minCount": count}}});
        let mut group = native_group(name, &spec);
        group["metadata"]["annotations"] = json!({"scheduling.volcano.sh/queue-name": "small"});
        lab.rest().create(NATIVE, &group)?;
        make_members(&lab, name, 0..count)
    };
    in_queue("large", 3)?;
    // Which of its pods is the one too many is chance.
    scheduler.eventually(
        crate::LIMIT,
        "large says that its queue holds it back",
        || {
            let words = wait_placed(&lab, &scheduler, "large", false)?;
            ensure!(words.contains("queue \"small\""), "{words}");
            Ok(Some(()))
        },
    )?;
    in_queue("fits", 2)?;
    wait_running(&lab, &scheduler, "fits-", 2)?;
    stays_pending(&lab, "large-")
}

#[test]
fn our_controllers_make_no_podgroup_for_pods_that_name_one_of_kubernetes() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    make_queue(&lab)?;
    let _controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_gang(&lab, "own", 2)?;
    make_members(&lab, "own", 0..1)?;
    // Made after it, so whoever makes PodGroups has seen both when this one runs.
    lab.rest().create(PODS, &bare_pod("bare", Some("1")))?;
    wait_running(&lab, &scheduler, "bare", 1)?;
    let groups = lab.rest().list(GROUPS)?;
    ensure!(groups.len() == 1, "{groups:?}");
    stays_pending(&lab, "own-")?;
    lab.rest().create(PODS, &native_member("own-1", "own"))?;
    wait_bound(&lab, &scheduler, "own-", 2)?;
    let groups = lab.rest().list(GROUPS)?;
    ensure!(groups.len() == 1, "{groups:?}");
    Ok(())
}
