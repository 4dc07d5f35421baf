//! What the families of HAMi's devices do each in its own way: the cards of its vendors
//! ([`super::cards`]), and the chips of Ascend ([`super::ascend`]).
//!
//! What is not named here both do alike, by one code.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::binding::{Annotation, BindProtocol};
use crate::facts::{ContainerFacts, ContainerKind, MilliAmounts, NodeFacts, PodFacts};
use crate::gauge::GaugeSpec;
use crate::ledger::{
    Allocation, Allocations, CardSummary, Dimension, LedgerTime, NodeCards, Portion,
};
use crate::part::CardPart;
use crate::request::{Failure, QueueAmounts};
use crate::settings::Policy;

use super::card_check::CardCheck;
use super::device_need::DeviceNeed;
use super::kind::{CardKind, Marking};
use super::limits::CardLimits;
use super::registered_card::HamiCard;
use super::wire::ReadDevice;

/// Cards, by need, each as often as it counts.
pub type TakenBy<F> = SmallVec<[<F as HamiFamily>::Taken; 4]>;

/// What one container asks of one kind of cards.
pub type NeedOf<F> = DeviceNeed<<F as HamiFamily>::Share>;

/// A family of HAMi's devices.
pub trait HamiFamily: Send + Sync + Sized + 'static {
    /// How much of each card a container asks.
    type Share: Copy + Send + Sync;
    /// What a container has got of a card.
    type Taken: Copy;

    /// What a card is called.
    const NOUN: &'static str;
    /// What is counted of a card: memory, sharers and cores come first.
    const DIMENSIONS: &'static [Dimension];
    /// Gauges about cards.
    const GAUGES: &'static [GaugeSpec];
    /// A list of cards has an element for every container; else only for those that have some.
    const LISTS_ALL_CONTAINERS: bool;
    /// Most cores that a list may tell of a card.
    const MAX_CORES: i64;
    /// Index of the failure that evictions could mend.
    const LATER: u8;
    /// Pod annotation that says when cards were chosen, whatever kinds they are of.
    const STAMP: Option<&'static str>;

    /// Why nobody gets a card of the kind at a place, if that is so, and all that it has.
    fn card(
        &self,
        kind: (usize, &CardKind),
        card: &HamiCard,
        is_cordoned: bool,
    ) -> (Option<&'static str>, Portion);

    /// What cards add to the amounts that queues share, in milli-units.
    fn offered(&self, _kinds: &[CardKind], _node: &NodeFacts, _cards: &NodeCards) -> MilliAmounts {
        MilliAmounts::new()
    }

    /// Why a pod cannot be served, whatever it asks of the kinds that are on.
    fn refusal(&self, _pod: &PodFacts) -> Option<String> {
        None
    }

    /// What a part of a card is called that has so much of it, where cards of the kind are split.
    fn part_name(&self, _kind: usize, _held: &[i64]) -> Option<String> {
        None
    }

    /// What a container asks of a kind: how many cards, and how much of each; nothing if none.
    ///
    /// # Errors
    /// The resource that cannot be, and what to write.
    fn ask(
        &self,
        pod: &PodFacts,
        container: &ContainerFacts,
        kind: (usize, &CardKind),
    ) -> Result<Option<(u32, Self::Share)>, String>;

    /// What a container may have of each card that asks what cannot be read.
    fn ask_at_most(&self, pod: &PodFacts, kind: &CardKind) -> Self::Share;

    /// How many cards a container has at most that asks of a kind what cannot be read.
    fn count_at_most(&self, container: &ContainerFacts, kind: &CardKind) -> u32 {
        container.counted(&kind.names.count, "")
    }

    /// Why a pod that asks this already cannot ask that besides.
    fn refuses(
        _pod: &PodFacts,
        _kinds: &[CardKind],
        _needs: &[NeedOf<Self>],
        _next: &NeedOf<Self>,
    ) -> Option<String> {
        None
    }

    /// Adds what only cards of this family mind of the annotations of a pod.
    ///
    /// # Errors
    /// The annotation that cannot be, and what to write.
    fn limit(
        pod: &PodFacts,
        kinds: &[CardKind],
        needs: &[NeedOf<Self>],
        limits: &mut CardLimits,
    ) -> Result<(), String>;

    /// All ways in which a node may not fit a pod.
    fn failures(kinds: &[CardKind], needs: &[NeedOf<Self>]) -> Arc<[Failure]>;

    /// Index of the failure of a node that does not fit even when it is idle, for the need that fails there:
    /// whether it does so alone, and the check that no card passes, if it is that.
    fn failure_of(
        on_node: &PodOnDevices<Self>,
        need: &NeedOf<Self>,
        is_alone: bool,
        check: Option<CardCheck>,
    ) -> u8;

    /// What a need takes of a card: memory, sharers and cores first.
    fn part(on_node: &PodOnDevices<Self>, need: &NeedOf<Self>, at: usize) -> Portion;

    /// What a need takes of a card of which a list tells so much memory and so many cores, and nobody more.
    fn part_as_told(&self, need: &NeedOf<Self>, memory: i64, cores: i64) -> Portion;

    /// What a list tells of what a need takes of a card, where that is something else.
    fn listed(_on_node: &PodOnDevices<Self>, _need: &NeedOf<Self>, _at: usize) -> Option<Portion> {
        None
    }

    /// What a need has of a card by what a list tells of it, where the node does not say that any more: what is
    /// charged, what the list tells of it, and what is wrong.
    fn as_told(
        _on_node: &PodOnDevices<Self>,
        _need: &NeedOf<Self>,
        _at: usize,
        _device: &ReadDevice,
    ) -> Option<(Portion, Portion, String)> {
        None
    }

    /// What is in use of a card for a need, with what containers of the pod have got.
    fn used(
        on_node: &PodOnDevices<Self>,
        _need: &NeedOf<Self>,
        at: usize,
        _own: &[Self::Taken],
    ) -> CardPart {
        CardPart::used(on_node.cards, at, on_node.view)
    }

    /// Whether a card is large enough for a need when it is idle.
    fn is_large_enough(
        on_node: &PodOnDevices<Self>,
        need: &NeedOf<Self>,
        at: usize,
    ) -> Result<(), CardCheck> {
        match Self::part(on_node, need, at)[0] > on_node.cards.capacity(at)[0] {
            true => Err(CardCheck::Size),
            false => Ok(()),
        }
    }

    /// What a card gives for a need beside what containers of the pod have got.
    fn admits(
        on_node: &PodOnDevices<Self>,
        need: &NeedOf<Self>,
        at: usize,
        own: &[Self::Taken],
    ) -> Result<Self::Taken, CardCheck>;

    /// Cards for all needs, and the score of the node; `None` if there are not enough.
    fn place(on_node: &PodOnDevices<Self>, needs: &[NeedOf<Self>]) -> Option<(TakenBy<Self>, f64)>;

    /// The cards that a need gets beside what containers of the pod have got.
    fn best(
        on_node: &PodOnDevices<Self>,
        need: &NeedOf<Self>,
        own: &[Self::Taken],
    ) -> Option<TakenBy<Self>>;

    /// What the ledger is told that a container has got.
    fn allocation(
        on_node: &PodOnDevices<Self>,
        need: &NeedOf<Self>,
        taken: Self::Taken,
    ) -> Allocation;

    /// Why a card does not serve a need, where [`super::explain`] has no words for it.
    fn why(
        on_node: &PodOnDevices<Self>,
        need: &NeedOf<Self>,
        at: usize,
        own: &[Self::Taken],
        check: CardCheck,
    ) -> String;

    /// Why a node has no card of a kind.
    fn absence(kind: &CardKind) -> String;

    /// Where cards of a container have to be near each other, what is told of that, and how many there are at most.
    fn nearness(
        _on_node: &PodOnDevices<Self>,
        _need: &NeedOf<Self>,
        _own: &[Self::Taken],
    ) -> Option<(String, u32)> {
        None
    }

    /// What the software of the vendor reads of a pod besides the list of its cards of a kind.
    fn marks(pod: &HamiRequest<Self>, of: u16, has: &Marking) -> Vec<Annotation>;

    /// See [`crate::request::FamilyRequest::fit_summary`].
    fn fit_summary(_pod: &HamiRequest<Self>, _cards: &[CardSummary]) -> Option<Option<f64>> {
        None
    }

    /// See [`crate::request::FamilyRequest::charge`].
    fn charge<'a>(_pod: &'a HamiRequest<Self>, _picks: Option<&Allocations>) -> QueueAmounts<'a> {
        QueueAmounts::new()
    }
}

/// What is the same for all pods.
pub struct HamiRules<F> {
    /// Kinds of cards that are on.
    pub kinds: Vec<CardKind>,
    /// What is the family's own.
    pub own: F,
    /// Order of cards, and score.
    pub policy: Policy,
    /// How Bindings are sent to nodes with HAMi's lock.
    pub protocol: BindProtocol,
    /// Whether locks are taken.
    pub locks: bool,
}

/// What a pod asks.
pub struct HamiRequest<F: HamiFamily> {
    pub(super) rules: Arc<HamiRules<F>>,
    pub(super) needs: Vec<NeedOf<F>>,
    pub(super) limits: CardLimits,
    pub(super) failures: Arc<[Failure]>,
    /// When each container of the pod runs.
    pub(super) runs: Vec<ContainerKind>,
    /// Names of those that are written down by name, with their positions.
    pub(super) names: Box<[(u16, String)]>,
}

/// A node, seen by a pod.
pub struct PodOnDevices<'a, F> {
    /// What is the same for all pods.
    pub rules: &'a HamiRules<F>,
    /// The pod's.
    pub limits: &'a CardLimits,
    /// The node's.
    pub cards: &'a NodeCards,
    /// When.
    pub view: LedgerTime,
}

impl<F> Clone for PodOnDevices<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for PodOnDevices<'_, F> {}

impl<F> PodOnDevices<'_, F> {
    /// This pod on the node as it is at another time.
    pub fn at(self, view: LedgerTime) -> Self {
        Self { view, ..self }
    }
}
