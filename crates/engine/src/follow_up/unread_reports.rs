//! ConfigMaps that tell of the devices of nodes, and that cannot be read: whoever asks such devices waits
//! for them, whatever else there is to say.

use pumice_model::{State, TaskIx};

/// What cannot be read, and the right that is missing.
#[derive(Clone, Default)]
pub(crate) struct UnreadReports {
    told: Vec<String>,
    /// Moves on with every change.
    pub(crate) epoch: u64,
}

impl UnreadReports {
    /// What cannot be read now. Returns whether that is news.
    pub fn set(&mut self, told: Vec<String>) -> bool {
        let is_news = self.told != told;
        if is_news {
            self.told = told;
            self.epoch += 1;
        }
        is_news
    }

    /// What cannot be read of the devices that a pod asks.
    pub fn of(&self, state: &State, ix: TaskIx) -> Option<String> {
        if self.told.is_empty() {
            return None;
        }
        let devices = state.supplies().devices();
        let parts = &devices.demand(state.task(ix).demand).parts;
        let families = devices.families();
        let reads = parts
            .iter()
            .any(|(family, _)| families.reads_reports(*family));
        reads.then(|| self.told.join("; "))
    }
}
