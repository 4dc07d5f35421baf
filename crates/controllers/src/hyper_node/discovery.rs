//! HyperNodes that follow from labels of nodes.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::hyper_node::{ExactMatch, HyperNodeMember, HyperNodeSpec, MemberSelector};
use pumice_api::{HyperNode, keys};

use super::conf::TopologyType;

/// Value of [`keys::NETWORK_TOPOLOGY_SOURCE`].
pub const LABEL_SOURCE: &str = "label";

/// HyperNodes there should be, and what is contradictory in the labels.
#[derive(Debug, Default, PartialEq)]
pub struct FoundTopology {
    /// By name.
    pub hyper_nodes: BTreeMap<String, HyperNode>,
    /// For people.
    pub conflicts: Vec<String>,
}

/// A value of a label on one level of a type.
#[derive(Debug, Default)]
struct Domain<'a> {
    /// Names of nodes, or values of the level below.
    members: BTreeSet<&'a str>,
    /// The value above it, and the node that said so first.
    above: Option<(&'a str, &'a str)>,
}

/// The HyperNodes that labels of nodes ask for. An object that is there keeps its name; others are
/// named after a hash, so that the same labels make the same names.
pub fn topology_of<'a>(
    types: &'a [TopologyType],
    nodes: impl Iterator<Item = &'a ObjectMeta> + Clone,
    existing: &[&HyperNode],
) -> FoundTopology {
    let mut found = FoundTopology::default();
    for one in types {
        let levels = domains(one, nodes.clone(), &mut found.conflicts);
        let mut below: BTreeMap<&str, String> = BTreeMap::new();
        for (at, (label, values)) in one.levels.iter().zip(levels).enumerate() {
            let tier = at + 1;
            let prefix = format!("hypernode-{}-tier{tier}-", one.name);
            let mut names = BTreeMap::new();
            for (value, domain) in values {
                let taken = |name: &str| found.hyper_nodes.contains_key(name);
                let name = name_of(&prefix, label, value, existing, taken);
                let members = domain.members.iter().map(|member| match tier {
                    1 => member_of("Node", member),
                    _ => member_of("HyperNode", below.get(member).map_or("", String::as_str)),
                });
                let members = members.collect();
                names.insert(value, name.clone());
                let hyper_node = hyper_node(&name, tier, (label, value), members);
                found.hyper_nodes.insert(name, hyper_node);
            }
            below = names;
        }
    }
    found
}

/// Values of each level, lowest first. A node counts up to the first label it does not have.
fn domains<'a>(
    one: &'a TopologyType,
    nodes: impl Iterator<Item = &'a ObjectMeta>,
    conflicts: &mut Vec<String>,
) -> Vec<BTreeMap<&'a str, Domain<'a>>> {
    let mut levels: Vec<BTreeMap<&str, Domain<'_>>> = Vec::new();
    levels.resize_with(one.levels.len(), BTreeMap::new);
    for node in nodes {
        let name = node.name.as_deref().unwrap_or_default();
        let mut member = name;
        for (at, label) in one.levels.iter().enumerate() {
            let labels = node.labels.as_ref();
            let value = labels.and_then(|labels| labels.get(label));
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                break;
            };
            if at > 0
                && let Some(child) = levels[at - 1].get_mut(member)
            {
                let (above, first) = *child.above.get_or_insert((value, name));
                if above != value {
                    conflicts.push(format!(
                        "type {}: {} {member} is below {label} {above} by node {first}, and below \
                         {value} by node {name}, which is left out there; correct the labels",
                        one.name,
                        one.levels[at - 1]
                    ));
                    break;
                }
            }
            let domain = levels[at].entry(value).or_default();
            domain.members.insert(member);
            member = value;
        }
    }
    levels
}

fn name_of(
    prefix: &str,
    label: &str,
    value: &str,
    existing: &[&HyperNode],
    taken: impl Fn(&str) -> bool,
) -> String {
    let name = |hyper_node: &HyperNode| hyper_node.metadata.name.clone().unwrap_or_default();
    let fits = |hyper_node: &&&HyperNode| {
        let labels = hyper_node.metadata.labels.as_ref();
        let is_value = labels
            .and_then(|labels| labels.get(label))
            .map(String::as_str);
        is_from_labels(hyper_node)
            && is_value == Some(value)
            && name(hyper_node).starts_with(prefix)
            && !taken(&name(hyper_node))
    };
    if let Some(known) = existing.iter().filter(fits).map(|one| name(one)).min() {
        return known;
    }
    // A name that somebody else has got is passed over.
    let foreign = |wanted: &str| {
        let mut others = existing.iter();
        others.any(|one| one.metadata.name.as_deref() == Some(wanted))
    };
    let mut salt = 0_u64;
    loop {
        let hash = hash(&format!("{label}={value}"), salt);
        let name = format!("{prefix}{:010x}", hash & 0xff_ffff_ffff);
        if !taken(&name) && !foreign(&name) {
            return name;
        }
        salt += 1;
    }
}

/// FNV-1a: names must be the same in every version of this program.
fn hash(text: &str, salt: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(start, step)
}

/// Made by the source `label`.
pub(super) fn is_from_labels(hyper_node: &HyperNode) -> bool {
    let labels = hyper_node.metadata.labels.as_ref();
    let source = labels.and_then(|labels| labels.get(keys::NETWORK_TOPOLOGY_SOURCE));
    source.is_some_and(|source| source == LABEL_SOURCE)
}

fn member_of(kind: &str, name: &str) -> HyperNodeMember {
    let exact = ExactMatch {
        name: name.to_owned(),
    };
    HyperNodeMember {
        kind: kind.to_owned(),
        selector: Some(MemberSelector {
            exact_match: Some(exact),
            ..MemberSelector::default()
        }),
    }
}

fn hyper_node(
    name: &str,
    tier: usize,
    (label, value): (&str, &str),
    members: Vec<HyperNodeMember>,
) -> HyperNode {
    let labels = [
        (keys::NETWORK_TOPOLOGY_SOURCE, LABEL_SOURCE),
        (label, value),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    HyperNode {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(labels.into_iter().collect()),
            ..ObjectMeta::default()
        },
        spec: HyperNodeSpec {
            tier: Some(i64::try_from(tier).unwrap_or(i64::MAX)),
            tier_name: label.to_owned(),
            members,
        },
        ..HyperNode::default()
    }
}
