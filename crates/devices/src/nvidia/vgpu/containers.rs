//! What the containers of a pod ask (spec/04 §6, R11).

use crate::facts::{ContainerFacts, ContainerKind, amount_text, container_name};
use crate::nvidia::vgpu::config::VgpuConfig;

/// Memory of each card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In units of the register annotation, at least 1.
    Units(i64),
    /// 1 to 100 percent of the card.
    Percent(i64),
}

/// What one container asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContainerRequest {
    /// Position in [`crate::PodFacts::containers`].
    pub container: u16,
    /// When it runs.
    pub runs: ContainerKind,
    /// Different cards, at least 1.
    pub count: u32,
    /// Memory of each card.
    pub memory: Memory,
    /// Percent of each card.
    pub cores: i64,
}

impl ContainerRequest {
    /// Memory wanted of any card, where it does not depend on the card.
    pub fn exact(&self) -> Option<i64> {
        match self.memory {
            Memory::Units(units) => Some(units),
            Memory::Percent(_) => None,
        }
    }

    /// Memory wanted of a card with this much memory.
    pub fn of(&self, memory: i64) -> i64 {
        match self.memory {
            Memory::Units(units) => units,
            // A limit of 0 would mean "no limit" to HAMi-core, hence at least 1.
            Memory::Percent(percent) => (memory.saturating_mul(percent) / 100).max(1),
        }
    }
}

/// What all containers ask; nothing if none asks.
///
/// # Errors
/// The container and the field that cannot be, and what to write.
pub fn needs(
    containers: &[ContainerFacts],
    config: &VgpuConfig,
) -> Result<Vec<ContainerRequest>, String> {
    let mut needs = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        let found = need(at as u16, container, config)
            .map_err(|why| format!("{}: {why}", container_name(containers, at)))?;
        needs.extend(found);
    }
    Ok(needs)
}

/// What containers of a pod on a node ask: of one whose request cannot be read all of as many cards as it counts.
pub fn needs_at_most(containers: &[ContainerFacts], config: &VgpuConfig) -> Vec<ContainerRequest> {
    let names = &config.nvidia;
    let all = containers.iter().enumerate();
    let needs = all.filter_map(|(at, container)| {
        let at = at as u16;
        let all_of = || ContainerRequest {
            container: at,
            runs: container.kind,
            count: container.counted(&names.count_name, &names.memory_name),
            memory: Memory::Percent(100),
            cores: 0,
        };
        need(at, container, config).unwrap_or_else(|_| Some(all_of()))
    });
    needs.filter(|need| need.count > 0).collect()
}

fn need(
    at: u16,
    container: &ContainerFacts,
    config: &VgpuConfig,
) -> Result<Option<ContainerRequest>, String> {
    let count = container.whole(&config.nvidia.count_name, i64::from(i32::MAX))?;
    let memory = memory(container, &config.nvidia.memory_name)?;
    let cores = container.whole(&config.nvidia.core_name, 100)?.unwrap_or(0);
    let percent = container
        .whole(&config.nvidia.percentage_name, 100)?
        .unwrap_or(0);
    let count = match count {
        Some(count) => count,
        None if memory > 0 => 1,
        None if cores > 0 || percent > 0 => {
            let name = if cores > 0 {
                &config.nvidia.core_name
            } else {
                &config.nvidia.percentage_name
            };
            return Err(format!(
                "{name} is asked without {}: add the number of GPUs, such as {}: 1",
                config.nvidia.count_name, config.nvidia.count_name
            ));
        }
        None => 0,
    };
    if count == 0 {
        return Ok(None);
    }
    let memory = match (percent, memory) {
        (0, 0) => Memory::Percent(100),
        (0, units) => Memory::Units(units),
        (percent, _) => Memory::Percent(percent),
    };
    Ok(Some(ContainerRequest {
        container: at,
        runs: container.kind,
        count: count as u32,
        memory,
        cores,
    }))
}

fn memory(container: &ContainerFacts, name: &str) -> Result<i64, String> {
    container
        .whole(name, i64::from(i32::MAX))
        .map(Option::unwrap_or_default)
        .map_err(|_| {
            let milli = container.milli(name).unwrap_or_default();
            let mib = milli / 1000 / (1 << 20);
            let hint = match milli % (1000 << 20) {
                0 if mib > 0 => format!("; for {} write {mib}", quantity(mib)),
                _ => String::new(),
            };
            format!(
                "{name} is {}: memory must be an integer number of MiB below 2147483648{hint}",
                amount_text(milli)
            )
        })
}

fn quantity(mib: i64) -> String {
    match mib % 1024 {
        0 => format!("{}Gi", mib / 1024),
        _ => format!("{mib}Mi"),
    }
}
