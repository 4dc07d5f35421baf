//! What is wrong with the steps of a JobFlow, as far as it tells itself.

use std::collections::BTreeSet;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use pumice_api::JobFlow;
use pumice_api::job_flow::{Flow, FlowProbe};
use rustc_hash::FxBuildHasher;

/// Phases a probe may ask for.
const POD_PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

/// Names of the steps a step depends on.
pub(super) fn targets(flow: &Flow) -> &[String] {
    flow.depends_on
        .as_ref()
        .map_or(&[], |depends| &depends.targets)
}

/// The probes of a step.
pub(super) fn probe(flow: &Flow) -> Option<&FlowProbe> {
    let probe = flow.depends_on.as_ref()?.probe.as_ref()?;
    let FlowProbe {
        http_get_list,
        tcp_socket_list,
        task_status_list,
    } = probe;
    let is_empty =
        http_get_list.is_empty() && tcp_socket_list.is_empty() && task_status_list.is_empty();
    (!is_empty).then_some(probe)
}

/// Every reason why nothing of the flow can start; empty when it is fine.
pub fn flow_problems(flow: &JobFlow) -> Vec<String> {
    let steps = &flow.spec.flows;
    let mut problems = Vec::new();
    if steps.is_empty() {
        problems.push("spec.flows: there is no step; write at least one".to_owned());
    }
    let mut names = BTreeSet::new();
    for (at, step) in steps.iter().enumerate() {
        if step.name.is_empty() {
            problems.push(format!(
                "spec.flows[{at}].name: it is empty; write the name of a JobTemplate"
            ));
        } else if !names.insert(step.name.as_str()) {
            let name = &step.name;
            problems.push(format!(
                "spec.flows[{at}].name: there is another step {name:?}"
            ));
        }
    }
    for (at, step) in steps.iter().enumerate() {
        for target in targets(step) {
            if !names.contains(target.as_str()) {
                problems.push(format!(
                    "spec.flows[{at}].dependsOn.targets: there is no step {target:?}"
                ));
            }
        }
        probe_problems(step, at, &mut problems);
    }
    for circle in circles(steps) {
        let circle = circle.join(", ");
        problems.push(format!(
            "spec.flows: these wait for each other for ever: {circle}"
        ));
    }
    problems
}

fn probe_problems(step: &Flow, at: usize, problems: &mut Vec<String>) {
    let Some(probe) = probe(step) else {
        return;
    };
    let path = format!("spec.flows[{at}].dependsOn.probe");
    if targets(step).is_empty() {
        problems.push(format!(
            "{path}: there are no targets to probe; write dependsOn.targets"
        ));
    }
    let http = probe.http_get_list.iter().map(|one| one.port);
    let tcp = probe.tcp_socket_list.iter().map(|one| one.port);
    let lists: [(&str, Vec<i32>); 2] = [
        ("httpGetList", http.collect()),
        ("tcpSocketList", tcp.collect()),
    ];
    for (list, ports) in lists {
        for (nth, port) in ports.into_iter().enumerate() {
            if !(1..=65_535).contains(&port) {
                problems.push(format!(
                    "{path}.{list}[{nth}].port: {port} is not a port; write 1 to 65535"
                ));
            }
        }
    }
    for (nth, one) in probe.task_status_list.iter().enumerate() {
        if !POD_PHASES.contains(&one.phase.as_str()) {
            problems.push(format!(
                "{path}.taskStatusList[{nth}].phase: {:?} is not a phase of pods; use {}",
                one.phase,
                POD_PHASES.join(", ")
            ));
        }
    }
}

/// Steps that wait for each other, in order of their names.
fn circles(steps: &[Flow]) -> Vec<Vec<&str>> {
    let mut graph: DiGraphMap<&str, (), FxBuildHasher> = DiGraphMap::default();
    for step in steps {
        for target in targets(step) {
            graph.add_edge(&step.name, target, ());
        }
    }
    let loops = |of: &[&str]| of.len() > 1 || of.iter().any(|one| graph.contains_edge(one, one));
    let mut circles: Vec<Vec<&str>> = tarjan_scc(&graph);
    circles.retain(|of| loops(of));
    for circle in &mut circles {
        circle.sort_unstable();
    }
    circles.sort();
    circles
}
