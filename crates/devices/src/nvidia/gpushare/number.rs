//! Cards handed out whole: the pod gets idle cards and shares them with nobody.

use crate::binding::{BindProtocol, BindingAnnotations};
use crate::ledger::{Allocations, LedgerTime, NodeCards};
use crate::nvidia::part::CardPart;
use crate::request::{Failure, FamilyRequest, NearMiss};
use crate::settings::Policy;

use super::request::Request;
use super::{
    CardSelector, INDEX, NUMBER, UNHEALTHY, WHOLE, allocation, annotations, by_card, failure, node,
};

/// Failure: evictions could make room.
const BUSY: u8 = 0;
/// Failure: too few cards, even if all were idle.
const TOO_FEW: u8 = 1;
/// Failure: no cards.
const NO_CARDS: u8 = 2;

/// A pod that asks for whole cards.
pub(super) struct Whole {
    request: Request,
    number: usize,
    wish: CardSelector,
    policy: Policy,
    protocol: BindProtocol,
    failures: [Failure; 3],
}

impl Whole {
    pub fn new(
        request: Request,
        wish: CardSelector,
        policy: Policy,
        protocol: BindProtocol,
    ) -> Result<Self, String> {
        let number = usize::try_from(request.number).unwrap_or(usize::MAX);
        if let Some(wished) = &wish.0
            && wished.len() < number
        {
            return Err(format!(
                "the pod asks for {number} {NUMBER}, but {INDEX} names only {}; name at least as \
                 many GPUs, or remove the annotation",
                wished.len()
            ));
        }
        let too_few = format!(
            "GpuNumber no enough gpu number even if all were idle ({UNHEALTHY} of the node, \
             {INDEX} of the pod)"
        );
        let no_cards = format!("node(s) had no GPUs to hand out ({NUMBER} in capacity)");
        let failures = [
            failure("GpuNumber no enough gpu number", true),
            failure(&too_few, false),
            failure(&no_cards, false),
        ];
        Ok(Self {
            request,
            number,
            wish,
            policy,
            protocol,
            failures,
        })
    }

    /// Idle cards the pod takes, in order.
    fn idle<'a>(
        &'a self,
        cards: &'a NodeCards,
        view: LedgerTime,
    ) -> impl Iterator<Item = usize> + 'a {
        let candidates = self.wish.candidates(cards);
        candidates.filter(move |at| is_idle(cards, *at, view))
    }

    fn check(&self, cards: &NodeCards, view: LedgerTime) -> Result<(), u8> {
        if cards.cards.is_empty() {
            Err(NO_CARDS)
        } else if self.wish.candidates(cards).count() < self.number {
            Err(TOO_FEW)
        } else if self.idle(cards, view).count() < self.number {
            Err(BUSY)
        } else {
            Ok(())
        }
    }

    /// How full, or how idle, the node is with the pod.
    fn score(&self, cards: &NodeCards, view: LedgerTime) -> f64 {
        let usable = cards.cards.iter().filter(|card| card.is_usable()).count();
        let any = CardSelector::default();
        let idle = any.candidates(cards).filter(|at| is_idle(cards, *at, view));
        let left = idle.count().saturating_sub(self.number);
        match self.policy {
            Policy::None => 0.0,
            Policy::Binpack => 100.0 * (usable - left) as f64 / usable.max(1) as f64,
            Policy::Spread => 100.0 * left as f64 / usable.max(1) as f64,
        }
    }
}

fn is_idle(cards: &NodeCards, at: usize, view: LedgerTime) -> bool {
    CardPart::used(cards, at, view).sharers == 0
}

impl FamilyRequest for Whole {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        self.check(cards, view)?;
        Ok(self.score(cards, view))
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        self.check(cards, view).ok()?;
        let request = Request {
            memory: 0,
            ..self.request
        };
        let whole = |at: usize| {
            allocation(
                cards,
                at,
                &request,
                CardPart::capacity(cards, at).memory,
                WHOLE,
            )
        };
        Some(
            self.idle(cards, view)
                .take(self.number)
                .map(whole)
                .collect(),
        )
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        self.fit(cards, view).err()?;
        let why = |at: usize| {
            let objection = self.wish.objection(cards, at);
            objection.or_else(|| (!is_idle(cards, at, view)).then(|| "in use".to_owned()))
        };
        let idle = self.idle(cards, view).count();
        let missing = self.number.saturating_sub(idle);
        let text = node::absence(node, cards).unwrap_or_else(|| {
            let short = format!(
                "GpuNumber no enough gpu number on node {node}: {} wanted, {idle} idle",
                self.number
            );
            match by_card(cards, why) {
                cards if cards.is_empty() => short,
                cards => format!("{short} ({cards})"),
            }
        });
        Some(NearMiss {
            text,
            distance: (u32::try_from(missing).unwrap_or(u32::MAX), 0),
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
