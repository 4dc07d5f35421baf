//! Whether one card serves one container (spec/04 §23.3).
//!
//! Checks that no eviction changes come first.

use crate::ledger::{LedgerTime, NodeCards};
use crate::part::CardPart;

use super::limits::CardLimits;
use super::needs::{CardMemory, CardNeed};
use super::variant::CardVariant;

/// A check of a card, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CardCheck {
    /// The kind that is asked.
    Kind,
    /// Healthy, and given out at all.
    Usable,
    /// Shared as asked.
    Mode,
    /// Type allowed.
    Type,
    /// UUID allowed.
    Uuid,
    /// Large enough when idle.
    Size,
    /// Several cards are whole ones, and no part was named.
    Part,
    /// The app classes of the pods on it.
    Class,
    /// The QoS policy of the pods on it.
    Qos,
    /// A free slot.
    Slots,
    /// Idle, where only such will do.
    Idle,
    /// Memory left.
    Memory,
    /// Cores left.
    Cores,
    /// All cores of a card are for one alone.
    Exclusive,
    /// Nobody has all its cores.
    Held,
}

/// A card that a container of the pod has got, and what of it.
pub type Taken = (u16, CardPart);

/// A node, seen by a pod.
#[derive(Clone, Copy)]
pub struct PodOnCards<'a> {
    /// The pod's.
    pub limits: &'a CardLimits,
    /// The node's.
    pub cards: &'a NodeCards,
    /// When.
    pub view: LedgerTime,
}

impl PodOnCards<'_> {
    /// The same node at another time.
    pub fn at(self, view: LedgerTime) -> Self {
        Self { view, ..self }
    }

    /// What a need takes of a card.
    pub fn part(&self, need: &CardNeed, at: usize) -> CardPart {
        let all = CardPart::capacity(self.cards, at);
        CardPart {
            memory: match need.share.memory {
                CardMemory::Mib(mib) => mib,
                CardMemory::Percent(100) => all.memory,
                CardMemory::Percent(percent) => all.memory * percent / 100,
            },
            sharers: 1,
            cores: need.share.cores.unwrap_or(all.cores),
        }
    }

    /// What is in use of a card, with what containers of the pod have got.
    pub fn used(&self, at: usize, own: &[Taken]) -> CardPart {
        let mut used = CardPart::used(self.cards, at, self.view);
        for (_, part) in own.iter().filter(|(card, _)| usize::from(*card) == at) {
            used.memory += part.memory;
            used.sharers += part.sharers;
            used.cores += part.cores;
        }
        used
    }

    /// Whether a card serves a need beside what containers of the pod have got.
    pub fn admits(&self, need: &CardNeed, at: usize, own: &[Taken]) -> Result<(), CardCheck> {
        self.allows(need, at)?;
        let (part, all) = (self.part(need, at), CardPart::capacity(self.cards, at));
        let used = self.used(at, own);
        if used.sharers > 0 {
            self.may_join(need, at, own)?;
        }
        if used.sharers >= all.sharers {
            return Err(CardCheck::Slots);
        }
        if self.limits.idle_only && used.sharers > 0 {
            return Err(CardCheck::Idle);
        }
        if all.memory - used.memory < part.memory {
            return Err(CardCheck::Memory);
        }
        if self.terms(need).is_online() {
            return Ok(());
        }
        if all.cores - used.cores < part.cores {
            return Err(CardCheck::Cores);
        }
        if all.cores == 100 && part.cores == 100 && used.sharers > 0 {
            return Err(CardCheck::Exclusive);
        }
        match all.cores != 0 && used.cores >= all.cores && part.cores == 0 {
            true => Err(CardCheck::Held),
            false => Ok(()),
        }
    }

    /// The checks that no eviction changes.
    pub fn allows(&self, need: &CardNeed, at: usize) -> Result<(), CardCheck> {
        let card = &self.cards.cards[at];
        if CardVariant::of(card).kind != need.kind {
            return Err(CardCheck::Kind);
        }
        if !card.is_usable() {
            return Err(CardCheck::Usable);
        }
        if !self.limits.admits_mode(card) {
            return Err(CardCheck::Mode);
        }
        if !self.limits.admits_type(card) {
            return Err(CardCheck::Type);
        }
        if !self.limits.admits_uuid(card) {
            return Err(CardCheck::Uuid);
        }
        let (part, all) = (self.part(need, at), CardPart::capacity(self.cards, at));
        if part.memory > all.memory {
            return Err(CardCheck::Size);
        }
        match need.share.named.is_some_and(|named| named < all.memory) {
            true => Err(CardCheck::Part),
            false => Ok(()),
        }
    }
}
