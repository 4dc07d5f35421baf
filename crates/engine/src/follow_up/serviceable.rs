//! Which devices could ever be had, as far as somebody had to know.

use pumice_devices::LedgerTime;
use pumice_model::{DeviceRequestIx, JobIx, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use super::notes::{Notes, held_by_queue};

/// Whether nodes could ever serve what is asked of devices, by the serial of the demand.
#[derive(Clone, Default)]
pub(crate) struct Serviceable {
    epoch: u64,
    known: KnownDemands,
}

/// Fewer answers are not worth looking through.
const MIN_KNOWN: usize = 1024;

/// Answers by serial, of about twice as many demands as there are at most: pods of a full queue come and go with demands
/// of their own while nodes stay as they are.
#[derive(Clone, Default)]
struct KnownDemands {
    served: FxHashMap<u64, bool>,
    /// Answers that were left when it was last looked which demands are gone.
    left: usize,
}

impl KnownDemands {
    /// Makes sure that there is an answer. `in_use`: the demands there are.
    fn find_out<I: Iterator<Item = u64>>(
        &mut self,
        serial: u64,
        in_use: impl FnOnce() -> I,
        look: impl FnOnce() -> bool,
    ) {
        if self.served.contains_key(&serial) {
            return;
        }
        if self.served.len() >= 2 * self.left.max(MIN_KNOWN) {
            let in_use: FxHashSet<u64> = in_use().collect();
            self.served.retain(|serial, _| in_use.contains(serial));
            self.served.shrink_to(2 * MIN_KNOWN);
            self.left = self.served.len();
        }
        self.served.insert(serial, look());
    }
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
            self.known = KnownDemands::default();
        }
        for task in &state.job(ix).tasks {
            let demand = state.task(*task).demand;
            if demand == DeviceRequestIx::NONE
                || state.supplies().devices().demand(demand).parts.is_empty()
            {
                continue;
            }
            let serial = state.supplies().devices().serial(demand);
            let look = || {
                let demand = state.supplies().devices().demand(demand);
                let mut nodes = state.nodes().devices.iter();
                nodes.any(|devices| demand.fit(devices, LedgerTime::Idle).is_ok())
            };
            let in_use = || state.supplies().devices().serials_in_use();
            self.known.find_out(serial, in_use, look);
        }
    }

    /// No node could ever serve what the pod asks of devices.
    pub fn is_hopeless(&self, state: &State, ix: TaskIx) -> bool {
        let demand = state.task(ix).demand;
        if demand == DeviceRequestIx::NONE || self.epoch != state.nodes().static_epoch() {
            return false;
        }
        let serial = state.supplies().devices().serial(demand);
        self.known.served.get(&serial) == Some(&false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_that_come_and_go_leave_no_more_behind_than_there_are_and_none_that_is_there_is_forgotten()
     {
        let mut known = KnownDemands::default();
        for stay in [10, 5000] {
            let mut most = 0;
            for serial in 0..50_000_u64 {
                let in_use = || (0..stay).chain(serial..=serial);
                known.find_out(serial, in_use, || serial % 2 == 0);
                most = most.max(known.served.len());
            }
            let stay = usize::try_from(stay).expect("small");
            assert!(most <= 2 * (stay + 1).max(MIN_KNOWN) + 1, "{most}");
            for serial in 0..stay as u64 {
                assert_eq!(known.served.get(&serial), Some(&(serial % 2 == 0)));
            }
            assert!(known.served.capacity() <= 4 * stay.max(2 * MIN_KNOWN));
            known = KnownDemands::default();
        }
    }
}
