//! The measure against docs/spec/10-fragmentation.md written out: every count by trying, every set of cards tried.

use proptest::prelude::*;

use super::*;
use crate::config::DeviceConfig;
use crate::facts::{ContainerFacts, ContainerKind, NodeFacts, PodFacts};
use crate::families::Devices;
use crate::ledger::{Load, NodeCards, Tags};
use crate::settings::{Policy, Settings};

const COUNT: &str = "volcano.sh/vgpu-number";
const MEMORY: &str = "volcano.sh/vgpu-memory";
const CORES: &str = "volcano.sh/vgpu-cores";

/// What a pod of one container asks: cards, MiB and percent of the cores of each, and cpu.
#[derive(Clone, Debug)]
struct AskedLine {
    cards: i64,
    memory: i64,
    cores: i64,
    cpu_milli: i64,
    types: Option<&'static str>,
}

fn asked() -> impl Strategy<Value = AskedLine> {
    let memory = prop::sample::select(vec![1_000, 4_000, 5_120, 8_192, 9_000, 16_000, 24_576]);
    let cores = prop::sample::select(vec![0, 0, 0, 30, 50, 100]);
    let types = prop::sample::select(vec![None, None, None, Some("P40"), Some("A100")]);
    let line = (1i64..4, memory, cores, 0i64..5, types);
    line.prop_map(|(cards, memory, cores, cpu, types)| AskedLine {
        cards: if cards == 3 { 2 } else { 1 },
        memory,
        cores,
        cpu_milli: cpu * 1_000,
        types,
    })
}

impl AskedLine {
    fn facts(&self) -> PodFacts {
        let mut amounts = vec![(COUNT.to_owned(), self.cards * 1000)];
        amounts.push((MEMORY.to_owned(), self.memory * 1000));
        if self.cores > 0 {
            amounts.push((CORES.to_owned(), self.cores * 1000));
        }
        amounts.sort();
        let types = self
            .types
            .map(|types| ("nvidia.com/use-gputype".to_owned(), types.to_owned()));
        PodFacts {
            containers: vec![ContainerFacts {
                kind: ContainerKind::Regular,
                amounts,
            }],
            annotations: types.into_iter().collect(),
            ..PodFacts::default()
        }
    }
}

fn devices(policy: Policy) -> Devices {
    let settings = Settings {
        configured: true,
        vgpu: true,
        policy,
        ..Settings::default()
    };
    Devices::new(settings, DeviceConfig::default())
}

/// A node with some of these cards: `p` a P40, `m` an A100 that MIG splits, `s` one that MPS shares.
fn node(devices: &Devices, cards: &[char]) -> NodeDevices {
    let one = |(at, kind): (usize, &char)| match kind {
        'm' => format!("GPU-{at},10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:"),
        's' => format!("GPU-{at},4,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mps:"),
        _ => format!("GPU-{at},5,24576,NVIDIA-Tesla P40,true,hami-core:"),
    };
    let register: String = cards.iter().enumerate().map(one).collect();
    let annotations = [("volcano.sh/node-vgpu-register".to_owned(), register)];
    let amounts = [(COUNT.to_owned(), 100_000)];
    devices.cards(&NodeFacts {
        name: "n1",
        labels: &[],
        annotations: &annotations,
        allocatable: &amounts,
        capacity: &amounts,
        reports: &[],
    })
}

/// The one family that a request asks, and what of it.
fn part(devices: &Devices, line: &AskedLine) -> Option<(u8, Arc<dyn FamilyRequest>)> {
    let demand = devices.demand(&line.facts(), Tags::default());
    demand.parts.first().cloned()
}

/// §2, free(i).
fn naive_free(cards: &NodeCards, at: usize) -> i64 {
    if !cards.cards[at].is_usable() {
        return 0;
    }
    let (all, used) = (cards.capacity(at)[0], cards.used(at, LedgerTime::Now)[0]);
    1000 - (1000 * used + all - 1) / all
}

/// §2, pieces(c, i) and part(c, i).
fn naive_pieces(request: &dyn FamilyRequest, cards: &NodeCards, at: usize) -> (i64, i64) {
    let mut alone = cards.only(&[at]);
    let before = alone.used(0, LedgerTime::Now)[0];
    let mut count = 0;
    while count < 64
        && let Some(piece) = request.piece(&alone, 0, LedgerTime::Now)
    {
        alone.charge(7_000 + count as u32, Tags::default(), Load::Held, &[piece]);
        count += 1;
    }
    let taken = alone.used(0, LedgerTime::Now)[0] - before;
    let all = alone.capacity(0)[0];
    (count, (1000 * taken + all - 1) / all)
}

/// §2, F.
fn naive_waste(
    classes: &[(i64, AskedLine, Arc<dyn FamilyRequest>)],
    cards: &NodeCards,
    cpu_milli: i64,
) -> i64 {
    let free: Vec<i64> = (0..cards.cards.len())
        .map(|at| naive_free(cards, at))
        .collect();
    let total: i64 = free.iter().sum();
    let mut sum = 0;
    for (weight, line, request) in classes {
        let pieces = (0..free.len()).map(|at| naive_pieces(request.as_ref(), cards, at));
        let pieces: Vec<(i64, i64)> = pieces.collect();
        let finds_room = |tasks: i64| {
            let served: i64 = pieces.iter().map(|(count, _)| (*count).min(tasks)).sum();
            tasks * line.cpu_milli <= cpu_milli && served >= tasks * line.cards
        };
        let tasks = (0..400)
            .rev()
            .find(|tasks| finds_room(*tasks))
            .expect("none is");
        let (mut cannot, mut remains) = (total, total);
        if tasks > 0 {
            let serving = pieces
                .iter()
                .zip(&free)
                .filter(|((count, _), _)| *count > 0);
            cannot = total - serving.map(|(_, free)| free).sum::<i64>();
            let count: i64 = pieces.iter().map(|(count, _)| count).sum();
            let usable: i64 = pieces.iter().map(|(_, usable)| usable).sum();
            remains = (total - usable * tasks * line.cards / count).max(0);
        }
        sum += weight * (cannot + remains);
    }
    sum
}

/// All sets of so many cards.
fn sets(cards: usize, count: usize) -> Vec<Vec<usize>> {
    let all = (0u32..1 << cards).filter(|bits| bits.count_ones() as usize == count);
    all.map(|bits| (0..cards).filter(|at| bits >> at & 1 == 1).collect())
        .collect()
}

/// A device plugin leaves chips out of its list that are in use, whoever has them: nobody gets such a one, but what is
/// beside its vNPUs.
#[test]
fn chips_that_may_not_be_given_out_are_not_free() {
    const NPUS: &str = "huawei.com/npu-core";
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut settings = Settings {
        configured: true,
        ..Settings::default()
    };
    settings.mind_cluster.enabled = true;
    settings.mind_cluster.self_maintain_available_card = false;
    let devices = Devices::new(settings, DeviceConfig::default());
    let list = r#"{"DeviceList":{"huawei.com/Ascend310P":"Ascend310P-0"},"UpdateTime":1}"#;
    let mut node = devices.cards(&NodeFacts {
        name: "n1",
        labels: &[
            pair("accelerator", "huawei-Ascend310P"),
            pair("node.kubernetes.io/npu.chip.name", "310P3"),
            pair("servertype", "Ascend310P-8"),
        ],
        annotations: &[],
        allocatable: &[],
        capacity: &[(NPUS.to_owned(), 16_000)],
        reports: &[pair("cluster-info-device", list)],
    });
    let asked = PodFacts {
        containers: vec![ContainerFacts {
            kind: ContainerKind::Regular,
            amounts: vec![(NPUS.to_owned(), 1_000)],
        }],
        labels: vec![pair("ring-controller.atlas", "ascend-310P")],
        ..PodFacts::default()
    };
    let demand = devices.demand(&asked, Tags::default());
    let (family, request) = demand.parts.first().cloned().expect("it asks NPUs");
    let class = MixClass::new(MixNeeds::new(), (family, request), 0, "");
    let everywhere = vec![NodeSet::of(1, |_| true)];
    let mix = DeviceMix::new(Vec::new(), vec![class.weighing(1)], everywhere, false);
    let free = |node: &NodeDevices| {
        let room = NodeRoom {
            node: 0,
            devices: node,
            free: &[],
            view: LedgerTime::Now,
        };
        mix.waste(&room, family).1
    };
    assert_eq!(free(&node), 1000);
    let records = vec![pair(NPUS, "1-vir01")];
    let mut held = node.with_cards(family, |cards| {
        devices.decode(family, &records, &asked, cards).allocations
    });
    node.charge(family, 1, Tags::default(), Load::Held, &mut held);
    assert_eq!(free(&node), 1875);
}

proptest! {
    #[test]
    fn waste_and_choice_are_what_trying_everything_finds(
        kinds in prop::collection::vec(prop::sample::select(vec!['p', 'p', 'p', 'm', 's']), 1..5),
        held in prop::collection::vec(asked(), 0..5),
        mix in prop::collection::vec((1i64..100, asked()), 1..4),
        new in asked(),
        cpu in 0i64..12,
    ) {
        let devices = devices(Policy::Fragmentation);
        let mut node = node(&devices, &kinds);
        for (pod, line) in held.iter().enumerate() {
            if let Some((family, request)) = part(&devices, line)
                && let Some(mut got) = node.with_cards(family, |cards| request.choose(cards, LedgerTime::Now))
            {
                node.charge(family, pod as u32, Tags::default(), Load::Held, &mut got);
            }
        }
        let classes: Vec<_> = mix
            .iter()
            .filter_map(|(weight, line)| Some((*weight, line.clone(), part(&devices, line)?.1)))
            .collect();
        let (family, request) = part(&devices, &new).expect("it asks vGPUs");
        let of_mix = classes.iter().map(|(weight, line, request)| {
            let mut needs = MixNeeds::new();
            if line.cpu_milli > 0 {
                needs.push((0, line.cpu_milli));
            }
            MixClass::new(needs, (family, Arc::clone(request)), 0, "").weighing(*weight)
        });
        let everywhere = vec![NodeSet::of(1, |_| true)];
        let mix = DeviceMix::new(vec![0], of_mix.collect(), everywhere, true);
        let cpu_milli = cpu * 1_000;
        let room = NodeRoom {
            node: 0,
            devices: &node,
            free: &[cpu_milli],
            view: LedgerTime::Now,
        };
        let cards = node.family(family).expect("cards");
        let before = naive_waste(&classes, cards, cpu_milli);
        prop_assert_eq!(mix.waste(&room, family).0, before);

        let demand = devices.demand(&new.facts(), Tags::default());
        let asked = AskedRoom { devices: &demand, amounts: &[new.cpu_milli] };
        let mut least: Option<i64> = None;
        for set in sets(kinds.len(), new.cards as usize) {
            let mut after = cards.clone();
            let got = request.choose_of(cards, &set, LedgerTime::Now);
            if let Some(got) = got.filter(|_| new.cpu_milli <= cpu_milli) {
                after.charge(9_000, Tags::default(), Load::Held, &got);
                let waste = naive_waste(&classes, &after, cpu_milli - new.cpu_milli);
                least = Some(least.map_or(waste, |least| least.min(waste)));
            }
        }
        let added = least.map(|least| least - before);
        prop_assert_eq!(mix.added_waste(&room, &asked, None), added);
        let pick = mix.pick(&room, &asked, None);
        prop_assert_eq!(pick.is_some(), added.is_some());
        if let (Some(pick), Some(added)) = (pick, added) {
            let mut after = cards.clone();
            after.charge(9_000, Tags::default(), Load::Held, &pick[0].1);
            let waste = naive_waste(&classes, &after, cpu_milli - new.cpu_milli);
            prop_assert_eq!(waste - before, added);
        }
    }
}
