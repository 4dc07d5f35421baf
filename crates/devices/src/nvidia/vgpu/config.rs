//! The device configuration as the family uses it: names of resources, capacities, the tables of MIG partitions.

use std::sync::Arc;

use crate::binding::{BindProtocol, NodeLock};
use crate::config::DeviceConfig;
use crate::hami::shares_gpus;
use crate::nvidia::config::NvidiaConfig;
use crate::nvidia::vgpu::partitions::PartitionTable;
use crate::settings::{Policy, Settings};

/// Node annotation that is the lock.
const LOCK: NodeLock = NodeLock::new("hamivgpu");

/// Settings and configuration, compiled.
#[derive(Debug)]
pub struct VgpuConfig {
    /// Names of resources, and models with their geometries.
    pub nvidia: NvidiaConfig,
    /// MiB in a unit of memory.
    pub factor: i64,
    /// Cores a card gives out, in percent of a card.
    pub cores: u32,
    /// By [`super::sharing::Sharing::Mig`].
    pub tables: Vec<PartitionTable>,
    /// The plugin is configured at all.
    pub configured: bool,
    /// The family is on.
    pub enabled: bool,
    /// Order of cards, and score.
    pub policy: Policy,
    /// How Bindings are sent.
    pub protocol: BindProtocol,
}

impl VgpuConfig {
    /// Why the family is off, and how it is switched on.
    pub fn off(&self) -> &'static str {
        match self.configured {
            true => {
                "vGPU is off: set the argument deviceshare.VGPUEnable: true of plugin deviceshare"
            }
            false => {
                "plugin deviceshare is not configured: add it with the argument \
                 deviceshare.VGPUEnable: true"
            }
        }
    }

    /// Compiles.
    pub fn new(settings: &Settings, config: &DeviceConfig) -> Self {
        let nvidia = match shares_gpus(settings) && !settings.vgpu {
            // The section is about HAMi's plugin.
            true => Arc::default(),
            false => config.section::<NvidiaConfig>(),
        };
        let scaled = (100.0 * nvidia.core_scaling).floor();
        Self {
            nvidia: nvidia.as_ref().clone(),
            factor: nvidia.memory_factor.max(1),
            // Less than a card is no capacity anybody asks for (spec/04 R14).
            cores: if scaled > 100.0 { scaled as u32 } else { 100 },
            tables: nvidia.geometries.iter().map(PartitionTable::new).collect(),
            configured: settings.configured,
            enabled: settings.configured && settings.vgpu,
            policy: settings.policy,
            protocol: BindProtocol::of(settings, LOCK),
        }
    }

    /// Memory in MiB for units of memory.
    pub fn mib(&self, units: i64) -> i64 {
        units.saturating_mul(self.factor)
    }
}
