//! Trees of PodGroups of Kubernetes itself (spec/03 §B11): CompositePodGroups above the groups of a cluster.

use std::fmt::Write;

use pumice_fixtures::kept_natively;
use pumice_model::delta::Delta;
use pumice_model::object::{
    COMPOSITE_GROUP, CompositePolicy, GroupCondition, GroupObject, HighestTier, NativeTraits,
    PodObject, TopologyRequest,
};

use super::nodes::NAMESPACES;
use super::rng::Rng;
use super::{Theme, groups, native, objects};

/// Labels of nodes of which parts ask for one value, most of a cluster of the same one.
const LABELS: &[&str] = &["zone", "zone", "disk", "gen", "kubernetes.io/hostname"];

/// A small cluster in which most groups are parts of trees; otherwise as [`super::cluster`].
#[must_use]
pub fn trees_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 93);
    let theme = Theme::of_trees(&mut rng);
    objects(&mut rng, &theme)
}

/// A configuration in which gangs count for more than anything else.
#[must_use]
pub fn trees_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 94);
    let actions = rng.pick(&[
        "enqueue, allocate",
        "allocate",
        "enqueue, allocate, backfill",
        "enqueue, allocate, backfill",
    ]);
    let mut text = format!("actions: \"{actions}\"\ntiers:\n- plugins:\n");
    text.push_str("  - name: gang\n");
    for (odds, plugin) in [
        (3, "priority"),
        (3, "drf"),
        (4, "predicates"),
        (3, "proportion"),
        (2, "nodeorder"),
        (2, "binpack"),
        (2, "network-topology-aware"),
    ] {
        if !rng.one_in(odds) {
            let _ = writeln!(text, "  - name: {plugin}");
            if rng.one_in(4) {
                text.push_str("- plugins:\n");
            }
        }
    }
    text.push_str("  - name: conformance\n");
    text
}

/// Puts CompositePodGroups above most groups, which are of Kubernetes itself then.
pub(super) fn furnish(
    rng: &mut Rng,
    theme: &Theme,
    queues: &[String],
    groups: &mut Vec<GroupObject>,
    pods: &mut [PodObject],
) {
    if !theme.trees {
        return;
    }
    let label = rng.pick(LABELS);
    let mut composites = Vec::new();
    for namespace in NAMESPACES {
        for index in 0..rng.pick(&[1, 2, 3, 4, 5]) {
            let known = names(&composites, namespace);
            let mut composite = composite(rng, theme, (namespace, index), queues);
            composite.native.parent = parent(rng, &known, 3);
            composite.topology = request(rng, 5, label);
            composites.push(composite);
        }
    }
    for group in groups.iter_mut() {
        if rng.one_in(6) {
            continue;
        }
        if !group.is_native {
            native::make(rng, group, pods);
        }
        let known = names(&composites, &group.namespace);
        group.native.parent = parent(rng, &known, 10);
        group.topology = request(rng, 8, label);
    }
    groups.append(&mut composites);
}

/// Names of the CompositePodGroups of a namespace, as others name them.
fn names(composites: &[GroupObject], namespace: &str) -> Vec<String> {
    let of_namespace = composites.iter().filter(|one| one.namespace == namespace);
    let names = of_namespace.filter_map(|one| one.name.strip_prefix(COMPOSITE_GROUP));
    names.map(str::to_owned).collect()
}

/// One of these as a parent; one time in so many nobody, and now and then one that is not there or makes a circle.
pub(super) fn parent(rng: &mut Rng, known: &[String], odds: usize) -> String {
    if rng.one_in(40) {
        return rng.pick(&["missing", "t0", "t1"]).to_owned();
    }
    if known.is_empty() || rng.one_in(odds) {
        return String::new();
    }
    rng.pick(known)
}

/// A CompositePodGroup at the top.
pub(super) fn composite(
    rng: &mut Rng,
    theme: &Theme,
    (namespace, index): (&str, usize),
    queues: &[String],
) -> GroupObject {
    let group = groups::group(rng, theme, index, queues);
    let mut status = group.status.clone();
    status.conditions.retain(|_| rng.one_in(2));
    for (odds, kind) in [(6, "Scheduled"), (12, "BoundInPart")] {
        if rng.one_in(odds) {
            status.conditions.push(GroupCondition {
                kind: kind.to_owned(),
                status: "True".to_owned(),
                ..GroupCondition::default()
            });
        }
    }
    GroupObject {
        namespace: namespace.to_owned(),
        name: format!("{COMPOSITE_GROUP}t{index}"),
        uid: format!("{}-t{index}", group.uid),
        min_member: 1,
        status: kept_natively(&status),
        is_native: true,
        native: NativeTraits {
            goes_whole: rng.one_in(6),
            priority: rng.pick(&[None, None, Some(0), Some(7)]),
            composite: Some(policy(rng)),
            ..NativeTraits::default()
        },
        created_s: group.created_s,
        queue: group.queue,
        priority_class: group.priority_class,
        ..GroupObject::default()
    }
}

/// How many of its groups one needs.
pub(super) fn policy(rng: &mut Rng) -> CompositePolicy {
    match rng.one_in(5) {
        true => CompositePolicy::Basic,
        false => CompositePolicy::Gang(rng.pick(&[1, 1, 2, 2, 2, 3])),
    }
}

/// One time in so many a label; seldom one that no node has.
fn request(rng: &mut Rng, odds: usize, label: &str) -> Option<TopologyRequest> {
    let label = match rng.below(20) {
        0 => "no-such",
        1..6 => rng.pick(LABELS),
        _ => label,
    };
    let asks = rng.one_in(odds);
    asks.then(|| TopologyRequest::Hard(HighestTier::Label(label.to_owned())))
}
