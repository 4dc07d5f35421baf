//! What the containers of a pod ask (spec/05 §3.3, P-14).

use crate::facts::{ContainerFacts, ContainerKind, PodFacts, amount_text, container_name};
use crate::text::clip;

use super::chips::{ChipType, RoundedMemory, VnpuConfig};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipRequest {
    /// Position in [`PodFacts::containers`].
    pub container: u16,
    /// Place of the type in [`VnpuConfig::types`].
    pub of: u16,
    /// When it runs.
    pub runs: ContainerKind,
    /// Different chips, at least 1.
    pub count: u32,
    /// How much of each chip.
    pub share: ChipShare,
}

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

/// What all containers ask, in their order; nothing if none asks.
///
/// # Errors
/// The container and the resource that cannot be, and what to write.
pub fn needs(pod: &PodFacts, config: &VnpuConfig) -> Result<Vec<ChipRequest>, String> {
    let mut needs = Vec::new();
    for (at, container) in pod.containers.iter().enumerate() {
        for (of, chip) in config.types.iter().enumerate() {
            let asks = |name: &&str| container.milli(name).is_some();
            if !chip.resources().iter().any(asks) {
                continue;
            }
            let found = is_soft(pod).and_then(|soft| need(container, chip, soft));
            let found =
                found.map_err(|why| format!("{}: {why}", container_name(&pod.containers, at)))?;
            needs.extend(found.map(|(count, share)| ChipRequest {
                container: at as u16,
                of: of as u16,
                runs: container.kind,
                count,
                share,
            }));
        }
    }
    Ok(needs)
}

/// What containers of a pod on a node ask: of one whose request cannot be read all of as many chips as it counts.
pub fn needs_at_most(pod: &PodFacts, config: &VnpuConfig) -> Vec<ChipRequest> {
    let mut needs = Vec::new();
    for (at, container) in pod.containers.iter().enumerate() {
        for (of, chip) in config.types.iter().enumerate() {
            let share = match is_soft(pod) {
                Ok(true) => ChipShare::Soft {
                    memory: None,
                    cores: 0,
                },
                Ok(false) | Err(_) => ChipShare::Whole,
            };
            let all = || (container.counted(&chip.count_name, ""), share);
            let found = is_soft(pod).and_then(|soft| need(container, chip, soft));
            let Some((count, share)) = found.unwrap_or_else(|_| Some(all())) else {
                continue;
            };
            if count > 0 {
                needs.push(ChipRequest {
                    container: at as u16,
                    of: of as u16,
                    runs: container.kind,
                    count,
                    share,
                });
            }
        }
    }
    needs
}

fn need(
    container: &ContainerFacts,
    chip: &ChipType,
    soft: bool,
) -> Result<Option<(u32, ChipShare)>, String> {
    let name = &chip.count_name;
    let count = container.whole(name, i64::from(i32::MAX))?;
    if count == Some(0) {
        return Ok(None);
    }
    let memory = memory(container, chip)?;
    let cores = container.whole(&chip.core_name, 100)?.unwrap_or(0);
    let count = match count {
        Some(count) => count as u32,
        None if memory.unwrap_or(0) > 0 => return Err(uncounted(&chip.memory_name, name)),
        None if cores > 0 => return Err(uncounted(&chip.core_name, name)),
        None => return Ok(None),
    };
    if memory == Some(0) {
        return Err(format!(
            "{} is 0: write MiB from 1 to {}, or leave it out for a whole chip",
            chip.memory_name, chip.capacity
        ));
    }
    if cores > 0 && !soft {
        return Err(format!(
            "{} is only supported in {HAMI_CORE} mode: add the annotation {MODE}: {HAMI_CORE}, or \
             leave it out",
            chip.core_name
        ));
    }
    if chip.pairs && count % 2 == 1 {
        return Err(format!(
            "{} device request must be 2*n, got {count}: its chips are handed out in pairs",
            chip.word
        ));
    }
    Ok(Some((count, share(chip, count, memory, cores, soft)?)))
}

fn share(
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

fn uncounted(asked: &str, count: &str) -> String {
    format!("{asked} is asked without {count}: add the number of chips, such as {count}: 1")
}

fn memory(container: &ContainerFacts, chip: &ChipType) -> Result<Option<i64>, String> {
    let name = &chip.memory_name;
    let Some(milli) = container.milli(name) else {
        return Ok(None);
    };
    let mib = milli / 1000;
    if milli % 1000 == 0 && (0..=chip.capacity).contains(&mib) {
        return Ok(Some(mib));
    }
    let hint = match milli % (1000 << 20) {
        0 if mib >> 20 > 0 => format!("; for {}Mi write {}", mib >> 20, mib >> 20),
        _ => String::new(),
    };
    Err(format!(
        "{name} is {}, which is no amount a chip has: the unit is MiB, write an integer from 1 to \
         {}{hint}",
        amount_text(milli),
        chip.capacity
    ))
}
