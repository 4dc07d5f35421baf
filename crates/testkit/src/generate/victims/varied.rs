//! Parts of gangs, topology spread, and volumes.

use pumice_model::delta::Delta;
use pumice_model::object::{
    NodeObject, PodObject, SpreadConstraint, SubGroupPolicy, Unsatisfiable,
};

use super::super::nodes::is;
use super::super::rng::Rng;
use super::super::{Theme, storage};

/// Parts of a gang, by label.
pub fn slices(rng: &mut Rng) -> SubGroupPolicy {
    SubGroupPolicy {
        name: "slices".to_owned(),
        match_label_keys: vec!["slice".to_owned()],
        size: rng.pick(&[1, 2]),
        min_groups: rng.pick(&[0, 1, 1, 2]),
        ..SubGroupPolicy::default()
    }
}

/// Pods of an app are to be spread.
pub fn spread(rng: &mut Rng, app: &str) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: rng.pick(&[1, 1, 2]),
        topology_key: rng.pick(&["kubernetes.io/hostname", "zone"]).to_owned(),
        when: rng.pick(&[
            Unsatisfiable::DoNotSchedule,
            Unsatisfiable::DoNotSchedule,
            Unsatisfiable::ScheduleAnyway,
        ]),
        selector: Some(is("app", app)),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    }
}

/// Volumes, and pods that mount some.
pub fn volumes(rng: &mut Rng, nodes: &[NodeObject], pods: &mut [PodObject]) -> Vec<Delta> {
    let theme = Theme {
        volumes: true,
        ..Theme::new(rng)
    };
    let mut deltas = storage::surroundings(rng, &theme, nodes);
    deltas.extend(storage::furnish(rng, &theme, pods));
    deltas
}
