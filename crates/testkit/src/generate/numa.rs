//! Nodes that tell of their CPUs, and pods that get some for themselves.

use pumice_model::Delta;
use pumice_model::object::{
    AskedPolicy, AssignedPod, CpuPlace, CpuRequest, InitCpus, NumatopologyObject, PodObject,
    TopologyPolicy,
};

use super::conf;
use super::rng::Rng;
use super::{START_S, cluster, full_cluster};

const POLICIES: &[TopologyPolicy] = &[
    TopologyPolicy::SingleNumaNode,
    TopologyPolicy::SingleNumaNode,
    TopologyPolicy::Restricted,
    TopologyPolicy::Restricted,
    TopologyPolicy::BestEffort,
    TopologyPolicy::None,
];

/// A small cluster, or a full one, in which CPUs of nodes decide more than in others.
#[must_use]
pub fn numa_cluster(seed: u64) -> Vec<Delta> {
    let mut all = match seed % 4 {
        3 => full_cluster(seed),
        _ => cluster(seed),
    };
    let mut rng = Rng::new(seed, 50);
    furnish(&mut rng, &mut all);
    all
}

/// A configuration, most of the time with `numa-aware`.
#[must_use]
pub fn numa_conf_text(seed: u64) -> String {
    let text = match seed % 4 {
        3 => super::evicting_conf_text(seed),
        _ => conf::conf_text(seed),
    };
    let mut rng = Rng::new(seed, 51);
    let Some((before, after)) = text.split_once("- plugins:\n") else {
        return text;
    };
    let mut entry = String::from("  - name: numa-aware\n");
    for key in ["enablePredicate", "enableNodeOrder"] {
        if rng.one_in(10) {
            entry.push_str(&format!("    {key}: false\n"));
        }
    }
    if rng.one_in(2) {
        let weight = rng.pick(&[0, 2, 10, -3]);
        entry.push_str(&format!("    arguments:\n      weight: {weight}\n"));
    }
    match rng.one_in(12) {
        true => text,
        false => format!("{before}- plugins:\n{entry}{after}"),
    }
}

/// Most nodes tell of their CPUs, and most pods ask for some.
pub(super) fn furnish(rng: &mut Rng, all: &mut Vec<Delta>) {
    for object in all.iter_mut() {
        if let Delta::PodApply(pod) = object {
            pod.cpus = request(rng).map(Box::new);
        }
    }
    let told = all.iter().filter_map(|object| match object {
        Delta::NodeApply(node) => Some(node.name.clone()),
        _ => None,
    });
    let told: Vec<String> = told.collect();
    let pods: Vec<&PodObject> = pods(all).collect();
    let mut known = Vec::new();
    for node in told {
        if !rng.one_in(6) {
            let told = numatopology(rng, &node, &pods);
            known.push(Delta::NumatopologyApply(Box::new(told)));
        }
    }
    all.extend(known);
}

fn pods(all: &[Delta]) -> impl Iterator<Item = &PodObject> {
    all.iter().filter_map(|object| match object {
        Delta::PodApply(pod) => Some(&**pod),
        _ => None,
    })
}

/// What a pod asks of CPUs.
pub(super) fn request(rng: &mut Rng) -> Option<CpuRequest> {
    if rng.one_in(3) {
        return None;
    }
    let policy = match rng.below(8) {
        0..=3 => AskedPolicy::Any,
        4 | 5 => AskedPolicy::Only(TopologyPolicy::SingleNumaNode),
        6 => AskedPolicy::Only(TopologyPolicy::Restricted),
        _ => match rng.one_in(3) {
            true => AskedPolicy::Unknown("numa".to_owned()),
            false => AskedPolicy::Only(TopologyPolicy::BestEffort),
        },
    };
    const CONTAINERS: [&[u32]; 9] = [
        &[1],
        &[1],
        &[2],
        &[2],
        &[3],
        &[5],
        &[2, 1],
        &[1, 0, 2],
        &[0],
    ];
    let containers = rng.pick(&CONTAINERS);
    const INIT: [&[(u32, bool)]; 8] = [
        &[(1, false)],
        &[(3, false)],
        &[(1, true)],
        &[(2, true)],
        &[(4, false), (1, true)],
        &[(1, true), (2, false)],
        &[(2, false), (0, true), (3, false)],
        &[(0, false)],
    ];
    let init: &[(u32, bool)] = match rng.one_in(3) {
        true => rng.pick(&INIT),
        false => &[],
    };
    let init = init.iter().map(|(cpus, stays)| InitCpus {
        cpus: *cpus,
        stays: *stays,
    });
    Some(CpuRequest {
        policy,
        init: init.collect(),
        containers: containers.to_vec(),
    })
}

/// What a node tells, on which some of these pods are.
pub(super) fn numatopology(rng: &mut Rng, node: &str, pods: &[&PodObject]) -> NumatopologyObject {
    let (sockets, numas, cores, threads) = (
        rng.pick(&[1, 1, 2]),
        rng.pick(&[1, 1, 2]),
        rng.pick(&[1, 2, 3]),
        rng.pick(&[1, 2]),
    );
    let mut cpus = Vec::new();
    for thread in 0..threads {
        for numa in 0..sockets * numas {
            for core in 0..cores {
                cpus.push(CpuPlace {
                    cpu: ((thread * sockets * numas + numa) * cores + core) as u32,
                    numa: numa as u32,
                    socket: (numa / numas) as u32,
                    core: ((numa % numas) * cores + core) as u32,
                });
            }
        }
    }
    if rng.one_in(4) {
        // One is switched off.
        let at = rng.below(cpus.len());
        cpus.remove(at);
    }
    let busy = rng.pick(&[3, 6, 100]);
    let free = cpus.iter().map(|place| place.cpu);
    let free = free.filter(|_| !rng.one_in(busy)).collect();
    let there = pods.iter().filter(|pod| pod.node.as_deref() == Some(node));
    let mut assigned = Vec::new();
    for pod in there {
        if rng.one_in(2) {
            assigned.push(AssignedPod {
                uid: match rng.below(4) {
                    0 => String::new(),
                    1 => "another".to_owned(),
                    _ => pod.uid.clone(),
                },
                namespace: pod.namespace.clone(),
                name: pod.name.clone(),
            });
        }
    }
    NumatopologyObject {
        node: node.to_owned(),
        gives_cpus: !rng.one_in(10),
        policy: rng.pick(POLICIES),
        cpus,
        free,
        reserved: rng.pick(&[0, 0, 1, 2]),
        assigned,
        written_s: rng.pick(&[None, None, Some(0), Some(START_S), Some(START_S + 100)]),
    }
}
