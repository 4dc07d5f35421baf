//! Cards handed out whole: the pod gets idle cards and shares them with nobody.

use crate::ledger::{Allocation, Allocations, LedgerTime, NodeCards};
use crate::part::CardPart;
use crate::request::{Failure, NearMiss};
use crate::settings::Policy;

use super::mode::{AskingPod, GpuMode};
use super::request::Request;
use super::{CardSelector, INDEX, NUMBER, UNHEALTHY, WHOLE, allocation, by_card, failure};

/// Failure: evictions could make room.
const BUSY: u8 = 0;
/// Failure: too few cards, even if all were idle.
const TOO_FEW: u8 = 1;
/// Failure: no cards.
const NO_CARDS: u8 = 2;

/// The pod asks for whole cards.
pub(super) struct Whole {
    number: usize,
}

impl Whole {
    /// The number of cards a pod asks.
    ///
    /// # Errors
    /// It names fewer cards than it asks.
    pub fn of(pod: &AskingPod) -> Result<Self, String> {
        let number = usize::try_from(pod.request.number).unwrap_or(usize::MAX);
        if let Some(wished) = &pod.wish.0
            && wished.len() < number
        {
            return Err(format!(
                "the pod asks for {number} {NUMBER}, but {INDEX} names only {}; name at least as \
                 many GPUs, or remove the annotation",
                wished.len()
            ));
        }
        Ok(Self { number })
    }

    /// Idle cards the pod takes, in order.
    fn idle<'a>(
        pod: &'a AskingPod,
        cards: &'a NodeCards,
        view: LedgerTime,
    ) -> impl Iterator<Item = usize> + 'a {
        let candidates = pod.wish.candidates(cards);
        candidates.filter(move |at| is_idle(cards, *at, view))
    }

    fn check(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Result<(), u8> {
        if cards.cards.is_empty() {
            Err(NO_CARDS)
        } else if pod.wish.candidates(cards).count() < self.number {
            Err(TOO_FEW)
        } else if Self::idle(pod, cards, view).count() < self.number {
            Err(BUSY)
        } else {
            Ok(())
        }
    }

    /// How full, or how idle, the node is with the pod.
    fn score(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> f64 {
        let usable = cards.cards.iter().filter(|card| card.is_usable()).count();
        let any = CardSelector::default();
        let idle = any.candidates(cards).filter(|at| is_idle(cards, *at, view));
        let left = idle.count().saturating_sub(self.number);
        match pod.policy {
            Policy::None | Policy::Fragmentation => 0.0,
            Policy::Binpack => 100.0 * (usable - left) as f64 / usable.max(1) as f64,
            Policy::Spread => 100.0 * left as f64 / usable.max(1) as f64,
        }
    }
}

fn is_idle(cards: &NodeCards, at: usize, view: LedgerTime) -> bool {
    CardPart::used(cards, at, view).sharers == 0
}

impl GpuMode for Whole {
    fn failures() -> Vec<Failure> {
        let too_few = format!(
            "GpuNumber no enough gpu number even if all were idle ({UNHEALTHY} of the node, \
             {INDEX} of the pod)"
        );
        let no_cards = format!("node(s) had no GPUs to hand out ({NUMBER} in capacity)");
        vec![
            failure("GpuNumber no enough gpu number", true),
            failure(&too_few, false),
            failure(&no_cards, false),
        ]
    }

    fn fit(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        self.check(pod, cards, view)?;
        Ok(self.score(pod, cards, view))
    }

    fn choose(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        self.check(pod, cards, view).ok()?;
        let request = Request {
            memory: 0,
            ..pod.request
        };
        let whole = |at: usize| {
            let memory = CardPart::capacity(cards, at).memory;
            allocation(cards, at, &request, memory, WHOLE)
        };
        let idle = Self::idle(pod, cards, view);
        Some(idle.take(self.number).map(whole).collect())
    }

    fn count(&self) -> u32 {
        u32::try_from(self.number).unwrap_or(u32::MAX)
    }

    fn piece(&self, pod: &AskingPod, card: &NodeCards, view: LedgerTime) -> Option<Allocation> {
        let one = Self { number: 1 };
        one.choose(pod, card, view)?.into_iter().next()
    }

    fn miss(&self, pod: &AskingPod, node: &str, cards: &NodeCards, view: LedgerTime) -> NearMiss {
        let why = |at: usize| {
            let objection = pod.wish.objection(cards, at);
            objection.or_else(|| (!is_idle(cards, at, view)).then(|| "in use".to_owned()))
        };
        let idle = Self::idle(pod, cards, view).count();
        let missing = self.number.saturating_sub(idle);
        let short = format!(
            "GpuNumber no enough gpu number on node {node}: {} wanted, {idle} idle",
            self.number
        );
        NearMiss {
            text: match by_card(cards, why) {
                cards if cards.is_empty() => short,
                cards => format!("{short} ({cards})"),
            },
            distance: (u32::try_from(missing).unwrap_or(u32::MAX), 0),
        }
    }
}
