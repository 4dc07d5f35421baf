//! Topology spread constraints (spec/02 §6.8, §8.6).

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use pumice_model::object::{Pairs, SpreadConstraint, Unsatisfiable};

use crate::affinity::check_topology_key;
use crate::problem::{ObjectProblems, Path};
use crate::selector;

/// The constraints of a pod with these labels. One with a problem is left out.
pub(crate) fn constraints(
    wire: &[TopologySpreadConstraint],
    labels: &Pairs,
    problems: &mut ObjectProblems,
) -> Vec<SpreadConstraint> {
    let spec = Path::root("spec");
    let constraint = |(at, wire)| {
        constraint(
            wire,
            labels,
            spec.item("topologySpreadConstraints", at),
            problems,
        )
    };
    wire.iter().enumerate().filter_map(constraint).collect()
}

fn constraint(
    wire: &TopologySpreadConstraint,
    labels: &Pairs,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<SpreadConstraint> {
    check_topology_key(&wire.topology_key, path, problems);
    let min_domains = wire.min_domains.unwrap_or(1);
    for (name, value) in [("maxSkew", wire.max_skew), ("minDomains", min_domains)] {
        if value < 1 {
            let message = format!("{value} is too small");
            problems.add(path.field(name), message, "write 1 or more");
        }
    }
    let selector_path = path.field("labelSelector");
    let mut selector = selector::optional(wire.label_selector.as_ref(), selector_path, problems);
    selector::fold_keys(&mut selector, wire.match_label_keys.as_ref(), labels, false);
    let affinity = wire.node_affinity_policy.as_deref();
    let honor_affinity = honored(affinity, true, path.field("nodeAffinityPolicy"), problems);
    let taints = wire.node_taints_policy.as_deref();
    let honor_taints = honored(taints, false, path.field("nodeTaintsPolicy"), problems);
    Some(SpreadConstraint {
        max_skew: wire.max_skew,
        topology_key: wire.topology_key.clone(),
        when: unsatisfiable(&wire.when_unsatisfiable, path, problems)?,
        selector,
        min_domains,
        honor_affinity,
        honor_taints,
    })
}

fn unsatisfiable(
    text: &str,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<Unsatisfiable> {
    match text {
        "DoNotSchedule" => Some(Unsatisfiable::DoNotSchedule),
        "ScheduleAnyway" => Some(Unsatisfiable::ScheduleAnyway),
        other => {
            let message = format!("{other:?} is not known");
            let help = "write DoNotSchedule or ScheduleAnyway";
            problems.add(path.field("whenUnsatisfiable"), message, help);
            None
        }
    }
}

fn honored(
    text: Option<&str>,
    default: bool,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> bool {
    match text {
        None => default,
        Some("Honor") => true,
        Some("Ignore") => false,
        Some(other) => {
            problems.add(
                path,
                format!("{other:?} is not known"),
                "write Honor or Ignore",
            );
            default
        }
    }
}
