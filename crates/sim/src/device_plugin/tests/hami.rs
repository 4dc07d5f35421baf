//! Plugins of HAMi's vendors: whose turn it is, and what is handed out.

use std::collections::BTreeMap;

use super::super::hami::{
    self, MLU_ASSIGNED, MLU_LOCK, MLU_PROFILE, MTHREADS_INDEX, MTHREADS_NODE, MTHREADS_TIME,
    NEURON, NEURON_CORE, NEURON_IDS, NEURON_NODE, NEURON_TIME, NEURON_TYPE, SGPU_CLASS,
    SGPU_DEVICES, SGPU_POLICY, XPU_INDEX,
};
use super::super::{AllocateRefusal, Grant, ListedPod, answer_at_once, ascend};
use super::{call, ids, waiting};

fn pod(name: &str, annotations: &[(&str, &str)]) -> ListedPod {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    waiting("ns", name, annotations.iter().map(pair).collect())
}

#[test]
fn a_plugin_of_hami_takes_the_next_element_that_is_not_empty() {
    let list = ";DCU-0,DCU,4096,20:;DCU-1,DCU,2048,10:;";
    let mut pods = [pod(
        "a",
        &[
            ("hami.io/dcu-devices-to-allocate", list),
            ("hami.io/dcu-devices-allocated", list),
            (ascend::NODE, "n1"),
            (ascend::BIND_TIME, "1"),
            (ascend::PHASE, ascend::ALLOCATING),
        ],
    )];
    for card in ["DCU-0", "DCU-1"] {
        let answer = hami::allocate("hygon.com/dcunum", &pods, None, &call("a", 1));
        let answer = answer.expect("a plugin of HAMi");
        assert_eq!(ids(&answer.result.expect("served")), [card]);
        assert_eq!(answer.unlocks, Some("hami.io/mutex.lock"));
        pods[0].annotations.extend(answer.changes);
    }
    assert_eq!(
        hami::allocate("other.io/card", &pods, None, &call("a", 1)),
        None
    );
}

#[test]
fn cambricons_plugin_serves_the_pod_that_waits_and_unlocks_the_node() {
    let profile = [(MLU_PROFILE, "3_30_20"), (MLU_ASSIGNED, "false")];
    let mut pods = [pod("other", &[]), pod("a", &profile)];
    let answer = hami::allocate_mlu(&pods, &call("a", 1));
    let grant = Grant {
        id: "3".to_owned(),
        memory: 5120,
        cores: 30,
    };
    assert_eq!(answer.result, Ok(vec![grant]));
    assert_eq!(answer.unlocks, Some(MLU_LOCK));
    pods[1].annotations.extend(answer.changes);
    let again = hami::allocate_mlu(&pods, &call("b", 1));
    assert_eq!(again.result, Err(AllocateRefusal::NobodyWaits));
    let broken = [pod("a", &[(MLU_PROFILE, "3_x"), (MLU_ASSIGNED, "false")])];
    let answer = hami::allocate_mlu(&broken, &call("a", 1));
    assert_eq!(answer.result, Err(AllocateRefusal::NothingLeft));
}

#[test]
fn moore_threads_plugin_serves_the_pod_whose_cards_were_chosen_first() {
    let own = |index: &'static str, time: &'static str| {
        [
            (MTHREADS_INDEX, index),
            (MTHREADS_NODE, "n1"),
            (MTHREADS_TIME, time),
        ]
    };
    let mut pods = [pod("late", &own("1", "9")), pod("first", &own("7,6", "8"))];
    let answer = hami::allocate_mthreads(&pods, &call("first", 2));
    assert_eq!(answer.guessed.as_deref(), Some("first"));
    assert_eq!(ids(&answer.result.expect("served")), ["7", "6"]);
    // Whoever is started: so one at a time is on its way to a node.
    let mixed_up = hami::allocate_mthreads(&pods, &call("late", 1));
    assert_eq!(mixed_up.guessed.as_deref(), Some("first"));
    pods[1].phase = "Running".to_owned();
    let answer = hami::allocate_mthreads(&pods, &call("late", 1));
    assert_eq!(answer.guessed.as_deref(), Some("late"));
}

#[test]
fn kunluns_plugin_serves_a_pod_of_the_node_that_does_not_run_yet() {
    let mut pods = [
        pod("other", &[]),
        pod("four", &[(XPU_INDEX, "0,1,2,3")]),
        pod("next", &[(XPU_INDEX, "4")]),
    ];
    let answer = hami::allocate_xpu(&pods, &call("four", 4));
    assert_eq!(answer.guessed.as_deref(), Some("four"));
    assert_eq!(ids(&answer.result.expect("served")), ["0", "1", "2", "3"]);
    pods[1].phase = "Running".to_owned();
    let answer = hami::allocate_xpu(&pods, &call("next", 1));
    assert_eq!(answer.guessed.as_deref(), Some("next"));
    pods[2]
        .annotations
        .insert(XPU_INDEX.to_owned(), "4,x".to_owned());
    let broken = hami::allocate_xpu(&pods, &call("next", 1));
    assert_eq!(broken.result, Err(AllocateRefusal::NothingLeft));
    let nobody = hami::allocate_xpu(&pods[..2], &call("next", 1));
    assert_eq!(nobody.result, Err(AllocateRefusal::NobodyWaits));
}

#[test]
fn neurons_plugin_serves_devices_and_cores_each_to_the_pod_that_was_placed_first() {
    let own = |ids: &'static str, time: &'static str| {
        [(NEURON_IDS, ids), (NEURON_NODE, "n1"), (NEURON_TIME, time)]
    };
    let cores = [&own("4,5", "7")[..], &[(NEURON_TYPE, NEURON_CORE)]].concat();
    let pods = [
        pod("late", &own("3", "9")),
        pod("first", &own("0,1", "8")),
        pod("cores", &cores),
    ];
    let devices = hami::allocate_neuron(NEURON, &pods, &call("first", 2));
    assert_eq!(devices.guessed.as_deref(), Some("first"));
    assert_eq!(ids(&devices.result.expect("served")), ["0", "1"]);
    let cores = hami::allocate_neuron(NEURON_CORE, &pods, &call("cores", 2));
    assert_eq!(ids(&cores.result.expect("served")), ["4", "5"]);
    let nobody = hami::allocate_neuron(NEURON_CORE, &pods[..2], &call("first", 1));
    assert_eq!(nobody.result, Err(AllocateRefusal::NobodyWaits));
}

#[test]
fn in_a_simulation_they_answer_at_once() {
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    let before = pairs(&[(MLU_PROFILE, "0_100_8"), (MLU_ASSIGNED, "false")]);
    let after: BTreeMap<_, _> = answer_at_once(&before.into_iter().collect())
        .into_iter()
        .collect();
    assert_eq!(after[MLU_ASSIGNED], "true");
    let list = "GPU-a,NVIDIA,3000,0:;";
    let before = pairs(&[
        ("hami.io/vgpu-devices-to-allocate", list),
        ("hami.io/vgpu-devices-allocated", list),
        (ascend::NODE, "n1"),
        (ascend::PHASE, ascend::ALLOCATING),
    ]);
    let after: BTreeMap<_, _> = answer_at_once(&before.into_iter().collect())
        .into_iter()
        .collect();
    assert_eq!(after["hami.io/vgpu-devices-to-allocate"], "");
    assert_eq!(after["hami.io/vgpu-devices-allocated"], list);
    assert_eq!(after[ascend::PHASE], ascend::SUCCESS);
}

#[test]
fn metax_reads_its_own_list_and_tells_the_policy_of_the_cards() {
    let list =
        r#"[[{"uuid":"M0","compute":20,"vRam":1024}],[{"uuid":"M1","compute":100,"vRam":65536}]]"#;
    let shared = pod("a", &[(SGPU_DEVICES, list), (SGPU_POLICY, "fixed-share")]);
    let grant = |id: &str, memory, cores| Grant {
        id: id.to_owned(),
        memory,
        cores,
    };
    assert_eq!(
        hami::sgpus(&shared),
        Some(vec![
            vec![grant("M0", 1024, 20)],
            vec![grant("M1", 65_536, 100)]
        ])
    );
    let list = r#"[[{"uuid":"M2","vRam":1024}]]"#;
    let online = pod("b", &[(SGPU_DEVICES, list), (SGPU_CLASS, "online")]);
    assert_eq!(hami::sgpus(&online), Some(vec![vec![grant("M2", 1024, 0)]]));
    let before = r#"[{"uuid":"M0"},{"uuid":"M1","qosPolicy":"burst-share"},{"uuid":"M2","qosPolicy":"best-effort"}]"#;
    let after = hami::sgpu_register(before, &[shared, online]).expect("readable");
    assert_eq!(
        after,
        r#"[{"qosPolicy":"fixed-share","uuid":"M0"},{"qosPolicy":"","uuid":"M1"},{"qosPolicy":"best-effort","uuid":"M2"}]"#
    );
    let silent = pod("c", &[(SGPU_DEVICES, r#"[[{"uuid":"M0","compute":5}]]"#)]);
    assert_eq!(
        hami::sgpu_register(before, &[silent]),
        None,
        "no policy to set"
    );
    let broken = pod("d", &[(SGPU_DEVICES, "M0")]);
    assert_eq!(hami::sgpus(&broken), None);
}
