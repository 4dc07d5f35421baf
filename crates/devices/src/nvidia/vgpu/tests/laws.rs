//! Laws that hold for any node and any sequence of pods.

use std::sync::Arc;

use proptest::prelude::*;

use super::naive::{self, Ask};
use super::{Limit, cards_of, config, family, ids, pod};
use crate::facts::PodFacts;
use crate::family::Family;
use crate::fixture::laws::{LoadedNode, LoadedPod, NodeStep, assert_pieces, policies, steps};
use crate::ledger::{Allocations, LedgerTime, Load, NodeCards, Partition, Tags};
use crate::node::NodeDevices;
use crate::nvidia::vgpu::sharing::{SharingMode, mode};
use crate::part::CardPart;
use crate::request::FamilyRequest;
use crate::settings::Policy;

/// Models with the modes they may be in.
const CARDS: [(&str, u32, &str); 6] = [
    ("NVIDIA-Tesla P40", 24576, "hami-core"),
    ("NVIDIA-Tesla T4", 15360, "hami-core"),
    ("NVIDIA-Tesla T4", 15360, "mps"),
    ("NVIDIA-NVIDIA A100-PCIE-40GB", 40960, "mig"),
    ("NVIDIA-NVIDIA A30", 24258, "mig"),
    ("NVIDIA-NVIDIA A30", 24258, "mps"),
];

#[derive(Clone, Debug)]
struct PodLine {
    asks: Vec<Ask>,
    mode: Option<SharingMode>,
    tags: Tags,
    spread: bool,
}

impl PodLine {
    fn facts(&self) -> PodFacts {
        let limits = |ask: &Ask| -> Vec<Limit> {
            let memory = match ask.memory {
                Ok(mib) => ('m', mib),
                Err(percent) => ('p', percent),
            };
            vec![('n', ask.count as i64), memory, ('c', ask.cores)]
        };
        let containers: Vec<Vec<Limit>> = self.asks.iter().map(limits).collect();
        let containers: Vec<&[Limit]> = containers.iter().map(Vec::as_slice).collect();
        let mut annotations = Vec::new();
        if let Some(mode) = self.mode {
            annotations.push(("volcano.sh/vgpu-mode", mode.name()));
        }
        if self.spread {
            annotations.push(("volcano.sh/vgpu-podgroup-policy", "spread"));
        }
        pod(&containers, &annotations)
    }

    fn request(&self, family: &dyn Family) -> Arc<dyn FamilyRequest> {
        family
            .request(&self.facts(), self.tags)
            .expect("asks")
            .expect("can be met")
    }

    /// The naive search knows nothing of groups and rules.
    fn is_plain(&self) -> bool {
        !self.spread && self.tags.rules == 0
    }
}

fn registers() -> impl Strategy<Value = String> {
    prop::collection::vec((0..CARDS.len(), 1..5u32), 1..5).prop_map(|cards| {
        let line = |(at, (card, slots)): (usize, &(usize, u32))| {
            let (kind, memory, mode) = CARDS[*card];
            format!("GPU-{at},{slots},{memory},{kind},true,{mode}:")
        };
        cards.iter().enumerate().map(line).collect()
    })
}

fn memories() -> impl Strategy<Value = Result<i64, i64>> {
    let mib = prop::sample::select(vec![1, 3000, 5120, 6000, 8000, 12000, 15360, 20480, 30000]);
    let percent = prop::sample::select(vec![1, 25, 50, 51, 100]);
    prop_oneof![3 => mib.prop_map(Ok), 1 => percent.prop_map(Err)]
}

fn pods() -> impl Strategy<Value = PodLine> {
    let cores = prop::sample::select(vec![0, 0, 20, 50, 60, 100]);
    let ask = (1..3usize, memories(), cores);
    let ask = ask.prop_map(|(count, memory, cores)| Ask {
        count,
        memory,
        cores,
    });
    let mode = prop_oneof![4 => Just(None), 1 => prop::sample::select(SharingMode::ALL.to_vec()).prop_map(Some)];
    let tags = (
        prop::option::of(0..2u32),
        prop_oneof![4 => Just(0u64), 1 => 1..4u64],
    );
    let tags = tags.prop_map(|(group, rules)| Tags { group, rules });
    let spread = prop::bool::weighted(0.2);
    let asks = prop::collection::vec(ask, 1..4);
    (asks, mode, tags, spread).prop_map(|(asks, mode, tags, spread)| PodLine {
        asks,
        mode,
        tags,
        spread,
    })
}

fn assert_within_capacity(cards: &NodeCards, view: LedgerTime) {
    for (at, card) in cards.cards.iter().enumerate() {
        let (all, used) = (
            CardPart::capacity(cards, at),
            CardPart::used(cards, at, view),
        );
        assert!(used.sharers <= all.sharers, "slots of {card:?}");
        if mode(card) != SharingMode::Mig {
            assert!(used.memory <= all.memory, "memory of {card:?}");
            assert!(used.cores <= all.cores, "cores of {card:?}");
            continue;
        }
        let mut units: Vec<Partition> = cards.partitions(at, view).collect();
        assert_eq!(
            units.len() as i64,
            used.sharers,
            "an instance for everybody"
        );
        units.sort();
        units.dedup();
        assert_eq!(
            units.len() as i64,
            used.sharers,
            "an instance twice on {card:?}"
        );
        assert!(
            units.windows(2).all(|pair| pair[0].group == pair[1].group),
            "two groups"
        );
    }
}

/// What `fit`, `choose` and the naive search say of a pod must be one thing.
fn assert_agreement(
    line: &PodLine,
    request: &dyn FamilyRequest,
    cards: &NodeCards,
    view: LedgerTime,
    empty: &NodeCards,
) {
    let fit = request.fit(cards, view);
    let devices = NodeDevices::new(vec![cards.clone()]);
    if let Some(summarised) = devices
        .summaries(0)
        .and_then(|cards| request.fit_summary(cards))
    {
        assert_eq!(
            summarised,
            request.fit(cards, LedgerTime::Now).ok(),
            "by summaries"
        );
    }
    assert_pieces(request, cards, view);
    let choice = request.choose(cards, view);
    assert_eq!(fit.is_ok(), choice.is_some(), "fit and choose");
    let failure = fit.err().map(|at| &request.failures()[usize::from(at)]);
    if line.is_plain() {
        let naive = naive::fits(&config(), cards, view, &line.asks, line.mode);
        assert_eq!(
            naive,
            choice.is_some(),
            "the naive search finds another answer for {line:?}"
        );
    }
    let Some(failure) = failure else {
        assert_distinct(&choice.expect("fits"));
        return;
    };
    let miss = request.explain("n1", cards, view).expect("a miss");
    assert!(miss.text.contains(&failure.text), "{}", miss.text);
    let ever = request.fit(empty, LedgerTime::Now).is_ok();
    assert!(
        failure.evictions_help || !ever,
        "evictions would help: {}",
        failure.text
    );
    if line.asks.len() == 1 {
        assert_eq!(failure.evictions_help, ever, "{}", failure.text);
    }
}

fn assert_distinct(allocations: &Allocations) {
    let mut seen: Vec<_> = allocations
        .iter()
        .map(|allocation| (allocation.container, allocation.card))
        .collect();
    seen.sort();
    seen.dedup();
    assert_eq!(
        seen.len(),
        allocations.len(),
        "the cards of a container are different ones"
    );
}

/// The score, from what is in use before and what is taken.
fn assert_score(
    policy: Policy,
    cards: &NodeCards,
    view: LedgerTime,
    allocations: &Allocations,
    score: f64,
) {
    let mut used: Vec<CardPart> = (0..cards.cards.len())
        .map(|at| CardPart::used(cards, at, view))
        .collect();
    let mut expected = 0.0;
    for allocation in allocations {
        let at = usize::from(allocation.card.expect("a card"));
        expected += match policy {
            Policy::None | Policy::Fragmentation => 0.0,
            Policy::Binpack => {
                let after = used[at].memory + CardPart::of(&allocation.charged).memory;
                100.0 * after as f64 / CardPart::capacity(cards, at).memory as f64
            }
            Policy::Spread if used[at].sharers == 0 => 100.0,
            Policy::Spread => 0.0,
        };
        used[at].memory += CardPart::of(&allocation.charged).memory;
        used[at].sharers += 1;
    }
    assert!((expected - score).abs() < 1e-6, "{expected} is not {score}");
}

struct World<'a> {
    family: &'a dyn Family,
    policy: Policy,
    node: LoadedNode<PodLine>,
}

impl World<'_> {
    fn step(&mut self, step: &NodeStep<PodLine>) {
        match step {
            NodeStep::Place(line) => self.place(line, LedgerTime::Now, Load::Held),
            NodeStep::Pipeline(line) => self.place(line, LedgerTime::Future, Load::Pipelined),
            NodeStep::Evict(at) => self.node.weigh(*at, Some(Load::Releasing)),
            NodeStep::Remove(at) => self.node.weigh(*at, None),
        }
    }

    fn place(&mut self, line: &PodLine, view: LedgerTime, load: Load) {
        if !self.node.is_open(view) {
            return;
        }
        let request = line.request(self.family);
        let LoadedNode { cards, empty, .. } = &self.node;
        assert_agreement(line, &*request, cards, view, empty);
        let Some(allocations) = request.choose(cards, view) else {
            return;
        };
        let score = request.fit(cards, view).expect("fits");
        assert_score(self.policy, cards, view, &allocations, score);
        self.node.charge(LoadedPod {
            line: line.clone(),
            tags: line.tags,
            load,
            text: ids(&*request, cards, &allocations),
            allocations,
        });
        assert_within_capacity(&self.node.cards, view);
    }

    /// The ledger of a scheduler that starts now is this one.
    fn assert_restarts(&self) {
        self.node.assert_restarts(|line, text, cards| {
            let records = vec![("volcano.sh/vgpu-ids-new".to_owned(), text.to_owned())];
            self.family.decode(&records, &line.facts(), cards)
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ledgers_hold_their_laws_through_any_sequence(
        register in registers(), policy in policies(), steps in steps(pods),
    ) {
        let family = family(policy);
        let node = LoadedNode::new(cards_of(&*family, &register, None));
        let mut world = World { family: &*family, policy, node };
        for step in &steps {
            world.step(step);
            world.assert_restarts();
        }
        world.node.assert_empties();
    }
}
