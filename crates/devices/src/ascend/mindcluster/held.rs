//! What a placed pod holds, read from its annotations (spec/05 §2.4, §2.11).
//!
//! ```text
//! huawei.com/npu-core   = id "-" template | id *( "," id )
//! huawei.com/AscendReal = type "-" vnpu "-" id [ "_" group ] | chip *( "," chip )
//! huawei.com/Ascend310P = chip *( "," chip )      ; written by other schedulers of whole chips
//! ```
//!
//! What cannot be read counts as used: on every chip, if it does not tell one.

use std::rc::Rc;

use crate::facts::{Pairs, PodFacts, lookup};
use crate::family::Decoded;
use crate::ledger::{Allocation, Allocations, Card, NodeCards};
use crate::text::shorten;

use super::mark::{VnpuMark, VnpuProgress};
use super::node::id;
use super::request::{CoreRequest, Size, first_that_asks};
use super::template::{Part, VnpuTemplate};
use super::{CORES, LIST, REAL};

/// What a pod on a node holds.
pub fn held(records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
    let value = |key: &str| lookup(records, key).map(|text| text.trim());
    let asking = first_that_asks(pod);
    let container = asking.map_or(0, |(container, _)| container);
    let mut decoded = Decoded::default();
    match value(CORES).map(|text| (text, read(text))) {
        Some((_, Some(RecordedNpus::Chips(ids)))) => {
            let whole = ids.iter().map(|id| whole(container, *id, cards));
            decoded.allocations.extend(whole);
        }
        Some((_, Some(RecordedNpus::Vnpu(chip, template)))) => {
            let progress = progress(value(REAL).unwrap_or_default());
            let mark = VnpuMark { template, progress };
            decoded
                .allocations
                .push(vnpu(container, chip, mark, cards, true));
        }
        Some((text, Some(RecordedNpus::Unknown(chip)))) => {
            decoded.allocations.push(Allocation {
                certain: false,
                ..whole(container, chip, cards)
            });
            decoded.problems.push(format!(
                "annotation {CORES} \"{}\" names no known template; until the pod ends, all of \
                 NPU {chip} counts as used",
                shorten(text)
            ));
        }
        unread if asking.is_some() => {
            let told = match unread {
                Some((text, _)) => {
                    format!("annotation {CORES} \"{}\" cannot be read", shorten(text))
                }
                None => format!("the pod uses NPUs of its node without annotation {CORES}"),
            };
            decoded.allocations = anywhere(pod, container, cards);
            decoded.problems.push(format!(
                "{told}; what it asks counts on every NPU of the node until it ends or the \
                 annotation names its NPUs, as in 0-vir02"
            ));
        }
        _ => {}
    }
    if value(CORES).is_none() && asking.is_none() {
        let listed = value(LIST).unwrap_or_default().split(',').map(str::trim);
        let ids = listed.filter_map(id);
        decoded.allocations = ids.map(|id| whole(container, id, cards)).collect();
    }
    decoded
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
        None => Allocation::of_absent(Rc::from(id.to_string()), container, part.portion()),
    }
}

/// What a pod asks, on every chip. What cannot be read may be anything.
fn anywhere(pod: &PodFacts, container: u16, cards: &NodeCards) -> Allocations {
    let request = CoreRequest::of(pod).and_then(Result::ok);
    let on = |card: &Card| match request.map(|request| request.size) {
        Some(Size::Virtual(template)) => {
            let progress = VnpuProgress::Made(None);
            let mark = VnpuMark { template, progress };
            vnpu(container, card.index, mark, cards, false)
        }
        Some(Size::Whole) | None => Allocation {
            certain: false,
            ..whole(container, card.index, cards)
        },
    };
    cards.cards.iter().map(on).collect()
}
