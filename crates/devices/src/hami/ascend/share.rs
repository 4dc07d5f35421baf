//! How much of each chip a container asks (spec/05 §3.3, P-14).

use crate::facts::{ContainerFacts, PodFacts};
use crate::hami::device_need::DeviceNeed;
use crate::hami::own::HamiFamily;
use crate::hami::share;
use crate::text::clip;

use super::AscendChips;
use super::chips::{ChipType, RoundedMemory};

const NOUN: &str = AscendChips::NOUN;

/// Pod annotation: how its chips are shared.
pub const MODE: &str = "huawei.com/vnpu-mode";
/// The only value of [`MODE`]: memory and cores are limited by hami-core instead of by a template.
pub const HAMI_CORE: &str = "hami-core";

/// How much of each chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChipShare {
    /// All of it.
    Whole,
    /// The template at this place of [`ChipType::templates`].
    Template(u16),
    /// What hami-core lets it use.
    Soft {
        /// MiB; `None` for all of the chip.
        memory: Option<i64>,
        /// Percent; 0 for no limit.
        cores: i64,
    },
}

/// What one container asks of one type of chips.
pub type ChipNeed = DeviceNeed<ChipShare>;

/// Whether hami-core limits a pod.
///
/// # Errors
/// The annotation has a value that is none.
pub fn is_soft(pod: &PodFacts) -> Result<bool, String> {
    match pod.annotation(MODE) {
        None | Some("") => Ok(false),
        Some(HAMI_CORE) => Ok(true),
        Some(other) => Err(format!(
            "annotation {MODE} is {:?}: write {HAMI_CORE}, or remove it for templates",
            clip(other)
        )),
    }
}

/// What a container asks of a type: how many chips, and how much of each.
///
/// # Errors
/// The resource that cannot be, and what to write.
pub fn ask(
    container: &ContainerFacts,
    chip: &ChipType,
    soft: bool,
) -> Result<Option<(u32, ChipShare)>, String> {
    let count = container.whole(&chip.names.count, i64::from(i32::MAX))?;
    if count == Some(0) {
        return Ok(None);
    }
    let unit = ("MiB", Some(1));
    let memory = share::memory(container, &chip.names.memory, unit, chip.capacity, NOUN)?;
    let cores = container.whole(&chip.names.cores, 100)?.unwrap_or(0);
    let Some(count) = share::number(container, &chip.names, count, NOUN)? else {
        return Ok(None);
    };
    if memory == Some(0) {
        return Err(format!(
            "{} is 0: write MiB from 1 to {}, or leave it out for a whole chip",
            chip.names.memory, chip.capacity
        ));
    }
    if cores > 0 && !soft {
        return Err(format!(
            "{} is only supported in {HAMI_CORE} mode: add the annotation {MODE}: {HAMI_CORE}, or \
             leave it out",
            chip.names.cores
        ));
    }
    if chip.pairs && count % 2 == 1 {
        return Err(format!(
            "{} device request must be 2*n, got {count}: its chips are handed out in pairs",
            chip.word
        ));
    }
    Ok(Some((count, share_of(chip, count, memory, cores, soft)?)))
}

fn share_of(
    chip: &ChipType,
    count: u32,
    memory: Option<i64>,
    cores: i64,
    soft: bool,
) -> Result<ChipShare, String> {
    if soft {
        return Ok(ChipShare::Soft { memory, cores });
    }
    match memory.map_or(RoundedMemory::Whole, |mib| chip.round(mib)) {
        RoundedMemory::Template(_) if count > 1 => Err(
            "vNPU does not support partial memory allocation when requesting multiple devices"
                .to_owned(),
        ),
        RoundedMemory::Template(template) => Ok(ChipShare::Template(template)),
        RoundedMemory::Whole | RoundedMemory::TooMuch => Ok(ChipShare::Whole),
    }
}
