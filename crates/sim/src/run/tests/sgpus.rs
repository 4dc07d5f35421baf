//! Shared GPUs of MetaX: the scheduler, the device plugin, and the scheduler again, which knows what
//! objects tell.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::device_plugin::hami::{SGPU_CLASS, SGPU_POLICY, SGPU_REGISTER, sgpu_register, sgpus};
use crate::device_plugin::{Grant, ListedPod, wire};

const CONF: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.HAMiVendors: [MetaX]
      deviceshare.SchedulePolicy: binpack
";

const REGISTER: &str = r#"[{"uuid":"M0","totalDevCount":8,"totalCompute":100,"totalVRam":65536,"healthy":true,"qosPolicy":"burst-share"},{"uuid":"M1","totalDevCount":8,"totalCompute":100,"totalVRam":65536,"healthy":true}]"#;

fn node(register: &str) -> String {
    format!(
        "kind: Node\napiVersion: v1\nmetadata:\n  name: n1\n  annotations: {{{SGPU_REGISTER}: '{register}'}}\n\
         status:\n  allocatable: {{cpu: \"4\", memory: 8Gi, pods: \"10\", metax-tech.com/sgpu: \"16\"}}\n---\n"
    )
}

type Annotations = BTreeMap<String, String>;

/// A pod that asks 20 cores and 1 GiB of a card; with a node it runs there.
fn pod(name: &str, annotations: &Annotations, node: Option<&str>) -> String {
    let mut text = format!(
        "kind: Pod\napiVersion: v1\nmetadata:\n  name: {name}\n  annotations:\n    for: test\n"
    );
    for (key, value) in annotations {
        let _ = writeln!(text, "    {key}: '{value}'");
    }
    text.push_str("spec:\n  schedulerName: volcano\n");
    if let Some(node) = node {
        let _ = writeln!(text, "  nodeName: {node}");
    }
    text.push_str("  containers:\n  - name: main\n    resources:\n      limits: ");
    text.push_str(
        "{metax-tech.com/sgpu: 1, metax-tech.com/vmemory: 1, metax-tech.com/vcore: 20}\n",
    );
    if node.is_some() {
        text.push_str("status: {phase: Running}\n");
    }
    text + "---\n"
}

fn said(pairs: &[(&str, &str)]) -> Annotations {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(pair).collect()
}

fn run_sgpus(text: &str) -> Report {
    let config = parse(CONF, &pumice_engine::REGISTRY).config.expect("valid");
    run_under(&config, text, Mode::FixedPoint)
}

/// The pods that a run has bound, with all their annotations.
fn bound(report: &Report, own: &[(&str, Annotations)]) -> Vec<ListedPod> {
    let pod = |(name, said): &(&str, Annotations)| {
        let line = report
            .binds
            .iter()
            .find(|line| line.pod == format!("default/{name}"));
        let line = line.expect("bound");
        let mut annotations = said.clone();
        annotations.extend(line.annotations.clone());
        ListedPod {
            name: (*name).to_owned(),
            node: Some(line.node.clone()),
            annotations,
            ..ListedPod::default()
        }
    };
    own.iter().map(pod).collect()
}

#[test]
fn what_the_plugin_of_metax_reads_is_what_was_chosen_and_holds_after_a_restart() {
    let own = [
        ("fixed", said(&[(SGPU_POLICY, "fixed-share")])),
        ("online", said(&[(SGPU_CLASS, "online")])),
    ];
    let pending: String = own
        .iter()
        .map(|(name, said)| pod(name, said, None))
        .collect();
    let report = run_sgpus(&format!("{}{pending}", node(REGISTER)));
    let pods = bound(&report, &own);
    let grant = |id: &str, cores| {
        let id = id.to_owned();
        vec![vec![Grant {
            id,
            memory: 1024,
            cores,
        }]]
    };
    assert_eq!(sgpus(&pods[0]), Some(grant("M0", 20)));
    assert_eq!(sgpus(&pods[1]), Some(grant("M1", 0)));
    for pod in &pods {
        let list = &pod.annotations["hami.io/metax-sgpu-devices-allocated"];
        let read: Vec<&str> = list.split(',').take(1).collect();
        assert_eq!(
            sgpus(pod).expect("readable")[0][0].id,
            read[0],
            "both lists name one card"
        );
        let time = pod.annotations.get("metax-tech.com/predicate-time");
        assert_ne!(wire::time(time), u64::MAX, "a time");
    }
    // The plugin has served them; a new scheduler knows what objects tell.
    let told = sgpu_register(REGISTER, &pods).expect("readable");
    assert!(
        told.contains("fixed-share") && !told.contains("burst-share"),
        "{told}"
    );
    for register in [REGISTER, &told] {
        let mut text = node(register);
        for one in &pods {
            text.push_str(&pod(&one.name, &one.annotations, one.node.as_deref()));
        }
        text.push_str(&pod("more", &said(&[(SGPU_POLICY, "fixed-share")]), None));
        text.push_str(&pod("burst", &said(&[(SGPU_POLICY, "burst-share")]), None));
        let report = run_sgpus(&text);
        let more = [("more", said(&[]))];
        assert_eq!(
            sgpus(&bound(&report, &more)[0]),
            Some(grant("M0", 20)),
            "{register}"
        );
        let waiting = serde_json::to_string(&report.pending).expect("JSON");
        for why in [
            "M0: CardQosPolicyMismatch: the card has fixed-share, the pod burst-share",
            "M1: CardAppClassMismatch: online pods are on the card, the pod is of no class",
        ] {
            assert!(waiting.contains(why), "{register}: {waiting}");
        }
    }
}
