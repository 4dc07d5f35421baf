//! What a pod asks of all families: compiled once for all pods that ask the same.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::binding::BindingAnnotations;
use crate::ledger::{
    Allocation, Allocations, CardSummary, LedgerTime, NodeCards, Partition, PlainAsk,
};
use crate::node::NodeDevices;

/// A way in which a node may not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Text, without the name of the node.
    pub text: String,
    /// Evictions on the node could help.
    pub evictions_help: bool,
}

/// How close a node came, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// What is missing, card by card, and the name of the node.
    pub text: String,
    /// The smaller the closer: cards that are missing, then memory that is missing on the best of
    /// them.
    pub distance: (u32, i64),
}

impl NearMiss {
    /// The memory that is missing where there is no such card at all.
    pub const NO_CARD: i64 = i64::MAX;
    /// Memory that counts as missing on a card which would not do even if it were idle: still nearer
    /// than no card.
    pub const UNFIT_CARD: i64 = i64::MAX - 1;
    /// Memory that counts as missing on a card which is of the kind that is asked, and too small even
    /// when idle: nearer than one of another kind.
    pub const SMALL_CARD: i64 = i64::MAX - 2;
}

/// Amounts that count for a queue: resource and milli-units, sorted by name.
pub type QueueAmounts<'a> = SmallVec<[(&'a str, i64); 2]>;

/// Cards for a pod, by family.
pub type DevicePick = SmallVec<[(u8, Allocations); 1]>;

/// What a pod asks of one family.
///
/// Contract: `choose` finds cards exactly when `fit` says that there are some, and the score of
/// `fit` is that of the cards `choose` takes.
pub trait FamilyRequest: Send + Sync {
    /// All ways in which a node may not fit; `fit` answers with an index into them.
    fn failures(&self) -> &[Failure];

    /// Whether the pod fits; the score, higher is better, if it does (spec/04 §7.5, R15).
    ///
    /// # Errors
    /// Index of the failure.
    fn fit(&self, cards: &NodeCards, view: LedgerTime) -> Result<f64, u8>;

    /// What [`FamilyRequest::fit`] would say of the cards as they are now: the score, or nothing if they do
    /// not fit. `None` where that takes more than a summary tells.
    fn fit_summary(&self, _cards: &[CardSummary]) -> Option<Option<f64>> {
        None
    }

    /// The pod says itself which cards it prefers, and gets those.
    fn has_preference(&self) -> bool {
        false
    }

    /// How many different cards the container asks that asks most.
    fn cards_at_once(&self) -> u32 {
        1
    }

    /// What that container would get of a card, if it may have some of it.
    fn piece(&self, cards: &NodeCards, at: usize, view: LedgerTime) -> Option<Allocation> {
        self.choose_of(cards, &[at], view)?.into_iter().next()
    }

    /// What the pod gets of some cards, if it needs no others.
    fn choose_of(
        &self,
        cards: &NodeCards,
        some: &[usize],
        view: LedgerTime,
    ) -> Option<Allocations> {
        chosen_of(self, cards, some, view)
    }

    /// What [`FamilyRequest::piece`] takes of cards that have summaries, where these tell enough.
    fn plain(&self) -> Option<PlainAsk> {
        None
    }

    /// Whether the pod may be judged otherwise on some node than one of no group that asks the same, as
    /// long as other pods of its group hold these partitions. Asked if [`crate::Family::depends_on_group`].
    fn heeds_group(&self, _held: &mut dyn Iterator<Item = Partition>) -> bool {
        true
    }

    /// The cards the pod gets; `None` if it does not fit.
    fn choose(&self, cards: &NodeCards, view: LedgerTime) -> Option<Allocations>;

    /// Why it does not fit; `None` if it does.
    fn explain(&self, node: &str, cards: &NodeCards, view: LedgerTime) -> Option<NearMiss>;

    /// What the Binding carries.
    fn annotations(
        &self,
        node: &str,
        cards: &NodeCards,
        allocations: &Allocations,
    ) -> BindingAnnotations;

    /// Amounts that count for the pod's queue instead of those of its containers: exact for the
    /// cards it has, as far as it can be told before it has some.
    fn charge(&self, _picks: Option<&Allocations>) -> QueueAmounts<'_> {
        QueueAmounts::new()
    }

    /// What the owner of the pod should know although it can be placed.
    fn warning(&self) -> Option<&str> {
        None
    }
}

/// What a pod gets of some cards as if the node had no others.
pub(crate) fn chosen_of(
    request: &(impl FamilyRequest + ?Sized),
    cards: &NodeCards,
    some: &[usize],
    view: LedgerTime,
) -> Option<Allocations> {
    Some(renumbered(request.choose(&cards.only(some), view)?, some))
}

/// What was chosen among some cards of a node as if there were no others ([`NodeCards::only`]), by their positions
/// there.
fn renumbered(mut chosen: Allocations, some: &[usize]) -> Allocations {
    for one in &mut chosen {
        one.card = one.card.map(|at| some[usize::from(at)] as u16);
    }
    chosen
}

/// What a pod asks of all families.
#[derive(Clone, Default)]
pub struct DeviceRequest {
    /// By family.
    pub parts: SmallVec<[(u8, Arc<dyn FamilyRequest>); 1]>,
    /// Why the pod can be placed nowhere, whatever the nodes are.
    pub refusal: Option<String>,
    /// What its owner should know of what it names and does not ask.
    pub remarks: Vec<String>,
}

impl DeviceRequest {
    /// The pod asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.refusal.is_none()
    }

    /// All failures of all wants; [`DeviceRequest::fit`] answers with an index into them.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.parts
            .iter()
            .flat_map(|(_, request)| request.failures())
    }

    /// Whether the pod fits the devices of a node; the sum of the scores if it does.
    ///
    /// # Errors
    /// Index of the first failure.
    pub fn fit(&self, devices: &NodeDevices, view: LedgerTime) -> Result<f64, usize> {
        let mut sum = 0.0;
        let mut first = 0;
        for (family, request) in &self.parts {
            match devices.with_cards(*family, |cards| request.fit(cards, view)) {
                Ok(score) => sum += score,
                Err(failure) => return Err(first + usize::from(failure)),
            }
            first += request.failures().len();
        }
        Ok(sum)
    }

    /// What [`DeviceRequest::fit`] would say of a node as it is now, without the failure; `None` where that
    /// is not quickly told.
    pub fn fit_summary(&self, devices: &NodeDevices) -> Option<Option<f64>> {
        match self.parts.as_slice() {
            [(family, request)] => request.fit_summary(devices.summaries(*family)?),
            _ => None,
        }
    }

    /// See [`FamilyRequest::heeds_group`]; `held` are partitions with their families.
    pub fn heeds_group(&self, held: impl Iterator<Item = (u8, Partition)> + Clone) -> bool {
        self.parts.iter().any(|(family, request)| {
            let own = held.clone().filter(|(of, _)| of == family);
            request.heeds_group(&mut own.map(|(_, partition)| partition))
        })
    }

    /// The cards the pod gets, by family; `None` if it does not fit.
    pub fn choose(&self, devices: &NodeDevices, view: LedgerTime) -> Option<DevicePick> {
        let allocation = |(family, request): &(u8, Arc<dyn FamilyRequest>)| {
            let found = devices.with_cards(*family, |cards| request.choose(cards, view));
            Some((*family, found?))
        };
        self.parts.iter().map(allocation).collect()
    }

    /// Why the pod does not fit the devices of a node; `None` if it does.
    pub fn explain(&self, node: &str, devices: &NodeDevices, view: LedgerTime) -> Option<NearMiss> {
        self.parts.iter().find_map(|(family, request)| {
            devices.with_cards(*family, |cards| request.explain(node, cards, view))
        })
    }

    /// What is asked of one family.
    pub fn part(&self, family: u8) -> Option<&Arc<dyn FamilyRequest>> {
        let found = self.parts.iter().find(|(known, _)| *known == family)?;
        Some(&found.1)
    }

    /// What the owner of the pod should know.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let of_parts = self.parts.iter();
        let of_parts = of_parts.filter_map(|(_, request)| request.warning());
        of_parts.chain(self.remarks.iter().map(String::as_str))
    }
}
