//! ConfigMaps that tell of the devices of nodes, and that cannot be read: whoever asks such devices waits
//! for them, whatever else there is to say.

use pumice_model::TaskIx;

use crate::Engine;

/// What cannot be read, and the right that is missing.
#[derive(Default)]
pub(crate) struct UnreadReports {
    told: Vec<String>,
    /// Moves on with every change.
    pub(crate) epoch: u64,
}

impl Engine {
    /// The ConfigMaps about nodes that cannot be read at this moment, and why: as pods are told it that
    /// ask what they tell of. Returns whether that is news.
    pub fn set_unread_reports(&mut self, told: Vec<String>) -> bool {
        if self.unread_reports.told == told {
            return false;
        }
        self.unread_reports.told = told;
        self.unread_reports.epoch += 1;
        self.notes
            .keys()
            .for_each(|ix| self.report_log.look_at(*ix));
        true
    }

    /// What cannot be read of the devices that a pod asks.
    pub(crate) fn unread_of(&self, ix: TaskIx) -> Option<String> {
        let told = &self.unread_reports.told;
        if told.is_empty() {
            return None;
        }
        let devices = self.state.devices();
        let parts = &devices.demand(self.state.task(ix).demand).parts;
        let families = devices.families();
        let reads = parts
            .iter()
            .any(|(family, _)| families.reads_reports(*family));
        reads.then(|| told.join("; "))
    }
}
