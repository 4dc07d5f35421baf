//! HyperNodes that change, gangs that ask for a place among them, and what can be promised of it: when a
//! Binding of a gang in hard mode lands, its pods that run or are bound stand within one domain of a tier
//! that is allowed, as HyperNodes were at some time within [`WINDOW_MS`]. What moves later, or was bound by
//! others, or is on its way out, is not looked at (spec/08 §4).

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::Delta;
use pumice_model::object::{
    HighestTier, HyperNodeMembers, HyperNodeObject, PodObject, TopologyRequest,
};

use super::Simulation;
use super::invariant::{Broken, Invariant, WINDOW_MS};
use super::rng::Rng;
use super::server::{VirtualServer, holds, key};
use super::server_kind::ServerKind;

/// HyperNodes by name.
type HyperNodeTree = BTreeMap<String, HyperNodeObject>;

const RACKS: u64 = 3;
const SPINES: u64 = 2;

fn hyper_node(name: String, tier: i64, members: Vec<HyperNodeMembers>) -> HyperNodeObject {
    HyperNodeObject {
        uid: format!("uid-{name}"),
        name,
        tier,
        tier_name: String::new(),
        members,
    }
}

/// A rack with some of the nodes.
fn rack(rng: &mut Rng, at: u64) -> HyperNodeObject {
    let nodes = (0..5).filter(|node| match rng.percent(85) {
        true => node / 2 == at,
        false => rng.percent(20),
    });
    let members = nodes.map(|node| HyperNodeMembers::Node(format!("n{node}")));
    hyper_node(format!("r{at}"), 1, members.collect())
}

/// A spine with some of the racks.
fn spine(rng: &mut Rng, at: u64) -> HyperNodeObject {
    let racks = (0..RACKS).filter(|rack| match rng.percent(85) {
        true => rack / 2 == at,
        false => rng.percent(20),
    });
    let members = racks.map(|rack| HyperNodeMembers::Child(format!("r{rack}")));
    hyper_node(format!("s{at}"), 2, members.collect())
}

/// What a gang asks of the network.
pub(super) fn request(rng: &mut Rng) -> Option<TopologyRequest> {
    match rng.below(10) {
        0..4 => Some(TopologyRequest::Hard(HighestTier::Number(1))),
        4..7 => Some(TopologyRequest::Hard(HighestTier::Number(2))),
        7 => Some(TopologyRequest::Soft),
        _ => None,
    }
}

impl Simulation {
    /// The first HyperNodes, in simulations that have any.
    pub(super) fn build_network(&mut self) {
        let Some(rng) = &mut self.topology else {
            return;
        };
        self.server.has_hyper_nodes = true;
        for at in 0..RACKS {
            self.server.put_hyper_node(rack(rng, at));
        }
        for at in 0..SPINES {
            self.server.put_hyper_node(spine(rng, at));
        }
    }

    /// Now and then a HyperNode comes, changes or goes.
    pub(super) fn change_network(&mut self) {
        let Some(rng) = &mut self.topology else {
            return;
        };
        if !rng.percent(12) {
            return;
        }
        let object = match rng.percent(70) {
            true => {
                let at = rng.below(RACKS);
                rack(rng, at)
            }
            false => {
                let at = rng.below(SPINES);
                spine(rng, at)
            }
        };
        let name = object.name.clone();
        if rng.percent(15) {
            self.history.push(format!("HyperNode {name} is deleted"));
            self.server.remove_hyper_node(&name);
        } else {
            let members = &object.members;
            self.history.push(format!("HyperNode {name}: {members:?}"));
            self.server.put_hyper_node(object);
        }
    }
}

/// The highest tier of a domain for the gang of a pod, if it asks for one.
pub(super) fn allowed_tier(server: &VirtualServer, pod: &PodObject) -> Option<i64> {
    let group = pod.group.as_ref()?;
    match server.groups.get(&key(&pod.namespace, group))?.topology {
        Some(TopologyRequest::Hard(HighestTier::Number(tier))) => Some(tier),
        _ => None,
    }
}

/// A Binding of this pod has landed.
///
/// # Errors
/// Its gang stands in no domain that is allowed.
pub(super) fn check(server: &VirtualServer, bound: &PodObject) -> Result<(), Broken> {
    let Some(tier) = allowed_tier(server, bound) else {
        return Ok(());
    };
    let of_it = |pod: &&PodObject| {
        let same = (&pod.namespace, &pod.group) == (&bound.namespace, &bound.group);
        same && holds(pod) && !pod.deleting
    };
    let members = server.pods.values().filter(of_it);
    let there = members.filter_map(|pod| pod.node.clone());
    let nodes: BTreeSet<String> = there
        .filter(|node| server.nodes.contains_key(node))
        .collect();
    let trees = recent_trees(server);
    let stands = trees.iter().any(|tree| {
        // The whole cluster is a domain, too, above all others.
        let highest = tree.values().map(|domain| domain.tier).max();
        if highest.map_or(1, |highest| highest + 1) <= tier {
            return true;
        }
        let mut allowed = tree.values().filter(|domain| domain.tier <= tier);
        allowed.any(|domain| nodes.is_subset(&nodes_of(tree, domain)))
    });
    if stands {
        return Ok(());
    }
    let text = format!(
        "{} is bound, and its gang stands on {nodes:?}, which no domain of tier {tier} has",
        bound.uid
    );
    Err(Invariant::Domain.broken(text))
}

/// The nodes of a domain.
fn nodes_of(tree: &HyperNodeTree, domain: &HyperNodeObject) -> BTreeSet<String> {
    let mut nodes = BTreeSet::new();
    for member in &domain.members {
        match member {
            HyperNodeMembers::Node(name) => {
                nodes.insert(name.clone());
            }
            HyperNodeMembers::Child(name) => {
                let child = tree.get(name).filter(|child| child.tier < domain.tier);
                nodes.extend(child.into_iter().flat_map(|child| nodes_of(tree, child)));
            }
            _ => {}
        }
    }
    nodes
}

/// The HyperNodes as they were at any time within the window.
fn recent_trees(server: &VirtualServer) -> Vec<HyperNodeTree> {
    let from_ms = server.now_ms().saturating_sub(WINDOW_MS);
    let mut trees = vec![HyperNodeTree::new()];
    let events = server.events.iter();
    for event in events.filter(|event| event.kind == ServerKind::HyperNode) {
        let mut tree = trees.last().cloned().unwrap_or_default();
        match &event.delta {
            Delta::HyperNodeApply(object) => {
                tree.insert(object.name.clone(), HyperNodeObject::clone(object));
            }
            _ => {
                tree.remove(&event.key);
            }
        }
        if event.at_ms < from_ms {
            trees.clear();
        }
        trees.push(tree);
    }
    trees
}
