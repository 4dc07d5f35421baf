//! Cards shared by memory: the pod gets one card.

use std::cmp::Reverse;

use crate::binding::{BindProtocol, BindingAnnotations};
use crate::ledger::{Allocations, LedgerTime, NodeCards};
use crate::nvidia::part::CardPart;
use crate::request::{Failure, FamilyRequest, NearMiss};
use crate::settings::Policy;

use super::request::Request;
use super::{
    CardSelector, INDEX, MEMORY, NUMBER, UNHEALTHY, allocation, annotations, by_card, failure,
    free, node,
};

/// Failure: evictions could make room.
const FULL: u8 = 0;
/// Failure: no card is large enough.
const TOO_LARGE: u8 = 1;
/// Failure: none of the cards may be used.
const NO_CANDIDATE: u8 = 2;
/// Failure: no cards.
const NO_CARDS: u8 = 3;

/// A pod that asks for memory.
pub(super) struct Shared {
    request: Request,
    wish: CardSelector,
    policy: Policy,
    protocol: BindProtocol,
    failures: [Failure; 4],
}

impl Shared {
    pub fn new(
        request: Request,
        wish: CardSelector,
        policy: Policy,
        protocol: BindProtocol,
    ) -> Self {
        let no_candidate =
            format!("GpuShare no usable GPU ({UNHEALTHY} of the node, {INDEX} of the pod)");
        let no_cards = format!("node(s) had no GPUs to share ({NUMBER} and {MEMORY} in capacity)");
        let failures = [
            failure("GpuShare no enough gpu memory", true),
            failure("GpuShare no enough gpu memory on any idle GPU", false),
            failure(&no_candidate, false),
            failure(&no_cards, false),
        ];
        Self {
            request,
            wish,
            policy,
            protocol,
            failures,
        }
    }

    /// The best card, by policy and then index.
    fn best(&self, cards: &NodeCards, view: LedgerTime) -> Result<usize, u8> {
        let candidates = || self.wish.candidates(cards);
        let has_room = |at: &usize| free(cards, *at, view) >= self.request.memory;
        let fitting = candidates().filter(has_room);
        let used = |at: usize| CardPart::used(cards, at, view);
        let best = match self.policy {
            Policy::None => fitting.min(),
            Policy::Binpack => fitting.min_by_key(|at| (Reverse(used(*at).memory), *at)),
            Policy::Spread => fitting.min_by_key(|at| (used(*at).sharers, used(*at).memory, *at)),
        };
        let is_large_enough =
            |at: usize| CardPart::capacity(cards, at).memory >= self.request.memory;
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

    fn score(&self, cards: &NodeCards, at: usize, view: LedgerTime) -> f64 {
        let used = CardPart::used(cards, at, view);
        match self.policy {
            Policy::None => 0.0,
            Policy::Binpack => {
                let full = used.memory.saturating_add(self.request.memory);
                100.0 * full as f64 / CardPart::capacity(cards, at).memory.max(1) as f64
            }
            Policy::Spread if used.sharers == 0 => 100.0,
            Policy::Spread => 0.0,
        }
    }
}

impl FamilyRequest for Shared {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        let at = self.best(cards, view)?;
        Ok(self.score(cards, at, view))
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        let at = self.best(cards, view).ok()?;
        let one = allocation(cards, at, &self.request, self.request.memory, 0);
        Some([one].into_iter().collect())
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        self.fit(cards, view).err()?;
        let short = |at: usize| self.request.memory.saturating_sub(free(cards, at, view));
        let why = |at: usize| {
            let objection = self.wish.objection(cards, at);
            objection.or_else(|| (short(at) > 0).then(|| format!("{} MiB short", short(at))))
        };
        let least = self.wish.candidates(cards).map(short).min();
        let text = node::absence(node, cards).unwrap_or_else(|| {
            format!(
                "GpuShare no enough gpu memory on node {node} for {} MiB ({})",
                self.request.memory,
                by_card(cards, why)
            )
        });
        Some(NearMiss {
            text,
            distance: (1, least.unwrap_or(i64::MAX)),
        })
    }

    fn annotations(
        &self,
        _node: &str,
        _cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations {
        annotations(allocations, self.protocol)
    }

    fn warning(&self) -> Option<&str> {
        self.request.warning()
    }
}
