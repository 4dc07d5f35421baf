//! Shared cards while something changes under pods that wait, or whose Binding is on its way.

use pumice_devices::LedgerTime;
use pumice_model::object::Pairs;
use pumice_model::{Delta, TaskStatus};

use super::cluster::*;
use super::devices::{CONF, bare, config, decide, holding, split_card, two_cards, used, vgpu};

#[test]
fn exclusivity_rules_that_change_hold_for_pods_that_wait_already() {
    let with_rule = CONF.replace(
        "deviceshare.VGPUEnable: true",
        "deviceshare.VGPUEnable: true, deviceshare.GPUExclusiveRules: [{team: red}]",
    );
    let red = |name: &str| vgpu(name, 3000).labels(&[("team", "red")]);
    let pods = || {
        vec![
            holding("GPU-aa,NVIDIA,3000,0:", red("r")).on("n1"),
            red("a"),
        ]
    };
    for (before, after, expected) in [
        (CONF, with_rule.as_str(), "a GPU-bb,NVIDIA,3000,0:"),
        (with_rule.as_str(), CONF, "a GPU-aa,NVIDIA,3000,0:"),
    ] {
        let mut cluster = Cluster::under(before).with(two_cards("n1"));
        pods().into_iter().for_each(|pod| cluster.apply(pod));
        cluster.engine.reconfigure(&config(after));
        assert_eq!(decide(&mut cluster), [expected]);
    }
}

#[test]
fn a_card_that_is_registered_under_another_id_is_not_given_out_twice() {
    let renamed = || {
        let mut node = two_cards("n1");
        for (_, text) in &mut node.device_annotations {
            *text = text.replace("GPU-aa", "GPU-cc").replace("GPU-bb", "GPU-dd");
        }
        node.delta()
    };
    let running = || holding("GPU-aa,NVIDIA,20000,0:", vgpu("r", 20_000).on("n1"));
    let mut cluster = bare(two_cards("n1"), vec![running()]);
    cluster.apply(renamed());
    // As if it had never been known otherwise.
    let mut fresh = bare(two_cards("n1"), Vec::new());
    fresh.apply(renamed());
    fresh.apply(running());
    for cluster in [&mut cluster, &mut fresh] {
        cluster.engine.stand_by();
        let everywhere = ["GPU-cc 20000", "GPU-dd 20000"];
        assert_eq!(used(cluster, "n1", LedgerTime::Now), everywhere);
        cluster.apply(vgpu("big", 9000));
        cluster.apply(vgpu("small", 4000));
        assert_eq!(decide(cluster), ["small GPU-cc,NVIDIA,4000,0:"]);
        cluster.apply(Delta::PodDelete("r".to_owned()));
        assert_eq!(decide(cluster), ["big GPU-cc,NVIDIA,9000,0:"]);
    }
}

#[test]
fn a_pod_that_changes_while_the_node_of_its_binding_is_gone_keeps_its_cards() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    decide(&mut cluster);
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    cluster.engine.stand_by();
    cluster.apply(vgpu("a", 9000).labels(&[("app", "new")]));
    cluster.engine.stand_by();
    cluster.apply(two_cards("n1"));
    cluster.engine.stand_by();
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 9000", "GPU-bb 0"]
    );
}

#[test]
fn a_dump_without_the_node_of_a_binding_tells_its_cards() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    decide(&mut cluster);
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    cluster.engine.stand_by();
    let mut again = Cluster::under(CONF);
    for delta in cluster.engine.state().dump() {
        again.apply(delta);
    }
    for cluster in [&mut cluster, &mut again] {
        cluster.apply(two_cards("n1"));
        cluster.engine.stand_by();
        assert_eq!(
            used(cluster, "n1", LedgerTime::Now),
            ["GPU-aa 9000", "GPU-bb 0"]
        );
    }
}

#[test]
fn a_configuration_that_changes_while_the_node_of_a_binding_is_gone_loses_no_card() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    decide(&mut cluster);
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    cluster.engine.stand_by();
    cluster
        .engine
        .reconfigure(&config(&CONF.replace("binpack", "spread")));
    cluster.apply(two_cards("n1"));
    cluster.engine.stand_by();
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 9000", "GPU-bb 0"]
    );
}

#[test]
fn a_dump_while_a_node_tells_of_no_cards_tells_those_of_bindings() {
    let mut cluster = bare(split_card("n1"), vec![vgpu("a", 3000)]);
    decide(&mut cluster);
    let silent = split_card("n1").device_annotations(Pairs::new());
    cluster.apply(silent);
    cluster.engine.stand_by();
    let mut again = Cluster::under(CONF);
    for delta in cluster.engine.state().dump() {
        again.apply(delta);
    }
    for cluster in [&mut cluster, &mut again] {
        cluster.apply(split_card("n1"));
        cluster.apply(vgpu("b", 3000));
        assert_eq!(decide(cluster), ["b GPU-m0[group1-1],NVIDIA,3000,0:"]);
    }
}

#[test]
fn a_plan_that_was_never_sent_is_not_taken_for_what_a_pod_holds() {
    let gone = |name: &str, ids: &str| holding(ids, vgpu(name, 20_000)).on("n1").deleting(true);
    let pods = vec![
        gone("l", "GPU-aa,NVIDIA,20000,0:"),
        gone("m", "GPU-bb,NVIDIA,20000,0:"),
        vgpu("a", 10_000),
    ];
    let mut cluster = bare(two_cards("n1"), pods);
    assert!(decide(&mut cluster).is_empty());
    let state = cluster.engine.state();
    let task = state.task(state.population().task_by_uid("a").expect("a pod"));
    assert_eq!(task.status, TaskStatus::Pipelined);
    // Somebody else binds it there, and says nothing of cards.
    cluster.apply(vgpu("a", 10_000).on("n1"));
    for name in ["l", "m"] {
        cluster.apply(Delta::PodDelete(name.to_owned()));
    }
    cluster.engine.stand_by();
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 10000", "GPU-bb 10000"]
    );
}

#[test]
fn nobody_takes_a_card_from_a_pod_that_waits_for_another_one_besides() {
    let leaving = holding("GPU-aa,NVIDIA,20000,0:", vgpu("l", 20_000))
        .on("n1")
        .deleting(true);
    let mut both = vgpu("both", 20_000);
    for (name, amount) in &mut both.facts.containers[0].amounts {
        if name == "volcano.sh/vgpu-number" {
            *amount = 2000;
        }
    }
    let mut cluster = bare(two_cards("n1"), vec![leaving, both, vgpu("one", 20_000)]);
    assert!(decide(&mut cluster).is_empty());
    cluster.apply(vgpu("small", 4000));
    assert_eq!(decide(&mut cluster), ["small GPU-aa,NVIDIA,4000,0:"]);
    cluster.apply(Delta::PodDelete("l".to_owned()));
    assert_eq!(
        decide(&mut cluster),
        ["both GPU-aa,NVIDIA,20000,0:GPU-bb,NVIDIA,20000,0:"]
    );
}

#[test]
fn a_card_that_shrinks_below_what_it_holds_gets_nothing_more() {
    let running = holding("GPU-aa,NVIDIA,20000,0:", vgpu("r", 20_000).on("n1"));
    let mut cluster = bare(two_cards("n1"), vec![running]);
    let mut smaller = two_cards("n1");
    for (_, text) in &mut smaller.device_annotations {
        *text = text.replace("GPU-aa,10,24576", "GPU-aa,10,16000");
    }
    cluster.apply(smaller);
    let expected = ["GPU-aa 20000", "GPU-bb 0"];
    assert_eq!(used(&cluster, "n1", LedgerTime::Now), expected);
    for name in ["a", "b", "c"] {
        cluster.apply(vgpu(name, 12_000));
    }
    let expected = ["a GPU-bb,NVIDIA,12000,0:", "b GPU-bb,NVIDIA,12000,0:"];
    assert_eq!(decide(&mut cluster), expected);
}
