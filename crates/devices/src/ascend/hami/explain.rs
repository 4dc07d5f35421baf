//! Why a node does not fit, chip by chip.

use crate::facts::ContainerKind;
use crate::ledger::{LedgerTime, NodeCards};
use crate::request::{FamilyRequest, NearMiss};
use crate::text::{SaidOfCards, grouped};

use super::check::{ChipCheck, PodOnChips};
use super::failure::NoChips;
use super::needs::ChipRequest;
use super::part::ChipPart;
use super::place::ChipPicks;
use super::register::{ChipVariant, REGISTER};
use super::request::ChipsRequest;

/// Why a request does not fit; `None` if it does.
pub fn explain(
    request: &ChipsRequest,
    node: &str,
    cards: &NodeCards,
    view: LedgerTime,
) -> Option<NearMiss> {
    let on_node = request.on_node(cards, view);
    if on_node.place(&request.needs).is_some() {
        return None;
    }
    let failure = &request.failures()[usize::from(request.failure(cards, view))];
    let mut taken = ChipPicks::new();
    let failing = request.needs.iter().find(|need| {
        let found = on_node.best(need, &taken);
        let lasts = need.runs != ContainerKind::Init;
        found
            .map(|found| taken.extend(found.into_iter().filter(|_| lasts)))
            .is_none()
    });
    let need = failing.or(request.needs.last())?;
    let mut text = format!("{node}: {}", failure.text);
    if request.needs.len() > 1 {
        text.push_str(&format!(" (container {})", need.container + 1));
    }
    let mut fitting = 0u32;
    let mut short = NearMiss::NO_CARD;
    let mut chips = SaidOfCards::default();
    for (at, card) in cards.cards.iter().enumerate() {
        if ChipVariant::of(card).of != need.of {
            continue;
        }
        let why = match (taken.contains(&(at as u16)), on_node.admits(need, at)) {
            (true, _) => "another container of the pod has it".to_owned(),
            (false, Ok(())) => {
                fitting += 1;
                "fits".to_owned()
            }
            (false, Err(check)) => {
                short = short.min(missing(&on_node, need, at, check));
                why(&on_node, need, at, check)
            }
        };
        chips.say(&card.id, why);
    }
    let chips = chips.into_texts();
    match chips.is_empty() {
        true => text.push_str(&format!(": {}", absence(request, need, cards))),
        false => text.push_str(&format!(": {}", chips.join("; "))),
    }
    Some(NearMiss {
        text,
        distance: (need.count.saturating_sub(fitting), short),
    })
}

/// Why a node has no chip of a type.
fn absence(request: &ChipsRequest, need: &ChipRequest, cards: &NodeCards) -> String {
    let word = &request.rules.config.types[usize::from(need.of)].word;
    match NoChips::of(cards) {
        NoChips::Off => "the devices are switched off".to_owned(),
        NoChips::NotRegistered => format!(
            "no {word} in the node annotation {REGISTER}{word}: is ascend-device-plugin running on \
             it, and the node labelled ascend=on?"
        ),
    }
}

/// MiB that are missing on a chip, 0 if something else is that may be given back.
fn missing(on_node: &PodOnChips, need: &ChipRequest, at: usize, check: ChipCheck) -> i64 {
    match check {
        ChipCheck::Memory => short(on_node, need, at),
        ChipCheck::Size => NearMiss::SMALL_CARD,
        check if check <= ChipCheck::Pair => NearMiss::UNFIT_CARD,
        _ => 0,
    }
}

fn short(on_node: &PodOnChips, need: &ChipRequest, at: usize) -> i64 {
    let all = ChipPart::capacity(on_node.cards, at).memory;
    let free = all - ChipPart::used(on_node.cards, at, on_node.view).memory;
    on_node.part(need, at).memory - free.max(0)
}

fn why(on_node: &PodOnChips, need: &ChipRequest, at: usize, check: ChipCheck) -> String {
    let card = &on_node.cards.cards[at];
    let part = on_node.part(need, at);
    let all = ChipPart::capacity(on_node.cards, at);
    let used = ChipPart::used(on_node.cards, at, on_node.view);
    let of = |what: &str, asked: i64, free: i64| {
        format!(
            "{} {what} asked, {} free",
            grouped(asked),
            grouped(free.max(0))
        )
    };
    match check {
        ChipCheck::Type => format!("type {}", card.kind),
        ChipCheck::Mode => "not in hami-core mode".to_owned(),
        ChipCheck::Healthy => card.unusable.as_deref().unwrap_or("not usable").to_owned(),
        ChipCheck::Uuid => "UUID not allowed".to_owned(),
        ChipCheck::Size => format!(
            "{} MiB asked, {} MiB in all",
            grouped(part.memory),
            grouped(all.memory)
        ),
        ChipCheck::Pair => "its pair is not free".to_owned(),
        ChipCheck::Slots => format!("all {} slots in use", grouped(all.sharers)),
        ChipCheck::Mixed if used.soft > 0 => "shared by hami-core".to_owned(),
        ChipCheck::Mixed => "split by templates".to_owned(),
        ChipCheck::Memory => format!("{} MiB short", grouped(short(on_node, need, at))),
        ChipCheck::Cores => of("cores", part.cores, all.cores - used.cores),
        ChipCheck::AiCores => of("AI cores", part.ai_cores, all.ai_cores - used.ai_cores),
        ChipCheck::AiCpus => of("AI CPUs", part.ai_cpus, all.ai_cpus - used.ai_cpus),
    }
}
