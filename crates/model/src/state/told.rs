//! What pods on nodes were seen to ask of devices, and to have of them, whatever is written later.

use pumice_devices::PodFacts;

use super::State;
use crate::ix::TaskIx;
use crate::task::{Task, TaskStatus};

impl State {
    /// What a pod on its node asked of devices, and what it was told to have, stays so until it is gone: its
    /// annotations and labels are its user's to change, and move nothing. How far its device plugin is it may tell
    /// once.
    pub(super) fn keep_told(&mut self, ix: TaskIx, task: &mut Task) {
        let old = self.task(ix);
        let Some(told) = &old.records else {
            return;
        };
        let stays = (old.node, old.lost_node) == (task.node, task.lost_node);
        let is_seen = !old.status.is_undecided() && old.status != TaskStatus::Binding;
        let is_known = old
            .holding
            .as_ref()
            .is_none_or(|holding| holding.is_certain());
        if !(stays && is_seen && is_known) {
            return;
        }
        let mut told = told.as_ref().clone();
        for (key, value) in task.records.iter().flat_map(|records| records.iter()) {
            if !pumice_devices::families::goes_on(key) || value.is_empty() {
                continue;
            }
            match told.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) if known.is_empty() => known.clone_from(value),
                Some(_) => {}
                None => told.push((key.clone(), value.clone())),
            }
        }
        told.sort();
        task.records = Some(Box::new(told));
        let (asked, now) = (
            self.devices.facts(old.demand),
            self.devices.facts(task.demand),
        );
        if (&asked.annotations, &asked.labels) != (&now.annotations, &now.labels) {
            let facts = PodFacts {
                containers: now.containers.clone(),
                ..asked.clone()
            };
            let (tags, new) = (self.tags(task), task.demand);
            task.demand = self.devices.acquire(&facts, tags, &mut self.resources);
            self.devices.release(new);
        }
    }
}
