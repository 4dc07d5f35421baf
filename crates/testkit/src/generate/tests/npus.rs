//! Everything the generator varies of NPUs decides something: without it other pods are bound, or
//! pods are given others.

use pumice_conf::{Config, parse};
use pumice_model::delta::Delta;
use pumice_model::object::{NodeObject, PodObject};

use super::REGISTRY;
use crate::generate::{npu_cluster, npu_conf_text};
use crate::naive::{Outcome, schedule};

const SEEDS: u64 = 600;

fn config(text: &str) -> Config {
    let outcome = parse(text, &REGISTRY);
    let problem = || panic!("{:?} in:\n{text}", outcome.diagnostics);
    outcome.config.clone().unwrap_or_else(problem)
}

fn outcome(text: &str, objects: &[Delta]) -> Outcome {
    schedule(&config(text), objects, "default", 1)
}

type Case = (u64, Vec<Delta>, Outcome);

fn cases() -> Vec<Case> {
    let case = |seed| {
        let objects = npu_cluster(seed);
        let outcome = outcome(&npu_conf_text(seed), &objects);
        (seed, objects, outcome)
    };
    (0..SEEDS).map(case).collect()
}

type Change = fn(&mut Delta);

fn node(object: &mut Delta, change: fn(&mut NodeObject)) {
    if let Delta::NodeApply(node) = object {
        change(node);
    }
}

fn pod(object: &mut Delta, change: fn(&mut PodObject)) {
    if let Delta::PodApply(pod) = object {
        change(pod);
    }
}

fn drop_label(object: &mut Delta, label: &str) {
    if let Delta::PodApply(pod) = object {
        pod.facts.labels.retain(|(key, _)| key != label);
    }
}

fn drop_record(object: &mut Delta, record: &str) {
    if let Delta::PodApply(pod) = object {
        pod.records.retain(|(key, _)| key != record);
    }
}

fn drop_limit(object: &mut Delta, resource: &str) {
    if let Delta::QueueApply(queue) = object {
        queue
            .capability
            .retain(|(name, _)| !name.starts_with(resource));
    }
}

/// Other words in what is told under a topic.
fn reword(object: &mut Delta, topics: &str, from: &str, to: &str) {
    if let Delta::NodeReport { topic, text, .. } = object
        && topic.contains(topics)
    {
        *text = text.take().map(|text| text.replace(from, to));
    }
}

const CHANGES: &[(&str, Change)] = &[
    ("level", |one| drop_label(one, "vnpu-level")),
    ("media processor", |one| drop_label(one, "vnpu-dvpp")),
    ("what is held", |one| {
        drop_record(one, "huawei.com/npu-core")
    }),
    ("what is made", |one| {
        drop_record(one, "huawei.com/AscendReal")
    }),
    ("what others gave", |one| {
        drop_record(one, "huawei.com/Ascend310P")
    }),
    ("terminating pods", |one| {
        pod(one, |pod| pod.deleting = false)
    }),
    ("base", |one| {
        node(one, |node| node.device_annotations.clear())
    }),
    ("labels", |one| node(one, |node| node.labels.clear())),
    ("unhealthy", |one| {
        reword(one, "device", "-Unhealthy", "-odd")
    }),
    ("recovering", |one| {
        reword(one, "device", "-Recovering", "-odd")
    }),
    ("network", |one| {
        reword(one, "device", "-NetworkUnhealthy", "-odd")
    }),
    ("times", |one| reword(one, "device", "Time\":0", "Time\":1")),
    ("check codes", |one| reword(one, "mindx", "4f00", "")),
    ("health of nodes", |one| {
        reword(one, "node", "UnHealthy", "Healthy")
    }),
    ("separation", |one| {
        reword(one, "node", "PreSeparate", "Healthy")
    }),
    ("limits of AI cores", |one| {
        drop_limit(one, "huawei.com/npu-core")
    }),
    ("limits of chips", |one| {
        drop_limit(one, "huawei.com/Ascend")
    }),
];

#[test]
fn every_feature_of_npus_decides_a_binding_somewhere() {
    let cases = cases();
    for (name, change) in CHANGES {
        let decides = |(seed, objects, expected): &Case| {
            let mut changed = objects.clone();
            changed.iter_mut().for_each(change);
            changed != *objects && outcome(&npu_conf_text(*seed), &changed) != *expected
        };
        assert!(cases.iter().any(decides), "{name}");
    }
}

#[test]
fn every_argument_of_npus_decides_a_binding_somewhere() {
    let cases = cases();
    for key in [
        "deviceshare.AscendMindClusterVNPUEnable",
        "deviceshare.AscendHAMiVNPUEnable",
        "deviceshare.SchedulePolicy",
        "deviceshare.ScheduleWeight",
        "deviceshare.InFlightGuard",
        "presetVirtualDevice",
        "useClusterInfoManager",
        "self-maintain-available-card",
    ] {
        let decides = |(seed, objects, expected): &Case| {
            let text = npu_conf_text(*seed);
            let lines = text.lines().filter(|line| !line.contains(key));
            let without: String = lines.map(|line| format!("{line}\n")).collect();
            text.contains(key) && outcome(&without, objects) != *expected
        };
        assert!(cases.iter().any(decides), "{key}");
    }
}
