//! Random small clusters and configurations, repeatable by seed.
//!
//! ```text
//!  seed ─► theme (which features this cluster has) ─► classes, queues, nodes, groups ─► pods
//!  seed ─► conf text: one of the shipped ones, or a random choice of plugins and arguments
//!  seed ─► a cluster that changes: step by step, the deltas of what happened to it
//! ```
//!
//! Amounts come from few values, so nodes tie often and fill up. Every cluster has only some of the
//! features: one with all of them would seldom place anything.

mod asking;
mod changes;
mod claims;
mod conf;
mod constraints;
mod containers;
mod device_quotas;
mod devices;
mod extender;
mod fragmentation;
mod gcus;
mod giver;
mod group_claims;
mod groups;
mod kinds;
mod left_claims;
mod mig;
mod mindcluster;
mod native;
mod network;
mod nodes;
mod npus;
mod numa;
mod parts;
mod pods;
mod rng;
mod sgpus;
mod storage;
#[cfg(test)]
mod tests;
mod trees;
mod vendors;
mod victims;

use pumice_model::delta::Delta;
use pumice_model::object::{NodeObject, NodeUsage, Pairs, PodObject};

use crate::naive::START_S;

pub use asking::gang_that_claims;
pub use changes::Changing;
pub use claims::{claims_cluster, claims_conf_text};
pub use conf::{conf_text, network_conf_text, npu_conf_text, vendor_conf_text};
pub use extender::{extender_answers, extender_conf_text, extender_moments};
pub use fragmentation::fragmentation_conf_text;
pub use numa::{numa_cluster, numa_conf_text};
pub use parts::partitioned_cluster;
use rng::Rng;
pub use trees::{trees_cluster, trees_conf_text};
pub use victims::{
    CardShares, cluster_of_cards, evicting_conf_text, full_cluster, full_network_cluster,
    full_protected_cluster, full_timed_cluster, full_tree_cluster, full_varied_cluster,
    full_vendor_cluster, gangs_in_domains_conf_text, moments, protecting_conf_text,
    timed_conf_text, tree_conf_text,
};

const MIB: i64 = 1024 * 1024;
const GPU: &str = "nvidia.com/gpu";

/// A cluster of 1 to 12 nodes and 0 to 40 pods: only `…Apply` deltas, each identity once, in an
/// order that means nothing.
#[must_use]
pub fn cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 1);
    let theme = Theme::new(&mut rng);
    objects(&mut rng, &theme)
}

/// A cluster of 100 to 400 nodes and about 60 to 200 pods of few kinds, so that the same question
/// is asked many times; otherwise as [`cluster`].
#[must_use]
pub fn wide_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 3);
    let theme = Theme::wide(&mut rng);
    objects(&mut rng, &theme)
}

/// A small cluster in which NPUs decide more than anything else; otherwise as [`cluster`].
#[must_use]
pub fn npu_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 23);
    let theme = Theme::of_npus(&mut rng);
    objects(&mut rng, &theme)
}

/// A small cluster in which vGPUs decide more than anything else; otherwise as [`cluster`].
#[must_use]
pub fn vgpu_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 72);
    let theme = Theme::of_vgpus(&mut rng);
    objects(&mut rng, &theme)
}

/// A small cluster in which cards of HAMi's vendors decide more than anything else; otherwise as
/// [`cluster`].
#[must_use]
pub fn vendor_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 51);
    let theme = Theme::of_vendors(&mut rng);
    objects(&mut rng, &theme)
}

/// A small cluster in which HyperNodes decide more than anything else; otherwise as [`cluster`].
#[must_use]
pub fn network_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 26);
    let theme = Theme::of_network(&mut rng);
    objects(&mut rng, &theme)
}

/// A small cluster of vGPUs in which jobs ask for a place among HyperNodes; otherwise as [`cluster`].
#[must_use]
pub fn vgpu_network_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 73);
    let theme = Theme {
        npus: Vec::new(),
        mindcluster: false,
        devices: true,
        ..Theme::of_network(&mut rng)
    };
    objects(&mut rng, &theme)
}

fn objects(rng: &mut Rng, theme: &Theme) -> Vec<Delta> {
    let mut nodes = nodes::nodes(rng, theme);
    let queues = groups::queues(rng, theme);
    let names: Vec<String> = queues.iter().map(|queue| queue.name.clone()).collect();
    let mut groups = groups::groups(rng, theme, &names);
    let mut pods = pods::pods(rng, theme, &nodes, &mut groups, &names);
    let mut all = nodes::surroundings(rng, theme);
    // A source of its own: everything else is the same with and without storage.
    let mut of_storage = Rng::new(rng.clone().next(), 9);
    all.extend(storage::surroundings(&mut of_storage, theme, &nodes));
    all.extend(storage::furnish(&mut of_storage, theme, &mut pods));
    let mut of_devices = Rng::new(rng.clone().next(), 12);
    all.extend(devices::furnish(
        &mut of_devices,
        theme,
        &mut nodes,
        &mut pods,
    ));
    let mut of_npus = Rng::new(rng.clone().next(), 22);
    npus::furnish(&mut of_npus, theme, &mut nodes, &mut pods);
    all.extend(mindcluster::furnish(
        &mut of_npus,
        theme,
        &mut nodes,
        &mut pods,
    ));
    let mut of_vendors = Rng::new(rng.clone().next(), 52);
    vendors::furnish(&mut of_vendors, theme, &mut nodes, &mut pods);
    let mut of_network = Rng::new(rng.clone().next(), 27);
    all.extend(network::furnish(
        &mut of_network,
        theme,
        &nodes,
        &mut groups,
    ));
    let mut of_natives = Rng::new(rng.clone().next(), 91);
    native::furnish(&mut of_natives, &mut groups, &mut pods);
    let mut of_trees = Rng::new(rng.clone().next(), 95);
    trees::furnish(&mut of_trees, theme, &names, &mut groups, &mut pods);
    all.extend(
        nodes
            .into_iter()
            .map(|node| Delta::NodeApply(Box::new(node))),
    );
    all.extend(
        queues
            .into_iter()
            .map(|queue| Delta::QueueApply(Box::new(queue))),
    );
    all.extend(
        groups
            .into_iter()
            .map(|group| Delta::GroupApply(Box::new(group))),
    );
    all.extend(pods.into_iter().map(|pod| Delta::PodApply(Box::new(pod))));
    if rng.one_in(3) {
        all.push(Delta::GroupController(Some("ns/controller".to_owned())));
    }
    rng.shuffle(&mut all);
    let measured = usage(&mut Rng::new(rng.clone().next(), 41), &all);
    all.extend(measured);
    all
}

/// What was measured of some nodes, which are known by then.
fn usage(rng: &mut Rng, objects: &[Delta]) -> Vec<Delta> {
    let nodes = objects.iter().filter_map(|object| match object {
        Delta::NodeApply(node) => Some(&node.name),
        _ => None,
    });
    let mut measured = Vec::new();
    for node in nodes {
        let usage = NodeUsage {
            cpu: rng.pick(&[0, 10_000, 20_000, 45_000, 61_234, 80_000, 80_000, 80_001]),
            memory: rng.pick(&[0, 10_000, 20_000, 45_000, 61_234, 80_000, 80_000, 90_000]),
            at_s: START_S - rng.pick(&[0, 0, 5, 60, 290, 295, 299, 300, 301]),
        };
        if !rng.one_in(4) {
            measured.push(Delta::NodeUsage {
                node: node.clone(),
                usage: Some(usage),
            });
        }
    }
    measured
}

/// Which features a cluster has.
struct Theme {
    taints: bool,
    gpu: bool,
    oversubscription: bool,
    images: bool,
    node_affinity: bool,
    pod_affinity: bool,
    spread: bool,
    ports: bool,
    gates: bool,
    best_effort: bool,
    roles: bool,
    sub_groups: bool,
    queue_limits: bool,
    hierarchy: bool,
    odd: bool,
    volumes: bool,
    devices: bool,
    /// NPUs of MindCluster.
    mindcluster: bool,
    /// HyperNodes, and jobs that ask for a place among them.
    network: bool,
    /// CompositePodGroups above most groups.
    trees: bool,
    /// Nodes tell of their CPUs.
    numa: bool,
    /// Nodes have devices, which pods claim.
    claims: bool,
    /// Types of NPUs of HAMi.
    npus: Vec<usize>,
    /// Vendors of HAMi.
    makers: Vec<usize>,
    /// Most pods are of the same size and unconstrained.
    uniform: bool,
    /// Few nodes, so that pods compete.
    tight: bool,
    /// Hundreds of nodes, and pods of the kinds these seeds stand for; few nodes when empty.
    kinds: Vec<u64>,
    /// Pods are tied to others by zone only, and zones are large.
    zonal: bool,
}

impl Theme {
    fn new(rng: &mut Rng) -> Self {
        Self {
            taints: rng.one_in(3),
            gpu: rng.one_in(3),
            oversubscription: rng.one_in(5),
            images: rng.one_in(4),
            node_affinity: rng.one_in(3),
            pod_affinity: rng.one_in(3),
            spread: rng.one_in(3),
            ports: rng.one_in(5),
            gates: rng.one_in(6),
            best_effort: rng.one_in(3),
            roles: rng.one_in(3),
            sub_groups: rng.one_in(3),
            queue_limits: rng.one_in(2),
            hierarchy: !rng.one_in(4),
            odd: rng.one_in(3),
            volumes: Rng::new(rng.clone().next(), 8).one_in(3),
            devices: Rng::new(rng.clone().next(), 11).one_in(3),
            npus: Vec::new(),
            makers: Vec::new(),
            mindcluster: false,
            numa: false,
            claims: false,
            network: Rng::new(rng.clone().next(), 40).one_in(16),
            trees: false,
            uniform: rng.one_in(4),
            tight: rng.one_in(2),
            kinds: Vec::new(),
            zonal: false,
        }
    }

    /// Few things besides NPUs decide.
    fn of_npus(rng: &mut Rng) -> Self {
        let kind = rng.below(4);
        Self {
            npus: match kind {
                0 => Vec::new(),
                _ => npus::kinds(rng),
            },
            mindcluster: kind < 2,
            devices: rng.one_in(4),
            taints: false,
            oversubscription: false,
            node_affinity: false,
            pod_affinity: false,
            spread: false,
            ports: false,
            volumes: false,
            odd: false,
            uniform: true,
            ..Self::new(rng)
        }
    }

    /// Few things besides cards of HAMi's vendors decide.
    fn of_vendors(rng: &mut Rng) -> Self {
        Self {
            npus: Vec::new(),
            makers: vendors::makers(rng),
            mindcluster: false,
            // Their resource is one of a vendor.
            gpu: false,
            devices: rng.one_in(4),
            ..Self::of_npus(rng)
        }
    }

    /// Few things besides vGPUs decide.
    fn of_vgpus(rng: &mut Rng) -> Self {
        Self {
            npus: Vec::new(),
            mindcluster: false,
            devices: true,
            ..Self::of_npus(rng)
        }
    }

    /// Few things besides the network decide.
    fn of_network(rng: &mut Rng) -> Self {
        let theme = Self::new(rng);
        Self {
            network: true,
            taints: rng.one_in(12),
            node_affinity: rng.one_in(12),
            pod_affinity: rng.one_in(8),
            spread: rng.one_in(8),
            ports: rng.one_in(12),
            volumes: rng.one_in(12),
            devices: rng.one_in(12),
            sub_groups: rng.one_in(2),
            uniform: rng.one_in(2),
            tight: rng.one_in(6),
            ..theme
        }
    }

    /// Few things besides trees of groups decide.
    fn of_trees(rng: &mut Rng) -> Self {
        let theme = Self::new(rng);
        Self {
            trees: true,
            network: false,
            volumes: false,
            devices: false,
            sub_groups: false,
            taints: rng.one_in(12),
            node_affinity: rng.one_in(12),
            pod_affinity: rng.one_in(12),
            spread: rng.one_in(12),
            ports: rng.one_in(12),
            odd: rng.one_in(12),
            uniform: rng.one_in(2),
            ..theme
        }
    }

    /// Constraints that tie a pod to others are more frequent than in a small cluster, what tells
    /// members of one group apart is rarer.
    fn wide(rng: &mut Rng) -> Self {
        let kinds = (0..rng.between(1, 4)).map(|_| rng.next()).collect();
        Self {
            pod_affinity: rng.one_in(2),
            spread: rng.one_in(2),
            roles: rng.one_in(6),
            sub_groups: rng.one_in(8),
            tight: false,
            kinds,
            zonal: rng.one_in(2),
            ..Self::new(rng)
        }
    }

    fn has_npus(&self) -> bool {
        self.mindcluster || !self.npus.is_empty()
    }

    fn is_wide(&self) -> bool {
        !self.kinds.is_empty()
    }
}

fn pairs(list: &[(&str, &str)]) -> Pairs {
    let mut pairs: Pairs = list
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    pairs.sort();
    pairs
}

fn amount(list: &[(String, i64)], name: &str) -> i64 {
    let found = list.iter().find(|(known, _)| known == name);
    found.map_or(0, |(_, amount)| *amount)
}

/// What the pods on the node leave of what it offers covers the request.
fn has_room(node: &NodeObject, pods: &[PodObject], pod: &PodObject) -> bool {
    let there = pods
        .iter()
        .filter(|other| other.node.as_ref() == Some(&node.name));
    let there: Vec<&PodObject> = there.collect();
    let request = pod.request.iter();
    leave_room(
        node,
        &there,
        request.map(|(name, wanted)| (name.as_str(), *wanted)),
    )
}

/// Whether these pods leave so much of a node.
fn leave_room<'a>(
    node: &NodeObject,
    there: &[&PodObject],
    mut wanted: impl Iterator<Item = (&'a str, i64)>,
) -> bool {
    wanted.all(|(name, wanted)| {
        let used: i64 = there.iter().map(|other| amount(&other.request, name)).sum();
        used + wanted <= amount(&node.allocatable, name)
    })
}

/// The nodes among objects.
fn nodes_of<'a>(all: impl IntoIterator<Item = &'a Delta>) -> Vec<NodeObject> {
    let nodes = all.into_iter().filter_map(|object| match object {
        Delta::NodeApply(node) => Some(NodeObject::clone(node)),
        _ => None,
    });
    nodes.collect()
}

/// The pods among objects.
fn pods_of<'a>(all: impl IntoIterator<Item = &'a Delta>) -> Vec<PodObject> {
    let pods = all.into_iter().filter_map(|object| match object {
        Delta::PodApply(pod) => Some(PodObject::clone(pod)),
        _ => None,
    });
    pods.collect()
}
