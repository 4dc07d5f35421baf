//! Whether one chip serves one container (spec/05 §3.4, P-13).
//!
//! Checks that no eviction changes come first.

use crate::ledger::{NodeCards, View};

use super::chips::{ChipType, VnpuConfig};
use super::limits::Limits;
use super::needs::{ChipRequest, Share};
use super::part::Part;
use super::register::Variant;

/// A check of a chip, in the order they are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Check {
    /// The type that is asked.
    Type,
    /// Shared by hami-core, if that is asked.
    Mode,
    /// Healthy.
    Healthy,
    /// UUID allowed.
    Uuid,
    /// Large enough when idle.
    Size,
    /// Its neighbour fits too, where chips are handed out in pairs.
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
pub const CHECKS: usize = Check::AiCpus as usize + 1;

/// A node, seen by a pod.
#[derive(Clone, Copy)]
pub struct PodOnNode<'a> {
    /// Types of chips.
    pub config: &'a VnpuConfig,
    /// The pod's.
    pub limits: &'a Limits,
    /// The node's.
    pub cards: &'a NodeCards,
    /// When.
    pub view: View,
}

impl<'a> PodOnNode<'a> {
    /// What a request takes of a chip of its type.
    pub fn part(&self, need: &ChipRequest, at: usize) -> Part {
        part(
            &self.config.types[usize::from(need.of)],
            need.share,
            self.memory(at),
        )
    }

    fn memory(&self, at: usize) -> i64 {
        Part::capacity(self.cards, at).memory
    }

    /// Whether a chip serves a request.
    pub fn admits(&self, need: &ChipRequest, at: usize) -> Result<(), Check> {
        self.allows(need, at)?;
        let part = self.part(need, at);
        let all = Part::capacity(self.cards, at);
        let used = Part::used(self.cards, at, self.view);
        let lacks = |all: i64, used: i64, part: i64| part > 0 && all.saturating_sub(used) < part;
        if used.sharers >= all.sharers {
            return Err(Check::Slots);
        }
        let foreign = match need.share {
            Share::Soft { .. } => used.sharers - used.soft,
            Share::Whole | Share::Template(_) => used.soft,
        };
        if foreign > 0 {
            return Err(Check::Mixed);
        }
        if lacks(all.memory, used.memory, part.memory) {
            return Err(Check::Memory);
        }
        let exclusive = part.cores == all.cores && used.sharers > 0;
        if lacks(all.cores, used.cores, part.cores) || exclusive || used.cores >= all.cores {
            return Err(Check::Cores);
        }
        if lacks(all.ai_cores, used.ai_cores, part.ai_cores) {
            return Err(Check::AiCores);
        }
        match lacks(all.ai_cpus, used.ai_cpus, part.ai_cpus) {
            true => Err(Check::AiCpus),
            false => Ok(()),
        }
    }

    /// The checks that no eviction changes.
    pub fn allows(&self, need: &ChipRequest, at: usize) -> Result<(), Check> {
        let card = &self.cards.cards[at];
        let variant = Variant::of(card);
        if variant.of != need.of {
            return Err(Check::Type);
        }
        if matches!(need.share, Share::Soft { .. }) && !variant.soft {
            return Err(Check::Mode);
        }
        if !card.is_usable() {
            return Err(Check::Healthy);
        }
        if !self.limits.admits(need.of, &card.id) {
            return Err(Check::Uuid);
        }
        match self.part(need, at).memory > self.memory(at) {
            true => Err(Check::Size),
            false => Ok(()),
        }
    }
}

/// What a share of a chip with so much memory is.
pub fn part(chip: &ChipType, share: Share, memory: i64) -> Part {
    match share {
        Share::Whole => Part {
            memory,
            sharers: 1,
            ai_cores: chip.ai_cores,
            ai_cpus: chip.ai_cpus,
            ..Part::default()
        },
        Share::Template(at) => {
            let template = &chip.templates[usize::from(at)];
            Part {
                memory: template.memory,
                sharers: 1,
                ai_cores: template.ai_cores,
                ai_cpus: template.ai_cpus,
                ..Part::default()
            }
        }
        Share::Soft {
            memory: limit,
            cores,
        } => Part {
            memory: limit.unwrap_or(memory),
            sharers: 1,
            cores,
            soft: 1,
            ..Part::default()
        },
    }
}
