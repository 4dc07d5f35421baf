//! CPUs of nodes whose Numatopology does not tell who has which, in manifests that tell more or fewer times.

use pumice_sim::Mode;

use super::run;

const CONF: &str =
    "actions: allocate\ntiers:\n- plugins: [{name: predicates}, {name: numa-aware}]\n";

/// A node with more CPUs than the eight of two NUMA nodes that it tells of, with those that are free.
fn node(name: &str, free: &str, written: &str) -> String {
    let cpus = (0..8).map(|cpu| {
        format!(
            "\"{cpu}\": {{numa: {0}, socket: {0}, core: {cpu}}}",
            cpu / 4
        )
    });
    let cpus = cpus.collect::<Vec<_>>().join(", ");
    format!(
        "kind: Node\napiVersion: v1\nmetadata: {{name: {name}}}\n\
         status: {{allocatable: {{cpu: 40, memory: 80Gi, pods: 10}}}}\n---\n\
         kind: Numatopology\napiVersion: nodeinfo.volcano.sh/v1alpha1\nmetadata: {{name: {name}{written}}}\n\
         spec:\n  policies: {{CPUManagerPolicy: static, TopologyManagerPolicy: single-numa-node}}\n  \
         numares: {{cpu: {{allocatable: \"{free}\"}}}}\n  cpuDetail: {{{cpus}}}\n---\n"
    )
}

/// A pod with four CPUs of its own; `node` is the rest of its `spec`, `status` where it has one.
fn pod(name: &str, metadata: &str, node: &str, status: &str) -> String {
    let amounts = "{cpu: 4, memory: 1Gi}";
    format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{name: {name}{metadata}, annotations: \
         {{volcano.sh/numa-topology-policy: single-numa-node}}}}\nspec:\n  schedulerName: volcano\n  {node}\n  \
         containers: [{{name: main, image: a, resources: {{requests: {amounts}, limits: {amounts}}}}}]\n\
         status: {{{status}}}\n---\n"
    )
}

/// `pod node` of each Binding until nothing happens any more.
fn binds(text: &str) -> Vec<String> {
    let (report, problems) = run::run(CONF, text, &run::settings(Mode::FixedPoint));
    assert!(problems.is_empty(), "{problems:?}");
    let binds = report.binds.iter();
    binds
        .map(|bind| format!("{} {}", bind.pod, bind.node))
        .collect()
}

#[test]
fn cpus_that_nobody_is_told_to_have_are_those_of_the_pods_that_run_whatever_times_are_told() {
    let made = ", creationTimestamp: \"2026-01-02T00:00:00Z\"";
    let placed = "conditions: [{type: PodScheduled, status: \"True\", lastTransitionTime: \"2026-01-02T00:00:05Z\"}], ";
    for (metadata, conditions) in [("", ""), (made, ""), (made, placed)] {
        let old = |node: &str| {
            let status = format!("{conditions}phase: Running");
            pod(
                &format!("old-{node}"),
                metadata,
                &format!("nodeName: {node}"),
                &status,
            )
        };
        // On n1 half is given out, to whom is not told: to the one that runs.
        let text = [
            node("n1", "4-7", ""),
            old("n1"),
            pod("a", "", "", ""),
            pod("b", "", "", ""),
        ];
        assert_eq!(
            binds(&text.concat()),
            ["default/a n1"],
            "{metadata} {conditions}"
        );
        // On n2 nobody runs who could have it. Who comes takes of what is free, and has it for good.
        let text = [
            node("n1", "", ""),
            old("n1"),
            node("n2", "4-7", ""),
            pod("a", "", "", ""),
            pod("b", "", "", ""),
        ];
        assert_eq!(
            binds(&text.concat()),
            ["default/a n2"],
            "{metadata} {conditions}"
        );
    }
    // Where the times are told, who came later has CPUs that are not told yet.
    let written = |time: &str| format!(", managedFields: [{{time: \"{time}\"}}]");
    let status = format!("{placed}phase: Running");
    let old = pod("old", made, "nodeName: n1", &status);
    for (time, expected) in [
        ("2026-01-02T00:00:04Z", &[][..]),
        ("2026-01-02T00:00:06Z", &["default/a n1"][..]),
    ] {
        let text = [
            node("n1", "4-7", &written(time)),
            old.clone(),
            pod("a", "", "", ""),
        ];
        assert_eq!(binds(&text.concat()), expected, "{time}");
    }
}
