//! Whether one chip serves one container (spec/05 §3.4, P-13), beside what no eviction changes.

use crate::hami::card_check::CardCheck;
use crate::part::CardPart;

use super::PodOnChips;
use super::chips::ChipType;
use super::part::ChipPart;
use super::share::{ChipNeed, ChipShare};

impl PodOnChips<'_> {
    /// The type that is asked.
    pub fn chip(&self, need: &ChipNeed) -> &ChipType {
        &self.rules.own.config.types[usize::from(need.kind)]
    }

    /// What a request takes of a chip of its type.
    pub fn part(&self, need: &ChipNeed, at: usize) -> ChipPart {
        let memory = CardPart::capacity(self.cards, at).memory;
        part(self.chip(need), need.share, memory)
    }

    /// Whether a chip serves a request.
    pub fn admits(&self, need: &ChipNeed, at: usize) -> Result<(), CardCheck> {
        self.allows(need, at)?;
        let part = self.part(need, at);
        let all = ChipPart::capacity(self.cards, at);
        let used = ChipPart::used(self.cards, at, self.view);
        let lacks = |all: i64, used: i64, part: i64| part > 0 && all.saturating_sub(used) < part;
        if used.sharers >= all.sharers {
            return Err(CardCheck::Slots);
        }
        let foreign = match need.share {
            ChipShare::Soft { .. } => used.sharers - used.soft,
            ChipShare::Whole | ChipShare::Template(_) => used.soft,
        };
        if foreign > 0 {
            return Err(CardCheck::Mixed);
        }
        if lacks(all.memory, used.memory, part.memory) {
            return Err(CardCheck::Memory);
        }
        let is_exclusive = part.cores == all.cores && used.sharers > 0;
        if lacks(all.cores, used.cores, part.cores) || is_exclusive || used.cores >= all.cores {
            return Err(CardCheck::Cores);
        }
        if lacks(all.ai_cores, used.ai_cores, part.ai_cores) {
            return Err(CardCheck::AiCores);
        }
        match lacks(all.ai_cpus, used.ai_cpus, part.ai_cpus) {
            true => Err(CardCheck::AiCpus),
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
