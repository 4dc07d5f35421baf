//! What a placed pod holds, read from its annotations (spec/05 §2.4, §2.11).
//!
//! ```text
//! huawei.com/npu-core   = id "-" template | id *( "," id )
//! huawei.com/AscendReal = type "-" vnpu "-" id [ "_" group ] | chip *( "," chip )
//! huawei.com/Ascend310P = chip *( "," chip )      ; written by other schedulers of whole chips
//! ```
//!
//! They say which chips it has, and for vNPUs which template of as many AI cores; its request says how much. What
//! they do not tell counts on every chip it could be.

use std::sync::Arc;

use crate::facts::{Pairs, PodFacts, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, Card, NodeCards};
use crate::text::shorten;

use super::mark::{VnpuMark, VnpuProgress};
use super::node::id;
use super::request::{CoreRequest, Size, first_that_asks};
use super::template::{Part, VnpuTemplate};
use super::{CORES, LIST, REAL};

/// AI cores of a chip on a node that has none to look at.
const USUAL_CORES: i64 = 8;

/// What a pod on a node holds.
pub fn held(records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let value = |key: &str| lookup(records, key).map(|text| text.trim());
    let Some(npus) = AskedNpus::of(pod, cards) else {
        let of_others = AskedNpus::of_others(pod);
        let listed = value(LIST).unwrap_or_default().split(',').map(str::trim);
        let ids: Vec<u32> = listed.filter_map(id).collect();
        let mut decoded = Decoded::default();
        of_others.take(
            LIST,
            &ids,
            (None, VnpuProgress::InFlight),
            cards,
            &mut decoded,
        );
        if let Some(text) = value(CORES) {
            decoded.problems.push(format!(
                "annotation {CORES} \"{}\" does not count: the pod asks no {CORES}",
                shorten(text)
            ));
        }
        return decoded;
    };
    let mut decoded = Decoded::default();
    let (ids, template) = match value(CORES).map(|text| (text, read(text))) {
        Some((_, Some(RecordedNpus::Chips(ids)))) => (ids, None),
        Some((_, Some(RecordedNpus::Vnpu(chip, template)))) => (vec![chip], Some(template)),
        Some((text, Some(RecordedNpus::Unknown(chip)))) => {
            decoded.problems.push(format!(
                "annotation {CORES} \"{}\" names no known template; what the pod asks counts on NPU {chip}",
                shorten(text)
            ));
            (vec![chip], None)
        }
        unread => {
            let told = match unread {
                Some((text, _)) => {
                    format!("annotation {CORES} \"{}\" cannot be read", shorten(text))
                }
                None => format!("the pod uses NPUs of its node without annotation {CORES}"),
            };
            decoded.allocations = npus.anywhere(&[], cards);
            decoded.problems.push(format!(
                "{told}; what it asks counts on every NPU of the node until it ends or the \
                 annotation names its NPUs, as in 0-vir02"
            ));
            return decoded;
        }
    };
    let progress = progress(value(REAL).unwrap_or_default());
    npus.take(CORES, &ids, (template, progress), cards, &mut decoded);
    let known: Vec<u32> = ids.into_iter().take(npus.count).collect();
    if known.len() < npus.count {
        decoded.allocations.extend(npus.anywhere(&known, cards));
        decoded.problems.push(format!(
            "annotation {CORES} tells {} of {} NPUs; what the pod asks counts on every NPU of the node until it ends",
            known.len(),
            npus.count
        ));
    }
    decoded
}

/// What a pod may hold.
struct AskedNpus {
    container: u16,
    /// Chips.
    count: usize,
    /// Template by which each chip is split; all of it where that is none, or nobody knows.
    template: Option<VnpuTemplate>,
}

impl AskedNpus {
    /// By its AI cores; `None` if it asks none.
    fn of(pod: &PodFacts, cards: &NodeCards) -> Option<Self> {
        let (container, milli) = first_that_asks(pod)?;
        let template = match CoreRequest::of(pod)
            .and_then(Result::ok)
            .map(|asked| asked.size)
        {
            Some(Size::Virtual(template)) => Some(template),
            Some(Size::Whole) | None => None,
        };
        let of_chip = match cards.cards.is_empty() {
            true => USUAL_CORES,
            false => Part::of(cards.capacity(0)).cores.max(1),
        };
        let chips = (milli.max(0) / 1000 / of_chip).max(1);
        Some(Self {
            container,
            count: match template {
                Some(_) => 1,
                None => usize::try_from(chips).unwrap_or(usize::MAX),
            },
            template,
        })
    }

    /// By what others count, who hand out whole chips.
    fn of_others(pod: &PodFacts) -> Self {
        let names = |container: &crate::facts::ContainerFacts| container.milli(LIST).is_some();
        let container = pod.containers.iter().position(names).unwrap_or(0);
        Self {
            container: container as u16,
            count: usize::try_from(pod.units(LIST)).unwrap_or(usize::MAX),
            template: None,
        }
    }

    /// Takes the chips that an annotation names, as many as are asked.
    fn take(
        &self,
        key: &str,
        ids: &[u32],
        (told, progress): (Option<VnpuTemplate>, VnpuProgress),
        cards: &NodeCards,
        to: &mut Decoded,
    ) {
        for id in ids.iter().take(self.count) {
            let one = match self.template {
                Some(asked) => {
                    let is_as_large = |told: &VnpuTemplate| told.part().cores == asked.part().cores;
                    let template = told.filter(is_as_large).unwrap_or(asked);
                    let mark = VnpuMark { template, progress };
                    vnpu(self.container, *id, mark, cards, true)
                }
                None => whole(self.container, *id, cards),
            };
            to.allocations.push(one);
        }
        if ids.len() > self.count {
            to.problems.push(format!(
                "annotation {key} names {} NPUs and the pod asks {}: the first ones count, as whoever may change \
                 the pod may have written it",
                ids.len(),
                self.count
            ));
        }
    }

    /// What a pod asks, on every chip but those it has for sure.
    fn anywhere(&self, known: &[u32], cards: &NodeCards) -> Allocations {
        let others = cards
            .cards
            .iter()
            .filter(|card| !known.contains(&card.index));
        let on = |card: &Card| match self.template {
            Some(template) => {
                let progress = VnpuProgress::Made(None);
                let mark = VnpuMark { template, progress };
                vnpu(self.container, card.index, mark, cards, false)
            }
            None => Allocation {
                certain: false,
                ..whole(self.container, card.index, cards)
            },
        };
        others.map(on).collect()
    }
}

/// What `huawei.com/npu-core` says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RecordedNpus {
    Vnpu(u32, VnpuTemplate),
    Chips(Vec<u32>),
    /// A chip, with a template nobody knows.
    Unknown(u32),
}

fn read(text: &str) -> Option<RecordedNpus> {
    let number = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse()
            .ok()
            .filter(|id: &u32| is_plain && *id < 1 << 16)
    };
    if let Some((chip, template)) = text.split_once('-') {
        let chip = number(chip)?;
        let found = VnpuTemplate::named(template);
        return Some(found.map_or(RecordedNpus::Unknown(chip), |found| {
            RecordedNpus::Vnpu(chip, found)
        }));
    }
    let ids: Option<Vec<u32>> = text.split(',').map(|id| number(id.trim())).collect();
    let mut ids = ids?;
    ids.sort_unstable();
    ids.dedup();
    Some(RecordedNpus::Chips(ids))
}

/// How far the plugin is, by what it has written.
fn progress(real: &str) -> VnpuProgress {
    if real.is_empty() {
        return VnpuProgress::InFlight;
    }
    let group = real.rsplit_once('_').map(|(_, group)| group.parse());
    VnpuProgress::Made(group.and_then(Result::ok))
}

fn chip(id: u32, cards: &NodeCards) -> Option<usize> {
    cards.cards.iter().position(|card| card.index == id)
}

/// A vNPU on a chip, there or not.
fn vnpu(container: u16, id: u32, mark: VnpuMark, cards: &NodeCards, certain: bool) -> Allocation {
    let part = mark.template.part();
    Allocation {
        partition: Some(mark.partition()),
        certain,
        ..allocation(container, (id, chip(id, cards)), part, cards)
    }
}

/// All of a chip. Of one that is not there it is not known how large it is; it counts as one of the
/// others.
fn whole(container: u16, id: u32, cards: &NodeCards) -> Allocation {
    let at = chip(id, cards);
    let known = at.or((!cards.cards.is_empty()).then_some(0));
    let part = known.map_or(Part::whole(8), |at| Part::of(cards.capacity(at)));
    allocation(container, (id, at), part, cards)
}

/// A part of a chip for a container, there or not.
fn allocation(
    container: u16,
    (id, at): (u32, Option<usize>),
    part: Part,
    cards: &NodeCards,
) -> Allocation {
    match at {
        Some(at) => Allocation::of(cards, at, container, part.portion()),
        None => Allocation::of_absent(Arc::from(id.to_string()), container, part.portion()),
    }
}
