//! Why a node does not fit, card by card.

use crate::cards::{Card, NodeCards, View};
use crate::demand::{Miss, Want};
use crate::text::Bounded;
use crate::vgpu::check::{Check, Room, Take, Takes};
use crate::vgpu::failure::Stop;
use crate::vgpu::limits::{NO_UUID, USE_UUID};
use crate::vgpu::plan::{MODE_NAMES, MODES};
use crate::vgpu::request::Need;
use crate::vgpu::want::VgpuWant;

/// Why a want does not fit; `None` if it does.
pub fn explain(want: &VgpuWant, node: &str, cards: &NodeCards, view: View) -> Option<Miss> {
    let room = want.room(cards, view);
    let stop = want.plan_cards(cards, view).err()?;
    let failure = &want.failures()[usize::from(stop.index())];
    let mut text = match stop {
        Stop::Count => format!("{} on node {node}", failure.text),
        Stop::Uuid => format!(
            "{} {USE_UUID}=\"{}\", {NO_UUID}=\"{}\" on node {node}",
            failure.text,
            want.limits.use_uuids.join(","),
            want.limits.no_uuids.join(",")
        ),
        Stop::Absent(_) | Stop::Mode(_) | Stop::Cards(..) => format!("{node}: {}", failure.text),
    };
    let mut own = Takes::new();
    let failing = want
        .needs
        .iter()
        .find(|need| room.place(need, &mut own).is_err());
    // Each fits alone, and not together: told of the last.
    let need = failing.or(want.needs.last())?;
    let explanation = Explanation::new(&room, need, &own);
    if !explanation.cards.is_empty() {
        if want.needs.len() > 1 {
            text.push_str(&format!(" (container {})", need.container + 1));
        }
        text.push_str(": ");
        if let Stop::Count = stop {
            text.push_str(&format!("{} asked; ", grouped(i64::from(need.count))));
        }
        text.push_str(&explanation.cards.join("; "));
    }
    Some(Miss {
        text,
        distance: explanation.distance,
    })
}

struct Explanation {
    cards: Vec<String>,
    distance: (u32, i64),
}

impl Explanation {
    fn new(room: &Room, need: &Need, own: &[Take]) -> Self {
        let mut fitting = [0u32; MODES];
        let mut short = i64::MAX;
        let mut cards = Bounded::default();
        for (at, card) in room.cards.cards.iter().enumerate() {
            let taken = match room.allows(need, card) {
                Ok(()) => room.admits(need, at, own, None).map(|_| ()),
                Err(check) => Err(check),
            };
            match taken {
                Ok(()) => {
                    fitting[usize::from(card.mode)] += 1;
                    cards.tell(|| format!("{}: fits", card.id));
                }
                Err(check) => {
                    short = short.min(missing(room, need, at, own, check));
                    cards.tell(|| format!("{}: {}", card.id, why(room, need, at, own, check)));
                }
            }
        }
        let fitting = fitting.into_iter().max().unwrap_or(0);
        Self {
            cards: cards.into_texts("more"),
            distance: (need.count.saturating_sub(fitting), short),
        }
    }
}

/// MiB that are missing on a card, 0 if something else is that may be given back.
fn missing(room: &Room, need: &Need, at: usize, own: &[Take], check: Check) -> i64 {
    match check {
        Check::Memory => short(room, need, at, own),
        check if check.is_fixed() => i64::MAX,
        _ => 0,
    }
}

fn short(room: &Room, need: &Need, at: usize, own: &[Take]) -> i64 {
    let card = room.card(at);
    let free = card.memory.saturating_sub(room.used(at, own).memory).max(0);
    room.plan.mib(need.of(card).saturating_sub(free))
}

fn why(room: &Room, need: &Need, at: usize, own: &[Take], check: Check) -> String {
    let card = room.card(at);
    let used = room.used(at, own);
    match check {
        Check::Usable => card.unusable.as_deref().unwrap_or("not usable").to_owned(),
        Check::Mode => format!("mode {}", MODE_NAMES[usize::from(card.mode)]),
        Check::Index => format!("index {} is not in volcano.sh/gpu-index", card.index),
        Check::Uuid => "UUID not allowed".to_owned(),
        Check::Type => match room.limits.types.denied_by(&card.kind) {
            Some(denied) => format!("type {denied} denied"),
            None => format!("type {} not allowed", model(card)),
        },
        Check::Size => format!(
            "{} MiB asked, {} MiB in all",
            grouped(room.plan.mib(need.of(card))),
            grouped(room.plan.mib(room.size(card)))
        ),
        Check::Slots => format!("all {} slots in use", grouped(i64::from(card.slots))),
        Check::Group => "a pod of the same group is on it".to_owned(),
        Check::Rule => "a pod of the same exclusivity rule is on it".to_owned(),
        Check::Memory => format!("{} MiB short", grouped(short(room, need, at, own))),
        Check::Cores => format!(
            "{} cores asked, {} free",
            need.cores,
            card.cores.saturating_sub(used.cores)
        ),
        Check::Exclusive => "in use, and 100 cores need an idle card".to_owned(),
        Check::Held => "all its cores are taken".to_owned(),
        Check::Instance => format!(
            "no free MIG instance for {} MiB",
            grouped(room.plan.mib(need.of(card)))
        ),
    }
}

fn model(card: &Card) -> &str {
    card.kind.strip_prefix("NVIDIA-").unwrap_or(&card.kind)
}

/// A number with commas between thousands.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
