//! Why a node does not fit, card by card.

use crate::ledger::Card;
use crate::nvidia::vgpu::check::{Candidates, CardCandidate, Check, PodOnNode};
use crate::nvidia::vgpu::containers::ContainerRequest;
use crate::nvidia::vgpu::failure::Stop;
use crate::nvidia::vgpu::limits::{NO_UUID, USE_UUID};
use crate::nvidia::vgpu::sharing::{MODES, mode};
use crate::request::{Failure, NearMiss};
use crate::text::{SaidOfCards, grouped};

/// Why what containers ask does not fit the node of this name: what the search has ended with, in words.
pub fn explain(
    on_node: &PodOnNode,
    needs: &[ContainerRequest],
    (stop, failure): (Stop, &Failure),
    node: &str,
) -> Option<NearMiss> {
    let mut text = match stop {
        Stop::Count => format!("{} on node {node}", failure.text),
        Stop::Uuid => format!(
            "{} {USE_UUID}=\"{}\", {NO_UUID}=\"{}\" on node {node}",
            failure.text,
            on_node.limits.use_uuids.join(","),
            on_node.limits.no_uuids.join(",")
        ),
        Stop::Absent(_) | Stop::Mode(_) | Stop::Cards(..) => format!("{node}: {}", failure.text),
    };
    let mut own = Candidates::new();
    let failing = needs
        .iter()
        .find(|need| on_node.place(need, &mut own).is_err());
    // Each fits alone, and not together: told of the last.
    let need = failing.or(needs.last())?;
    let explanation = Explanation::new(on_node, need, &own);
    if !explanation.cards.is_empty() {
        if needs.len() > 1 {
            text.push_str(&format!(" (container {})", need.container + 1));
        }
        text.push_str(": ");
        if let Stop::Count = stop {
            text.push_str(&format!("{} asked; ", grouped(i64::from(need.count))));
        }
        text.push_str(&explanation.cards.join("; "));
    }
    Some(NearMiss {
        text,
        distance: explanation.distance,
    })
}

struct Explanation {
    cards: Vec<String>,
    distance: (u32, i64),
}

impl Explanation {
    fn new(on_node: &PodOnNode, need: &ContainerRequest, own: &[CardCandidate]) -> Self {
        let mut fitting = [0u32; MODES];
        let mut short = NearMiss::NO_CARD;
        let mut cards = SaidOfCards::default();
        for (at, card) in on_node.cards.cards.iter().enumerate() {
            let taken = match on_node.allows(need, at) {
                Ok(()) => on_node.admits(need, at, own, None).map(|_| ()),
                Err(check) => Err(check),
            };
            match taken {
                Ok(()) => {
                    fitting[mode(card).at()] += 1;
                    cards.say(&card.id, "fits".to_owned());
                }
                Err(check) => {
                    short = short.min(missing(on_node, need, at, own, check));
                    cards.say(&card.id, why(on_node, need, at, own, check));
                }
            }
        }
        let fitting = fitting.into_iter().max().unwrap_or(0);
        Self {
            cards: cards.into_texts(),
            distance: (need.count.saturating_sub(fitting), short),
        }
    }
}

/// MiB that are missing on a card, 0 if something else is that may be given back.
fn missing(
    on_node: &PodOnNode,
    need: &ContainerRequest,
    at: usize,
    own: &[CardCandidate],
    check: Check,
) -> i64 {
    match check {
        Check::Memory => short(on_node, need, at, own),
        Check::Size => NearMiss::SMALL_CARD,
        Check::Instance if largest_instance(on_node, need, at).is_some() => NearMiss::SMALL_CARD,
        check if check.is_fixed() => NearMiss::UNFIT_CARD,
        _ => 0,
    }
}

/// MiB of the largest instance of a card in MIG mode, where it is smaller than what is asked.
fn largest_instance(on_node: &PodOnNode, need: &ContainerRequest, at: usize) -> Option<i64> {
    let asked = on_node.config.mib(need.of(on_node.capacity(at).memory));
    let largest = on_node.table(on_node.card(at))?.largest_mib();
    (largest > 0 && largest < asked).then_some(largest)
}

fn short(on_node: &PodOnNode, need: &ContainerRequest, at: usize, own: &[CardCandidate]) -> i64 {
    let memory = on_node.capacity(at).memory;
    let free = memory.saturating_sub(on_node.used(at, own).memory).max(0);
    on_node.config.mib(need.of(memory).saturating_sub(free))
}

fn why(
    on_node: &PodOnNode,
    need: &ContainerRequest,
    at: usize,
    own: &[CardCandidate],
    check: Check,
) -> String {
    let card = on_node.card(at);
    let (all, used) = (on_node.capacity(at), on_node.used(at, own));
    match check {
        Check::Usable => card.unusable.as_deref().unwrap_or("not usable").to_owned(),
        Check::Mode => format!("mode {}", mode(card).name()),
        Check::Index => format!("index {} is not in volcano.sh/gpu-index", card.index),
        Check::Uuid => "UUID not allowed".to_owned(),
        Check::Type => match on_node.limits.types.denied_by(&card.kind) {
            Some(denied) => format!("type {denied} denied"),
            None => format!("type {} not allowed", model(card)),
        },
        Check::Size => format!(
            "{} MiB asked, {} MiB in all",
            grouped(on_node.config.mib(need.of(all.memory))),
            grouped(on_node.config.mib(on_node.size(at)))
        ),
        Check::Slots => format!("all {} slots in use", grouped(all.sharers)),
        Check::Group => "a pod of the same group is on it".to_owned(),
        Check::Rule => "a pod of the same exclusivity rule is on it".to_owned(),
        Check::Memory => format!("{} MiB short", grouped(short(on_node, need, at, own))),
        Check::Cores => format!(
            "{} cores asked, {} free",
            need.cores,
            all.cores.saturating_sub(used.cores).max(0)
        ),
        Check::Exclusive => "in use, and 100 cores need an idle card".to_owned(),
        Check::Held => "all its cores are taken".to_owned(),
        Check::Instance => {
            let asked = grouped(on_node.config.mib(need.of(all.memory)));
            match largest_instance(on_node, need, at) {
                Some(largest) => format!(
                    "{asked} MiB asked, {} MiB in the largest MIG instance",
                    grouped(largest)
                ),
                None => format!("no free MIG instance for {asked} MiB"),
            }
        }
    }
}

fn model(card: &Card) -> &str {
    card.kind.strip_prefix("NVIDIA-").unwrap_or(&card.kind)
}
