//! From HyperNodes to domains.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{CLUSTER, HyperNodeFault, NetworkDomain, name_pattern};
use crate::ix::NodeIx;
use crate::node::Nodes;
use crate::object::{HyperNodeMembers, HyperNodeObject};
use crate::selector::selects_pairs;

/// What HyperNodes make of the nodes.
pub(super) struct Built {
    pub domains: Vec<NetworkDomain>,
    pub tiers: BTreeMap<String, Option<i64>>,
    pub faults: Vec<HyperNodeFault>,
}

/// HyperNodes by name.
type Objects = BTreeMap<String, HyperNodeObject>;

pub(super) fn build(objects: &Objects, nodes: &Nodes) -> Built {
    let mut tree = TreeBuilder {
        objects,
        children: BTreeMap::new(),
        faults: Vec::new(),
    };
    tree.claim();
    let tiers = tree.name_tiers();
    let mut by_rank: Vec<&HyperNodeObject> = objects.values().collect();
    by_rank.sort_by(|l, r| (l.tier, &l.name).cmp(&(r.tier, &r.name)));
    // Children are of lower tiers, so theirs are known.
    let mut found: BTreeMap<&str, Arc<[NodeIx]>> = BTreeMap::new();
    for object in &by_rank {
        let mut own = tree.own_nodes(object, nodes);
        for child in tree
            .children
            .get(object.name.as_str())
            .into_iter()
            .flatten()
        {
            own.extend(found.get(child).into_iter().flat_map(|nodes| nodes.iter()));
        }
        own.sort();
        own.dedup();
        found.insert(&object.name, own.into());
    }
    tree.tell_twins(&by_rank, &found);
    let highest = by_rank.last().map_or(0, |object| object.tier);
    let mut domains: Vec<NetworkDomain> = by_rank
        .iter()
        .map(|object| NetworkDomain {
            name: object.name.as_str().into(),
            tier: object.tier,
            nodes: found[object.name.as_str()].clone(),
        })
        .collect();
    domains.push(NetworkDomain {
        name: CLUSTER.into(),
        tier: highest.saturating_add(1).max(1),
        nodes: nodes.indices().collect(),
    });
    let mut faults = tree.faults;
    faults.sort_by(|l, r| (&l.hyper_node, &l.message).cmp(&(&r.hyper_node, &r.message)));
    faults.dedup();
    Built {
        domains,
        tiers,
        faults,
    }
}

/// HyperNodes while they are put together.
struct TreeBuilder<'a> {
    objects: &'a Objects,
    /// By parent.
    children: BTreeMap<&'a str, BTreeSet<&'a str>>,
    faults: Vec<HyperNodeFault>,
}

impl<'a> TreeBuilder<'a> {
    fn tell(&mut self, hyper_node: &str, message: String) {
        let hyper_node = hyper_node.into();
        self.faults.push(HyperNodeFault {
            hyper_node,
            message,
        });
    }

    /// Decides who is whose child.
    fn claim(&mut self) {
        let mut parents: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
        for parent in self.objects.values() {
            for child in self.claimed_by(parent) {
                let below = self.objects[child].tier;
                if below < parent.tier {
                    parents.entry(child).or_default().insert(&parent.name);
                    continue;
                }
                let message = format!(
                    "member {child} is left out: its tier {below} is not below {}, the tier of {}; \
                     give a child a lower tier than its parent, and make no circles",
                    parent.tier, parent.name
                );
                self.tell(&parent.name, message);
            }
        }
        for (child, claimed) in parents {
            match claimed.len() {
                1 => {
                    for parent in claimed {
                        self.children.entry(parent).or_default().insert(child);
                    }
                }
                _ => {
                    let message = format!(
                        "member {child} is left out: {} claim it; a HyperNode has one parent",
                        listed(&claimed)
                    );
                    claimed
                        .into_iter()
                        .for_each(|parent| self.tell(parent, message.clone()));
                }
            }
        }
    }

    /// HyperNodes that one names as its members, of those there are.
    fn claimed_by(&mut self, parent: &'a HyperNodeObject) -> BTreeSet<&'a str> {
        let mut claimed = BTreeSet::new();
        for member in &parent.members {
            match member {
                HyperNodeMembers::Child(name) => match self.objects.get_key_value(name) {
                    Some((name, _)) => {
                        claimed.insert(name.as_str());
                    }
                    None => {
                        let message =
                            format!("member {name} is left out: there is no such HyperNode");
                        self.tell(&parent.name, message);
                    }
                },
                HyperNodeMembers::ChildrenNamed(pattern) => {
                    let Ok(made) = name_pattern(pattern) else {
                        continue;
                    };
                    // A pattern may well have its own name in it.
                    let others = self.objects.keys().filter(|name| **name != parent.name);
                    let before = claimed.len();
                    claimed.extend(
                        others
                            .map(String::as_str)
                            .filter(|name| made.is_match(name)),
                    );
                    if claimed.len() == before {
                        let pattern = quoted(pattern);
                        let message = format!("no HyperNode has {pattern} in its name");
                        self.tell(&parent.name, message);
                    }
                }
                _ => {}
            }
        }
        claimed
    }

    /// Names of tiers; `None` for a name that several tiers have.
    fn name_tiers(&mut self) -> BTreeMap<String, Option<i64>> {
        let mut tiers: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
        let named = self
            .objects
            .values()
            .filter(|one| !one.tier_name.is_empty());
        for object in named {
            let name = object.tier_name.clone();
            tiers.entry(name).or_default().insert(object.tier);
        }
        for object in self.objects.values() {
            let all = tiers.get(&object.tier_name);
            if let Some(all) = all.filter(|all| all.len() > 1) {
                let all: Vec<String> = all.iter().map(i64::to_string).collect();
                let message = format!(
                    "tierName {} stands for tiers {}, so it cannot be asked for; give each tier a name \
                     of its own",
                    object.tier_name,
                    all.join(", ")
                );
                self.tell(&object.name, message);
            }
        }
        let only = |all: BTreeSet<i64>| (all.len() == 1).then(|| all.into_iter().next())?;
        tiers
            .into_iter()
            .map(|(name, all)| (name, only(all)))
            .collect()
    }

    /// Tells of HyperNodes of one tier that have the same nodes: which of them a job gets says nothing.
    fn tell_twins(&mut self, by_rank: &[&HyperNodeObject], found: &BTreeMap<&str, Arc<[NodeIx]>>) {
        let mut firsts: BTreeMap<(i64, &[NodeIx]), &str> = BTreeMap::new();
        for object in by_rank {
            let nodes = &found[object.name.as_str()];
            if nodes.is_empty() {
                continue;
            }
            let first = *firsts
                .entry((object.tier, nodes))
                .or_insert(object.name.as_str());
            if first != object.name {
                let message = format!(
                    "it has the same nodes as HyperNode {first}, which is of tier {} too; delete one of \
                     them, or correct its members",
                    object.tier
                );
                self.tell(&object.name, message);
            }
        }
    }

    /// Nodes that a HyperNode names itself, of those there are; some more than once.
    fn own_nodes(&mut self, object: &HyperNodeObject, nodes: &Nodes) -> Vec<NodeIx> {
        let mut own = Vec::new();
        if object.members.is_empty() {
            let message = "it has no members, so there are no nodes in it; name some, or delete it";
            self.tell(&object.name, message.to_owned());
        }
        for member in &object.members {
            let matching = |test: &dyn Fn(NodeIx) -> bool| -> Vec<NodeIx> {
                nodes.indices().filter(|node| test(*node)).collect()
            };
            let (found, what) = match member {
                HyperNodeMembers::Node(name) => {
                    let found = nodes.find(name).into_iter().collect();
                    (found, format!("there is no node {name}"))
                }
                HyperNodeMembers::NodesNamed(pattern) => {
                    let Ok(made) = name_pattern(pattern) else {
                        continue;
                    };
                    let found = matching(&|node| made.is_match(&nodes.object(node).name));
                    (
                        found,
                        format!("no node has {} in its name", quoted(pattern)),
                    )
                }
                HyperNodeMembers::NodesLabelled(selector) => {
                    let found = match selector.requirements.is_empty() {
                        true => Vec::new(),
                        false => {
                            matching(&|node| selects_pairs(selector, &nodes.object(node).labels))
                        }
                    };
                    (found, "its labelMatch selects no node".to_owned())
                }
                HyperNodeMembers::Child(_) | HyperNodeMembers::ChildrenNamed(_) => continue,
            };
            if found.is_empty() {
                self.tell(&object.name, what);
            }
            own.extend(found);
        }
        own
    }
}

/// Names as messages show them: of many the first ones.
fn listed(names: &BTreeSet<&str>) -> String {
    const MAX_LISTED: usize = 8;
    let mut all: Vec<String> = names.iter().take(MAX_LISTED).map(<_>::to_string).collect();
    let others = names.len() - all.len();
    if others > 0 {
        all.push(format!("{others} more"));
    }
    all.join(" and ")
}

/// A pattern as messages show it: of a long one the beginning.
fn quoted(pattern: &str) -> String {
    const MAX_SHOWN: usize = 80;
    match pattern.char_indices().nth(MAX_SHOWN) {
        None => format!("{pattern:?}"),
        Some((end, _)) => format!("{:?}… ({} bytes)", &pattern[..end], pattern.len()),
    }
}
