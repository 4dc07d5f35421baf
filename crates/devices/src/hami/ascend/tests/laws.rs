//! Laws that hold for any node and any sequence of pods, and decoders that take any text.

use std::sync::Arc;

use proptest::prelude::*;

use super::{NodeLine, family, h1, pod, request, text};
use crate::facts::PodFacts;
use crate::family::{Decoded, Family};
use crate::fixture::laws::{LoadedNode, LoadedPod, NodeStep, policies, steps, texts};
use crate::hami::ascend::part::ChipPart;
use crate::ledger::{Allocations, LedgerTime, Load, NodeCards, Tags};
use crate::request::FamilyRequest;
use crate::settings::Policy;

/// Types: slots, MiB, and requests of memory that make a difference.
const TYPES: [(&str, i64, i64, &[i64]); 3] = [
    ("Ascend310P", 7, 21_527, &[0, 3000, 6000, 9000, 20_000]),
    ("Ascend910B2", 8, 65_536, &[0, 8000, 16_000, 32_768, 60_000]),
    ("Ascend910B3", 4, 65_536, &[0, 16_000, 20_000]),
];

/// Characters that are put into texts, and those of which there are texts.
const EDITS: &str = "[,:;{}\\[\\]\"0-9a-zU é-]";
const SOME: &str = "[,:;{}\"U0-9]{0,60}";
const LIST: &str = "U0,Ascend310P,6144,0:U1,Ascend310P,3072,0:;U7,Ascend310P,1,1:;";

/// Chips, MiB (0: whole ones) and cores of a container.
type Ask = (i64, usize, i64);

#[derive(Clone, Debug)]
struct PodLine {
    asks: Vec<Ask>,
    soft: bool,
}

impl PodLine {
    fn facts(&self, of: usize) -> PodFacts {
        let (word, _, _, memories) = TYPES[of];
        let limits = |(count, memory, cores): &Ask| {
            let memory = memories[memory % memories.len()];
            let mut limits = vec![('n', if memory == 0 || self.soft { *count } else { 1 })];
            if memory > 0 {
                limits.push(('m', memory));
            }
            if self.soft {
                limits.push(('c', *cores));
            }
            limits
        };
        let containers: Vec<Vec<super::Limit>> = self.asks.iter().map(limits).collect();
        let containers: Vec<&[super::Limit]> = containers.iter().map(Vec::as_slice).collect();
        let soft = [("huawei.com/vnpu-mode", "hami-core")];
        pod(word, &containers, if self.soft { &soft } else { &[] })
    }
}

fn pods() -> impl Strategy<Value = PodLine> {
    let cores = prop::sample::select(vec![0, 0, 20, 50, 100]);
    let asks = prop::collection::vec((1..4i64, any::<usize>(), cores), 1..4);
    (asks, any::<bool>()).prop_map(|(asks, soft)| PodLine { asks, soft })
}

fn assert_within_capacity(cards: &NodeCards, view: LedgerTime) {
    for at in 0..cards.cards.len() {
        let (all, used) = (cards.capacity(at), cards.used(at, view));
        let within = all
            .iter()
            .zip(used)
            .all(|(all, used)| (0..=*all).contains(used));
        assert!(within, "{used:?} of {all:?}");
        let used = ChipPart::of(used);
        assert!(
            used.soft == 0 || used.soft == used.sharers,
            "two ways to share a chip"
        );
    }
}

/// Whether there are chips for all containers: tries every choice. Of a node of one type.
fn fits_naively(
    free: &[ChipPart],
    capacity: ChipPart,
    asks: &[(i64, ChipPart)],
    taken: &mut Vec<usize>,
) -> bool {
    let Some(((count, part), rest)) = asks.split_first() else {
        return true;
    };
    if *count == 0 {
        return fits_naively(free, capacity, rest, taken);
    }
    let fewer: Vec<(i64, ChipPart)> = [(count - 1, *part)]
        .into_iter()
        .chain(rest.iter().copied())
        .collect();
    (0..free.len()).any(|at| {
        if taken.contains(&at) || !has_room(free[at], capacity, *part) {
            return false;
        }
        taken.push(at);
        let found = fits_naively(free, capacity, &fewer, taken);
        taken.pop();
        found
    })
}

fn has_room(used: ChipPart, all: ChipPart, part: ChipPart) -> bool {
    let sum = |of: fn(&ChipPart) -> i64| of(&used) + of(&part) <= of(&all);
    let alone = used.sharers == 0;
    let alike = if part.soft > 0 {
        used.soft == used.sharers
    } else {
        used.soft == 0
    };
    used.sharers < all.sharers
        && alike
        && sum(|part| part.memory)
        && sum(|part| part.cores)
        && (part.cores < 100 || alone)
        && used.cores < 100
        && sum(|part| part.ai_cores)
        && sum(|part| part.ai_cpus)
}

struct World<'a> {
    family: &'a dyn Family,
    of: usize,
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

    fn key(&self) -> String {
        format!("hami.io/{}-devices-allocated", TYPES[self.of].0)
    }

    fn place(&mut self, line: &PodLine, view: LedgerTime, load: Load) {
        if !self.node.is_open(view) {
            return;
        }
        let asked = self.family.request(&line.facts(self.of), Tags::default());
        let Some(Ok(request)) = asked else {
            return;
        };
        let chosen = request.choose(&self.node.cards, view);
        self.assert_agreement(&request, view, chosen.as_ref());
        let Some(allocations) = chosen else {
            return;
        };
        let written = request.annotations("H1", &self.node.cards, &allocations);
        self.node.charge(LoadedPod {
            line: line.clone(),
            tags: Tags::default(),
            load,
            text: text(&written, &self.key()).to_owned(),
            allocations,
        });
        assert_within_capacity(&self.node.cards, view);
    }

    /// The ledger of a scheduler that starts now is this one.
    fn assert_restarts(&self) {
        self.node.assert_restarts(|line, list, cards| {
            let records = vec![(self.key(), list.to_owned())];
            self.family.decode(&records, &line.facts(self.of), cards)
        });
    }

    /// What `fit`, `choose`, `explain` and a search through all choices say is one thing.
    fn assert_agreement(
        &self,
        request: &Arc<dyn FamilyRequest>,
        view: LedgerTime,
        chosen: Option<&Allocations>,
    ) {
        let fit = request.fit(&self.node.cards, view);
        assert_eq!(fit.is_ok(), chosen.is_some(), "fit and choose");
        let miss = request.explain("H1", &self.node.cards, view);
        assert_eq!(miss.is_none(), chosen.is_some(), "explain");
        let ever = request.choose(&self.node.empty, LedgerTime::Now);
        if let Err(at) = fit {
            let failure = &request.failures()[usize::from(at)];
            assert_eq!(failure.evictions_help, ever.is_some(), "{}", failure.text);
            assert!(miss.is_some_and(|miss| miss.text.contains(&failure.text)));
        }
        // What each container takes is seen on an idle node.
        let Some(parts) = ever else { return };
        let mut asks: Vec<(u16, i64, ChipPart)> = Vec::new();
        for one in &parts {
            match asks
                .iter_mut()
                .find(|(container, ..)| *container == one.container)
            {
                Some((_, count, _)) => *count += 1,
                None => asks.push((one.container, 1, ChipPart::of(&one.charged))),
            }
        }
        let asks: Vec<(i64, ChipPart)> = asks
            .into_iter()
            .map(|(_, count, part)| (count, part))
            .collect();
        let count = self.node.cards.cards.len();
        let used: Vec<ChipPart> = (0..count)
            .map(|at| ChipPart::used(&self.node.cards, at, view))
            .collect();
        let all = ChipPart::capacity(&self.node.cards, 0);
        let naive = fits_naively(&used, all, &asks, &mut Vec::new());
        assert_eq!(
            naive,
            chosen.is_some(),
            "a search finds another answer: {asks:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn ledgers_hold_their_laws_through_any_sequence(
        of in 0..TYPES.len(), chips in 1..6usize, soft in any::<bool>(), policy in policies(),
        steps in steps(pods),
    ) {
        let family = family(policy);
        let (word, slots, memory, _) = TYPES[of];
        let mut node = NodeLine::new(word, chips, slots, memory);
        node.soft = soft;
        let node = LoadedNode::new(node.cards(&*family));
        let mut world = World { family: &*family, of, node };
        for step in &steps {
            world.step(step);
            world.assert_restarts();
        }
        world.node.assert_empties();
    }

    #[test]
    fn any_register_text_gives_sound_chips(text in texts(format!("[{}]", h1().chips.join(",")), EDITS, SOME)) {
        let family = family(Policy::Binpack);
        let mut node = h1();
        node.chips = vec![text];
        let cards = node.cards(&*family);
        for (at, card) in cards.cards.iter().enumerate() {
            let all = ChipPart::capacity(&cards, at);
            prop_assert!(all.memory > 0 && all.sharers > 0 && !card.id.is_empty());
            prop_assert_eq!(cards.find(&card.id), Some(at));
        }
        let request = request(&*family, &pod("Ascend310P", &[&[('n', 1), ('m', 10)]], &[]));
        let fits = request.fit(&cards, LedgerTime::Now).is_ok();
        prop_assert_eq!(fits, request.choose(&cards, LedgerTime::Now).is_some());
    }

    #[test]
    fn any_allocation_text_can_be_charged_and_taken_back(
        text in texts(LIST.to_owned(), EDITS, SOME),
        asks in 0..4i64,
    ) {
        let family = family(Policy::Binpack);
        let mut cards = h1().cards(&*family);
        let before = cards.clone();
        let pod = pod("Ascend310P", &[&[('n', asks)], &[], &[('n', 1), ('m', 100)]], &[]);
        let records = vec![("hami.io/Ascend310P-devices-allocated".to_owned(), text)];
        let Decoded { allocations, problems } = family.decode(&records, &pod, &cards);
        let certain = allocations.iter().filter(|one| one.certain).count();
        prop_assert!(certain as i64 > asks || !problems.is_empty());
        cards.charge(1, Tags::default(), Load::Held, &allocations);
        let _ = family.gauges(&cards);
        cards.discharge(1, Load::Held, &allocations);
        prop_assert_eq!(cards, before);
    }

    #[test]
    fn any_device_configuration_is_taken_or_refused(text in ".{0,40}", at in 0..200usize) {
        let good = "vnpus:\n- {commonWord: X, resourceName: h/X, resourceMemoryName: h/X-m, \
                    memoryAllocatable: 100, memoryCapacity: 120, templates: [{name: a, memory: 5}]}\n";
        let mut mutated = good.to_owned();
        mutated.insert_str(at % good.len(), &text);
        for text in [text, mutated] {
            let _ = crate::families::read_config(&text);
        }
    }
}
