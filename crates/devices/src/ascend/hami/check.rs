//! Whether one chip serves one container (spec/05 §3.4, P-13).
//!
//! Checks that no eviction changes come first.

use crate::ledger::{LedgerTime, NodeCards};

use super::chips::{ChipType, VnpuConfig};
use super::limits::ChipLimits;
use super::needs::{ChipRequest, ChipShare};
use super::part::ChipPart;
use super::register::ChipVariant;

/// A check of a chip, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ChipCheck {
    /// The type that is asked.
    Type,
    /// Shared by hami-core, if that is asked.
    Mode,
    /// The device plugin registers the chip as healthy.
    Healthy,
    /// UUID allowed.
    Uuid,
    /// Large enough when idle.
    Size,
    /// The chip's neighbour fits too, where chips are handed out in pairs.
    Pair,
    /// A free slot.
    Slots,
    /// Not shared in the other way: by templates, or by hami-core.
    Mixed,
    /// Memory left.
    Memory,
    /// Cores left.
    Cores,
    /// AI cores left.
    AiCores,
    /// AI CPUs left.
    AiCpus,
}

/// Number of checks.
pub const CHECKS: usize = ChipCheck::AiCpus as usize + 1;

/// A node, seen by a pod.
#[derive(Clone, Copy)]
pub struct PodOnChips<'a> {
    /// Types of chips.
    pub config: &'a VnpuConfig,
    /// The pod's.
    pub limits: &'a ChipLimits,
    /// The node's.
    pub cards: &'a NodeCards,
    /// When.
    pub view: LedgerTime,
}

impl<'a> PodOnChips<'a> {
    /// What a request takes of a chip of its type.
    pub fn part(&self, need: &ChipRequest, at: usize) -> ChipPart {
        part(
            &self.config.types[usize::from(need.of)],
            need.share,
            self.memory(at),
        )
    }

    fn memory(&self, at: usize) -> i64 {
        ChipPart::capacity(self.cards, at).memory
    }

    /// Whether a chip serves a request.
    pub fn admits(&self, need: &ChipRequest, at: usize) -> Result<(), ChipCheck> {
        self.allows(need, at)?;
        let part = self.part(need, at);
        let all = ChipPart::capacity(self.cards, at);
        let used = ChipPart::used(self.cards, at, self.view);
        let lacks = |all: i64, used: i64, part: i64| part > 0 && all.saturating_sub(used) < part;
        if used.sharers >= all.sharers {
            return Err(ChipCheck::Slots);
        }
        let foreign = match need.share {
            ChipShare::Soft { .. } => used.sharers - used.soft,
            ChipShare::Whole | ChipShare::Template(_) => used.soft,
        };
        if foreign > 0 {
            return Err(ChipCheck::Mixed);
        }
        if lacks(all.memory, used.memory, part.memory) {
            return Err(ChipCheck::Memory);
        }
        let exclusive = part.cores == all.cores && used.sharers > 0;
        if lacks(all.cores, used.cores, part.cores) || exclusive || used.cores >= all.cores {
            return Err(ChipCheck::Cores);
        }
        if lacks(all.ai_cores, used.ai_cores, part.ai_cores) {
            return Err(ChipCheck::AiCores);
        }
        match lacks(all.ai_cpus, used.ai_cpus, part.ai_cpus) {
            true => Err(ChipCheck::AiCpus),
            false => Ok(()),
        }
    }

    /// The checks that no eviction changes.
    pub fn allows(&self, need: &ChipRequest, at: usize) -> Result<(), ChipCheck> {
        let card = &self.cards.cards[at];
        let variant = ChipVariant::of(card);
        if variant.of != need.of {
            return Err(ChipCheck::Type);
        }
        if matches!(need.share, ChipShare::Soft { .. }) && !variant.soft {
            return Err(ChipCheck::Mode);
        }
        if !card.is_usable() {
            return Err(ChipCheck::Healthy);
        }
        if !self.limits.admits(need.of, &card.id) {
            return Err(ChipCheck::Uuid);
        }
        match self.part(need, at).memory > self.memory(at) {
            true => Err(ChipCheck::Size),
            false => Ok(()),
        }
    }
}

/// What a share of a chip with so much memory is.
pub fn part(chip: &ChipType, share: ChipShare, memory: i64) -> ChipPart {
    match share {
        ChipShare::Whole => ChipPart {
            memory,
            sharers: 1,
            ai_cores: chip.ai_cores,
            ai_cpus: chip.ai_cpus,
            ..ChipPart::default()
        },
        ChipShare::Template(at) => {
            let template = &chip.templates[usize::from(at)];
            ChipPart {
                memory: template.memory,
                sharers: 1,
                ai_cores: template.ai_cores,
                ai_cpus: template.ai_cpus,
                ..ChipPart::default()
            }
        }
        ChipShare::Soft {
            memory: limit,
            cores,
        } => ChipPart {
            memory: limit.unwrap_or(memory),
            sharers: 1,
            cores,
            soft: 1,
            ..ChipPart::default()
        },
    }
}
