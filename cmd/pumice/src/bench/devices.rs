//! Shared devices of the nodes in memory, and what pods ask and hold of them.

use pumice_model::Delta;
use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, PodObject};

use super::BenchDevices;

/// Devices of a node.
const CARDS: i64 = 8;

const SLOTS: i64 = 10;
const CARD_MIB: i64 = 81_920;

/// AI cores of a 310P chip.
const CORES_OF_310P: i64 = 8;

/// Gives a node its devices, as their plugin tells them; what is told apart from the node.
pub fn equip(devices: BenchDevices, node: &mut NodeObject) -> Option<Delta> {
    match devices {
        BenchDevices::None => None,
        BenchDevices::Vgpu => add_gpus(node),
        BenchDevices::HamiNpu => add_chips(node),
        BenchDevices::MindclusterNpu => Some(add_310p(node)),
    }
}

/// What the pods of a class ask.
pub fn ask(devices: BenchDevices, pod: &mut PodObject, class: usize) {
    match devices {
        BenchDevices::None => {}
        BenchDevices::Vgpu => ask_vgpu(pod, class),
        BenchDevices::HamiNpu => ask_npu(pod, class),
        BenchDevices::MindclusterNpu => ask_ai_core(pod),
    }
}

fn add_gpus(node: &mut NodeObject) -> Option<Delta> {
    let card = |at| {
        let name = &node.name;
        format!("GPU-{name}-{at},{SLOTS},{CARD_MIB},NVIDIA-NVIDIA H100 80GB HBM3,true,hami-core:")
    };
    let cards: String = (0..CARDS).map(card).collect();
    node.device_annotations = vec![("volcano.sh/node-vgpu-register".to_owned(), cards)];
    offer(
        node,
        &[
            ("volcano.sh/vgpu-cores", 100 * CARDS),
            ("volcano.sh/vgpu-memory", CARD_MIB * CARDS),
            ("volcano.sh/vgpu-number", SLOTS * CARDS),
        ],
    );
    None
}

/// 910B3 chips, each of which holds four of its smaller template.
fn add_chips(node: &mut NodeObject) -> Option<Delta> {
    let chip = |at| {
        let name = &node.name;
        format!(
            r#"{{"id":"{name}-{at}","index":{at},"count":4,"devmem":65536,"devcore":20,"type":"Ascend910B3","health":true,"custominfo":{{"NetworkID":{}}}}}"#,
            at / 4
        )
    };
    let chips: Vec<String> = (0..CARDS).map(chip).collect();
    let register = "hami.io/node-register-Ascend910B3".to_owned();
    node.device_annotations = vec![(register, format!("[{}]", chips.join(",")))];
    node.labels.push(("ascend".to_owned(), "on".to_owned()));
    offer(node, &[("huawei.com/Ascend910B3", 4 * CARDS)]);
    None
}

/// 310P chips, and what ClusterD tells of them.
fn add_310p(node: &mut NodeObject) -> Delta {
    let labels = [
        ("accelerator", "huawei-Ascend310P"),
        ("servertype", "Ascend310P-8"),
        ("node.kubernetes.io/npu.chip.name", "310P3"),
    ];
    node.labels
        .extend(labels.map(|(key, value)| (key.to_owned(), value.to_owned())));
    offer(node, &[("huawei.com/npu-core", CORES_OF_310P * CARDS)]);
    let chips: Vec<String> = (0..CARDS).map(|at| format!("Ascend310P-{at}")).collect();
    let chips = chips.join(",");
    let text = format!(
        r#"{{"DeviceList":{{"huawei.com/Ascend310P":"{chips}","huawei.com/Ascend310P-Unhealthy":""}},"UpdateTime":1}}"#
    );
    Delta::NodeReport {
        node: node.name.clone(),
        topic: "cluster-info-device".to_owned(),
        text: Some(text),
    }
}

fn offer(node: &mut NodeObject, amounts: &[(&str, i64)]) {
    for (name, amount) in amounts {
        let amount = ((*name).to_owned(), 1000 * amount);
        node.allocatable.push(amount.clone());
        node.device_capacity.push(amount);
    }
}

/// One vGPU; no two classes ask for the same memory.
fn ask_vgpu(pod: &mut PodObject, class: usize) {
    let memory = 2048 + class as i64 % 8192;
    demand(
        pod,
        &[
            ("volcano.sh/vgpu-cores", 5),
            ("volcano.sh/vgpu-memory", memory),
            ("volcano.sh/vgpu-number", 1),
        ],
    );
}

/// A quarter of a chip; no two classes ask for the same memory.
fn ask_npu(pod: &mut PodObject, class: usize) {
    let memory = 16_384 - class as i64 % 8192;
    demand(
        pod,
        &[
            ("huawei.com/Ascend910B3", 1),
            ("huawei.com/Ascend910B3-memory", memory),
        ],
    );
}

/// An eighth of a chip.
fn ask_ai_core(pod: &mut PodObject) {
    demand(pod, &[("huawei.com/npu-core", 1)]);
    let labels = [
        ("ring-controller.atlas", "ascend-310P"),
        ("vnpu-dvpp", "null"),
        ("vnpu-level", "low"),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    pod.facts.labels.extend(labels);
}

fn demand(pod: &mut PodObject, amounts: &[(&str, i64)]) {
    let milli = |(name, amount): &(&str, i64)| ((*name).to_owned(), 1000 * amount);
    let amounts: Vec<(String, i64)> = amounts.iter().map(milli).collect();
    pod.request.extend_from_slice(&amounts);
    pod.facts.containers.push(ContainerFacts {
        kind: ContainerKind::Regular,
        amounts,
    });
}

/// The pod holds a vGPU on its node; those of one node are spread unevenly over its cards.
pub fn hold_vgpu(pod: &mut PodObject, random: u64, class: usize) {
    ask_vgpu(pod, class);
    let card = random % CARDS as u64;
    let node = pod.node.as_deref().unwrap_or_default();
    let memory = 2048 + class as i64 % 8192;
    let ids = format!("GPU-{node}-{card},NVIDIA,{memory},5:");
    pod.records = vec![("volcano.sh/vgpu-ids-new".to_owned(), ids)];
}
