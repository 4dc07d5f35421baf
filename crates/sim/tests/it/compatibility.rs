//! What a user who comes from Volcano may rely on, or be surprised by, seen from the manifests: the
//! tests that hold rows of `docs/compatibility.md` and the pages beside it.

use pumice_conf::DEFAULT_CONF;
use pumice_model::object::Shard;
use pumice_sim::{Mode, OwnShard, Report, SimulationSettings};

use super::run;

/// One cycle over the manifests under a configuration.
fn run(conf: &str, text: &str) -> Report {
    run_sharded(conf, text, None)
}

/// One cycle over the manifests under a configuration, as the scheduler with that NodeShard.
fn run_sharded(conf: &str, text: &str, shard: Option<OwnShard>) -> Report {
    let settings = SimulationSettings {
        shard,
        ..run::settings(Mode::Cycles(1))
    };
    let (report, problems) = run::run(conf, text, &settings);
    assert!(problems.is_empty(), "{problems:?}");
    report
}

/// `pod node` of each Binding, sorted.
fn binds(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report
        .binds
        .iter()
        .map(|bind| format!("{} {}", bind.pod, bind.node))
        .collect();
    lines.sort();
    lines
}

fn node(name: &str, metadata: &str) -> String {
    format!(
        "kind: Node\napiVersion: v1\nmetadata: {{name: {name}, {metadata}}}\nstatus: {{allocatable: \
         {{cpu: 4, memory: 8Gi, pods: 10}}}}\n---\n"
    )
}

fn pod(key: &str, cpu: &str, annotations: &str, spec: &str) -> String {
    let (namespace, name) = key.split_once('/').expect("namespace and name");
    format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{namespace: {namespace}, name: {name}, annotations: \
         {{{annotations}}}}}\nspec:\n  schedulerName: volcano\n  {spec}\n  containers: [{{name: \
         main, resources: {{requests: {{cpu: {cpu}}}}}}}]\n---\n"
    )
}

#[test]
fn caches_are_accepted_and_change_no_decision() {
    // Equal template ids of two namespaces, and of two jobs that are called alike: Volcano's caches
    // take the verdict of the one for the other.
    let id = "volcano.sh/template-uid: train-worker";
    let text = [
        node("n1", "labels: {disk: ssd}"),
        node("n2", "labels: {disk: hdd}"),
        pod("nsa/a", "1", id, "nodeSelector: {disk: ssd}"),
        pod("nsb/b", "1", id, "nodeSelector: {disk: hdd}"),
        pod("nsc/c", "1", id, "nodeSelector: {disk: tape}"),
    ]
    .concat();
    for on in ["true", "false"] {
        let conf = DEFAULT_CONF.replace(
            "  - name: predicates\n",
            &format!("  - name: predicates\n    arguments: {{predicate.CacheEnable: {on}}}\n"),
        ) + &format!(
            "configurations:\n- {{name: allocate, arguments: {{predicateErrorCacheEnable: {on}}}}}\n"
        );
        let report = run(&conf, &text);
        assert_eq!(binds(&report), ["nsa/a n1", "nsb/b n2"], "{on}");
    }
}

#[test]
fn a_quoted_number_counts_as_the_number() {
    // Spread out unless binpack outweighs the scorers that spread.
    let text = [
        node("n1", ""),
        node("n2", ""),
        pod("ns/there", "2", "", "nodeName: n2"),
        pod("ns/p", "1", "", ""),
    ]
    .concat();
    for (weight, expected) in [("0", "ns/p n1"), ("\"10\"", "ns/p n2"), ("10", "ns/p n2")] {
        let conf = format!(
            "{DEFAULT_CONF}  - name: binpack\n    arguments: {{binpack.weight: {weight}}}\n"
        );
        assert_eq!(binds(&run(&conf, &text)), [expected], "{weight}");
    }
}

#[test]
fn a_refused_job_does_not_hold_up_the_next_one_even_in_a_fifo_queue() {
    let group = |name: &str, cpu: u32| {
        format!(
            "kind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {{name: {name}}}\n\
             spec: {{queue: q, minMember: 1, minResources: {{cpu: {cpu}}}}}\n---\n"
        )
    };
    for strategy in ["fifo", "traverse"] {
        let queue = format!(
            "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {{name: q}}\nspec: \
             {{dequeueStrategy: {strategy}}}\n---\n"
        );
        let text = [node("n1", ""), queue, group("a", 40), group("b", 1)].concat();
        let report = run(DEFAULT_CONF, &text);
        let phases: Vec<&str> = report.pod_groups.iter().map(|group| group.phase).collect();
        assert_eq!(phases, ["Pending", "Inqueue"], "{strategy}");
    }
}

#[test]
fn jobs_directly_in_root_count_once() {
    let group = "kind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {namespace: \
                 ns, name: g}\nspec: {queue: root, minMember: 1}\nstatus: {phase: Running}\n---\n";
    let of_group = "scheduling.k8s.io/group-name: g";
    let text = [
        node("n1", ""),
        group.to_owned(),
        pod("ns/p", "2", of_group, "nodeName: n1"),
    ]
    .concat();
    let report = run(DEFAULT_CONF, &text);
    let root = report
        .queues
        .iter()
        .find(|queue| queue.name == "root")
        .expect("root");
    assert_eq!(root.allocated["cpu"], "2");
}

#[test]
fn oversold_resources_are_open_to_every_pod_whatever_the_label_says() {
    let oversold = "annotations: {volcano.sh/oversubscription-cpu: \"2000\"}";
    for label in ["", ", labels: {volcano.sh/oversubscription: \"false\"}"] {
        let text = [
            node("n1", &format!("{oversold}{label}")),
            pod("ns/p", "6", "", ""),
        ]
        .concat();
        assert_eq!(binds(&run(DEFAULT_CONF, &text)), ["ns/p n1"], "{label}");
    }
}

#[test]
fn a_scheduler_with_a_shard_uses_its_nodes_only_or_first() {
    let shard = |name: &str, desired: &str, in_use: &str| {
        format!(
            "apiVersion: shard.volcano.sh/v1alpha1\nkind: NodeShard\nmetadata: {{name: {name}}}\n\
             spec: {{nodesDesired: [{desired}]}}\nstatus: {{nodesInUse: [{in_use}]}}\n---\n"
        )
    };
    let text = [
        node("n1", ""),
        node("n2", ""),
        node("n3", ""),
        shard("volcano", "n2, n3", ""),
        // What another scheduler still uses is not ours yet.
        shard("other", "n1", "n1, n3"),
        pod("ns/a", "3", "", ""),
        pod("ns/b", "3", "", ""),
    ]
    .concat();
    for (others, bound) in [
        (Shard::Never, vec!["ns/a n2"]),
        (Shard::Later, vec!["ns/a n2", "ns/b n1"]),
    ] {
        let name = "volcano".to_owned();
        let report = run_sharded(DEFAULT_CONF, &text, Some(OwnShard { name, others }));
        assert_eq!(binds(&report), bound, "{others:?}");
    }
}
