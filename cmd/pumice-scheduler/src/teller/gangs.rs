//! Gangs that are bound in part: how long they may stay so.
//!
//! A gang becomes partial when some of its Bindings are refused, or when a scheduler ends in the
//! middle. The engine completes it before other jobs of its queue. What is still partial after the
//! deadline, and never ran as a whole, is given up: its bound pods are deleted, so that they no
//! longer hold resources others could use; their controller makes them anew and the gang starts
//! over. Pods without a controller are left, since nobody would make them again.

use std::time::Duration;

use pumice_cluster::effects::Write;
use pumice_engine::Engine;
use pumice_model::{JobIx, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Teller, group_ref, pod_ref};

/// Seconds after which a gang that was given up and still is partial is given up again.
const AGAIN_S: i64 = 60;

/// Partial gangs and their deadline.
pub struct Deadlines {
    after_s: i64,
    /// Seen as partial before.
    known: FxHashSet<JobIx>,
    /// When those were given up that have not ended since.
    given_up_s: FxHashMap<JobIx, i64>,
    next_s: Option<i64>,
}

impl Deadlines {
    /// Gives up after that long; zero never gives up.
    pub fn new(after: Duration) -> Self {
        Self {
            after_s: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            known: FxHashSet::default(),
            given_up_s: FxHashMap::default(),
            next_s: None,
        }
    }

    /// When the next deadline is over.
    pub fn due_s(&self) -> Option<i64> {
        self.next_s
    }
}

impl Teller {
    /// Counts partial gangs and gives up those past their deadline.
    pub(super) fn give_up_gangs(&mut self, engine: &Engine, now_s: i64) {
        let partial = engine.partial_gangs();
        self.metrics.gangs_partial(partial.len());
        let now_known: FxHashSet<JobIx> = partial.iter().map(|(job, _)| *job).collect();
        for _ in now_known.difference(&self.gangs.known) {
            self.metrics.gang_became_partial();
        }
        self.gangs
            .given_up_s
            .retain(|job, _| now_known.contains(job));
        self.gangs.known = now_known;
        self.gangs.next_s = None;
        if self.gangs.after_s == 0 {
            return;
        }
        for (job, since_s) in partial {
            // A gang that ran as a whole has lost members: its other pods are left to run.
            if engine.may_have_run(job) {
                continue;
            }
            let given_up_s = self.gangs.given_up_s.get(&job);
            let mut due_s = match given_up_s {
                Some(at_s) => at_s + AGAIN_S,
                None => since_s.saturating_add(self.gangs.after_s),
            };
            if due_s <= now_s {
                self.give_up(engine, job);
                self.gangs.given_up_s.insert(job, now_s);
                due_s = now_s + AGAIN_S;
            }
            let next_s = self.gangs.next_s.map_or(due_s, |next_s| next_s.min(due_s));
            self.gangs.next_s = Some(next_s);
        }
    }

    fn give_up(&mut self, engine: &Engine, job: JobIx) {
        let state = engine.state();
        let bound: Vec<_> = state
            .job(job)
            .tasks
            .iter()
            .copied()
            .filter(|task| {
                let task = state.task(*task);
                matches!(task.status, TaskStatus::Bound | TaskStatus::Running)
                    && !task.owners.is_empty()
            })
            .collect();
        if bound.is_empty() {
            return;
        }
        let (group, count) = (group_ref(engine, job), bound.len());
        tracing::warn!(
            "gang {} is given up: {count} bound pods",
            state.job_key(job)
        );
        if let Some(about) = group.clone() {
            let needed = state.job(job).min_available;
            self.write(Write::Event {
                about,
                warning: true,
                reason: "GangGivenUp".to_owned(),
                message: format!(
                    "only {count} of at least {needed} pods could be bound in time; they are deleted \
                     so that the gang can start over"
                ),
            });
        }
        for task in bound {
            self.write(Write::Evict {
                pod: pod_ref(engine, task),
                reason: "gang given up".to_owned(),
                group: group.clone(),
            });
        }
    }
}
