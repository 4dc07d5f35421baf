//! Cards of HAMi's vendors: nodes that have some, pods that ask for some or hold some.

use std::fmt::Write as _;

use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, Pairs, PodObject, PodPhase};

use super::containers::put_containers;
use super::kinds::{kinds, put_kinds};
use super::rng::Rng;
use super::{Theme, amount, gcus, mig, sgpus};

/// Argument, count, memory, cores, units of memory of a card, cores of a card, key of the register, list, word.
type Maker = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    i64,
    i64,
    &'static str,
    &'static str,
    &'static str,
);

const MAKERS: &[Maker] = &[
    (
        "NVIDIA",
        "nvidia.com/gpu",
        "nvidia.com/gpumem",
        "nvidia.com/gpucores",
        16_384,
        100,
        "nvidia",
        "vgpu",
        "NVIDIA",
    ),
    (
        "Hygon",
        "hygon.com/dcunum",
        "hygon.com/dcumem",
        "hygon.com/dcucores",
        65_520,
        100,
        "dcu",
        "dcu",
        "DCU",
    ),
    (
        "Cambricon",
        "cambricon.com/vmlu",
        "cambricon.com/mlu.smlu.vmemory",
        "cambricon.com/mlu.smlu.vcore",
        94,
        100,
        "",
        "cambricon-mlu",
        "MLU",
    ),
    (
        "Iluvatar",
        "iluvatar.ai/MR-V50-vgpu",
        "iluvatar.ai/MR-V50.vMem",
        "iluvatar.ai/MR-V50.vCore",
        64,
        100,
        "MR-V50",
        "MR-V50",
        "MR-V50",
    ),
    (
        "Mthreads",
        "mthreads.com/vgpu",
        "mthreads.com/sgpu-memory",
        "mthreads.com/sgpu-core",
        96,
        16,
        "",
        "mthreads-vgpu",
        "Mthreads",
    ),
    (
        "MetaX",
        "metax-tech.com/gpu",
        "",
        "",
        0,
        100,
        "",
        "metax-gpu",
        "Metax-GPU",
    ),
    (
        "MetaX",
        sgpus::COUNT,
        sgpus::MEMORY,
        sgpus::CORES,
        64,
        100,
        "sgpu",
        "metax-sgpu",
        "Metax-SGPU",
    ),
    (
        "Kunlun",
        "kunlunxin.com/xpu",
        "",
        "",
        0,
        100,
        "",
        "kunlun",
        "kunlun",
    ),
    (
        "Kunlun",
        "kunlunxin.com/vxpu",
        "kunlunxin.com/vxpu-memory",
        "",
        98_304,
        100,
        "xpu",
        "xpu",
        "XPU",
    ),
    (
        "AWSNeuron",
        "aws.amazon.com/neuron",
        "",
        "aws.amazon.com/neuroncore",
        0,
        2,
        "",
        "aws-neuron",
        "AWSNeuron",
    ),
    (
        "Enflame",
        "enflame.com/gcu",
        "",
        "",
        0,
        100,
        "",
        "enflame-gcu",
        "GCU",
    ),
    (
        "Enflame",
        gcus::SIZE,
        gcus::MEMORY,
        gcus::CORE,
        40,
        100,
        "enflame-drs",
        "enflame-vgpu",
        "Enflame",
    ),
    (
        "Vastai",
        "vastaitech.com/va",
        "",
        "",
        8192,
        100,
        "va",
        "Vastai",
        "Vastai",
    ),
    (
        "Biren",
        "birentech.com/gpu",
        "",
        "",
        32_768,
        100,
        "biren",
        "Biren",
        "Biren",
    ),
    (
        "AMD",
        "amd.com/gpu",
        "amd.com/gpumem",
        "amd.com/gpucores",
        65_536,
        100,
        "amd",
        "amd",
        "AMD",
    ),
];

/// The row of NVIDIA.
const NVIDIA: usize = 0;
/// Rows of MetaX, whose cards have rules of their own: whole ones, and those that are shared.
const METAX: usize = 5;
const SGPU: usize = 6;

/// A cluster's vendors; often NVIDIA, whose cards have the most rules.
pub fn makers(rng: &mut Rng) -> Vec<usize> {
    if rng.one_in(3) {
        return vec![SGPU, SGPU, METAX];
    }
    let count = rng.between(1, 3);
    let mut maker = || match rng.one_in(4) {
        true => SGPU,
        false => rng.below(MAKERS.len()),
    };
    let makers: Vec<usize> = (0..count).map(|_| maker()).collect();
    match rng.one_in(3) {
        true => vec![NVIDIA, makers[0]],
        false => makers,
    }
}

/// The argument that has all vendors on, or but one.
pub fn argument(rng: &mut Rng) -> String {
    let left_out = match rng.one_in(8) {
        true => MAKERS[rng.below(MAKERS.len())].0,
        false => "",
    };
    let mut names: Vec<&str> = MAKERS.iter().map(|maker| maker.0).collect();
    names.dedup();
    names.retain(|name| *name != left_out);
    format!("[{}]", names.join(", "))
}

/// Gives nodes cards, and pods requests.
pub fn furnish(rng: &mut Rng, theme: &Theme, nodes: &mut [NodeObject], pods: &mut [PodObject]) {
    if theme.makers.is_empty() {
        return;
    }
    for node in nodes.iter_mut() {
        if !rng.one_in(6) {
            let maker = rng.pick(&theme.makers);
            cards(rng, node, &MAKERS[maker]);
        }
    }
    // Few different requests, so that pods share classes.
    let asks: Vec<VendorAsk> = (0..rng.between(1, 4))
        .map(|_| VendorAsk::any(rng, theme))
        .collect();
    for pod in pods.iter_mut() {
        if rng.one_in(4) || !pod.facts.containers.is_empty() {
            continue;
        }
        rng.pick(&asks).put(pod);
        let asks_sgpus = |one: &ContainerFacts| amount(&one.amounts, sgpus::COUNT) > 0;
        if pod.facts.containers.iter().any(asks_sgpus) {
            sgpus::say_terms(rng, pod);
        }
        if let Some(node) = pod.node.clone()
            && let Some(node) = nodes.iter().find(|known| known.name == node)
        {
            hold(rng, node, pod);
        }
    }
}

/// The pod asks for cards of one of the vendors, whole or nearly.
pub fn ask_much(rng: &mut Rng, theme: &Theme, pod: &mut PodObject) {
    let (_, count_name, memory, _, units, ..) = MAKERS[rng.pick(&theme.makers)];
    let count = match count_name {
        gcus::SIZE => 3,
        _ => rng.pick(&[1, 1, 1, 2]),
    };
    let mut amounts = vec![(count_name.to_owned(), 1000 * count)];
    if count == 1 && !memory.is_empty() && rng.one_in(3) {
        amounts.push((
            memory.to_owned(),
            1000 * rng.pick(&[units / 4, units / 3 * 2]),
        ));
    }
    amounts.sort();
    let annotations = match rng.one_in(3) {
        true => vec![("nvidia.com/numa-bind".to_owned(), "true".to_owned())],
        false => Vec::new(),
    };
    let ask = VendorAsk {
        containers: vec![amounts],
        kinds: vec![ContainerKind::Regular],
        annotations,
    };
    ask.put(pod);
}

/// How many cards of a kind a node has.
fn number(rng: &mut Rng, word: &str) -> i64 {
    match word {
        "kunlun" | "XPU" => rng.pick(&[8, 8, 8, 7, 3]),
        "AWSNeuron" => rng.pick(&[2, 5, 8, 8]),
        _ => rng.between(1, 4) as i64,
    }
}

fn cards(rng: &mut Rng, node: &mut NodeObject, maker: &Maker) {
    let (_, count, memory, cores, units, card_cores, register, _, word) = *maker;
    let cards = number(rng, word);
    let slots = rng.pick(&[1, 2, 4, 10]);
    let mut amounts = vec![(count, slots * cards)];
    if word == "Metax-SGPU" {
        let text = sgpus::cards(rng, &node.name, cards, slots);
        node.device_annotations
            .push(("metax-tech.com/node-gpu-devices".to_owned(), text));
    } else if word == "Enflame" {
        amounts = vec![(count, 6 * cards)];
        node.device_annotations.push(gcus::cards(rng, cards));
    } else if !register.is_empty() {
        let mut text = String::new();
        let mib = if units < 1000 { units * 256 } else { units };
        for at in 0..cards {
            let kind = rng.pick(&["Large", "Small"]);
            let mib = if kind == "Small" { mib / 2 } else { mib };
            let (numa, health) = (rng.below(2), !rng.one_in(8));
            let cores = if register == "amd" {
                rng.pick(&[304, 60])
            } else {
                100
            };
            let _ = write!(
                text,
                "{}-{register}-{at},{slots},{mib},{cores},{kind},{numa},{health}:",
                node.name
            );
        }
        if register == "nvidia" && !rng.one_in(3) {
            text = mig::register(rng, &node.name, (cards, mib));
        }
        if register == "nvidia" && rng.one_in(2) {
            let links = mig::links(rng, &node.name, cards);
            let key = "hami.io/node-nvidia-score".to_owned();
            node.device_annotations.push((key, links));
        }
        let key = match register {
            "xpu" => "hami.io/node-register-xpu".to_owned(),
            register => format!("hami.io/node-{register}-register"),
        };
        node.device_annotations.push((key, text));
    } else if memory.is_empty() {
        amounts = vec![(count, cards)];
        if word == "AWSNeuron" {
            amounts.push((cores, card_cores * cards));
            name_instance(rng, node);
        }
        if word == "Metax-GPU" {
            sgpus::rate(rng, node);
        }
    } else {
        amounts.extend([(memory, units * cards), (cores, card_cores * cards)]);
    }
    cordon(rng, node);
    node.device_annotations.sort();
    for (name, amount) in amounts {
        let amount = (name.to_owned(), 1000 * amount);
        node.device_capacity.push(amount.clone());
        node.allocatable.push(amount);
    }
    node.device_capacity.sort();
    node.allocatable.sort();
}

/// Sometimes cards of the node are not given out any more.
fn cordon(rng: &mut Rng, node: &mut NodeObject) {
    if rng.one_in(8) {
        let ids = format!(
            "{0}-dcu-0,{0}-nvidia-1,{0}-mthreads-0,{0}-metax-1,{0}-sgpu-0,{0}-va-1,{0}-GCU-0,{0}-xpu-2,{0}-kunlun-5,{0}-AWSNeuron-1,{0}-enflame-drs-1",
            node.name
        );
        node.device_annotations
            .push(("hami.io/device-cordon".to_owned(), ids));
    }
}

/// The node tells the type of its instance, by which its devices are a ring or are not.
fn name_instance(rng: &mut Rng, node: &mut NodeObject) {
    let instance = rng.pick(&["inf2.48xlarge", "trn1.32xlarge"]);
    let key = "node.kubernetes.io/instance-type".to_owned();
    node.labels.push((key, instance.to_owned()));
    node.labels.sort();
}

#[derive(Clone)]
struct VendorAsk {
    containers: Vec<Vec<(String, i64)>>,
    kinds: Vec<ContainerKind>,
    annotations: Pairs,
}

impl VendorAsk {
    fn any(rng: &mut Rng, theme: &Theme) -> Self {
        let maker = rng.pick(&theme.makers);
        let mut containers = Vec::new();
        for _ in 0..rng.pick(&[1, 1, 1, 2, 3]) {
            if rng.one_in(6) {
                containers.push(Vec::new());
            }
            let maker = match rng.one_in(16) {
                true => rng.pick(&theme.makers),
                false => maker,
            };
            let mut asked = amounts(rng, &MAKERS[maker]);
            if rng.one_in(40) {
                asked.extend(amounts(rng, &MAKERS[rng.clone().below(MAKERS.len())]));
                asked.sort();
                asked.dedup_by(|one, other| one.0 == other.0);
            }
            containers.push(asked);
        }
        let asks_sgpu = |one: &Vec<(String, i64)>| amount(one, sgpus::COUNT) > 0;
        let kinds = match containers.iter().any(asks_sgpu) {
            true => vec![ContainerKind::Regular; containers.len()],
            false => kinds(rng, containers.len()),
        };
        Self {
            containers,
            kinds,
            annotations: said(rng),
        }
    }

    fn put(&self, pod: &mut PodObject) {
        put_containers(pod, &self.containers);
        put_kinds(pod, &self.kinds);
        pod.facts.annotations = self.annotations.clone();
    }
}

/// What annotations say of the order of cards and nodes; sometimes what nobody knows.
pub fn said_of_order(rng: &mut Rng) -> Pairs {
    let policies = [
        "binpack",
        "spread",
        "mutex",
        "numa",
        "binpack,numa",
        "numa, spread",
        "mutex,numa",
        "topology-aware",
        "topology-aware,binpack",
        "binpak",
    ];
    let nodes = ["binpack", "spread", "numa"];
    let weights = [
        "slot=1,core=1,memory=3",
        "slot=0,core=4,memory=1",
        "memory=1, slot=0, core=0",
        "slot=1,core=1",
    ];
    let mut annotations = Pairs::new();
    for (odds, key, values) in [
        (3, "hami.io/gpu-scheduler-policy", &policies[..]),
        (6, "hami.io/node-scheduler-policy", &nodes),
        (6, "hami.io/device-scoring-weights", &weights),
    ] {
        if rng.one_in(odds) {
            annotations.push((key.to_owned(), rng.pick(values).to_owned()));
        }
    }
    annotations
}

/// What annotations say of the order of cards and nodes, and of the cards a pod may have.
fn said(rng: &mut Rng) -> Pairs {
    let mut annotations = said_of_order(rng);
    let mut say = |rng: &mut Rng, odds: usize, key: &str, values: &[&str]| {
        if rng.one_in(odds) {
            annotations.push((key.to_owned(), rng.pick(values).to_owned()));
        }
    };
    say(rng, 8, "hygon.com/use-dcutype", &["small", "Large, none"]);
    say(rng, 8, "nvidia.com/nouse-gputype", &["small", "large,"]);
    let ids = [
        "n0-dcu-0,n0-dcu-1,n1-dcu-0",
        "n1-nvidia-0,n2-dcu-1, n0-nvidia-1",
    ];
    say(rng, 8, "hygon.com/nouse-gpuuuid", &ids);
    say(rng, 8, "nvidia.com/use-gpuuuid", &ids);
    let switches = ["true", "true", "1", "false", "maybe"];
    say(rng, 4, "nvidia.com/numa-bind", &switches);
    say(
        rng,
        8,
        "hami.io/no-use-MR-V50-uuid",
        &["n0-MR-V50-0, n1-MR-V50-1"],
    );
    let ids = ["n0-sgpu-0,n1-sgpu-1", "n0-va-0, n1-sgpu-0"];
    say(rng, 8, "metax-tech.com/nouse-gpuuuid", &ids);
    say(rng, 8, "vastaitech.com/use-gpuuuid", &ids);
    let ids = ["n0-enflame-drs-0,n1-enflame-drs-1", "n0-enflame-drs-1"];
    say(rng, 8, "enflame.com/nouse-gpuuuid", &ids);
    let ids = ["n0-xpu-1,n1-xpu-6,n0-kunlun-2", "n0-xpu-4, n1-kunlun-1"];
    say(rng, 8, "hami.io/no-use-xpu-uuid", &ids);
    say(rng, 8, "baidu.com/nouse-gpuuuid", &ids);
    annotations.sort();
    annotations
}

/// What one container asks; sometimes what cannot be.
fn amounts(rng: &mut Rng, maker: &Maker) -> Vec<(String, i64)> {
    let (_, count_name, memory, cores, units, card_cores, _, list, _) = maker;
    let (count_name, memory, cores, units, card_cores) =
        (*count_name, *memory, *cores, *units, *card_cores);
    let count = match *list {
        "kunlun" | "xpu" => rng.pick(&[1, 1, 2, 2, 4, 4, 8, 3]),
        "aws-neuron" => rng.pick(&[1, 1, 2, 4, 4, 8, 3]),
        _ => rng.pick(&[0, 1, 1, 1, 1, 1, 1, 2, 2, 3]),
    };
    let mut amounts = Vec::new();
    if !rng.one_in(32) {
        amounts.push((count_name, count));
    }
    if !memory.is_empty() && (count == 1 || rng.one_in(4)) && !rng.one_in(4) {
        let parts = match card_cores {
            16 => vec![2, 8, 16, 32, 64, 96, 3, 96 * count],
            _ => vec![units / 8, units / 4, units / 3, units / 2, units, 2 * units],
        };
        amounts.push((memory, rng.pick(&parts)));
    }
    if !cores.is_empty() && (count == 1 || rng.one_in(4)) && rng.one_in(2) {
        let full = card_cores * count.max(1);
        let parts = [
            card_cores / 8,
            card_cores / 4,
            card_cores / 2,
            full,
            full + 1,
        ];
        amounts.push((cores, rng.pick(&parts)));
    }
    if count_name == "aws.amazon.com/neuron" && rng.one_in(2) {
        amounts = vec![(cores, rng.pick(&[1, 1, 1, 2, 2, 3, 4, 8]))];
    }
    if count_name == gcus::SIZE {
        amounts = gcus::amounts(rng);
    }
    if count_name == sgpus::COUNT && !rng.one_in(4) {
        amounts = sgpus::shared_amounts(rng);
    }
    let mut amounts: Vec<(String, i64)> = amounts
        .into_iter()
        .map(|(name, amount)| (name.to_owned(), 1000 * amount))
        .collect();
    amounts.sort();
    amounts
}

/// Annotations of a pod that has its cards already, as a scheduler and its device plugin leave them;
/// any cards of the node, crowded ones too.
fn hold(rng: &mut Rng, node: &NodeObject, pod: &mut PodObject) {
    if pod.phase == PodPhase::Succeeded {
        return;
    }
    let mut records = Pairs::new();
    let mut is_whole = true;
    for (_, count_name, _, _, units, card_cores, register, list, word) in MAKERS {
        let asks = pod.facts.containers.iter();
        let asked = |one: &ContainerFacts| match *word {
            "Enflame" => gcus::devices(one),
            _ => amount(&one.amounts, count_name) / 1000,
        };
        if asks.map(asked).sum::<i64>() == 0 {
            continue;
        }
        is_whole &= *word != "Enflame" || gcus::are_there(&pod.facts.containers);
        is_whole &= amount(&node.allocatable, count_name) > 0;
        let stem = match (*register, *word) {
            ("", "MLU") => "cambricon-mlu",
            ("", "Mthreads") => "mthreads",
            ("", "GCU") => "GCU",
            ("", "kunlun") => "kunlun",
            ("", "AWSNeuron") => "AWSNeuron",
            ("", _) => "metax",
            (register, _) => register,
        };
        let mut text = String::new();
        for container in &pod.facts.containers {
            let count = asked(container);
            let first = rng.below(2) as i64;
            for at in first..first + count {
                let mib = rng.pick(&[512, 512, 2048, 2048, (*units).max(256), 1 << 20]);
                let cores = rng.pick(&[0, card_cores / 4, *card_cores]);
                let (mib, cores) = match *word {
                    "AWSNeuron" => (0, rng.pick(&[0, 3, 3])),
                    _ => (mib, cores),
                };
                let _ = write!(text, "{}-{stem}-{at},{word},{mib},{cores}:", node.name);
            }
            text.push(';');
        }
        if *register == "nvidia" {
            records.extend(mig::instances(rng, node, &text));
        }
        let key = match *list {
            "kunlun" => "hami.io/kunlun-allocated".to_owned(),
            list => format!("hami.io/{list}-devices-allocated"),
        };
        records.push((key, text));
    }
    if records.is_empty() || !is_whole {
        // Nobody could tell what such a pod holds.
        pod.facts = Default::default();
        let is_own = |name: &str| MAKERS.iter().any(|m| [m.1, m.2, m.3].contains(&name));
        pod.request.retain(|(name, _)| !is_own(name));
        return;
    }
    records.sort();
    pod.records = records;
}
