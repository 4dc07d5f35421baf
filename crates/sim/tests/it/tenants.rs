//! What somebody who may edit one namespace cannot do to others.

use pumice_sim::{Mode, Report};

use super::run;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\ntiers: [{plugins: [{name: gang}, {name: predicates}, \
                    {name: capacity}, {name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]}]\n";

/// One cycle over these manifests, and what is told of the input.
fn one_cycle(text: &str) -> (Report, Vec<String>) {
    let (report, problems) = run::run(CONF, text, &run::settings(Mode::Cycles(1)));
    let told = problems.iter().map(ToString::to_string);
    (report, told.collect())
}

fn binds(report: &Report) -> Vec<&str> {
    report.binds.iter().map(|bind| &*bind.pod).collect()
}

/// A node of 8 cpus with two GPUs, and a pod that waits and asks this.
fn cluster(limits: &str) -> String {
    format!(
        "kind: Node\napiVersion: v1\nmetadata:\n  name: n1\n  annotations:\n    volcano.sh/node-vgpu-register: \
         \"GPU-a,10,1000,NVIDIA-A,true,hami-core:GPU-b,10,1000,NVIDIA-A,true,hami-core:\"\nstatus: {{allocatable: \
         {{cpu: 8, memory: 16Gi, pods: 10, volcano.sh/vgpu-number: 20, volcano.sh/vgpu-memory: 2000, \
         volcano.sh/vgpu-cores: 200}}}}\n---\nkind: Pod\napiVersion: v1\nmetadata: {{name: waits, namespace: b}}\n\
         spec: {{schedulerName: volcano, containers: [{{name: c, resources: {{limits: {limits}}}}}]}}\n---\n"
    )
}

/// A pod on that node with these annotations and limits.
fn running(annotations: &str, spec: &str) -> String {
    format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{name: runs, namespace: a, annotations: {annotations}}}\nspec: \
         {{schedulerName: default-scheduler, nodeName: n1, {spec}}}\nstatus: {{phase: Running}}\n"
    )
}

fn one(limits: &str) -> String {
    format!("containers: [{{name: c, resources: {{limits: {limits}}}}}]")
}

#[test]
fn a_pod_some_of_which_cannot_be_read_keeps_its_place() {
    let six = "{cpu: 6, memory: 1Gi}";
    assert_eq!(binds(&one_cycle(&cluster(six)).0), ["b/waits"]);
    let specs = [
        one("{cpu: 6, example.com/absent: 9007199254740993}"),
        one("{cpu: 6, example.com/absent: much}"),
        one("{cpu: -1}"),
        one("{cpu: much}"),
        one("{cpu: [6]}"),
        "containers: [{name: c}], initContainers: [{name: i, resources: {requests: {cpu: 1e30}}}]"
            .to_owned(),
        "containers: [{name: c}], overhead: {cpu: much}".to_owned(),
        format!("priority: high, {}", one("{cpu: 6}")),
        format!(
            "affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{}}]}}}}, {}",
            one("{cpu: 6}")
        ),
        "containers: none".to_owned(),
        "containers: [{name: c, ports: [{hostPort: 70000}], resources: {requests: {cpu: 6}}}]"
            .to_owned(),
    ];
    for spec in specs {
        let (report, told) = one_cycle(&format!("{}{}", cluster(six), running("{}", &spec)));
        assert_eq!(binds(&report), [""; 0], "{spec}");
        assert!(
            told.iter().any(|text| text.contains("a/runs")),
            "{spec}: {told:?}"
        );
        assert!(
            told.iter().all(|text| !text.contains("set aside")),
            "{spec}: {told:?}"
        );
    }
}

#[test]
fn annotations_of_a_pod_that_asks_no_cards_hold_none() {
    let gpu = "{cpu: 1, volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 900}";
    let all = "{volcano.sh/vgpu-ids-new: \"GPU-a,NVIDIA,1000,100:GPU-b,NVIDIA,1000,100:\"}";
    for limits in ["{cpu: 1m}", "{cpu: 1m, example.com/other: 1}"] {
        let (report, told) = one_cycle(&format!("{}{}", cluster(gpu), running(all, &one(limits))));
        assert_eq!(binds(&report), ["b/waits"], "{limits}");
        assert!(
            told.iter()
                .any(|text| text.contains("more than the pod asks")),
            "{told:?}"
        );
    }
}

#[test]
fn annotations_do_not_hide_what_a_pod_asks() {
    let gpu = "{cpu: 1, volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 900}";
    let two = one("{cpu: 1m, volcano.sh/vgpu-number: 2, volcano.sh/vgpu-memory: 200}");
    for ids in [
        "GPU-a,NVIDIA,0,0:GPU-b,NVIDIA,0,0:",
        "GPU-a,NVIDIA,0,0:",
        "",
        "GPU-x,NVIDIA,0,0:GPU-y,NVIDIA,0,0:",
    ] {
        let annotations = format!("{{volcano.sh/vgpu-ids-new: \"{ids}\"}}");
        let (report, _) = one_cycle(&format!("{}{}", cluster(gpu), running(&annotations, &two)));
        assert_eq!(binds(&report), [""; 0], "{ids:?}");
    }
}
