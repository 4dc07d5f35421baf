//! HyperNodes, and what PodGroups ask of the network.

use pumice_model::delta::Delta;
use pumice_model::object::{
    GroupObject, HighestTier, HyperNodeMembers, HyperNodeObject, NodeObject, Selector,
    TopologyRequest,
};

use super::Theme;
use super::nodes::is;
use super::rng::Rng;

/// Tier names that PodGroups ask for; the last one is nobody's.
const TIER_NAMES: &[&str] = &["rack", "spine", "room", "moon"];

/// HyperNodes in levels over most of the nodes; some are odd.
pub fn furnish(
    rng: &mut Rng,
    theme: &Theme,
    nodes: &[NodeObject],
    groups: &mut [GroupObject],
) -> Vec<Delta> {
    if !theme.network {
        return Vec::new();
    }
    groups.iter_mut().for_each(|group| ask(rng, theme, group));
    let tree = hyper_nodes(rng, nodes).into_iter();
    tree.map(|object| Delta::HyperNodeApply(Box::new(object)))
        .collect()
}

/// What a PodGroup and its sub-groups ask for.
pub fn ask(rng: &mut Rng, theme: &Theme, group: &mut GroupObject) {
    if !theme.network {
        return;
    }
    if !rng.one_in(4) {
        group.topology = Some(request(rng));
    }
    for policy in &mut group.sub_groups {
        policy.topology = rng.one_in(2).then(|| request(rng));
    }
}

fn request(rng: &mut Rng) -> TopologyRequest {
    match rng.below(16) {
        0..=4 => TopologyRequest::Soft,
        5..=11 => TopologyRequest::Hard(HighestTier::Number(rng.pick(&[0, 1, 1, 1, 2, 2, 3, 5]))),
        12..=14 => TopologyRequest::Hard(HighestTier::Name(rng.pick(TIER_NAMES).to_owned())),
        _ => TopologyRequest::Hard(HighestTier::Missing),
    }
}

fn hyper_nodes(rng: &mut Rng, nodes: &[NodeObject]) -> Vec<HyperNodeObject> {
    let mut names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    if rng.one_in(2) {
        rng.shuffle(&mut names);
    }
    // Some nodes are outside of the tree.
    let left_out = if rng.one_in(3) { rng.below(3) } else { 0 };
    names.truncate(names.len() - left_out.min(names.len()));
    let size = match nodes.len() {
        0..=20 => rng.between(1, 4),
        _ => rng.between(10, 40),
    };
    let mut tier = rng.pick(&[0, 1, 1, 1, 1, 2]);
    let mut all: Vec<HyperNodeObject> = names
        .chunks(size)
        .enumerate()
        .map(|(at, names)| hyper_node(format!("a{at}"), tier, 0, leaf(rng, names)))
        .collect();
    let mut below: Vec<String> = all.iter().map(|object| object.name.clone()).collect();
    for level in 1..rng.between(1, 3) {
        tier += rng.pick(&[1, 1, 1, 2]);
        let size = rng.between(1, 3);
        let prefix = ["b", "c"][level - 1];
        let parents = below.chunks(size).enumerate().map(|(at, names)| {
            let members = children(rng, names);
            hyper_node(format!("{prefix}{at}"), tier, level, members)
        });
        let parents: Vec<HyperNodeObject> = parents.collect();
        below = parents.iter().map(|object| object.name.clone()).collect();
        all.extend(parents);
    }
    let odd = if rng.one_in(2) { rng.below(4) } else { 0 };
    for _ in 0..odd {
        let changed = rng.below(all.len().max(1));
        let names: Vec<String> = all.iter().map(|object| object.name.clone()).collect();
        if let Some(object) = all.get_mut(changed) {
            spoil(rng, &names, object);
        }
    }
    all
}

pub(super) fn hyper_node(
    name: String,
    tier: i64,
    level: usize,
    members: Vec<HyperNodeMembers>,
) -> HyperNodeObject {
    HyperNodeObject {
        uid: format!("uid-{name}"),
        name,
        tier,
        tier_name: TIER_NAMES[level].to_owned(),
        members,
    }
}

/// Members that are nodes: by name, by pattern, by label.
fn leaf(rng: &mut Rng, names: &[&str]) -> Vec<HyperNodeMembers> {
    match rng.below(6) {
        0 => vec![HyperNodeMembers::NodesNamed(format!(
            "^({})$",
            names.join("|")
        ))],
        1 => {
            let zone = rng.pick(&["z0", "z1", "z2"]);
            vec![HyperNodeMembers::NodesLabelled(is("zone", zone))]
        }
        _ => {
            let names = names.iter();
            names
                .map(|name| HyperNodeMembers::Node((*name).to_owned()))
                .collect()
        }
    }
}

fn children(rng: &mut Rng, names: &[String]) -> Vec<HyperNodeMembers> {
    if rng.one_in(5) {
        let pattern = format!("^({})$", names.join("|"));
        return vec![HyperNodeMembers::ChildrenNamed(pattern)];
    }
    names.iter().cloned().map(HyperNodeMembers::Child).collect()
}

/// Makes a HyperNode odd: claims that cannot stand, members that are not there, tiers upside down.
fn spoil(rng: &mut Rng, names: &[String], object: &mut HyperNodeObject) {
    let member = match rng.below(14) {
        // A circle, itself, a second parent or a child of a higher tier.
        0..=2 => HyperNodeMembers::Child(rng.pick(names)),
        3 => HyperNodeMembers::ChildrenNamed(rng.pick(&["a", "b", "."]).to_owned()),
        4 => HyperNodeMembers::Child("missing".to_owned()),
        5 => HyperNodeMembers::Node(rng.pick(&["missing", "n0", "n1"]).to_owned()),
        6 => HyperNodeMembers::NodesLabelled(Selector::default()),
        7 | 8 => HyperNodeMembers::NodesNamed(rng.pick(&["1", "^n[0-3]$", "nobody"]).to_owned()),
        9 => HyperNodeMembers::NodesLabelled(is("zone", rng.pick(&["z0", "z1"]))),
        10 | 11 => {
            object.tier = rng.pick(&[0, 1, 2, 3, 4, 9]);
            return;
        }
        12 => {
            object.tier_name = rng.pick(&["", "rack", "spine", "room"]).to_owned();
            return;
        }
        _ => {
            object.members.clear();
            return;
        }
    };
    object.members.push(member);
}

/// A HyperNode that is altered, or another one that comes.
pub fn changed(
    rng: &mut Rng,
    nodes: &[NodeObject],
    known: &[HyperNodeObject],
) -> Option<HyperNodeObject> {
    let names: Vec<String> = known.iter().map(|object| object.name.clone()).collect();
    let fresh = hyper_nodes(rng, nodes);
    if names.is_empty() || rng.one_in(3) {
        return (!fresh.is_empty()).then(|| rng.pick(&fresh));
    }
    let mut object = rng.pick(known);
    match rng.below(4) {
        0 => object.members.truncate(1),
        _ => spoil(rng, &names, &mut object),
    }
    Some(object)
}
