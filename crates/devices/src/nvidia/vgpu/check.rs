//! Whether one card serves one container (spec/04 §7.2, R14).
//!
//! Checks that no eviction changes come first, so that the check a card fails tells whether
//! evictions could help.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ledger::{Allocation, Card, FamilyCode, LedgerTime, NodeCards, Partition, Tags};
use crate::nvidia::vgpu::config::VgpuConfig;
use crate::nvidia::vgpu::containers::ContainerRequest;
use crate::nvidia::vgpu::limits::AnnotationLimits;
use crate::nvidia::vgpu::partitions::{InUse, PartitionTable};
use crate::nvidia::vgpu::sharing::{Sharing, mode};
use crate::part::CardPart;

/// A check of a card, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Check {
    /// Healthy, and of a kind that can be given out.
    Usable,
    /// Shared in the mode that is asked.
    Mode,
    /// Index allowed.
    Index,
    /// UUID allowed.
    Uuid,
    /// Type allowed.
    Type,
    /// Large enough when idle.
    Size,
    /// A free slot.
    Slots,
    /// No pod of the same group on it.
    Group,
    /// No pod of the same exclusivity rule on it.
    Rule,
    /// Memory left.
    Memory,
    /// Cores left.
    Cores,
    /// Idle, for a request of all cores.
    Exclusive,
    /// Not held by a pod that asked all cores.
    Held,
    /// A free MIG instance.
    Instance,
}

/// All checks, in order.
pub const CHECKS: [Check; 14] = [
    Check::Usable,
    Check::Mode,
    Check::Index,
    Check::Uuid,
    Check::Type,
    Check::Size,
    Check::Slots,
    Check::Group,
    Check::Rule,
    Check::Memory,
    Check::Cores,
    Check::Exclusive,
    Check::Held,
    Check::Instance,
];

impl Check {
    /// No eviction changes the answer.
    pub fn is_fixed(self) -> bool {
        self <= Self::Size
    }
}

/// A card for a container.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CardCandidate {
    /// Position of the container.
    pub container: u16,
    /// Position of the card.
    pub card: u16,
    /// Part of the card that the container would get, where the card is split.
    pub partition: Option<Partition>,
    /// Memory as asked.
    pub memory: i64,
    /// Memory charged.
    pub charged: i64,
    /// Cores charged.
    pub cores: i64,
}

impl CardCandidate {
    /// What the container gets, of the card with this identity.
    pub fn allocation(&self, id: Arc<str>) -> Allocation {
        let asked = CardPart {
            memory: self.memory,
            sharers: 1,
            cores: self.cores,
        };
        let charged = CardPart {
            memory: self.charged,
            ..asked
        };
        Allocation {
            container: self.container,
            card: Some(self.card),
            id,
            partition: self.partition,
            asked: asked.portion(),
            charged: charged.portion(),
            share: FamilyCode::default(),
            certain: true,
            suspect: false,
        }
    }
}

/// Cards for a pod.
pub type Candidates = SmallVec<[CardCandidate; 4]>;

/// A node, seen by a pod that has some of its cards already.
#[derive(Clone, Copy)]
pub struct PodOnNode<'a> {
    /// Configuration.
    pub config: &'a VgpuConfig,
    /// The pod's.
    pub limits: &'a AnnotationLimits,
    /// The pod's.
    pub tags: Tags,
    /// The node's.
    pub cards: &'a NodeCards,
    /// When.
    pub view: LedgerTime,
}

impl<'a> PodOnNode<'a> {
    /// The card of the node with this index.
    pub fn card(&self, at: usize) -> &'a Card {
        &self.cards.cards[at]
    }

    /// All of a card.
    #[inline]
    pub fn capacity(&self, at: usize) -> CardPart {
        CardPart::capacity(self.cards, at)
    }

    /// What is in use of a card, the pod's own part included.
    #[inline]
    pub fn used(&self, at: usize, own: &[CardCandidate]) -> CardPart {
        let mut used = CardPart::used(self.cards, at, self.view);
        for candidate in own.iter().filter(|one| usize::from(one.card) == at) {
            used.memory += candidate.charged;
            used.sharers += 1;
            used.cores += candidate.cores;
        }
        used
    }

    /// The checks that no eviction changes.
    pub fn allows(&self, need: &ContainerRequest, at: usize) -> Result<(), Check> {
        let (limits, card) = (self.limits, self.card(at));
        if !card.is_usable() {
            return Err(Check::Usable);
        }
        if limits.mode.is_some_and(|asked| asked != mode(card)) {
            return Err(Check::Mode);
        }
        if !limits.allow_index(card) {
            return Err(Check::Index);
        }
        if limits.by_uuid() && !limits.allow_uuid(card) {
            return Err(Check::Uuid);
        }
        if !limits.types.admits(&card.kind) {
            return Err(Check::Type);
        }
        match need.of(self.capacity(at).memory) > self.size(at) {
            true => Err(Check::Size),
            false => Ok(()),
        }
    }

    /// The most memory a container may ask of an idle card. What NVML reports may be a little
    /// less than the memory of the largest instance, or a little more (spec/04 §20, 17c and 17d).
    pub fn size(&self, at: usize) -> i64 {
        let memory = self.capacity(at).memory;
        match self.table(self.card(at)) {
            Some(table) => memory.max(table.largest_mib() / self.config.factor),
            None => memory,
        }
    }

    /// The table of a card in MIG mode.
    pub fn table(&self, card: &Card) -> Option<&'a PartitionTable> {
        match Sharing::of(card) {
            Sharing::Mig(Some(at)) => self.config.tables.get(usize::from(at)),
            Sharing::Mig(None) | Sharing::HamiCore | Sharing::Mps => None,
        }
    }

    /// The checks that depend on what is in use. `group` restricts MIG to a group.
    pub fn admits(
        &self,
        need: &ContainerRequest,
        at: usize,
        own: &[CardCandidate],
        group: Option<u16>,
    ) -> Result<CardCandidate, Check> {
        let (all, used) = (self.capacity(at), self.used(at, own));
        if used.sharers >= all.sharers {
            return Err(Check::Slots);
        }
        self.shares(at)?;
        let memory = need.of(all.memory);
        let mut candidate = CardCandidate {
            container: need.container,
            card: at as u16,
            partition: None,
            memory,
            charged: memory,
            cores: need.cores,
        };
        let sharing = Sharing::of(self.card(at));
        if let Sharing::Mig(table) = sharing {
            let table = table.and_then(|table| self.config.tables.get(usize::from(table)));
            let table = table.ok_or(Check::Instance)?;
            let in_use = self.in_use(at, used, own);
            let best = table.best(self.config.mib(memory), &in_use, group);
            let (partition, mib) = best.ok_or(Check::Instance)?;
            candidate.partition = Some(partition);
            candidate.charged = mib / self.config.factor;
            return Ok(candidate);
        }
        if all.memory.saturating_sub(used.memory) < memory {
            return Err(Check::Memory);
        }
        cores(need.cores, used, all.cores)?;
        Ok(candidate)
    }

    fn shares(&self, at: usize) -> Result<(), Check> {
        let spread = self.tags.group.filter(|_| self.limits.spread);
        if spread.is_none() && self.tags.rules == 0 {
            return Ok(());
        }
        for entry in self.cards.entries(self.view) {
            if usize::from(entry.card) != at || entry.is_empty() {
                continue;
            }
            if spread.is_some() && entry.tags.group == spread {
                return Err(Check::Group);
            }
            if entry.tags.rules & self.tags.rules != 0 {
                return Err(Check::Rule);
            }
        }
        Ok(())
    }

    /// Partitions of a card in use. Whoever holds a card in MIG mode without one holds something
    /// that cannot be told.
    fn in_use(&self, at: usize, used: CardPart, own: &[CardCandidate]) -> InUse {
        if used.sharers == 0 {
            return InUse::new();
        }
        let holds = self.cards.entries(self.view);
        let others = holds.filter(|entry| usize::from(entry.card) == at);
        let others = others.map(|entry| entry.partition.unwrap_or(Partition::UNKNOWN));
        let own = own
            .iter()
            .filter(|candidate| usize::from(candidate.card) == at);
        others
            .chain(own.filter_map(|candidate| candidate.partition))
            .collect()
    }
}

fn cores(asked: i64, used: CardPart, capacity: i64) -> Result<(), Check> {
    if used.cores.saturating_add(asked) > capacity {
        return Err(Check::Cores);
    }
    if asked == 100 && used.sharers > 0 {
        return Err(Check::Exclusive);
    }
    // With oversold cores a card that one container asked whole has cores left, which nobody gets.
    let whole = capacity > 100 && used.sharers == 1 && used.cores == 100;
    if whole || (used.cores >= capacity && asked == 0) {
        return Err(Check::Held);
    }
    Ok(())
}
