//! What pods ask, in words: resources of nodes, and amounts of devices that only their annotations tell of.

use std::collections::BTreeMap;

use pumice_model::resource::display_amount;
use pumice_model::{ResVec, TaskIx};

use super::shape::{Quantities, quantities};
use crate::view::pages::Pages;

impl Pages<'_> {
    /// What these pods ask, whose resources sum up to `sum`.
    pub(super) fn asks(&self, sum: &ResVec, pods: impl Iterator<Item = TaskIx>) -> Quantities {
        let devices = self.state.supplies().devices();
        let mut written: BTreeMap<&str, i64> = BTreeMap::new();
        for task in pods {
            for (name, amount) in devices.written_amounts(self.state.task(task).demand) {
                let all = written.entry(name).or_insert(0);
                *all = all.saturating_add(amount);
            }
        }
        let mut asks = quantities(self.state, sum);
        for (name, amount) in written.into_iter().filter(|(_, amount)| *amount > 0) {
            asks.entry(name.to_owned())
                .or_insert_with(|| display_amount(name, amount));
        }
        asks
    }
}
