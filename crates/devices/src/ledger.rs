//! The ledger of one node: its cards, and who holds how much of them.
//!
//! Two views are kept while something on the node is in transit: *now* counts what pods hold,
//! terminating ones included; *future* leaves out terminating pods and counts those that wait for
//! their place. Charging and discharging are exact inverses.

use std::rc::Rc;

use smallvec::SmallVec;

/// Part of a card in use, or asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Memory in the units of the card.
    pub memory: i64,
    /// Containers.
    pub slots: u32,
    /// Cores, in percent of a card.
    pub cores: u32,
}

impl Used {
    /// Adds. Wraps beyond its bits, so that taking away again is exact.
    pub fn add(&mut self, other: Self) {
        self.memory = self.memory.wrapping_add(other.memory);
        self.slots = self.slots.wrapping_add(other.slots);
        self.cores = self.cores.wrapping_add(other.cores);
    }

    fn sub(&mut self, other: Self) {
        self.memory = self.memory.wrapping_sub(other.memory);
        self.slots = self.slots.wrapping_sub(other.slots);
        self.cores = self.cores.wrapping_sub(other.cores);
    }
}

/// One physical card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// Memory, in the units its family counts in (MiB for vGPU).
    pub memory: i64,
    /// In use now.
    pub used: Used,
    /// Containers it may host at once.
    pub slots: u32,
    /// Cores, in percent of a card: 100, more when they are oversold.
    pub cores: u32,
    /// How it is shared; the numbers are the family's.
    pub mode: u8,
    /// It may be given out.
    pub usable: bool,
    /// Table of its partitions, if it has any.
    pub geometry: Option<u16>,
    /// Position among the cards of the node, as annotations and users count them.
    pub index: u32,
    /// Identity: its UUID, or its index where it has none.
    pub id: Rc<str>,
    /// Type, as the node tells it.
    pub kind: Rc<str>,
    /// Why it is not usable.
    pub unusable: Option<Box<str>>,
}

/// A partition of a card: group of its geometry, and position in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Unit {
    /// Index of the group in the card's geometry.
    pub group: u16,
    /// Position, counted through the partitions of the group in their listed order.
    pub position: u16,
}

impl Unit {
    /// A partition that cannot be told: the card gives out no other while it is held.
    pub const UNKNOWN: Self = Self {
        group: u16::MAX,
        position: u16::MAX,
    };
}

/// What one container gets of one card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Position of the container in [`crate::PodFacts::containers`].
    pub container: u16,
    /// Position of the card in [`NodeCards::cards`]; `None` when the node has no such card (any more).
    pub card: Option<u16>,
    /// Identity of the card.
    pub id: Rc<str>,
    /// Partition, where the card is partitioned.
    pub unit: Option<Unit>,
    /// Memory as asked: what is written.
    pub memory: i64,
    /// Memory charged.
    pub charged: i64,
    /// Cores charged.
    pub cores: u32,
    /// Containers charged: 1, or 0 for a further part of the same one.
    pub slots: u32,
    /// It is known that this card is the one. What cannot be read is charged to every card it could
    /// be on, as a guess.
    pub certain: bool,
}

impl Allocation {
    /// What is charged.
    fn used(&self) -> Used {
        Used {
            memory: self.charged,
            slots: self.slots,
            cores: self.cores,
        }
    }
}

/// What a pod holds of one family on its node.
pub type Allocations = SmallVec<[Allocation; 2]>;

/// What of a pod decides whether it shares cards with others, besides amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tags {
    /// Its group, as a number.
    pub group: Option<u32>,
    /// Exclusivity rules it matches, one bit each.
    pub rules: u64,
}

/// How a pod weighs on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Holds.
    Held,
    /// Holds, and will give back.
    Releasing,
    /// Waits for what is being released.
    Pipelined,
}

impl Load {
    fn counts(self, view: View) -> bool {
        match self {
            Self::Held => view != View::Idle,
            Self::Releasing => view == View::Now,
            Self::Pipelined => view == View::Future,
        }
    }
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
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
    /// Position of the card.
    pub card: u16,
    /// Partition.
    pub unit: Option<Unit>,
    /// What it holds.
    pub used: Used,
    /// Of the pod.
    pub tags: Tags,
    /// How it weighs.
    pub load: Load,
    /// See [`Allocation::certain`].
    pub certain: bool,
}

/// The cards of one family on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeCards {
    /// The cards, in the order of their indices.
    pub cards: Vec<Card>,
    /// Why there are none; the numbers are the family's.
    pub absent: u8,
    /// What the node says of itself that decides for the whole family (a product label).
    pub label: Option<Rc<str>>,
    /// What is wrong with what the node says, for its owner.
    pub problems: Vec<String>,
    holds: Vec<LedgerEntry>,
    future: Option<Vec<Used>>,
    in_transit: u32,
}

impl NodeCards {
    /// A node with these cards, all idle.
    pub fn new(cards: Vec<Card>) -> Self {
        Self {
            cards,
            ..Self::default()
        }
    }

    /// What is in use of a card.
    pub fn used(&self, card: usize, view: View) -> Used {
        match (&self.future, view) {
            (_, View::Idle) => Used::default(),
            (Some(future), View::Future) => future[card],
            _ => self.cards[card].used,
        }
    }

    /// Whether the two views may differ.
    pub fn is_in_transit(&self) -> bool {
        self.in_transit > 0
    }

    /// Entries that count in a view.
    pub fn entries(&self, view: View) -> impl Iterator<Item = &LedgerEntry> {
        let counts = move |entry: &&LedgerEntry| entry.load.counts(view);
        self.holds.iter().filter(counts)
    }

    /// Partitions of a card in use, in no particular order; a partition twice if two pods claim it.
    pub fn units(&self, card: usize, view: View) -> impl Iterator<Item = Unit> {
        self.entries(view)
            .filter(move |entry| usize::from(entry.card) == card)
            .filter_map(|entry| entry.unit)
    }

    /// Position of the card with an identity.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.cards.iter().position(|card| &*card.id == id)
    }

    /// Points picks made for an earlier reading of the node at the cards of this one.
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
        let Some(card) = allocation
            .card
            .and_then(|at| self.cards.get(usize::from(at)))
        else {
            return Some(format!("card {id} is gone"));
        };
        if !card.usable {
            return Some(match &card.unusable {
                Some(why) => format!("card {id} cannot be used any more: {why}"),
                None => format!("card {id} cannot be used any more"),
            });
        }
        let shrunk = card.used.memory > card.memory;
        shrunk.then(|| format!("card {id} has less memory than it had"))
    }

    /// Charges a pod. Allocations without a card on the node charge nothing.
    pub fn charge(&mut self, pod: u32, tags: Tags, load: Load, allocations: &[Allocation]) {
        if load != Load::Held {
            self.in_transit += 1;
            if self.future.is_none() {
                self.future = Some(self.cards.iter().map(|card| card.used).collect());
            }
        }
        for allocation in allocations {
            let Some(card) = allocation.card else {
                continue;
            };
            let at = usize::from(card);
            if load.counts(View::Now) {
                self.cards[at].used.add(allocation.used());
            }
            if let Some(future) = &mut self.future
                && load.counts(View::Future)
            {
                future[at].add(allocation.used());
            }
            self.holds.push(LedgerEntry {
                pod,
                card,
                unit: allocation.unit,
                used: allocation.used(),
                tags,
                load,
                certain: allocation.certain,
            });
        }
    }

    /// Takes a charge back: the exact inverse of [`NodeCards::charge`] with the same arguments.
    pub fn discharge(&mut self, pod: u32, load: Load, allocations: &[Allocation]) {
        for allocation in allocations {
            let Some(card) = allocation.card else {
                continue;
            };
            let at = usize::from(card);
            if load.counts(View::Now) {
                self.cards[at].used.sub(allocation.used());
            }
            if let Some(future) = &mut self.future
                && load.counts(View::Future)
            {
                future[at].sub(allocation.used());
            }
        }
        // The newest entries are the likeliest.
        let mut at = self.holds.len();
        let mut left = allocations
            .iter()
            .filter(|allocation| allocation.card.is_some())
            .count();
        while at > 0 && left > 0 {
            at -= 1;
            if self.holds[at].pod == pod {
                self.holds.swap_remove(at);
                left -= 1;
            }
        }
        if load != Load::Held {
            self.in_transit -= 1;
            if self.in_transit == 0 {
                self.future = None;
            }
        }
    }
}

/// What most fits look at of a card, as it is now, small enough to be read over thousands of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardSummary {
    /// Memory.
    pub memory: i32,
    /// Memory in use.
    pub used: i32,
    /// Containers on it.
    pub slots_used: u16,
    /// Containers it may still take.
    pub slots_left: u16,
    /// Cores nobody has.
    pub cores_left: u16,
    /// How it is shared.
    pub mode: u8,
    /// It may be given out.
    pub usable: bool,
}

impl CardSummary {
    /// In summary; `None` for a card about which more has to be known: one with partitions, oversold
    /// cores, or more of anything than fits.
    fn of(card: &Card) -> Option<Self> {
        let plain = card.geometry.is_none() && card.cores <= 100;
        let used = card.used;
        plain.then_some(Self {
            memory: i32::try_from(card.memory).ok()?,
            used: i32::try_from(used.memory).ok()?,
            slots_used: u16::try_from(used.slots).ok()?,
            slots_left: u16::try_from(card.slots.saturating_sub(used.slots)).ok()?,
            cores_left: u16::try_from(card.cores.saturating_sub(used.cores)).ok()?,
            mode: card.mode,
            usable: card.usable,
        })
    }
}

/// The devices of one node: an entry per family, or nothing at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeDevices {
    families: Option<Box<[NodeCards]>>,
    /// The cards of the first family that has some; empty when a card cannot be told in summary.
    summaries: SmallVec<[CardSummary; 8]>,
    /// The number of that family.
    summary_family: u8,
}

impl NodeDevices {
    /// Devices by family; a node on which no family has anything to say is stored as nothing.
    pub fn new(families: Vec<NodeCards>) -> Self {
        let bare = |cards: &NodeCards| *cards == NodeCards::default();
        let first = families.iter().position(|cards| !cards.cards.is_empty());
        let families = (!families.iter().all(bare)).then(|| families.into_boxed_slice());
        let mut devices = Self {
            families,
            summaries: SmallVec::new(),
            summary_family: first.unwrap_or(0) as u8,
        };
        devices.renew_summaries(devices.summary_family);
        devices
    }

    /// The cards of a family.
    pub fn family(&self, family: u8) -> Option<&NodeCards> {
        self.families.as_ref()?.get(usize::from(family))
    }

    /// The cards of a family, or `nothing` where it has none to tell of.
    pub fn cards<'a>(&'a self, family: u8, nothing: &'a NodeCards) -> &'a NodeCards {
        self.family(family).unwrap_or(nothing)
    }

    /// The cards of a family in summary, as they are now; `None` where that does not tell enough.
    pub fn summaries(&self, family: u8) -> Option<&[CardSummary]> {
        let told = family == self.summary_family && !self.summaries.is_empty();
        told.then_some(&self.summaries)
    }

    /// All families with their numbers.
    pub fn families(&self) -> impl Iterator<Item = (u8, &NodeCards)> {
        let families = self.families.iter().flat_map(|families| families.iter());
        families.enumerate().map(|(at, cards)| (at as u8, cards))
    }

    /// Whether the two views may differ.
    pub fn is_in_transit(&self) -> bool {
        self.families().any(|(_, cards)| cards.is_in_transit())
    }

    /// Charges a pod, after pointing its picks at the cards there are.
    pub fn charge(
        &mut self,
        family: u8,
        pod: u32,
        tags: Tags,
        load: Load,
        allocations: &mut Allocations,
    ) {
        self.change(family, |cards| {
            cards.resolve(allocations);
            cards.charge(pod, tags, load, allocations);
        });
    }

    /// Takes a charge back.
    pub fn discharge(&mut self, family: u8, pod: u32, load: Load, allocations: &[Allocation]) {
        self.change(family, |cards| cards.discharge(pod, load, allocations));
    }

    fn change(&mut self, family: u8, change: impl FnOnce(&mut NodeCards)) {
        let families = self.families.as_mut();
        let found = families.and_then(|all| all.get_mut(usize::from(family)));
        if let Some(cards) = found {
            change(cards);
            self.renew_summaries(family);
        }
    }

    fn renew_summaries(&mut self, family: u8) {
        if family != self.summary_family {
            return;
        }
        let mut summaries = std::mem::take(&mut self.summaries);
        summaries.clear();
        for card in self.family(family).into_iter().flat_map(|all| &all.cards) {
            match CardSummary::of(card) {
                Some(summary) => summaries.push(summary),
                None => {
                    summaries.clear();
                    break;
                }
            }
        }
        self.summaries = summaries;
    }
}
