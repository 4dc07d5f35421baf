//! The cards of HAMi's vendors (spec/04 §23): what is their own of what the families of HAMi do.

use std::sync::Arc;

use crate::binding::Annotation;
use crate::facts::{ContainerFacts, MilliAmounts, NodeFacts, PodFacts, container_name};
use crate::gauge::GaugeSpec;
use crate::ledger::{Allocation, Allocations, CardSummary, Dimension, NodeCards, Portion};
use crate::part::{CardPart, DIMENSIONS};
use crate::request::{Failure, QueueAmounts};
use crate::text::{Bounded, grouped};

use super::card_check::CardCheck;
use super::check::Taken;
use super::kind::{CardKind, Marking, OwnRules};
use super::limits::CardLimits;
use super::own::HamiRequest;
use super::own::{HamiFamily, TakenBy};
use super::place::{CardOrder, TriesLeft};
use super::registered_card::HamiCard;
use super::sgpu::ClassCounts;
use super::share::{self, CardNeed, CardShare};
use super::terms::{AppClass, QosPolicy, SgpuLimits, ShareTerms};
use super::variant::{CardMode, CardVariant};
use super::vendor_cards::PodOnCards;
use super::vendor_cards::VendorCards;
use super::wire::ReadDevice;
use super::{card_failures, gauges, neuron, place, queues, slices, wings};

impl HamiFamily for VendorCards {
    type Share = CardShare;
    type Taken = Taken;

    const NOUN: &'static str = share::NOUN;
    const DIMENSIONS: &'static [Dimension] = DIMENSIONS;
    const GAUGES: &'static [GaugeSpec] = gauges::GAUGES;
    const LISTS_ALL_CONTAINERS: bool = true;
    const MAX_CORES: i64 = i32::MAX as i64;
    const LATER: u8 = card_failures::LATER;
    const STAMP: Option<&'static str> = None;

    fn card(
        &self,
        (_, kind): (usize, &CardKind),
        card: &HamiCard,
        is_cordoned: bool,
    ) -> (Option<&'static str>, Portion) {
        let all = CardPart {
            memory: card.memory,
            sharers: card.slots,
            cores: card.cores,
        };
        (unusable(kind, card, is_cordoned), all.portion())
    }

    /// Memory and cores of the cards that are given out, which a node seldom tells itself.
    fn offered(&self, kinds: &[CardKind], node: &NodeFacts, cards: &NodeCards) -> MilliAmounts {
        let mut offered = MilliAmounts::new();
        for (of, kind) in kinds.iter().enumerate() {
            let mut all = CardPart::default();
            for (at, card) in cards.cards.iter().enumerate() {
                if usize::from(CardVariant::of(card).kind) == of && card.is_usable() {
                    let part = CardPart::capacity(cards, at);
                    all.memory += part.memory;
                    all.cores += match kind.cores_in_percent {
                        true => kind.cores,
                        false => part.cores,
                    };
                }
            }
            let memory = all.memory.saturating_mul(1000) / kind.unit.mib();
            for (name, milli) in [
                (&kind.names.memory, memory),
                (&kind.names.cores, all.cores * 1000),
            ] {
                if milli > 0 && !name.is_empty() && node.allocatable_milli(name).is_none() {
                    offered.push((name.clone(), milli));
                }
            }
        }
        offered
    }

    fn ask(
        &self,
        pod: &PodFacts,
        container: &ContainerFacts,
        (_, kind): (usize, &CardKind),
    ) -> Result<Option<(u32, CardShare)>, String> {
        let asked = match kind.rules {
            OwnRules::Neuron => neuron::ask(container, kind),
            OwnRules::Slices => slices::ask(container, kind),
            _ => share::ask(container, kind),
        }?;
        Ok(asked.map(|(count, share)| (count, kind.taken(pod, share))))
    }

    fn ask_at_most(&self, pod: &PodFacts, kind: &CardKind) -> CardShare {
        kind.taken(pod, CardShare::WHOLE)
    }

    fn count_at_most(&self, container: &ContainerFacts, kind: &CardKind) -> u32 {
        match kind.rules {
            OwnRules::Slices => slices::at_most(container, kind),
            _ => container.counted(&kind.names.count, ""),
        }
    }

    fn refuses(
        pod: &PodFacts,
        kinds: &[CardKind],
        needs: &[CardNeed],
        next: &CardNeed,
    ) -> Option<String> {
        let name = || container_name(&pod.containers, usize::from(next.container));
        let kind = &kinds[usize::from(next.kind)];
        let last = needs.last();
        if let Some(other) = last.filter(|need| need.container == next.container) {
            let other = &kinds[usize::from(other.kind)].names.count;
            return Some(format!(
                "{}: {other} and {} are cards of two kinds: ask each in a container of its own",
                name(),
                kind.names.count
            ));
        }
        if kind.one_container && needs.iter().any(|need| need.kind == next.kind) {
            return Some(format!(
                "{}: a container before asks {} too, and the device plugin serves one container \
                 of a pod: ask in one container, or in pods of their own",
                name(),
                kind.names.count
            ));
        }
        neuron::refuses(pod, kind, needs, next)
            .or_else(|| wings::refuses(kind, next))
            .map(|why| format!("{}: {why}", name()))
            .or_else(|| (kind.refuses)(pod))
    }

    fn limit(
        pod: &PodFacts,
        kinds: &[CardKind],
        needs: &[CardNeed],
        limits: &mut CardLimits,
    ) -> Result<(), String> {
        limits.sgpu = SgpuLimits::of(pod, kinds, needs)?;
        Ok(())
    }

    fn failures(kinds: &[CardKind], needs: &[CardNeed]) -> Arc<[Failure]> {
        card_failures::list(needs, kinds)
    }

    fn failure_of(
        on_node: &PodOnCards,
        need: &CardNeed,
        is_alone: bool,
        check: Option<CardCheck>,
    ) -> u8 {
        if let Some(check) = check {
            return check as u8;
        }
        let any = || on_node.first(need, &on_node.order(need, &[]), &[]);
        match is_alone && any().is_some() {
            true if on_node.has_wings(need.kind) || on_node.is_in_a_row(need) => {
                card_failures::LINKED
            }
            true => card_failures::NUMA,
            false => card_failures::TOO_FEW,
        }
    }

    fn part(on_node: &PodOnCards, need: &CardNeed, at: usize) -> Portion {
        on_node.part(need, at).portion()
    }

    fn part_as_told(&self, _need: &CardNeed, memory: i64, cores: i64) -> Portion {
        let part = CardPart {
            memory,
            sharers: 1,
            cores,
        };
        part.portion()
    }

    fn listed(on_node: &PodOnCards, need: &CardNeed, at: usize) -> Option<Portion> {
        need.share.profile()?;
        let listed = on_node.listed(need, at, on_node.part(need, at))?;
        Some(listed.portion())
    }

    fn as_told(
        on_node: &PodOnCards,
        need: &CardNeed,
        at: usize,
        device: &ReadDevice,
    ) -> Option<(Portion, Portion, String)> {
        on_node.as_told(need, at, device)
    }

    fn used(on_node: &PodOnCards, need: &CardNeed, at: usize, own: &[Taken]) -> CardPart {
        on_node.used(at, &need.beside(own))
    }

    fn is_large_enough(on_node: &PodOnCards, need: &CardNeed, at: usize) -> Result<(), CardCheck> {
        on_node.is_large_enough(need, at)
    }

    fn admits(
        on_node: &PodOnCards,
        need: &CardNeed,
        at: usize,
        own: &[Taken],
    ) -> Result<Taken, CardCheck> {
        on_node.admits(need, at, own)
    }

    fn place(on_node: &PodOnCards, needs: &[CardNeed]) -> Option<(TakenBy<Self>, f64)> {
        on_node.place(needs)
    }

    fn best(on_node: &PodOnCards, need: &CardNeed, own: &[Taken]) -> Option<TakenBy<Self>> {
        on_node.best(need, own, &mut TriesLeft::default())
    }

    fn allocation(on_node: &PodOnCards, need: &CardNeed, taken: Taken) -> Allocation {
        let terms = on_node.limits.terms(need.kind);
        let (card, part) = (usize::from(taken.card), taken.part.portion());
        Allocation {
            asked: on_node.asked(need, &taken).portion(),
            partition: taken.instance,
            share: terms.map(ShareTerms::code).unwrap_or_default(),
            ..Allocation::of(on_node.cards, card, need.container, part)
        }
    }

    fn why(
        on_node: &PodOnCards,
        need: &CardNeed,
        at: usize,
        own: &[Taken],
        check: CardCheck,
    ) -> String {
        let own = &need.beside(own)[..];
        let card = &on_node.cards.cards[at];
        let all = CardPart::capacity(on_node.cards, at).memory;
        let named = need.share.named.map(|named| named.most);
        match check {
            CardCheck::Size if let Some(ask) = need.share.profile() => on_node.no_profile(ask, at),
            CardCheck::Size if on_node.is_neuron(need) => format!(
                "{} cores asked, the device has {}",
                on_node.part(need, at).cores,
                CardPart::capacity(on_node.cards, at).cores
            ),
            CardCheck::Instance if on_node.is_neuron(need) => "too few cores are free".to_owned(),
            CardCheck::Instance if need.share.profile().is_some() => {
                on_node.too_few_slices(need, at, own)
            }
            CardCheck::Beside => "another container of the pod has some of another card".to_owned(),
            CardCheck::Size => match card.splits.last() {
                Some(largest) => format!(
                    "{} MiB asked, {} MiB in the largest instance",
                    grouped(on_node.part(need, at).memory),
                    grouped(largest.memory)
                ),
                None => format!(
                    "{} MiB asked, {} MiB in all",
                    grouped(named.unwrap_or(on_node.part(need, at).memory)),
                    grouped(all)
                ),
            },
            CardCheck::Part => format!(
                "{} MiB are a part of its {} MiB",
                grouped(named.unwrap_or(0)),
                grouped(all)
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
            CardCheck::Idle => "in use".to_owned(),
            CardCheck::Mixed => "in use in parts of another size".to_owned(),
            CardCheck::Exclusive => "in use, and 100 cores need an idle card".to_owned(),
            CardCheck::Held => "all its cores are taken".to_owned(),
            _ => "no free place for an instance as large".to_owned(),
        }
    }

    fn absence(kind: &CardKind) -> String {
        format!(
            "no {} in {} of the node: is its device plugin running?",
            kind.word, kind.source
        )
    }

    fn nearness(on_node: &PodOnCards, need: &CardNeed, own: &[Taken]) -> Option<(String, u32)> {
        if on_node.has_wings(need.kind) {
            return on_node.linked(need, own);
        }
        if on_node.is_in_a_row(need) {
            return on_node.rows(need, &on_node.order(need, own));
        }
        if !on_node.limits.wants_one_numa(need.kind) {
            return None;
        }
        let numa = |node: &CardOrder| on_node.cards.cards[usize::from(node[0])].numa;
        let mut nodes = on_node.by_numa(&on_node.order(need, own)).into_vec();
        nodes.sort_by_key(numa);
        let most = nodes.iter().map(|node| node.len() as u32).max()?;
        let mut told = Bounded::default();
        for node in &nodes {
            told.tell(|| match numa(node) {
                Some(numa) => format!("NUMA node {numa} has {}", node.len()),
                None => {
                    let card = &on_node.cards.cards[usize::from(node[0])];
                    format!("{} tells no NUMA node", card.id)
                }
            });
        }
        let told = told.into_texts("more").join(", ");
        Some((format!("{} asked, {told}", need.count), most))
    }

    fn marks(pod: &HamiRequest<Self>, of: u16, has: &Marking) -> Vec<Annotation> {
        let kind = &pod.rules.kinds[usize::from(of)];
        match kind.rules {
            OwnRules::Neuron => neuron::marks(kind, &pod.needs, of, has),
            OwnRules::Slices => slices::marks(pod, has),
            _ => (kind.marks)(has),
        }
    }

    fn fit_summary(pod: &HamiRequest<Self>, cards: &[CardSummary]) -> Option<Option<f64>> {
        match &pod.needs[..] {
            [need] if need.count == 1 && pod.limits.is_plain() => {
                Some(place::summary(need, pod.limits.preference.policy, cards))
            }
            _ => None,
        }
    }

    fn charge<'a>(pod: &'a HamiRequest<Self>, picks: Option<&Allocations>) -> QueueAmounts<'a> {
        queues::charge(pod, picks)
    }
}

/// Why nobody gets a card, if that is so.
fn unusable(kind: &CardKind, card: &HamiCard, is_cordoned: bool) -> Option<&'static str> {
    let is_split = CardMode::named(&card.mode) == CardMode::Mig;
    let known = ["", "hami-core", "mps", "mig"];
    if !card.healthy {
        Some("unhealthy")
    } else if is_cordoned {
        Some("cordoned by hami.io/device-cordon")
    } else if card.memory == 0 && !kind.by_slots {
        Some("without memory in its register: restart the device plugin")
    } else if kind.keys.mode.is_some() && !known.contains(&&*card.mode) {
        Some("in a mode that is not known: use hami-core, mps or mig")
    } else if is_split && kind.keys.instances.is_none() {
        Some("in MIG mode, which its device plugin cannot hand out")
    } else if is_split && card.splits.is_empty() {
        Some(
            "in MIG mode without migProfiles in its register: update HAMi's device plugin, or use \
             hami-core or mps",
        )
    } else {
        None
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
