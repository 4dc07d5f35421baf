//! Objects that can be read and tell something that cannot be meant.

use super::run::{Folder, GOOD, simulate};

fn numatopology(node: &str, allocatable: &str) -> String {
    format!(
        "kind: Numatopology\napiVersion: nodeinfo.volcano.sh/v1alpha1\nmetadata: {{name: {node}}}\n\
         spec:\n  policies: {{CPUManagerPolicy: static}}\n  numares:\n    cpu: {{allocatable: \"{allocatable}\"}}\n  \
         cpuDetail: {{\"0\": {{}}, \"1\": {{}}}}\n---\n"
    )
}

#[test]
fn a_numatopology_of_no_node_or_with_cpus_that_are_nowhere_is_told_and_counts() {
    simulate("numa-nobody", &numatopology("nobody", "0-1"))
        .goes_on(&[
            "warning: all.yaml:21:18: Numatopology nobody: metadata.name: Node \"nobody\" does not exist",
            "help: it is called like its node: give the node too, or remove this",
        ])
        .binds(&["default/good"])
        .aside(0);
    simulate("numa-wide", &numatopology("n1", "0-3"))
        .goes_on(&[
            "Numatopology n1: spec.numares.cpu.allocatable: CPU 2 and 1 more are not in spec.cpuDetail, and \
             given to nobody",
        ])
        .binds(&["default/good"])
        .aside(0);
    let fine = simulate("numa-fine", &numatopology("n1", "0-1")).goes_on(&[]);
    assert!(!fine.err.contains("warning"), "{}", fine.err);
}

#[test]
fn a_use_of_a_node_that_cannot_be_or_is_long_ago_is_told() {
    let usage = |cpu: &str| {
        format!(
            "kind: NodeMetrics\napiVersion: metrics.k8s.io/v1beta1\nmetadata: {{name: n1}}\n\
             timestamp: \"2026-01-02T05:50:00Z\"\nusage: {{cpu: \"{cpu}\", memory: 1Gi}}\n"
        )
    };
    for (cpu, now, told) in [
        (
            "400",
            "2026-01-02T05:51:00Z",
            "NodeMetrics n1: usage.cpu: 10000 % of what the node has",
        ),
        (
            "1",
            "2026-01-02T06:00:00Z",
            "NodeMetrics n1: timestamp: measured 600 s ago, which is too old to count",
        ),
        ("4", "2026-01-02T05:55:00Z", ""),
    ] {
        let folder = Folder::new("odd-usage").with("all.yaml", format!("{GOOD}{}", usage(cpu)));
        let ran = folder.run(&["simulate", "--now", now, "all.yaml"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let is_told = ran.err.contains("warning");
        assert_eq!(
            (is_told, ran.err.contains(told)),
            (!told.is_empty(), true),
            "{}",
            ran.err
        );
    }
}

#[test]
fn an_object_with_several_errors_is_one_that_was_set_aside() {
    let odd = numatopology("n1", "0-1,x,y");
    let folder = Folder::new("errors-of-one").with("all.yaml", format!("{GOOD}{odd}"));
    let ran = folder.run(&["simulate", "all.yaml"]);
    assert_eq!(ran.err.matches("error: ").count(), 2, "{}", ran.err);
    assert!(ran.out.contains("Set aside: 1 broken"), "{}", ran.out);
}

#[test]
fn of_a_long_pattern_that_matches_nothing_the_beginning_is_shown() {
    let long = "x".repeat(5000);
    let odd = format!(
        "kind: HyperNode\napiVersion: topology.volcano.sh/v1alpha1\nmetadata: {{name: h}}\n\
         spec: {{tier: 1, members: [{{type: Node, selector: {{regexMatch: {{pattern: {long}}}}}}}]}}\n"
    );
    let folder = Folder::new("long-pattern").with("all.yaml", format!("{GOOD}{odd}"));
    let ran = folder.run(&["simulate", "all.yaml"]);
    let told = format!("no node has \"{}\"… (5000 bytes) in its name", &long[..80]);
    assert!(ran.out.contains(&told), "{}", ran.out);
}
