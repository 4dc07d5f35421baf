//! What the ledger remembers of a vNPU besides what it takes.

use crate::ledger::Partition;

use super::template::VnpuTemplate;

/// The plugin has not made the vNPU yet.
const IN_FLIGHT: u16 = u16::MAX - 1;
/// The plugin has made it, and does not tell in which group.
const NO_GROUP: u16 = u16::MAX - 2;

/// How far the device plugin is with a vNPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VnpuProgress {
    /// It has not made it yet.
    InFlight,
    /// It has, in this group of the chip (vGroup), if it tells one.
    Made(Option<u16>),
}

/// A vNPU on a chip. It stands in the ledger as a [`Partition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VnpuMark {
    /// Template that says how much of the chip the vNPU has.
    pub template: VnpuTemplate,
    /// How far it is.
    pub progress: VnpuProgress,
}

impl VnpuMark {
    /// As an entry of the ledger has it.
    pub fn partition(self) -> Partition {
        let group = match self.progress {
            VnpuProgress::InFlight => IN_FLIGHT,
            VnpuProgress::Made(None) => NO_GROUP,
            VnpuProgress::Made(Some(group)) => group.min(NO_GROUP - 1),
        };
        Partition {
            group,
            position: self.template.code(),
        }
    }

    /// The plugin could take a pod that asks for a vNPU of the other template for the one of this.
    pub fn is_mistakable_for(self, other: VnpuTemplate) -> bool {
        self.progress == VnpuProgress::InFlight
            && self.template != other
            && self.template.part().cores == other.part().cores
    }

    /// What an entry of the ledger says; `None` for what is no vNPU.
    pub fn of(partition: Option<Partition>) -> Option<Self> {
        let partition = partition?;
        Some(Self {
            template: VnpuTemplate::coded(partition.position)?,
            progress: match partition.group {
                IN_FLIGHT => VnpuProgress::InFlight,
                NO_GROUP => VnpuProgress::Made(None),
                group => VnpuProgress::Made(Some(group)),
            },
        })
    }
}
