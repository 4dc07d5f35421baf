//! Why a job has no place in the network (spec/08 §7).

use pumice_conf::nearest;
use pumice_framework::{NearestDomain, NoDomain};
use pumice_model::network::CLUSTER;
use pumice_model::{JobIx, TierProblem};

use crate::Engine;

impl Engine {
    /// That a PodGroup asks for a tier that there is not.
    pub(super) fn tier_text(&self, ix: JobIx, problem: &TierProblem) -> String {
        let key = self.state.job_key(ix);
        match problem {
            TierProblem::Missing => format!(
                "PodGroup {key} asks for a hard network topology without a tier: set \
                 networkTopology.highestTierAllowed or highestTierName, or mode soft"
            ),
            TierProblem::Unknown(name) => {
                let known: Vec<&str> = self.state.network().tier_names().collect();
                let hint = nearest(name, known.iter().copied());
                let hint = hint.map_or(String::new(), |near| format!(", did you mean \"{near}\"?"));
                let known = match known.as_slice() {
                    [] => "no HyperNode has a tierName".to_owned(),
                    all => format!("there are {}", all.join(", ")),
                };
                format!(
                    "PodGroup {key} asks for network tier \"{name}\", which no HyperNode has{hint} \
                     ({known})"
                )
            }
            TierProblem::Ambiguous(name) => format!(
                "PodGroup {key} asks for network tier \"{name}\", a name that HyperNodes of several \
                 tiers have: give each tier a name of its own, or set highestTierAllowed"
            ),
        }
    }

    /// That no domain holds what a unit lacks.
    pub(super) fn no_domain_text(&self, ix: JobIx, none: &NoDomain) -> String {
        let unit = match &none.sub_job {
            Some(name) => format!("sub-group {name}"),
            None => format!("PodGroup {}", self.state.job_key(ix)),
        };
        if none.tiers.is_empty() {
            return format!(
                "no network domain of an allowed tier has nodes and holds those {unit} has pods on: \
                 allow a higher tier, or mend the HyperNodes"
            );
        }
        let tiers = none.tiers.iter().map(|near| tier_text(near, none.lacks));
        let tiers: Vec<String> = tiers.collect();
        format!("no network domain holds {unit}: {}", tiers.join("; "))
    }
}

/// What the nearest domain of a tier lacks.
fn tier_text(near: &NearestDomain, lacks: u32) -> String {
    let name = match &*near.name {
        CLUSTER => "the cluster",
        name => name,
    };
    let tier = near.tier;
    match near.placed {
        Some(placed) if placed < lacks => {
            format!("tier {tier}: best domain {name} took {placed} of {lacks}")
        }
        _ => format!(
            "tier {tier}: best domain {name} holds {} of {lacks}",
            near.holds
        ),
    }
}
