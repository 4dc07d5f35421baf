//! Storage in a simulation: what an API server, its controllers and provisioners would have done.

use pumice_conf::DEFAULT_CONF;
use pumice_ingest::Options;
use pumice_sim::{Mode, Report, SimulationSettings};

use super::run;

const NODES: &str = "\
kind: Node
apiVersion: v1
metadata: {name: n1, labels: {zone: a}}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
---
kind: Node
apiVersion: v1
metadata: {name: n2, labels: {zone: b}}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
---
";

fn run(mode: Mode, ignored: &[&str], text: &str) -> Report {
    let settings = SimulationSettings {
        options: Options::default(),
        ignored_provisioners: ignored.iter().map(|name| (*name).to_owned()).collect(),
        ..run::settings(mode)
    };
    let (report, problems) = run::run(DEFAULT_CONF, &format!("{NODES}{text}"), &settings);
    assert!(problems.is_empty(), "{problems:?}");
    report
}

/// `pod node` of each Binding, sorted.
fn binds(report: &Report) -> Vec<String> {
    let binds = report.binds.iter();
    let mut lines: Vec<String> = binds
        .map(|bind| format!("{} {}", bind.pod, bind.node))
        .collect();
    lines.sort();
    lines
}

fn class(name: &str, mode: &str, more: &str) -> String {
    format!(
        "kind: StorageClass\napiVersion: storage.k8s.io/v1\nmetadata: {{name: {name}{more}}}\n\
         provisioner: csi.example.com\nvolumeBindingMode: {mode}\n---\n"
    )
}

fn claim(name: &str, class: &str) -> String {
    format!(
        "kind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {{name: {name}}}\nspec: \
         {{{class}accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}\n---\n"
    )
}

fn pod(name: &str, claim: &str) -> String {
    format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{name: {name}}}\nspec:\n  schedulerName: volcano\n  \
         containers: [{{name: main, resources: {{requests: {{cpu: 1}}}}}}]\n  volumes: [{{name: d, \
         persistentVolumeClaim: {{claimName: {claim}}}}}]\n---\n"
    )
}

fn csi_node(node: &str, drivers: &str) -> String {
    format!(
        "kind: CSINode\napiVersion: storage.k8s.io/v1\nmetadata: {{name: {node}}}\nspec: {{drivers: \
         [{drivers}]}}\n---\n"
    )
}

#[test]
fn an_immediate_claim_gets_a_volume_unless_the_cluster_is_taken_as_it_is() {
    let text = class("now", "Immediate", "")
        + &claim("data", "storageClassName: now, ")
        + &pod("p", "data");
    let report = run(Mode::FixedPoint, &[], &text);
    assert_eq!(binds(&report), ["default/p n1"]);
    assert_eq!(report.binds[0].volumes, []);
    let report = run(Mode::Cycles(2), &[], &text);
    assert_eq!(binds(&report), [""; 0]);
    let message = &report.pending[0].message;
    let expected = "pod has unbound immediate PersistentVolumeClaims";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_claim_without_a_class_gets_the_default_one() {
    let default = ", annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}";
    let text =
        class("late", "WaitForFirstConsumer", default) + &claim("data", "") + &pod("p", "data");
    let report = run(Mode::FixedPoint, &[], &text);
    assert_eq!(binds(&report), ["default/p n1"]);
    let line = &report.binds[0].volumes[0];
    assert_eq!(line.claim, "default/data");
    assert_eq!(line.provisioned_for.as_deref(), Some("n1"));
}

#[test]
fn a_provisioned_volume_stays_where_its_driver_made_it() {
    // They do not fit on one node, and only one node has the driver.
    let first = pod("first", "data").replace("cpu: 1", "cpu: 3");
    let text = class("late", "WaitForFirstConsumer", "")
        + &claim("data", "storageClassName: late, ")
        + &csi_node("n1", "")
        + &csi_node(
            "n2",
            "{name: csi.example.com, nodeID: n2, topologyKeys: [zone]}",
        )
        + &first
        + &pod("second", "data").replace("cpu: 1", "cpu: 2");
    let report = run(Mode::FixedPoint, &[], &text);
    assert_eq!(binds(&report), ["default/first n2"]);
    let second = &report.pending[0];
    assert_eq!(second.pod, "default/second");
}

#[test]
fn a_job_gets_the_claims_it_describes() {
    let text = class("late", "WaitForFirstConsumer", "")
        + "kind: Job\napiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: j}\nspec:\n  \
           schedulerName: volcano\n  minAvailable: 1\n  volumes:\n  - mountPath: /data\n    \
           volumeClaim: {storageClassName: late, accessModes: [ReadWriteOnce], resources: \
           {requests: {storage: 1Gi}}}\n  tasks:\n  - name: main\n    replicas: 1\n    template: \
           {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}\n---\n";
    for mode in [Mode::FixedPoint, Mode::Cycles(2)] {
        let report = run(mode, &[], &text);
        assert_eq!(binds(&report), ["default/j-main-0 n1"], "{mode:?}");
        assert_eq!(report.binds[0].volumes[0].claim, "default/j-pvc-0");
    }
}

#[test]
fn ignored_provisioners_do_not_count() {
    let none = "{name: csi.example.com, nodeID: id, allocatable: {count: 0}}";
    let text = class("late", "WaitForFirstConsumer", "")
        + &claim("data", "storageClassName: late, ")
        + &csi_node("n1", none)
        + &csi_node("n2", none)
        + &pod("p", "data");
    assert_eq!(binds(&run(Mode::FixedPoint, &[], &text)), [""; 0]);
    let report = run(Mode::FixedPoint, &["csi.example.com"], &text);
    assert_eq!(binds(&report), ["default/p n1"]);
}
