//! Pods go where the kubelet will give them CPUs of NUMA nodes (spec/02 §22).

use std::ops::RangeInclusive;

use pumice_faults::objects::pod;
use pumice_model::object::{
    AskedPolicy, CpuPlace, CpuRequest, NumatopologyObject, PodObject, TopologyPolicy,
};

use crate::calm::CalmCluster;

const CONF: &str = r#"
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: numa-aware
"#;

/// What a node tells of eight CPUs, the first four of NUMA node 0 and the others of 1; of these some
/// are free.
fn numatopology(node: &str, free: &[RangeInclusive<u32>]) -> NumatopologyObject {
    let place = |cpu: u32| CpuPlace {
        cpu,
        numa: cpu / 4,
        socket: cpu / 4,
        core: cpu % 4,
    };
    NumatopologyObject {
        node: node.to_owned(),
        gives_cpus: true,
        policy: TopologyPolicy::SingleNumaNode,
        cpus: (0..8).map(place).collect(),
        free: free.iter().cloned().flatten().collect(),
        ..NumatopologyObject::default()
    }
}

/// A Guaranteed pod that asks for whole CPUs, all of one NUMA node.
fn ask(cluster: &mut CalmCluster, name: &str, cpus: u32) {
    cluster.0.server.make_pod(PodObject {
        cpus: Some(Box::new(CpuRequest {
            policy: AskedPolicy::Only(TopologyPolicy::SingleNumaNode),
            containers: vec![cpus],
            ..CpuRequest::default()
        })),
        ..pod(name, None, i64::from(cpus) * 1000, 0)
    });
}

#[test]
fn pods_go_where_one_numa_node_has_their_cpus_and_say_why_none_has() {
    let mut cluster = CalmCluster::new(CONF, 2, 8000);
    // Six CPUs are free on n0, three of each NUMA node; on n1 four of one.
    let server = &mut cluster.0.server;
    server.put_numatopology(numatopology("n0", &[1..=3, 5..=7]));
    server.put_numatopology(numatopology("n1", &[0..=3]));
    cluster.pass(1);
    ask(&mut cluster, "four", 4);
    cluster.pass(3);
    assert_eq!(cluster.places("four"), ["n1"]);

    // Nowhere are four more of one NUMA node, though six CPUs of n0 are free.
    ask(&mut cluster, "more", 4);
    cluster.pass(5);
    let why = cluster.condition("more");
    assert!(why.contains("cannot be assigned by numa"), "{why}");
    assert_eq!(cluster.bound("more"), 0);

    // Another process knows of the pod that n1 does not tell of yet.
    cluster.0.kill(0, 500);
    cluster.pass(20);
    ask(&mut cluster, "three", 3);
    cluster.pass(3);
    assert_eq!(cluster.places("three"), ["n0"]);
    assert_eq!(cluster.bound("more"), 0);

    // n0 tells of CPUs that are free again.
    cluster
        .0
        .server
        .put_numatopology(numatopology("n0", &[0..=7]));
    cluster.pass(3);
    assert_eq!(cluster.bound("more"), 1);
}
