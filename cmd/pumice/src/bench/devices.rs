//! Shared devices of the nodes in memory, and what pods ask and hold of them.

use pumice_model::Delta;
use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, PodObject};

use super::arguments::BenchDevices;

/// Devices of a node.
const CARDS: i64 = 8;

const SLOTS: i64 = 10;
const CARD_MIB: i64 = 81_920;

/// Memory of an XPU of Kunlun, which is shared in quarters, halves or as a whole.
const XPU_MIB: i64 = 98_304;

/// Slices of a GCU of Enflame.
const SLICES: i64 = 6;

/// AI cores of a 310P chip.
const CORES_OF_310P: i64 = 8;

/// Gives a node its devices, as their plugin tells them; what is told apart from the node.
pub fn equip(devices: BenchDevices, node: &mut NodeObject) -> Option<Delta> {
    match devices {
        BenchDevices::None => None,
        BenchDevices::Vgpu => add_gpus(node),
        BenchDevices::HamiNpu => add_chips(node),
        BenchDevices::MindclusterNpu => Some(add_310p(node)),
        BenchDevices::Nvidia => add_nvidia(node),
        BenchDevices::NvidiaLinked => link(node),
        BenchDevices::Hygon => {
            let names = ("node-dcu-register", "dcu");
            register(node, names, CARD_MIB, "hygon.com/dcunum")
        }
        BenchDevices::Iluvatar => {
            let names = ("node-MR-V100-register", "MR-V100");
            register(node, names, CARD_MIB, "iluvatar.ai/MR-V100-vgpu")
        }
        BenchDevices::Kunlun => {
            let names = ("node-register-xpu", "xpu");
            register(node, names, XPU_MIB, "kunlunxin.com/vxpu")
        }
        BenchDevices::Neuron => by_capacity(
            node,
            &[
                ("aws.amazon.com/neuron", 1),
                ("aws.amazon.com/neuroncore", 2),
            ],
        ),
        BenchDevices::Enflame => add_gcus(node),
        BenchDevices::Cambricon => by_capacity(
            node,
            &[
                ("cambricon.com/mlu.smlu.vcore", 100),
                ("cambricon.com/mlu.smlu.vmemory", CARD_MIB / 256),
                ("cambricon.com/vmlu", SLOTS),
            ],
        ),
        BenchDevices::Mthreads => by_capacity(
            node,
            &[
                ("mthreads.com/sgpu-core", 16),
                ("mthreads.com/sgpu-memory", CARD_MIB / 512),
                ("mthreads.com/vgpu", SLOTS),
            ],
        ),
        BenchDevices::Metax => by_capacity(node, &[("metax-tech.com/gpu", 1)]),
    }
}

/// What the pods of a class ask, of so many cards where they may ask several.
pub fn ask((devices, cards): (BenchDevices, i64), pod: &mut PodObject, class: usize) {
    match devices {
        BenchDevices::None => {}
        BenchDevices::Vgpu => ask_vgpu(pod, class, cards),
        BenchDevices::HamiNpu => ask_npu(pod, class),
        BenchDevices::MindclusterNpu => ask_ai_core(pod),
        BenchDevices::Nvidia | BenchDevices::NvidiaLinked => {
            ask_part(
                pod,
                class,
                ("gpu", "gpumem", "gpucores"),
                ("nvidia.com", cards),
            );
            if devices == BenchDevices::NvidiaLinked {
                let policy = ("hami.io/gpu-scheduler-policy", "topology-aware");
                let annotations = &mut pod.facts.annotations;
                annotations.push((policy.0.to_owned(), policy.1.to_owned()));
            }
        }
        BenchDevices::Hygon => {
            let names = ("dcunum", "dcumem", "dcucores");
            ask_part(pod, class, names, ("hygon.com", 1));
        }
        BenchDevices::Iluvatar => {
            let names = ("MR-V100-vgpu", "MR-V100.vMem", "MR-V100.vCore");
            ask_part(pod, class, names, ("iluvatar.ai", 1));
        }
        BenchDevices::Cambricon => {
            let names = ("vmlu", "mlu.smlu.vmemory", "mlu.smlu.vcore");
            ask_part(pod, class, names, ("cambricon.com", 1));
        }
        BenchDevices::Mthreads => demand(
            pod,
            &[
                ("mthreads.com/sgpu-core", 1),
                ("mthreads.com/sgpu-memory", [2, 4, 8][class % 3]),
                ("mthreads.com/vgpu", 1),
            ],
        ),
        BenchDevices::Metax => demand(pod, &[("metax-tech.com/gpu", 1)]),
        BenchDevices::Kunlun => demand(
            pod,
            &[
                ("kunlunxin.com/vxpu", 1),
                ("kunlunxin.com/vxpu-memory", XPU_MIB / 4),
            ],
        ),
        BenchDevices::Neuron => demand(pod, &[("aws.amazon.com/neuroncore", 1)]),
        BenchDevices::Enflame => demand(pod, &[("enflame.com/drs-gcu", 1)]),
    }
}

fn add_gpus(node: &mut NodeObject) -> Option<Delta> {
    add_vgpus(
        node,
        CARDS,
        "NVIDIA-NVIDIA H100 80GB HBM3",
        (SLOTS, CARD_MIB),
    );
    None
}

/// Cards of a kind in a register of HAMi, the annotation `hami.io/<key>`, with so much memory each.
fn register(
    node: &mut NodeObject,
    (key, kind): (&str, &str),
    mib: i64,
    count: &str,
) -> Option<Delta> {
    let card = |at| format!("{}-{at},{SLOTS},{mib},100,{kind},0,true:", node.name);
    let cards: String = (0..CARDS).map(card).collect();
    node.device_annotations = vec![(format!("hami.io/{key}"), cards)];
    offer(node, &[(count, SLOTS * CARDS)]);
    None
}

fn add_nvidia(node: &mut NodeObject) -> Option<Delta> {
    let names = ("node-nvidia-register", "nvidia");
    register(node, names, CARD_MIB, "nvidia.com/gpu")
}

/// GPUs under HAMi: the two pairs of a half and cards opposite each other are linked twice, others of a half once.
fn link(node: &mut NodeObject) -> Option<Delta> {
    add_nvidia(node);
    let points = |one: i64, other: i64| match (one / 4 == other / 4, (one + other) % 4 == 3) {
        (true, true) => 220,
        (true, false) => 120,
        (false, _) if one % 4 == other % 4 => 210,
        (false, _) => 10,
    };
    let row = |one: i64| {
        let others = (0..CARDS).filter(|other| *other != one);
        let others =
            others.map(|other| format!(r#""{}-{other}":{}"#, node.name, points(one, other)));
        let others = others.collect::<Vec<_>>().join(",");
        format!(r#"{{"uuid":"{}-{one}","score":{{{others}}}}}"#, node.name)
    };
    let rows: Vec<String> = (0..CARDS).map(row).collect();
    let links = format!("[{}]", rows.join(","));
    let annotations = &mut node.device_annotations;
    annotations.push(("hami.io/node-nvidia-score".to_owned(), links));
    None
}

/// GCUs with all their profiles.
fn add_gcus(node: &mut NodeObject) -> Option<Delta> {
    let card = |at| format!(r#"{{"index":"{at}","minor":"{at}","capacity":{SLICES}}}"#);
    let cards: Vec<String> = (0..CARDS).map(card).collect();
    let profiles = r#"{"1g.6gb":"0","2g.10gb":"1","2g.16gb":"4","3g.20gb":"2","6g.40gb":"3"}"#;
    let text = format!(
        r#"{{"devices":[{}],"profiles":{profiles}}}"#,
        cards.join(",")
    );
    node.device_annotations = vec![("enflame.com/gcu-drs-capacity".to_owned(), text)];
    offer(node, &[("enflame.com/drs-gcu", SLICES * CARDS)]);
    None
}

/// So much of each card.
fn by_capacity(node: &mut NodeObject, each: &[(&str, i64)]) -> Option<Delta> {
    let all = each.iter().map(|(name, amount)| (*name, amount * CARDS));
    offer(node, &all.collect::<Vec<_>>());
    None
}

/// A part of so many cards by their vendor's names: count, memory, cores.
fn ask_part(
    pod: &mut PodObject,
    class: usize,
    (count, memory, cores): (&str, &str, &str),
    (vendor, cards): (&str, i64),
) {
    // In units of 1 or 256 MiB.
    let unit = if memory.starts_with("gpu") || memory.starts_with("dcu") {
        256
    } else {
        1
    };
    let name = |own: &str| format!("{vendor}/{own}");
    let units = (8 + class as i64 % 24) * unit;
    let mut amounts = [
        (name(count), cards),
        (name(memory), units),
        (name(cores), 5),
    ];
    amounts.sort();
    let amounts: Vec<(&str, i64)> = amounts
        .iter()
        .map(|(name, amount)| (name.as_str(), *amount))
        .collect();
    demand(pod, &amounts);
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

/// Gives a node so many cards of a model, with so much memory each, that are shared as vGPUs by memory alone.
pub fn add_vgpus(node: &mut NodeObject, cards: i64, model: &str, (slots, mib): (i64, i64)) {
    let card = |at| {
        format!(
            "GPU-{}-{at},{slots},{mib},{model},true,hami-core:",
            node.name
        )
    };
    let register: String = (0..cards).map(card).collect();
    node.device_annotations = vec![("volcano.sh/node-vgpu-register".to_owned(), register)];
    offer(
        node,
        &[
            ("volcano.sh/vgpu-cores", 100 * cards),
            ("volcano.sh/vgpu-memory", mib * cards),
            ("volcano.sh/vgpu-number", slots * cards),
        ],
    );
}

/// So much memory of each of so many vGPUs.
pub fn ask_vgpus(pod: &mut PodObject, cards: i64, mib: i64) {
    demand(
        pod,
        &[
            ("volcano.sh/vgpu-memory", mib),
            ("volcano.sh/vgpu-number", cards),
        ],
    );
}

fn offer(node: &mut NodeObject, amounts: &[(&str, i64)]) {
    for (name, amount) in amounts {
        let amount = ((*name).to_owned(), 1000 * amount);
        node.allocatable.push(amount.clone());
        node.device_capacity.push(amount);
    }
}

/// So many vGPUs; no two classes ask for the same memory.
fn ask_vgpu(pod: &mut PodObject, class: usize, cards: i64) {
    let memory = 2048 + class as i64 % 8192;
    demand(
        pod,
        &[
            ("volcano.sh/vgpu-cores", 5),
            ("volcano.sh/vgpu-memory", memory),
            ("volcano.sh/vgpu-number", cards),
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
    ask_vgpu(pod, class, 1);
    let card = random % CARDS as u64;
    let node = pod.node.as_deref().unwrap_or_default();
    let memory = 2048 + class as i64 % 8192;
    let ids = format!("GPU-{node}-{card},NVIDIA,{memory},5:");
    pod.records = vec![("volcano.sh/vgpu-ids-new".to_owned(), ids)];
}
