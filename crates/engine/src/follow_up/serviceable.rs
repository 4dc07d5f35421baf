//! Which devices could ever be had, as far as somebody had to know.

use pumice_devices::LedgerTime;
use pumice_model::{DeviceRequestIx, JobIx, State, TaskIx};
use rustc_hash::FxHashMap;

use super::notes::{Notes, held_by_queue};

/// Whether nodes could ever serve what is asked of devices, by the serial of the demand.
#[derive(Default)]
pub(crate) struct Serviceable {
    epoch: u64,
    known: FxHashMap<u64, bool>,
}

impl Serviceable {
    /// Finds out which devices asked by the pods of a job could never be had. Only of pods nobody
    /// tries to place: the others' nodes were looked at.
    pub fn judge(&mut self, state: &State, notes: &Notes, ix: JobIx) {
        if !state.population().has_job(ix) || !notes.get(&ix).is_some_and(held_by_queue) {
            return;
        }
        let epoch = state.nodes().static_epoch();
        if self.epoch != epoch {
            self.epoch = epoch;
            self.known.clear();
        }
        for task in &state.job(ix).tasks {
            let demand = state.task(*task).demand;
            if demand == DeviceRequestIx::NONE
                || state.supplies().devices().demand(demand).parts.is_empty()
            {
                continue;
            }
            let serial = state.supplies().devices().serial(demand);
            self.known.entry(serial).or_insert_with(|| {
                let demand = state.supplies().devices().demand(demand);
                let mut nodes = state.nodes().devices.iter();
                nodes.any(|devices| demand.fit(devices, LedgerTime::Idle).is_ok())
            });
        }
    }

    /// No node could ever serve what the pod asks of devices.
    pub fn is_hopeless(&self, state: &State, ix: TaskIx) -> bool {
        let demand = state.task(ix).demand;
        if demand == DeviceRequestIx::NONE || self.epoch != state.nodes().static_epoch() {
            return false;
        }
        let serial = state.supplies().devices().serial(demand);
        self.known.get(&serial) == Some(&false)
    }
}
