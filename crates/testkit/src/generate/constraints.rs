//! What narrows the nodes of a pod: affinity, tolerations, ports, spread constraints.

use pumice_model::object::{
    HostPort, NodeOp, NodeRequirement, NodeTerm, PodObject, PodTerm, Requirement, Selector,
    SelectorOp, SpreadConstraint, TaintEffect, Toleration, TolerationOp, Unsatisfiable,
};

use super::nodes::{APPS, IMAGES, NAMESPACES, is};
use super::rng::Rng;
use super::{Theme, pairs};

/// Gives a pod template the constraints of the theme.
pub fn constrain(rng: &mut Rng, theme: &Theme, pod: &mut PodObject) {
    if theme.taints {
        tolerate(rng, pod);
    }
    if theme.node_affinity {
        choose_nodes(rng, pod);
    }
    if theme.pod_affinity {
        choose_company(rng, pod);
    }
    if theme.spread && rng.one_in(2) {
        for _ in 0..rng.between(1, 2) {
            let new = constraint(rng, &pod.labels);
            let same = |old: &SpreadConstraint| {
                old.topology_key == new.topology_key && old.when == new.when
            };
            if !pod.spread.iter().any(same) {
                pod.spread.push(new);
            }
        }
    }
    if theme.zonal {
        tie_by_zone(pod);
    }
    if theme.ports && rng.one_in(2) {
        pod.host_ports.push(HostPort {
            ip: rng
                .pick(&["0.0.0.0", "0.0.0.0", "10.0.0.1", "10.0.0.2"])
                .to_owned(),
            protocol: rng.pick(&["TCP", "TCP", "UDP"]).to_owned(),
            port: rng.pick(&[8080, 9090]),
        });
    }
    if theme.images {
        let images = (0..pod.container_count).map(|_| rng.pick(IMAGES).0.to_owned());
        pod.images = images.collect();
    }
}

fn tie_by_zone(pod: &mut PodObject) {
    let zone = || "zone".to_owned();
    let preferred = pod
        .preferred_affinity
        .iter_mut()
        .chain(&mut pod.preferred_anti_affinity);
    preferred.for_each(|(_, term)| term.topology_key = zone());
    let required = pod.affinity.iter_mut().chain(&mut pod.anti_affinity);
    required.for_each(|term| term.topology_key = zone());
    let mut kinds = Vec::new();
    pod.spread.retain_mut(|constraint| {
        constraint.topology_key = zone();
        let is_new = !kinds.contains(&constraint.when);
        kinds.push(constraint.when);
        is_new
    });
}

fn tolerate(rng: &mut Rng, pod: &mut PodObject) {
    for key in [
        "dedicated",
        "ill",
        "soft",
        "",
        "node.kubernetes.io/unschedulable",
    ] {
        let usual = matches!(key, "dedicated" | "ill");
        if !rng.one_in(if usual { 2 } else { 8 }) {
            continue;
        }
        let operator = match rng.below(8) {
            0 => TolerationOp::Never,
            1 | 2 => TolerationOp::Equal,
            _ => TolerationOp::Exists,
        };
        let effects = [
            None,
            Some(TaintEffect::NoSchedule),
            Some(TaintEffect::NoExecute),
            Some(TaintEffect::PreferNoSchedule),
        ];
        pod.tolerations.push(Toleration {
            key: key.to_owned(),
            operator,
            value: rng.pick(&["", "a", "b"]).to_owned(),
            effect: if rng.one_in(2) {
                None
            } else {
                rng.pick(&effects)
            },
        });
    }
}

fn choose_nodes(rng: &mut Rng, pod: &mut PodObject) {
    if rng.one_in(6) {
        pod.node_selector = pairs(&[("disk", rng.pick(&["ssd", "hdd"]))]);
    }
    if rng.one_in(3) {
        let terms = (0..rng.between(1, 3))
            .map(|_| node_term(rng, false))
            .collect();
        pod.node_affinity = Some(terms);
    }
    if rng.one_in(2) {
        for _ in 0..rng.between(1, 3) {
            let weight = rng.pick(&[0, 1, 30, 50, 100]);
            pod.preferred_node_affinity
                .push((weight, node_term(rng, true)));
        }
    }
}

fn node_term(rng: &mut Rng, preferred: bool) -> NodeTerm {
    let mut term = NodeTerm {
        broken: rng.one_in(if preferred { 40 } else { 16 }),
        ..NodeTerm::default()
    };
    let zones = || vec!["z0".to_owned(), "z1".to_owned()];
    for _ in 0..rng.between(0, 2) {
        let (key, op) = match rng.below(7) {
            0 => ("zone", NodeOp::In(zones())),
            1 => ("zone", NodeOp::NotIn(vec!["z2".to_owned()])),
            2 => ("disk", NodeOp::Exists),
            3 => ("disk", NodeOp::DoesNotExist),
            4 => ("gen", NodeOp::Gt(1)),
            5 => ("gen", NodeOp::Lt(3)),
            _ => ("disk", NodeOp::In(vec!["ssd".to_owned()])),
        };
        let key = key.to_owned();
        term.expressions.push(NodeRequirement { key, op });
    }
    for _ in 0..2 {
        if rng.one_in(6) {
            let name = rng.pick(&["n0", "n1", "n2"]).to_owned();
            term.fields.push((rng.one_in(2), name));
        }
    }
    term
}

fn choose_company(rng: &mut Rng, pod: &mut PodObject) {
    if rng.one_in(4) {
        let mut term = pod_term(rng, pod);
        if rng.one_in(2) {
            let app = pod.labels.iter().find(|(key, _)| key == "app");
            term.selector = app.map(|(_, app)| is("app", app));
        }
        pod.affinity.push(term);
        if rng.one_in(5) {
            let second = pod_term(rng, pod);
            pod.affinity.push(second);
        }
    }
    if rng.one_in(4) {
        let term = pod_term(rng, pod);
        pod.anti_affinity.push(term);
    }
    // A source of its own: everything else is the same with and without several terms.
    let mut of_more = Rng::new(rng.clone().next(), 13);
    if of_more.one_in(6) {
        more_company(&mut of_more, pod);
    }
    for _ in 0..2 {
        let weight = rng.pick(&[1, 10, 25, 100]);
        if rng.one_in(3) {
            let term = pod_term(rng, pod);
            pod.preferred_affinity.push((weight, term));
        }
        if rng.one_in(4) {
            let term = pod_term(rng, pod);
            pod.preferred_anti_affinity.push((weight, term));
        }
    }
}

/// Several terms at once, some alike, that overlap in what they select.
fn more_company(rng: &mut Rng, pod: &mut PodObject) {
    for _ in 0..rng.between(2, 5) {
        let mut term = pod_term(rng, pod);
        let op = match rng.below(4) {
            0 => SelectorOp::Exists,
            1 => SelectorOp::DoesNotExist,
            _ => SelectorOp::In(vec![rng.pick(APPS).to_owned(), rng.pick(APPS).to_owned()]),
        };
        let selector = term.selector.get_or_insert_default();
        let key = rng.pick(&["app", "app", "unknown"]).to_owned();
        selector.requirements.push(Requirement { key, op });
        if rng.one_in(8) {
            term.topology_key = "on/no/node".to_owned();
        }
        match rng.below(4) {
            0 => pod.preferred_affinity.push((rng.pick(&[1, 50]), term)),
            1 => pod.preferred_anti_affinity.push((rng.pick(&[1, 50]), term)),
            2 => pod.anti_affinity.push(term),
            _ => pod.anti_affinity.extend([term.clone(), term]),
        }
    }
}

fn pod_term(rng: &mut Rng, pod: &PodObject) -> PodTerm {
    let anywhere = Selector::default();
    let namespaces = match rng.below(6) {
        0 => NAMESPACES.iter().map(|name| (*name).to_owned()).collect(),
        1 => Vec::new(),
        _ => vec![pod.namespace.clone()],
    };
    let namespace_selector = if namespaces.is_empty() {
        Some(rng.pick(&[is("team", "x"), anywhere]))
    } else {
        None
    };
    let selector = match rng.below(12) {
        0 => None,
        1 => Some(Selector::default()),
        2 => Some(except(rng.pick(APPS))),
        _ => Some(is("app", rng.pick(APPS))),
    };
    let keys = ["zone", "kubernetes.io/hostname", "kubernetes.io/hostname"];
    PodTerm {
        namespaces,
        namespace_selector,
        selector,
        topology_key: rng.pick(&keys).to_owned(),
    }
}

fn except(app: &str) -> Selector {
    let key = "app".to_owned();
    let op = SelectorOp::NotIn(vec![app.to_owned()]);
    Selector {
        requirements: vec![Requirement { key, op }],
    }
}

fn constraint(rng: &mut Rng, labels: &[(String, String)]) -> SpreadConstraint {
    let hard = rng.one_in(2);
    let own = labels.iter().find(|(key, _)| key == "app");
    let own = own.map(|(_, app)| is("app", app));
    let selector = match rng.below(10) {
        0 => None,
        1 => Some(Selector::default()),
        2 => Some(is("app", rng.pick(APPS))),
        _ => own,
    };
    let keys = ["zone", "zone", "kubernetes.io/hostname", "disk"];
    SpreadConstraint {
        max_skew: rng.pick(&[1, 1, 2, 3]),
        topology_key: rng.pick(&keys).to_owned(),
        when: if hard {
            Unsatisfiable::DoNotSchedule
        } else {
            Unsatisfiable::ScheduleAnyway
        },
        selector,
        min_domains: if hard {
            rng.pick(&[1, 1, 1, 2, 3, 4])
        } else {
            1
        },
        honor_affinity: !rng.one_in(4),
        honor_taints: rng.one_in(3),
    }
}
