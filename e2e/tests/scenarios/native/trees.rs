//! Trees of CompositePodGroups and PodGroups.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, NodeShape, Scheduler, Setup};
use serde_json::{Value, json};

use super::{NATIVE, make_members, native_group, wait_placed, wait_told};
use crate::{LIMIT, stays_pending, wait_running};

/// Collection of CompositePodGroups.
const COMPOSITES: &str = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups";

/// What the API server wants of whatever is part of a tree; nobody reads it.
fn template() -> Value {
    json!({"workloadName": "tree", "templateName": "part"})
}

/// Makes a CompositePodGroup that needs so many of its groups at once, at the top or below another one.
fn make_composite(lab: &Lab, name: &str, needs: usize, parent: Option<&str>) -> Result<()> {
    let object = json!({
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name},
        "spec": {
            "parentCompositePodGroupName": parent,
            "workloadRef": template(),
            "schedulingPolicy": {"gang": {"minGroupCount": needs}},
        },
    });
    lab.rest().create(COMPOSITES, &object)?;
    Ok(())
}

/// Makes a PodGroup of two pods within a CompositePodGroup, and its pods.
fn make_pair(lab: &Lab, name: &str, parent: &str) -> Result<()> {
    let spec = json!({
        "parentCompositePodGroupName": parent,
        "workloadRef": template(),
        "schedulingPolicy": {"gang": {"minCount": 2}},
    });
    lab.rest().create(NATIVE, &native_group(name, &spec))?;
    make_members(lab, name, 0..2)
}

/// Waits until a CompositePodGroup says whether it was placed; the words.
fn wait_whole(lab: &Lab, scheduler: &Scheduler, name: &str, placed: &str) -> Result<String> {
    scheduler.eventually(LIMIT, &format!("{name} says {placed}"), || {
        let group = lab.rest().get(&format!("{COMPOSITES}/{name}"))?;
        let mut all = group["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let told = all.find(|one| one["type"] == "CompositePodGroupInitiallyScheduled");
        let told = told.context("no such condition")?;
        ensure!(told["status"] == placed, "{told}");
        Ok(told["message"].as_str().map(str::to_owned))
    })
}

#[test]
fn a_tree_is_bound_with_as_many_whole_groups_as_each_level_needs_also_by_the_next_process()
-> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "3", "8Gi")?;
    let mut scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_composite(&lab, "all", 2, None)?;
    make_composite(&lab, "inner", 1, Some("all"))?;
    make_pair(&lab, "first", "all")?;
    make_pair(&lab, "second", "inner")?;
    // There is room for one pair, and both are needed.
    let why = wait_whole(&lab, &scheduler, "all", "False")?;
    ensure!(
        why.contains("Insufficient cpu") || why.contains("full"),
        "{why}"
    );
    let why = wait_placed(&lab, &scheduler, "second", false)?;
    ensure!(why.contains("part of CompositePodGroup all"), "{why}");
    for pair in ["first-", "second-"] {
        stays_pending(&lab, pair)?;
    }
    scheduler.process().kill();
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let more = NodeShape::default().object("more");
    lab.rest().create("/api/v1/nodes", &more)?;
    for pair in ["first", "second"] {
        wait_running(&lab, &scheduler, &format!("{pair}-"), 2)?;
        wait_placed(&lab, &scheduler, pair, true)?;
    }
    wait_whole(&lab, &scheduler, "all", "True").map(|_| ())
}

#[test]
fn who_waits_for_a_composite_group_or_for_groups_of_it_says_what_to_make() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    make_pair(&lab, "early", "late")?;
    let missing = "names CompositePodGroup late as its parent, which is not there: create it";
    wait_told(&lab, &scheduler, "early-", missing)?;
    stays_pending(&lab, "early-")?;
    make_composite(&lab, "late", 2, None)?;
    let alone = "CompositePodGroup late needs 2 of its groups at once, and has 1 at all";
    wait_told(&lab, &scheduler, "early-", alone)?;
    make_pair(&lab, "other", "late")?;
    for pair in ["early-", "other-"] {
        wait_running(&lab, &scheduler, pair, 2)?;
    }
    Ok(())
}
