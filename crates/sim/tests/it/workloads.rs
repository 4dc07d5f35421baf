//! Workloads that are only written down: their pods, and the PodGroups these get.

use pumice_sim::{InputProblem, Mode, Report};

use crate::run::{run, settings};

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n";

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', pods: '110'}}}";

/// A template of pods that ask so many cpus.
fn template(app: &str, cpu: &str) -> String {
    format!(
        "template: {{metadata: {{labels: {{app: {app}}}}}, spec: {{schedulerName: volcano, restartPolicy: Never, \
         containers: [{{name: c, image: i, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}}}"
    )
}

fn workload(version: &str, kind: &str, name: &str, spec: &str) -> String {
    let least = "annotations: {scheduling.volcano.sh/group-min-member: '3'}";
    format!(
        "{{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}, {least}}}, spec: {{{spec}}}}}"
    )
}

fn of(objects: &[String]) -> (Report, Vec<InputProblem>) {
    let text = [&[NODE.to_owned()], objects].concat().join("\n---\n");
    run(CONF, &text, &settings(Mode::FixedPoint))
}

fn bound(report: &Report) -> Vec<&str> {
    report.binds.iter().map(|one| one.pod.as_str()).collect()
}

#[test]
fn each_kind_gets_its_pods_and_one_group() {
    let selector = "selector: {matchLabels: {app: a}}";
    for (version, kind, spec) in [
        ("apps/v1", "Deployment", format!("replicas: 3, {selector}")),
        ("apps/v1", "ReplicaSet", format!("replicas: 3, {selector}")),
        ("apps/v1", "StatefulSet", format!("replicas: 3, {selector}")),
        (
            "batch/v1",
            "Job",
            "parallelism: 5, completions: 3".to_owned(),
        ),
    ] {
        let fits = workload(
            version,
            kind,
            "w",
            &format!("{spec}, {}", template("a", "1")),
        );
        let (report, problems) = of(&[fits]);
        assert!(problems.is_empty(), "{kind}: {problems:?}");
        assert_eq!(
            bound(&report),
            ["default/w-0", "default/w-1", "default/w-2"],
            "{kind}"
        );
        assert!(
            report
                .binds
                .iter()
                .all(|one| one.group == "default/podgroup-w"),
            "{kind}"
        );
        // All three that its annotation asks for, or none.
        let large = workload(
            version,
            kind,
            "w",
            &format!("{spec}, {}", template("a", "2")),
        );
        let (report, _) = of(&[large]);
        assert!(bound(&report).is_empty(), "{kind}: {:?}", report.binds);
    }
}

#[test]
fn no_pods_are_made_where_they_are_or_must_not_be() {
    let selector = "selector: {matchLabels: {app: a}}";
    let written = workload(
        "apps/v1",
        "Deployment",
        "w",
        &format!("{selector}, {}", template("a", "1")),
    );
    let served = written.replace("name: w,", "name: w, resourceVersion: '7',");
    assert!(bound(&of(&[served]).0).is_empty());
    let suspended = workload(
        "batch/v1",
        "Job",
        "w",
        &format!("suspend: true, {}", template("a", "1")),
    );
    assert!(bound(&of(&[suspended]).0).is_empty());
    let group = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {minMember: 1}}";
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: a}, annotations: \
               {scheduling.k8s.io/group-name: g}}, spec: {schedulerName: volcano, containers: [{name: c, image: i}]}}";
    let objects = [written, group.to_owned(), pod.to_owned()];
    assert_eq!(bound(&of(&objects).0), ["default/p"]);
}

#[test]
fn workloads_of_the_same_labels_get_their_pods_each() {
    let of_one = |name: &str| {
        let spec = format!("parallelism: 1, {}", template("a", "1"));
        workload("batch/v1", "Job", name, &spec).replace("'3'", "'1'")
    };
    let (report, problems) = of(&[of_one("v"), of_one("w")]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(bound(&report), ["default/v-0", "default/w-0"]);
}

#[test]
fn what_is_wrong_with_a_template_is_told_once_at_the_workload() {
    let spec = format!(
        "replicas: 3, selector: {{matchLabels: {{app: a}}}}, {}",
        template("a", "many")
    );
    let (report, problems) = of(&[workload("apps/v1", "Deployment", "w", &spec)]);
    assert!(bound(&report).is_empty());
    assert_eq!(problems.len(), 1, "{problems:?}");
    let told = problems[0].to_string();
    assert!(told.contains("cpu") && told.contains("many"), "{told}");
    let spec = spec
        .replace("replicas: 3", "replicas: 2147483647")
        .replace("many", "1");
    let (_, problems) = of(&[workload("apps/v1", "Deployment", "w", &spec)]);
    let told = problems[0].to_string();
    assert!(
        told.contains("Deployment default/w: spec.replicas: 2147483647 pods"),
        "{told}"
    );
}

#[test]
fn what_has_only_the_beginning_of_a_name_gets_one_and_always_the_same() {
    let named = |kind: &str, version: &str, name: &str| {
        let spec = match kind {
            "Job" => "parallelism: 1".to_owned(),
            _ => "replicas: 1, selector: {matchLabels: {app: a}}".to_owned(),
        };
        let template = template("a", "500m");
        format!(
            "{{apiVersion: {version}, kind: {kind}, metadata: {{{name}}}, spec: {{{spec}, {template}}}}}"
        )
    };
    let task = template("a", "500m");
    let objects = [
        named("Job", "batch/v1", "generateName: b-"),
        named("Job", "batch/v1", "generateName: b-, name: \"\""),
        named("Job", "batch/v1", "generateName: b-, name: own"),
        named("StatefulSet", "apps/v1", "generateName: s-"),
        format!(
            "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{generateName: v-}}, \
             spec: {{minAvailable: 1, schedulerName: volcano, tasks: [{{name: t, replicas: 1, {task}}}]}}}}"
        ),
        "{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {schedulerName: volcano, \
         containers: [{name: c, image: i}]}}"
            .to_owned(),
    ];
    let (report, problems) = of(&objects);
    assert!(problems.is_empty(), "{problems:?}");
    let mut pods = bound(&report);
    pods.sort_unstable();
    assert_eq!(
        pods,
        [
            "default/b-bbbbb-0",
            "default/b-bbbbc-0",
            "default/own-0",
            "default/p-bbbbb",
            "default/s-bbbbb-0",
            "default/v-bbbbb-t-0"
        ]
    );
    let (_, problems) = of(&[named("Job", "batch/v1", "labels: {a: b}")]);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(
        problems.len() == 1 && problems[0].contains("metadata.name: the name is missing"),
        "{problems:?}"
    );
    let long = "a".repeat(80);
    let (report, _) = of(&[named(
        "StatefulSet",
        "apps/v1",
        &format!("generateName: {long}"),
    )]);
    assert_eq!(bound(&report), [format!("default/{}bbbbb-0", &long[..58])]);
}
