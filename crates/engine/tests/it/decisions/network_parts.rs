//! Sub-groups that have to share out the domains of the network (spec/08 §5), and what they are told (§7).

use pumice_model::object::{GroupObject, PodObject, SelectorOp, SubGroupPolicy, TopologyRequest};

use super::cluster::*;
use super::network::{CONF, asking, child, hard, hyper_node, nodes_named};

/// A rack of one node for each of these numbers of cores: a, b, ….
fn racks(cores: &[u32]) -> Cluster {
    let mut cluster = Cluster::under(CONF);
    for (rack, cores) in ('a'..).zip(cores) {
        cluster = cluster.with(node(&format!("{rack}0"), &format!("{cores}c 8Gi pods=99")));
        let all = [nodes_named(&format!("^{rack}"))];
        cluster.apply(hyper_node(&rack.to_string(), 1, &all));
    }
    cluster
}

fn of_part(part: usize, at: i32, request: &str) -> PodObject {
    let name = format!("p{part}-{at}");
    pod(&name, request)
        .labels(&[("part", &part.to_string())])
        .group("g")
}

/// A gang in parts of so many pods, each of which needs a rack.
fn in_parts(sizes: &[i32], job: Option<TopologyRequest>) -> GroupObject {
    let policies = (0..sizes.len()).map(|at| SubGroupPolicy {
        name: format!("part-{at}"),
        selector: Some(selector("part", SelectorOp::In(vec![at.to_string()]))),
        size: sizes[at],
        min_groups: 1,
        topology: hard(1),
        ..SubGroupPolicy::default()
    });
    asking("g", sizes.iter().sum(), job).sub_groups(policies)
}

/// With its pods, but for those that are there already.
fn waiting_parts(mut cluster: Cluster, sizes: &[i32], running: &[(usize, i32)]) -> Cluster {
    for (part, size) in sizes.iter().enumerate() {
        for at in (0..*size).filter(|at| !running.contains(&(part, *at))) {
            cluster = cluster.with(of_part(part, at, "1c"));
        }
    }
    cluster
}

/// The rack of each part that was bound, in order, once for each pod.
fn racks_of_parts(binds: &[String]) -> Vec<String> {
    let mut places: Vec<String> = binds
        .iter()
        .filter_map(|bind| {
            let (pod, node) = bind.split_once(' ')?;
            let part = pod.split('-').next()?;
            Some(format!("{part}{}", &node[..1]))
        })
        .collect();
    places.sort();
    places.dedup();
    places
}

#[test]
fn sub_groups_share_out_racks_that_hold_them_together() {
    for (racks_have, sizes, expected) in [
        // Each taking the fuller rack at its turn, the last one finds none.
        (&[5, 6][..], &[3, 3, 5][..], &["p0b", "p1b", "p2a"][..]),
        // Nor does it help to begin with the largest.
        (&[5, 7], &[4, 3, 3, 2], &["p0b", "p1b", "p2a", "p3a"]),
        // In this order turns do.
        (&[5, 7], &[3, 2, 3, 4], &["p0a", "p1a", "p2b", "p3b"]),
        (&[5, 5], &[3, 3, 3], &[]),
    ] {
        let cluster = racks(racks_have).with(in_parts(sizes, None));
        let binds = waiting_parts(cluster, sizes, &[]).cycle();
        assert_eq!(racks_of_parts(&binds), expected, "{sizes:?}");
        let pods: i32 = sizes.iter().sum();
        assert!(binds.is_empty() || binds.len() == pods as usize);
    }
}

#[test]
fn a_sub_group_that_was_repaired_gets_the_rest_of_its_rack_before_another_takes_it() {
    let sizes = [3, 3];
    let cluster = racks(&[4, 4])
        .with(in_parts(&sizes, None))
        .with(of_part(1, 0, "1c").on("a0"));
    let binds = waiting_parts(cluster, &sizes, &[(1, 0)]).cycle();
    assert_eq!(racks_of_parts(&binds), ["p0b", "p1a"]);
}

#[test]
fn a_sub_group_that_keeps_its_job_waiting_is_named_and_what_it_lacks() {
    let sizes = [2, 5];
    let mut cluster = racks(&[4, 4]);
    let spine = ["a", "b"].map(child);
    cluster.apply(hyper_node("s", 2, &spine));
    let cluster = cluster.with(in_parts(&sizes, hard(2)));
    let mut cluster = waiting_parts(cluster, &sizes, &[]);
    assert!(cluster.cycle().is_empty());
    let told = "no network domain holds PodGroup ns/g: tier 1: best domain a holds at most 4 of 7; tier 2: \
                best domain s took 2 of 7. In s: p1-0: no network domain holds sub-group ns/g/part-1-: \
                tier 1: best domain b holds 4 of 5";
    assert_eq!(cluster.why("p0-0").1, told);
}

#[test]
fn what_keeps_a_pod_off_the_nodes_of_the_nearest_domain_is_told() {
    // Softly the cluster is a domain, too.
    for (topology, told) in [
        (
            hard(1),
            "no network domain holds PodGroup ns/h: tier 1: best domain a holds 0 of 2. In a: h0: 0/1 nodes \
             are unavailable: 1 node(s) didn't match Pod's node affinity/selector.",
        ),
        (
            Some(TopologyRequest::Soft),
            "no network domain holds PodGroup ns/h: tier 1: best domain a holds 0 of 2; tier 2: best domain \
             the cluster holds 0 of 2. In the cluster: h0: 0/2 nodes are unavailable: 2 node(s) didn't match \
             Pod's node affinity/selector.",
        ),
    ] {
        let mut cluster = racks(&[4, 4]).with(asking("h", 2, topology));
        for name in ["h0", "h1"] {
            let choosy = pod(name, "1c").node_selector(&[("disk", "ssd")]);
            cluster = cluster.with(choosy.group("h"));
        }
        assert!(cluster.cycle().is_empty());
        assert_eq!(cluster.why("h1").1, told);
    }
}

#[test]
fn the_number_a_domain_holds_is_an_upper_bound_where_pods_differ() {
    let mut cluster = racks(&[16]).with(asking("h", 11, hard(1)));
    cluster = cluster.with(pod("big", "4c").group("h"));
    for at in 0..10 {
        cluster = cluster.with(pod(&format!("h{at}"), "2c").group("h"));
    }
    assert!(cluster.cycle().is_empty());
    let told = "no network domain holds PodGroup ns/h: tier 1: best domain a holds at most 9 of 11";
    assert_eq!(cluster.why("h3").1, told);
}
