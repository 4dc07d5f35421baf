//! What both ways to give out cards have in common: the pod, and everything but fit and choice.

use crate::binding::{BindProtocol, BindingAnnotations};
use crate::ledger::{Allocation, Allocations, LedgerTime, NodeCards};
use crate::request::{Failure, FamilyRequest, NearMiss};
use crate::settings::Policy;

use super::request::Request;
use super::{CardSelector, annotations, node};

/// A pod that asks.
pub(super) struct AskingPod {
    /// What it asks.
    pub request: Request,
    /// Cards it limits itself to.
    pub wish: CardSelector,
    /// How cards are preferred.
    pub policy: Policy,
    /// How its Binding is sent.
    pub protocol: BindProtocol,
}

/// A way to give out cards.
pub(super) trait GpuMode: Send + Sync {
    /// All failures; [`GpuMode::fit`] answers with an index into them.
    fn failures() -> Vec<Failure>;

    /// See [`FamilyRequest::fit`].
    fn fit(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8>;

    /// See [`FamilyRequest::choose`].
    fn choose(&self, pod: &AskingPod, cards: &NodeCards, view: LedgerTime) -> Option<Allocations>;

    /// See [`FamilyRequest::cards_at_once`].
    fn count(&self) -> u32 {
        1
    }

    /// See [`FamilyRequest::piece`]; of a card that is alone.
    fn piece(&self, pod: &AskingPod, card: &NodeCards, view: LedgerTime) -> Option<Allocation> {
        self.choose(pod, card, view)?.into_iter().next()
    }

    /// What is missing on a node that has cards and does not fit.
    fn miss(&self, pod: &AskingPod, node: &str, cards: &NodeCards, view: LedgerTime) -> NearMiss;
}

/// A pod that asks for cards in one of the ways.
pub(super) struct GpuRequest<M> {
    pod: AskingPod,
    mode: M,
    failures: Vec<Failure>,
}

impl<M: GpuMode> GpuRequest<M> {
    /// What a pod asks, to be given out in one of the ways.
    pub fn new(pod: AskingPod, mode: M) -> Self {
        Self {
            pod,
            mode,
            failures: M::failures(),
        }
    }
}

impl<M: GpuMode> FamilyRequest for GpuRequest<M> {
    fn failures(&self) -> &[Failure] {
        &self.failures
    }

    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8> {
        self.mode.fit(&self.pod, cards, view)
    }

    fn cards_at_once(&self) -> u32 {
        self.mode.count()
    }

    fn piece(&self, cards: &NodeCards, at: usize, view: LedgerTime) -> Option<Allocation> {
        let mut piece = self.mode.piece(&self.pod, &cards.only(&[at]), view)?;
        piece.card = Some(at as u16);
        Some(piece)
    }

    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations> {
        self.mode.choose(&self.pod, cards, view)
    }

    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss> {
        self.fit(cards, view).err()?;
        let miss = self.mode.miss(&self.pod, node, cards, view);
        Some(NearMiss {
            text: node::absence(node, cards).unwrap_or(miss.text),
            distance: miss.distance,
        })
    }

    fn annotations(
        &self,
        _node: &str,
        _cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations {
        annotations(allocations, self.pod.protocol)
    }

    fn warning(&self) -> Option<&str> {
        self.pod.request.warning()
    }
}
