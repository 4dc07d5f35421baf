//! What users write in annotations and labels of their pods on nodes moves no card.

use pumice_devices::LedgerTime;
use pumice_model::Delta;
use pumice_model::object::PodObject;

use super::cluster::*;
use super::devices::{bare, decide, holding, two_cards, used, vgpu};

const NOW: LedgerTime = LedgerTime::Now;

fn apply(cluster: &mut Cluster, pod: PodObject) {
    cluster.apply(pod);
}

fn a(ids: &str) -> PodObject {
    holding(ids, vgpu("a", 5000)).on("n1")
}

#[test]
fn what_a_pod_was_seen_with_stays_until_it_is_gone() {
    let mut cluster = bare(two_cards("n1"), vec![a("GPU-bb,NVIDIA,5000,0:")]);
    let held = ["GPU-aa 0", "GPU-bb 5000"];
    assert_eq!(used(&cluster, "n1", NOW), held);
    cluster.engine.take_device_notes();
    for ids in [
        "GPU-aa,NVIDIA,5000,0:",
        "GPU-bb,NVIDIA,0,0:",
        "GPU-zz,NVIDIA,1,1:",
        "",
    ] {
        apply(&mut cluster, a(ids));
        assert_eq!(used(&cluster, "n1", NOW), held, "{ids:?}");
    }
    apply(&mut cluster, vgpu("a", 5000).on("n1"));
    assert_eq!(used(&cluster, "n1", NOW), held, "the annotation is gone");
    // Nor is anything told of what changes nothing, however often it is written.
    assert_eq!(cluster.engine.take_device_notes(), []);
    // When cards are made anew, what was seen first counts.
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    cluster.apply(two_cards("n1"));
    assert!(decide(&mut cluster).is_empty());
    assert_eq!(used(&cluster, "n1", NOW), held);
    cluster.apply(Delta::PodDelete("a".to_owned()));
    assert_eq!(used(&cluster, "n1", NOW), ["GPU-aa 0", "GPU-bb 0"]);
}

#[test]
fn what_a_binding_wrote_stays_too() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 5000)]);
    assert_eq!(decide(&mut cluster), ["a GPU-aa,NVIDIA,5000,0:"]);
    apply(&mut cluster, a("GPU-aa,NVIDIA,5000,0:"));
    apply(&mut cluster, a("GPU-bb,NVIDIA,5000,0:"));
    assert_eq!(used(&cluster, "n1", NOW), ["GPU-aa 5000", "GPU-bb 0"]);
}

#[test]
fn a_pod_of_which_nobody_knew_what_it_has_may_still_tell() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 5000).on("n1")]);
    assert_eq!(used(&cluster, "n1", NOW), ["GPU-aa 5000", "GPU-bb 5000"]);
    apply(&mut cluster, a("GPU-bb,NVIDIA,20000,0:"));
    assert_eq!(used(&cluster, "n1", NOW), ["GPU-aa 0", "GPU-bb 5000"]);
}

#[test]
fn a_scheduler_that_starts_believes_which_and_not_how_much() {
    for ids in [
        "GPU-bb,NVIDIA,24576,100:GPU-aa,NVIDIA,24576,100:",
        "GPU-bb,NVIDIA,0,0:",
    ] {
        let cluster = bare(two_cards("n1"), vec![a(ids)]);
        assert_eq!(
            used(&cluster, "n1", NOW),
            ["GPU-aa 0", "GPU-bb 5000"],
            "{ids}"
        );
    }
}
