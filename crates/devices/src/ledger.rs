//! The ledger of one family on one node: its cards, and who holds how much of them.
//!
//! What is counted of a card are its *dimensions*, which the family names: memory, sharers, cores, or
//! whatever its hardware has. The ledger adds and takes away and knows no more of them.
//!
//! Two views are kept while something on the node is in transit: *now* counts what pods hold,
//! terminating ones included; *future* leaves out terminating pods and counts those that wait for
//! their place. Charging and discharging are exact inverses.

mod allocation;
mod entitled;
mod link;
mod only;
mod peak;
mod rating;
mod split;
mod summary;
mod suspects;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::facts::MilliAmounts;

pub use allocation::{Allocation, Allocations, Partition};
pub use entitled::share_out;
pub use link::CardLinks;
pub use peak::charge_peak;
pub use rating::SetRating;
pub use split::{CardSplit, SplitPlace};
pub use summary::{AskedPart, CardSummary, PlainAsk};

/// The largest amount anybody may charge at once: so many pods cannot be on a node that a sum of
/// them leaves an `i64`.
pub const MAX_AMOUNT: i64 = 1 << 40;

/// A capacity without limit.
pub const UNLIMITED: i64 = i64::MAX;

/// Something that is counted of each card of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Name, as views and messages show it: `memory`, `sharers`, `cores`, …
    pub name: &'static str,
    /// What a card has of it is a fact of the hardware: if more is charged than there is, the card
    /// is not the one it was.
    pub is_physical: bool,
}

/// An amount of each dimension of a family, in their order. Up to three stand in place.
pub type Portion = SmallVec<[i64; 3]>;

/// A value of an enum of the family, which alone knows its meaning; the default is its first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilyCode(u16);

impl FamilyCode {
    /// Wraps what the family counts as this.
    pub const fn new(code: u16) -> Self {
        Self(code)
    }

    /// What the family wrapped.
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// One physical card. What it has and what is in use of it stands in its ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// Identity: its UUID, or its index where it has none.
    pub id: Arc<str>,
    /// Type, as the node tells it.
    pub kind: Arc<str>,
    /// Why it may not be given out, if it may not.
    pub unusable: Option<Box<str>>,
    /// Position among the cards of the node, as annotations and users count them.
    pub index: u32,
    /// What kind of card it is to its family: how it is shared, how it is split.
    pub variant: FamilyCode,
    /// NUMA node of the host that it is near, where that is told.
    pub numa: Option<u16>,
    /// What it can be split into, where it tells that itself.
    pub splits: Box<[CardSplit]>,
    /// [`CardSummary`] says all of it that most fits need to know.
    pub is_plain: bool,
    /// What else its family knows of it, which no summary tells.
    pub details: FamilyCode,
    /// Nothing of it may be given out until it is split, and then the rest.
    pub only_rest: bool,
}

impl Card {
    /// It may be given out.
    pub fn is_usable(&self) -> bool {
        self.unusable.is_none()
    }
}

/// What of a pod decides whether it shares cards with others, besides amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tags {
    /// Group of the pod, as a number.
    pub group: Option<u32>,
    /// Exclusivity rules it matches, one bit each.
    pub rules: u64,
}

/// How a pod weighs on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Holds what it asks.
    Held,
    /// Holds it, and will give it back.
    Releasing,
    /// Waits for what is being released.
    Pipelined,
}

impl Load {
    fn counts(self, view: LedgerTime) -> bool {
        match self {
            Self::Held => view != LedgerTime::Idle,
            Self::Releasing => view == LedgerTime::Now,
            Self::Pipelined => view == LedgerTime::Future,
        }
    }
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerTime {
    /// As it is.
    Now,
    /// Once everything that is being released is free, less what waits for it.
    Future,
    /// As if nobody held anything: what does not fit now never will.
    Idle,
}

/// One entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Number of the pod, given by the owner of the ledger.
    pub pod: u32,
    /// Position of the card; [`LedgerEntry::NO_CARD`] where the node does not have it (any more).
    pub card: u16,
    /// Part of the card that the holder has, where the card is split.
    pub partition: Option<Partition>,
    /// What it holds.
    pub held: Portion,
    /// See [`Allocation::share`].
    pub share: FamilyCode,
    /// What of the pod decides whether it shares the card with others.
    pub tags: Tags,
    /// How it weighs.
    pub load: Load,
    /// See [`Allocation::certain`].
    pub certain: bool,
}

impl LedgerEntry {
    /// See [`LedgerEntry::card`].
    pub const NO_CARD: u16 = u16::MAX;

    /// It is in the ledger and holds nothing of its card.
    pub fn is_empty(&self) -> bool {
        self.held.iter().all(|amount| *amount == 0)
    }
}

/// The cards of one family on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCards {
    /// The cards, in the order of their indices. They are added with [`NodeCards::add`].
    pub cards: Vec<Card>,
    /// Why there are none.
    pub absent: FamilyCode,
    /// What the node says of itself that decides for the whole family (a product label).
    pub label: Option<Arc<str>>,
    /// What is wrong with what the node says, for its owner.
    pub problems: Vec<String>,
    /// What the cards add to the amounts of the cluster that queues share, in milli-units: what a node does
    /// not tell as amounts of its own.
    pub offered: MilliAmounts,
    /// What the node tells of its cards together.
    pub ratings: Vec<SetRating>,
    /// What it tells of each two of them.
    pub links: CardLinks,
    dimensions: &'static [Dimension],
    /// A row of amounts for each card, by dimension.
    capacity: Vec<i64>,
    used: Vec<i64>,
    future: Option<Vec<i64>>,
    entries: Vec<LedgerEntry>,
    /// Entries of cards the node does not have.
    strays: Vec<LedgerEntry>,
    in_transit: u32,
}

/// Most dimensions of a family.
pub const MAX_DIMENSIONS: usize = 32;

/// What is in use of a card when nobody holds anything.
static IDLE: [i64; MAX_DIMENSIONS] = [0; MAX_DIMENSIONS];

impl NodeCards {
    /// A node without cards yet, of a family that counts this.
    pub fn new(dimensions: &'static [Dimension]) -> Self {
        Self {
            dimensions,
            ..Self::default()
        }
    }

    /// Adds a card, idle; `capacity` is what it has, by dimension.
    pub fn add(&mut self, card: Card, capacity: &[i64]) {
        debug_assert_eq!(capacity.len(), self.dimensions.len(), "{}", card.id);
        self.cards.push(card);
        self.capacity.extend_from_slice(capacity);
        self.used.extend(capacity.iter().map(|_| 0));
    }

    /// The family has nothing to say of the node.
    pub fn is_bare(&self) -> bool {
        let silent = self.label.is_none() && self.problems.is_empty();
        self.cards.is_empty() && silent && self.absent == FamilyCode::default()
    }

    /// Whether these are the same cards, whoever holds them.
    pub fn has_cards_of(&self, other: &Self) -> bool {
        self.cards == other.cards
            && self.capacity == other.capacity
            && self.absent == other.absent
            && self.label == other.label
            && self.problems == other.problems
            && self.ratings == other.ratings
            && self.links == other.links
    }

    /// What a card is called in messages: by its index, and its UUID where it has one.
    pub fn card_name(&self, card: usize) -> String {
        let Card { id, index, .. } = &self.cards[card];
        match id.parse::<u32>() {
            Ok(_) => format!("card {index}"),
            Err(_) => format!("card {index} ({id})"),
        }
    }

    /// What is counted of each card.
    pub fn dimensions(&self) -> &'static [Dimension] {
        self.dimensions
    }

    /// Position of a dimension in rows of amounts.
    pub fn dimension(&self, name: &str) -> Option<usize> {
        self.dimensions.iter().position(|known| known.name == name)
    }

    #[inline]
    fn row<'a>(&self, amounts: &'a [i64], card: usize) -> &'a [i64] {
        let width = self.dimensions.len();
        &amounts[card * width..][..width]
    }

    /// What a card has, by dimension.
    #[inline]
    pub fn capacity(&self, card: usize) -> &[i64] {
        self.row(&self.capacity, card)
    }

    /// What is in use of a card, by dimension.
    #[inline]
    pub fn used(&self, card: usize, view: LedgerTime) -> &[i64] {
        match (&self.future, view) {
            (_, LedgerTime::Idle) => &IDLE[..self.dimensions.len()],
            (Some(future), LedgerTime::Future) => self.row(future, card),
            (None, LedgerTime::Future) | (_, LedgerTime::Now) => self.row(&self.used, card),
        }
    }

    /// Whether somebody holds some of a card now.
    pub fn is_in_use(&self, card: usize) -> bool {
        self.used(card, LedgerTime::Now)
            .iter()
            .any(|amount| *amount != 0)
    }

    /// Whether something of a card may be given out, if nobody has it.
    pub fn is_given_out(&self, at: usize) -> bool {
        let card = &self.cards[at];
        card.is_usable() && (!card.only_rest || self.is_split(at))
    }

    /// Whether pods have parts of a card, for certain.
    fn is_split(&self, card: usize) -> bool {
        self.entries(LedgerTime::Now).any(|entry| {
            let is_part = entry.certain && entry.partition.is_some();
            is_part && usize::from(entry.card) == card
        })
    }

    /// Whether the two views may differ.
    pub fn is_in_transit(&self) -> bool {
        self.in_transit > 0
    }

    /// Entries that count in a view.
    pub fn entries(&self, view: LedgerTime) -> impl Iterator<Item = &LedgerEntry> {
        let counts = move |entry: &&LedgerEntry| entry.load.counts(view);
        self.entries.iter().filter(counts)
    }

    /// Entries that count in a view of cards the node does not have: they take nothing, but their pods
    /// are there.
    pub fn strays(&self, view: LedgerTime) -> impl Iterator<Item = &LedgerEntry> {
        let counts = move |entry: &&LedgerEntry| entry.load.counts(view);
        self.strays.iter().filter(counts)
    }

    /// Partitions of a card in use, in no particular order; a partition twice if two pods claim it.
    pub fn partitions(&self, card: usize, view: LedgerTime) -> impl Iterator<Item = Partition> {
        self.entries(view)
            .filter(move |entry| usize::from(entry.card) == card)
            .filter_map(|entry| entry.partition)
    }

    /// Position of the card with an identity.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.cards.iter().position(|card| &*card.id == id)
    }

    /// Points allocations made for an earlier reading of the node at the cards of this one.
    pub fn resolve(&self, allocations: &mut Allocations) {
        for allocation in allocations {
            let there = allocation
                .card
                .and_then(|at| self.cards.get(usize::from(at)));
            if there.is_none_or(|card| card.id != allocation.id) {
                allocation.card = self.find(&allocation.id).map(|at| at as u16);
            }
        }
    }

    /// Why a card that was given out can no longer be: it is gone, unusable, or smaller than what is
    /// charged to it.
    pub fn lacks(&self, allocation: &Allocation) -> Option<String> {
        let id = &allocation.id;
        let at = usize::from(allocation.card.unwrap_or(u16::MAX));
        let Some(card) = self.cards.get(at) else {
            return Some(format!("card {id} is gone"));
        };
        if let Some(why) = &card.unusable {
            return Some(format!("card {id} cannot be used any more: {why}"));
        }
        let (used, capacity) = (self.used(at, LedgerTime::Now), self.capacity(at));
        let mut amounts = self.dimensions.iter().zip(used.iter().zip(capacity));
        let shrunk = amounts.find(|(of, (used, has))| of.is_physical && used > has);
        shrunk.map(|(of, _)| format!("card {id} has less {} than it had", of.name))
    }

    /// Charges a pod. Allocations without a card on the node are remembered and charge nothing.
    pub fn charge(&mut self, pod: u32, tags: Tags, load: Load, allocations: &[Allocation]) {
        if load != Load::Held {
            self.in_transit += 1;
            if self.future.is_none() {
                self.future = Some(self.used.clone());
            }
        }
        for allocation in allocations {
            let entry = LedgerEntry {
                pod,
                card: allocation.card.unwrap_or(LedgerEntry::NO_CARD),
                partition: allocation.partition,
                held: Portion::from_slice(&allocation.charged),
                share: allocation.share,
                tags,
                load,
                certain: allocation.certain,
            };
            match allocation.card {
                Some(card) => {
                    self.change(card, load, &allocation.charged, |used, part| used + part);
                    self.entries.push(entry);
                }
                None => self.strays.push(entry),
            }
        }
        debug_assert!(
            self.are_balanced(allocations),
            "after a charge of pod {pod}"
        );
    }

    /// Takes a charge back: the exact inverse of [`NodeCards::charge`] with the same arguments.
    pub fn discharge(&mut self, pod: u32, load: Load, allocations: &[Allocation]) {
        for allocation in allocations {
            if let Some(card) = allocation.card {
                self.change(card, load, &allocation.charged, |used, part| used - part);
            }
        }
        let of = |is_there: bool| {
            allocations
                .iter()
                .filter(move |one| one.card.is_some() == is_there)
        };
        forget(&mut self.entries, pod, of(true).collect());
        forget(&mut self.strays, pod, of(false).collect());
        if load != Load::Held {
            self.in_transit -= 1;
            if self.in_transit == 0 {
                self.future = None;
            }
        }
        debug_assert!(
            self.are_balanced(allocations),
            "after a discharge of pod {pod}"
        );
    }

    fn change(&mut self, card: u16, load: Load, by: &[i64], step: impl Fn(i64, i64) -> i64) {
        let width = self.dimensions.len();
        let row = usize::from(card) * width..usize::from(card) * width + width;
        let apply = |amounts: &mut [i64]| {
            for (amount, part) in amounts.iter_mut().zip(by) {
                *amount = step(*amount, *part);
            }
        };
        if load.counts(LedgerTime::Now) {
            apply(&mut self.used[row.clone()]);
        }
        if let Some(future) = &mut self.future
            && load.counts(LedgerTime::Future)
        {
            apply(&mut future[row]);
        }
    }

    /// Whether what is in use of a card is the sum of what pods hold of it, in both views. Asked at
    /// every decision, so it goes through the entries once.
    pub fn is_balanced(&self, card: usize) -> bool {
        let (mut now, mut future) = ([0; MAX_DIMENSIONS], [0; MAX_DIMENSIONS]);
        let of_card = |entry: &&LedgerEntry| usize::from(entry.card) == card;
        for entry in self.entries.iter().filter(of_card) {
            if entry.load.counts(LedgerTime::Now) {
                add(&mut now, &entry.held);
            }
            if entry.load.counts(LedgerTime::Future) {
                add(&mut future, &entry.held);
            }
        }
        let width = self.dimensions.len();
        now[..width] == *self.used(card, LedgerTime::Now)
            && future[..width] == *self.used(card, LedgerTime::Future)
    }

    fn are_balanced(&self, allocations: &[Allocation]) -> bool {
        let mut cards = allocations.iter().filter_map(|one| one.card);
        cards.all(|card| self.is_balanced(usize::from(card)))
    }
}

/// Removes the entries of allocations of a pod.
fn forget(entries: &mut Vec<LedgerEntry>, pod: u32, mut allocations: SmallVec<[&Allocation; 4]>) {
    // The newest entries are the likeliest, and nearly always in the order of the allocations.
    for at in (0..entries.len()).rev() {
        if allocations.is_empty() {
            return;
        }
        let entry = &entries[at];
        let is_it = |one: &&Allocation| {
            entry.card == one.card.unwrap_or(LedgerEntry::NO_CARD)
                && entry.held == one.charged
                && (entry.share, entry.partition) == (one.share, one.partition)
        };
        if entry.pod == pod
            && let Some(found) = allocations.iter().rposition(is_it)
        {
            allocations.remove(found);
            entries.swap_remove(at);
        }
    }
    let is_empty = allocations.is_empty();
    debug_assert!(is_empty, "pod {pod} gives back a card it does not hold");
}

fn add(sums: &mut [i64], parts: &[i64]) {
    for (sum, part) in sums.iter_mut().zip(parts) {
        *sum += part;
    }
}

#[cfg(test)]
mod tests;
