//! HyperNode, and what PodGroups ask of the network (spec/08 §2.1, §3).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use pumice_api::HyperNode;
use pumice_api::NetworkTopology;
use pumice_api::hyper_node::{HyperNodeMember, MemberSelector};
use pumice_model::network::name_pattern;
use pumice_model::object::{HighestTier, HyperNodeMembers, HyperNodeObject, TopologyRequest};

use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{meta, selector};

/// Reads a HyperNode.
///
/// # Errors
/// Every problem: no name, no tier or a negative one, a member of unknown type or without a selector, a pattern
/// that is empty, a pattern or label selector that cannot be read.
pub fn hyper_node(object: &HyperNode) -> Result<HyperNodeObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let path = Path::root("spec");
    let spec = &object.spec;
    let problem = match spec.tier {
        None => Some("the tier is missing".to_owned()),
        Some(tier) if tier < 0 => Some(format!("{tier} is too small")),
        Some(_) => None,
    };
    if let Some(message) = problem {
        problems.add(
            path.field("tier"),
            message,
            "write 0 or more; lower is faster",
        );
    }
    let members = spec.members.iter().enumerate();
    let members = members.filter_map(|(at, one)| {
        let path = path.item("members", at);
        members_of(one, path, &mut problems)
    });
    let members: Vec<HyperNodeMembers> = members.collect();
    let name = meta::name(&object.metadata, &mut problems);
    problems.or(HyperNodeObject {
        name,
        uid: object.metadata.uid.clone().unwrap_or_default(),
        tier: spec.tier.unwrap_or_default(),
        tier_name: spec.tier_name.clone(),
        members,
    })
}

/// How a member is chosen.
enum MemberChoice<'a> {
    Exact(&'a str),
    Pattern(&'a str),
    Labels(&'a LabelSelector),
}

/// # Errors
/// There is not exactly one selector.
fn choice(wire: Option<&MemberSelector>) -> Result<MemberChoice<'_>, &'static str> {
    let exact = wire.and_then(|all| all.exact_match.as_ref());
    let regex = wire.and_then(|all| all.regex_match.as_ref());
    let labels = wire.and_then(|all| all.label_match.as_ref());
    match (exact, regex, labels) {
        (Some(exact), None, None) => Ok(MemberChoice::Exact(&exact.name)),
        (None, Some(regex), None) => Ok(MemberChoice::Pattern(&regex.pattern)),
        (None, None, Some(labels)) => Ok(MemberChoice::Labels(labels)),
        (None, None, None) => Err("there is no selector"),
        _ => Err("there is more than one selector"),
    }
}

fn members_of(
    wire: &HyperNodeMember,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<HyperNodeMembers> {
    let is_node = match wire.kind.as_str() {
        "Node" => true,
        "HyperNode" => false,
        other => {
            let message = format!("{other:?} is not a type of members");
            problems.add(path.field("type"), message, "write Node or HyperNode");
            return None;
        }
    };
    let at = path.field("selector");
    let chosen = match choice(wire.selector.as_ref()) {
        Ok(chosen) => chosen,
        Err(message) => {
            let help = "write one of exactMatch, regexMatch and labelMatch";
            problems.add(at, message, help);
            return None;
        }
    };
    match chosen {
        MemberChoice::Exact("") => {
            let at = at.field("exactMatch");
            problems.add(at.field("name"), "the name is empty", "name a member");
            None
        }
        MemberChoice::Exact(name) if is_node => Some(HyperNodeMembers::Node(name.to_owned())),
        MemberChoice::Exact(name) => Some(HyperNodeMembers::Child(name.to_owned())),
        MemberChoice::Pattern(pattern) => {
            let problem = match pattern {
                "" => Some("the pattern is empty".to_owned()),
                _ => name_pattern(pattern).err(),
            };
            if let Some(why) = problem {
                let at = at.field("regexMatch");
                let help = "write a regular expression that matches names, for example \"^rack1-\"";
                problems.add(at.field("pattern"), why, help);
                return None;
            }
            let pattern = pattern.to_owned();
            Some(match is_node {
                true => HyperNodeMembers::NodesNamed(pattern),
                false => HyperNodeMembers::ChildrenNamed(pattern),
            })
        }
        MemberChoice::Labels(labels) if is_node => {
            let at = at.field("labelMatch");
            let selector = selector::label_selector(labels, at, problems);
            Some(HyperNodeMembers::NodesLabelled(selector))
        }
        MemberChoice::Labels(_) => {
            let help = "choose HyperNodes by exactMatch or regexMatch";
            let message = "labelMatch selects nodes only";
            problems.add(at.field("labelMatch"), message, help);
            None
        }
    }
}

/// What a PodGroup or one of its policies asks.
pub(crate) fn request(
    wire: Option<&NetworkTopology>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<TopologyRequest> {
    let wire = wire?;
    match wire.mode.as_str() {
        "soft" => return Some(TopologyRequest::Soft),
        "hard" | "" => {}
        other => {
            let message = format!("{other:?} is not a mode");
            problems.add(path.field("mode"), message, "write hard or soft");
            return None;
        }
    }
    Some(TopologyRequest::Hard(match wire.highest_tier_allowed {
        Some(tier) => {
            if tier < 0 {
                let at = path.field("highestTierAllowed");
                problems.add(at, format!("{tier} is too small"), "write 0 or more");
            }
            HighestTier::Number(tier)
        }
        None if wire.highest_tier_name.is_empty() => HighestTier::Missing,
        None => HighestTier::Name(wire.highest_tier_name.clone()),
    }))
}
