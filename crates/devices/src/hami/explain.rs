//! Why a node does not fit, card by card.

use crate::ledger::{LedgerTime, NodeCards};
use crate::part::CardPart;
use crate::request::{FamilyRequest, NearMiss};
use crate::text::{Bounded, SaidOfCards, grouped};

use super::check::{CardCheck, PodOnCards, Taken};
use super::needs::CardNeed;
use super::place::{CardOrder, TakenCards};
use super::request::CardsRequest;
use super::sgpu::ClassCounts;
use super::terms::{AppClass, QosPolicy};
use super::variant::CardVariant;

/// Why a request does not fit; `None` if it does.
pub fn explain(
    request: &CardsRequest,
    node: &str,
    cards: &NodeCards,
    view: LedgerTime,
) -> Option<NearMiss> {
    let on_node = request.on_node(cards, view);
    if on_node.place(&request.needs).is_some() {
        return None;
    }
    let failure = &request.failures()[usize::from(on_node.failure(&request.needs))];
    let mut own = TakenCards::new();
    let failing = request.needs.iter().find(|need| {
        let found = on_node.best(need, &own);
        found.map(|found| own.extend(found)).is_none()
    });
    let need = failing.or(request.needs.last())?;
    let own = need.beside(&own).into_owned();
    let mut text = format!("{node}: {}", failure.text);
    if request.needs.len() > 1 {
        text.push_str(&format!(" (container {})", need.container + 1));
    }
    let nodes = numa_nodes(&on_node, need, &own);
    let (mut fitting, mut short) = (0u32, NearMiss::NO_CARD);
    let mut cards_told = SaidOfCards::default();
    for (at, card) in cards.cards.iter().enumerate() {
        if CardVariant::of(card).kind != need.kind {
            continue;
        }
        match on_node.admits(need, at, &own) {
            Ok(_) => {
                fitting += 1;
                cards_told.say(&card.id, "fits".to_owned());
            }
            Err(check) => {
                short = short.min(missing((&on_node, need), at, &own, check));
                cards_told.say(&card.id, why((&on_node, need), at, &own, check));
            }
        }
    }
    let numa = (!nodes.is_empty()).then(|| numa_text(&on_node, need, &nodes));
    let told = numa.into_iter().chain(cards_told.into_texts());
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => text.push_str(&format!(": {}", absence(request, need))),
        false => text.push_str(&format!(": {}", told.join("; "))),
    }
    // What the best NUMA node has not, no other one adds.
    if let Some(most) = nodes.iter().map(|node| node.len() as u32).max() {
        fitting = fitting.min(most);
    }
    Some(NearMiss {
        text,
        distance: (need.count.saturating_sub(fitting), short),
    })
}

/// The cards that fit of each NUMA node, where a container takes them near one.
fn numa_nodes(on_node: &PodOnCards, need: &CardNeed, own: &[Taken]) -> Vec<CardOrder> {
    if !on_node.limits.wants_one_numa(need.kind) {
        return Vec::new();
    }
    let mut nodes = on_node.by_numa(&on_node.order(need, own)).into_vec();
    nodes.sort_by_key(|node| on_node.cards.cards[usize::from(node[0])].numa);
    nodes
}

fn numa_text(on_node: &PodOnCards, need: &CardNeed, nodes: &[CardOrder]) -> String {
    let mut told = Bounded::default();
    for node in nodes {
        let card = &on_node.cards.cards[usize::from(node[0])];
        told.tell(|| match card.numa {
            Some(numa) => format!("NUMA node {numa} has {}", node.len()),
            None => format!("{} tells no NUMA node", card.id),
        });
    }
    let told = told.into_texts("more").join(", ");
    format!("{} asked, {told}", need.count)
}

/// Why a node has no card of a kind.
fn absence(request: &CardsRequest, need: &CardNeed) -> String {
    let kind = &request.rules.kinds[usize::from(need.kind)];
    format!(
        "no {} in {} of the node: is its device plugin running?",
        kind.word, kind.source
    )
}

/// MiB that are missing on a card, 0 if something else is that may be given back.
fn missing(on_node: (&PodOnCards, &CardNeed), at: usize, own: &[Taken], check: CardCheck) -> i64 {
    match check {
        CardCheck::Memory => short(on_node, at, own),
        CardCheck::Size => NearMiss::SMALL_CARD,
        check if check <= CardCheck::Part => NearMiss::UNFIT_CARD,
        _ => 0,
    }
}

fn short((on_node, need): (&PodOnCards, &CardNeed), at: usize, own: &[Taken]) -> i64 {
    let all = CardPart::capacity(on_node.cards, at).memory;
    let free = all - on_node.used(at, own).memory;
    on_node.part(need, at).memory - free.max(0)
}

fn why(
    (on_node, need): (&PodOnCards, &CardNeed),
    at: usize,
    own: &[Taken],
    check: CardCheck,
) -> String {
    let card = &on_node.cards.cards[at];
    let all = CardPart::capacity(on_node.cards, at);
    let used = on_node.used(at, own);
    let named = need.share.named.map(|named| named.most);
    match check {
        CardCheck::Kind => format!("type {}", card.kind),
        CardCheck::Usable => card.unusable.as_deref().unwrap_or("not usable").to_owned(),
        CardCheck::Mode => format!("mode {}", CardVariant::of(card).mode.name()),
        CardCheck::Type => format!("type {} not allowed", card.kind),
        CardCheck::Uuid => "UUID not allowed".to_owned(),
        CardCheck::Size => match card.splits.last() {
            Some(largest) => format!(
                "{} MiB asked, {} MiB in the largest instance",
                grouped(on_node.part(need, at).memory),
                grouped(largest.memory)
            ),
            None => format!(
                "{} MiB asked, {} MiB in all",
                grouped(named.unwrap_or(on_node.part(need, at).memory)),
                grouped(all.memory)
            ),
        },
        CardCheck::Part => format!(
            "{} MiB are a part of its {} MiB",
            grouped(named.unwrap_or(0)),
            grouped(all.memory)
        ),
        CardCheck::Class => format!(
            "CardAppClassMismatch: {} pods are on the card, the pod is {}",
            there(on_node.classes(on_node.terms(need), at, own)),
            on_node
                .terms(need)
                .class
                .map_or("of no class", AppClass::name)
        ),
        CardCheck::Qos => format!(
            "CardQosPolicyMismatch: the card has {}, the pod {}",
            on_node
                .policy(need, at, own)
                .map_or("none", QosPolicy::name),
            on_node.terms(need).qos.name()
        ),
        CardCheck::Slots => format!("all {} slots in use", grouped(all.sharers)),
        CardCheck::Idle => "in use".to_owned(),
        CardCheck::Memory => {
            format!("{} MiB short", grouped(short((on_node, need), at, own)))
        }
        CardCheck::Cores => format!(
            "{} cores asked, {} free",
            on_node.part(need, at).cores,
            (all.cores - used.cores).max(0)
        ),
        CardCheck::Exclusive => "in use, and 100 cores need an idle card".to_owned(),
        CardCheck::Held => "all its cores are taken".to_owned(),
        CardCheck::Instance => "no free place for an instance as large".to_owned(),
    }
}

/// Which pods are on a card.
fn there(counts: ClassCounts) -> &'static str {
    match (counts.online, counts.offline) {
        (0, 0) => "other",
        (0, _) => AppClass::Offline.name(),
        _ => AppClass::Online.name(),
    }
}
