//! Cards shared by memory: the pod gets one card.

use std::cmp::Reverse;

use crate::ledger::{Allocations, LedgerTime, NodeCards};
use crate::part::CardPart;
use crate::request::{Failure, NearMiss};
use crate::settings::Policy;

use super::mode::{AskingPod, GpuMode};
use super::{INDEX, MEMORY, NUMBER, UNHEALTHY, allocation, by_card, failure, free};

/// Failure: evictions could make room.
const FULL: u8 = 0;
/// Failure: no card is large enough.
const TOO_LARGE: u8 = 1;
/// Failure: none of the cards may be used.
const NO_CANDIDATE: u8 = 2;
/// Failure: no cards.
const NO_CARDS: u8 = 3;

/// The pod asks for memory.
pub(super) struct Shared;

impl Shared {
    /// The best card, by policy and then index.
    fn best(pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Result<usize, u8> {
        let candidates = || pod.wish.candidates(cards);
        let has_room = |at: &usize| free(cards, *at, view) >= pod.request.memory;
        let fitting = candidates().filter(has_room);
        let used = |at: usize| CardPart::used(cards, at, view);
        let best = match pod.policy {
            Policy::None => fitting.min(),
            Policy::Binpack | Policy::Fragmentation => {
                fitting.min_by_key(|at| (Reverse(used(*at).memory), *at))
            }
            Policy::Spread => fitting.min_by_key(|at| (used(*at).sharers, used(*at).memory, *at)),
        };
        let is_large_enough =
            |at: usize| CardPart::capacity(cards, at).memory >= pod.request.memory;
        best.ok_or_else(|| {
            if cards.cards.is_empty() {
                NO_CARDS
            } else if candidates().next().is_none() {
                NO_CANDIDATE
            } else if !candidates().any(is_large_enough) {
                TOO_LARGE
            } else {
                FULL
            }
        })
    }

    fn score(pod: &AskingPod, cards: &NodeCards, at: usize, view: LedgerTime) -> f64 {
        let used = CardPart::used(cards, at, view);
        match pod.policy {
            Policy::None | Policy::Fragmentation => 0.0,
            Policy::Binpack => {
                let full = used.memory.saturating_add(pod.request.memory);
                100.0 * full as f64 / CardPart::capacity(cards, at).memory.max(1) as f64
            }
            Policy::Spread if used.sharers == 0 => 100.0,
            Policy::Spread => 0.0,
        }
    }
}

impl GpuMode for Shared {
    fn failures() -> Vec<Failure> {
        let no_candidate =
            format!("GpuShare no usable GPU ({UNHEALTHY} of the node, {INDEX} of the pod)");
        let no_cards = format!("node(s) had no GPUs to share ({NUMBER} and {MEMORY} in capacity)");
        vec![
            failure("GpuShare no enough gpu memory", true),
            failure("GpuShare no enough gpu memory on any idle GPU", false),
            failure(&no_candidate, false),
            failure(&no_cards, false),
        ]
    }

    fn fit(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        let at = Self::best(pod, cards, view)?;
        Ok(Self::score(pod, cards, at, view))
    }

    fn choose(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let at = Self::best(pod, cards, view).ok()?;
        let one = allocation(cards, at, &pod.request, pod.request.memory, 0);
        Some([one].into_iter().collect())
    }

    fn miss(&self, pod: &AskingPod, node: &str, cards: &NodeCards, view: LedgerTime) -> NearMiss {
        let short = |at: usize| pod.request.memory.saturating_sub(free(cards, at, view));
        let why = |at: usize| {
            let objection = pod.wish.objection(cards, at);
            objection.or_else(|| (short(at) > 0).then(|| format!("{} MiB short", short(at))))
        };
        let least = pod.wish.candidates(cards).map(short).min();
        NearMiss {
            text: format!(
                "GpuShare no enough gpu memory on node {node} for {} MiB ({})",
                pod.request.memory,
                by_card(cards, why)
            ),
            distance: (1, least.unwrap_or(NearMiss::NO_CARD)),
        }
    }
}
