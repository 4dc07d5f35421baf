//! Queues that were deleted while they were in use: pods that run go on, and their owners are told.

use std::collections::BTreeMap;

use pumice_model::JobIx;

use super::{GroupEvent, Reports};
use crate::report::teller::Teller;

/// Most deleted queues that wait to be told: a replica that stands by tells of none.
const MAX_LOST: usize = 1000;

/// Queues that are gone, and when that is told: a moment later they may be there again.
#[derive(Default)]
pub struct LostQueues(BTreeMap<String, i64>);

impl LostQueues {
    /// A queue is gone; told at `at_s` unless it is there again by then.
    pub fn gone(&mut self, name: &str, at_s: i64) {
        if self.0.len() < MAX_LOST {
            self.0.insert(name.to_owned(), at_s);
        }
    }

    /// When the first is to be told.
    pub fn due_s(&self) -> Option<i64> {
        self.0.values().copied().min()
    }

    fn take_due(&mut self, now_s: i64) -> Vec<String> {
        let due = self.0.iter().filter(|(_, at_s)| **at_s <= now_s);
        let due: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        due.iter().for_each(|name| {
            self.0.remove(name);
        });
        due
    }
}

impl Teller<'_> {
    /// Tells of queues that stayed away: of each once.
    pub(super) fn report_lost_queues(
        &self,
        lost: &mut LostQueues,
        now_s: i64,
        reports: &mut Reports,
    ) {
        for name in lost.take_due(now_s) {
            let users = match self.state.population().queue_by_name(&name) {
                None => self.running_groups_of(&name),
                Some(_) => continue,
            };
            if users.is_empty() {
                continue;
            }
            reports.lost_queues.push((name.clone(), users.len()));
            reports
                .events
                .extend(users.into_iter().map(|job| GroupEvent {
                job,
                warning: true,
                reason: "QueueDeleted",
                message: format!(
                    "queue \"{name}\" was deleted: pods on nodes go on, no other pod of this group \
                     is placed until there is a queue of that name again"
                ),
            }));
        }
    }

    /// Jobs with a PodGroup and pods on nodes that name a queue, by index.
    fn running_groups_of(&self, queue: &str) -> Vec<JobIx> {
        let Some(queue) = self.state.names().get(queue) else {
            return Vec::new();
        };
        let uses = |(_, job): &(JobIx, &pumice_model::Job)| {
            job.queue_name == queue && job.group().is_some() && job.scheduled() > 0
        };
        let mut users: Vec<JobIx> = self
            .state
            .population()
            .jobs()
            .filter(uses)
            .map(|(ix, _)| ix)
            .collect();
        users.sort_unstable();
        users
    }
}
