//! Why a job has no place in the network (spec/08 §7).

use pumice_framework::{NearestDomain, NoDomain};
use pumice_model::network::CLUSTER;
use pumice_model::object::{COMPOSITE_GROUP, HighestTier, TopologyRequest};
use pumice_model::{Job, JobIx, TierProblem, gang_tree};

use super::phrases::hint;
use crate::knowledge::Wording;

/// The label of which all nodes of a job, or of one of its sub-jobs, have to have the same value.
fn label_of<'j>(job: &'j Job, part: Option<&str>) -> Option<&'j str> {
    let group = job.group()?;
    let Some(id) = part else {
        return group.named_label();
    };
    let asked = match id.strip_prefix(COMPOSITE_GROUP) {
        Some(name) => {
            let mut nodes = gang_tree::of(job)?.nodes.iter();
            &nodes.find(|node| node.name == name)?.topology
        }
        None => {
            let sub = job.sub_jobs.iter().find(|sub| sub.id == id)?;
            &group.sub_groups[sub.policy? as usize].topology
        }
    };
    match asked {
        Some(TopologyRequest::Hard(HighestTier::Label(key))) => Some(key),
        _ => None,
    }
}

impl Wording<'_> {
    /// Says that a PodGroup asks for a tier that there is not.
    pub(super) fn tier_text(&self, ix: JobIx, problem: &TierProblem) -> String {
        let key = self.state.population().job_key(ix);
        match problem {
            TierProblem::Missing => format!(
                "PodGroup {key} asks for a hard network topology without a tier: set \
                 networkTopology.highestTierAllowed or highestTierName, or mode soft"
            ),
            TierProblem::Unknown(name) => self.unknown_tier_text(&key, name),
            TierProblem::Ambiguous(name) => format!(
                "PodGroup {key} asks for network tier \"{name}\", a name that HyperNodes of several \
                 tiers have: give each tier a name of its own, or set highestTierAllowed"
            ),
            TierProblem::Unlabelled(label) => format!(
                "PodGroup {key} asks for nodes with one value of label {label} \
                 (schedulingConstraints.topology), which no node has: label nodes"
            ),
        }
    }

    /// Says that nobody has a tier of a name: no HyperNode, or no label where labels take their place.
    fn unknown_tier_text(&self, key: &str, name: &str) -> String {
        let network = self.state.ground().network();
        let asks = format!("PodGroup {key} asks for network tier \"{name}\"");
        let labels = network.labels();
        if network.objects().next().is_none() && !labels.is_empty() {
            let keys = labels.join(", ");
            if labels.iter().any(|label| label == name) {
                return format!(
                    "{asks}, and no node has that label (there are no HyperNodes, and hypernode.labels is \
                     {keys})"
                );
            }
            let hint = hint(name, labels.iter().map(String::as_str));
            return format!(
                "{asks}, which is none of hypernode.labels{hint} ({keys}; there are no HyperNodes)"
            );
        }
        let known: Vec<&str> = network.tier_names().collect();
        let hint = hint(name, known.iter().copied());
        let known = match known.as_slice() {
            [] => "no HyperNode has a tierName".to_owned(),
            all => format!("there are {}", all.join(", ")),
        };
        let unused = self.unused_labels_text();
        format!("{asks}, which no HyperNode has{hint} ({known}{unused})")
    }

    /// Says that labels would make domains, were there no HyperNodes; empty where nobody has set them.
    fn unused_labels_text(&self) -> String {
        let network = self.state.ground().network();
        let mut objects = network.objects();
        match objects.next() {
            Some(first) if !network.labels().is_empty() => {
                let others = match objects.count() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let first = &first.name;
                format!("; hypernode.labels makes no domains because of HyperNode {first}{others}")
            }
            _ => String::new(),
        }
    }

    /// Says that a hard request by number limits nothing, because there are no domains (spec/08 §4).
    pub(crate) fn unlimited_text(&self, ix: JobIx) -> Option<String> {
        let (state, network) = (self.state, self.state.ground().network());
        let group = state.job(ix).group()?;
        if network.has_domains() {
            return None;
        }
        let asked = group.asked_of_parts();
        let tier = group
            .topology
            .iter()
            .chain(asked)
            .find_map(|asks| match asks {
                TopologyRequest::Hard(HighestTier::Number(tier)) if *tier >= 1 => Some(*tier),
                _ => None,
            })?;
        let why = match network.labels() {
            [] => "there is no HyperNode".to_owned(),
            keys => format!(
                "there is no HyperNode, and no node has a label of hypernode.labels ({})",
                keys.join(", ")
            ),
        };
        Some(format!(
            "the hard network topology of at most tier {tier} limits nothing: {why}, so the whole cluster is \
             of that tier; make HyperNodes, or ask by highestTierName, which waits for them"
        ))
    }

    /// Says that no domain holds what a unit lacks.
    pub(super) fn no_domain_text(&self, ix: JobIx, none: &NoDomain) -> String {
        let unit = match none.part.as_deref() {
            Some(id) => match id.strip_prefix(COMPOSITE_GROUP) {
                Some(name) => format!("CompositePodGroup {name}"),
                None => format!("sub-group {id}"),
            },
            None => format!("PodGroup {}", self.state.population().job_key(ix)),
        };
        if let Some(label) = label_of(self.state.job(ix), none.part.as_deref()) {
            return self.no_value_text(ix, none, (&unit, label));
        }
        let Some(last) = none.tiers.last() else {
            let around = match none.has_placed {
                true => format!(" and holds those {unit} has pods on"),
                false => format!(" for {unit}"),
            };
            return format!(
                "no network domain of an allowed tier has nodes{around}: allow a higher tier, or mend the \
                 HyperNodes"
            );
        };
        let tiers = none.tiers.iter().map(|near| tier_text(near, none.lacks));
        let tiers: Vec<String> = tiers.collect();
        let unused = self.unused_labels_text();
        let around = match none.has_placed {
            true => " around its pods",
            false => "",
        };
        let tiers = tiers.join("; ");
        let text = format!("no network domain{around} holds {unit}: {tiers}{unused}");
        match self.cause_in_domain(ix, none, last) {
            Some(cause) => format!("{text}. {cause}"),
            None => self.and_nobody_goes(ix, text),
        }
    }

    /// Says that no value of a label has nodes that hold a unit.
    fn no_value_text(&self, ix: JobIx, none: &NoDomain, (unit, label): (&str, &str)) -> String {
        let Some(near) = none.tiers.last() else {
            return format!(
                "pods of {unit} are on nodes that do not all have one value of label {label}, so no other pod \
                 can be with them"
            );
        };
        let around = match none.has_placed {
            true => " around its pods",
            false => "",
        };
        let most = holds_text(near, none.lacks);
        let text = format!("no value of label {label}{around} has nodes for {unit}: best {most}");
        match self.cause_in_domain(ix, none, near) {
            Some(cause) => format!("{text}. {cause}"),
            None => self.and_nobody_goes(ix, text),
        }
    }

    /// What went wrong there first.
    fn cause_in_domain(&self, ix: JobIx, none: &NoDomain, last: &NearestDomain) -> Option<String> {
        let (pod, why) = none.cause.as_ref()?;
        // It may be gone, and another one may have its index.
        let task = self
            .state
            .population()
            .find_task(*pod)
            .filter(|task| task.job == Some(ix))?;
        let name = &task.name;
        let why = self.pod_text(*pod, ix, &why.into(), None);
        Some(format!("In {}: {name}: {why}", domain_name(last)))
    }
}

fn domain_name(near: &NearestDomain) -> &str {
    match &*near.name {
        CLUSTER => "the cluster",
        name => name,
    }
}

/// What the nearest domain of a tier lacks.
fn tier_text(near: &NearestDomain, lacks: u32) -> String {
    let tier = near.tier;
    format!("tier {tier}: best domain {}", holds_text(near, lacks))
}

/// What a domain lacks.
fn holds_text(near: &NearestDomain, lacks: u32) -> String {
    let name = domain_name(near);
    match near.placed {
        Some(placed) if placed < lacks => format!("{name} took {placed} of {lacks}"),
        _ => {
            let at_most = if near.at_most { "at most " } else { "" };
            format!("{name} holds {at_most}{} of {lacks}", near.holds)
        }
    }
}
