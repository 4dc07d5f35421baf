//! Fingerprints of what a waiting pod would be told, without making the text.

use pumice_framework::session::Unplaced;
use pumice_framework::{FitError, JobNote, ReasonTable, Refusal, Skip};
use pumice_model::{JobIx, NodeIx, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::Engine;
use crate::gist::{gist, hash_of};
use crate::never::held_by_queue;

/// Two prints of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Print {
    /// Differs when the message differs in more than numbers and node names.
    pub headline: u64,
    /// Differs when the message differs.
    pub data: u64,
}

impl Print {
    /// Of a text.
    pub(super) fn of_text(text: &str) -> Self {
        Self {
            headline: gist(text),
            data: hash_of(text),
        }
    }

    /// Of a refusal.
    pub(super) fn of_refusal(refusal: &Refusal) -> Self {
        Self {
            headline: refusal.gist(),
            data: hash_of(refusal),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            headline: hash_of((self.headline, other.headline)),
            data: hash_of((self.data, other.data)),
        }
    }
}

/// Marks of the kinds of messages.
mod kind {
    pub const HELD: u64 = 1;
    pub const SKIPPED: u64 = 2;
    pub const PLACE: u64 = 3;
    pub const NO_NODE: u64 = 4;
    pub const ROLE_FAILED: u64 = 5;
    pub const GROUP: u64 = 6;
    pub const UNSERVED: u64 = 7;
    pub const NEVER: u64 = 8;
}

/// What the tasks of one job share.
pub struct JobPrint<'a> {
    note: Option<&'a JobNote>,
    unplaced: FxHashMap<TaskIx, &'a Unplaced>,
    group: Option<Print>,
}

impl Engine {
    /// Prepares the prints of a job's tasks.
    pub(super) fn job_print(&self, ix: JobIx) -> JobPrint<'_> {
        let note = self.notes.get(&ix);
        let noted = note.iter().flat_map(|note| note.unplaced.iter().rev());
        JobPrint {
            note,
            // The first note on a task counts.
            unplaced: noted.map(|(task, why)| (*task, why)).collect(),
            group: None,
        }
    }

    /// The print of what [`Engine::why_pending`] says of a waiting, ungated task.
    pub(super) fn print(&self, ix: TaskIx, job: JobIx, shared: &mut JobPrint<'_>) -> Print {
        let task = self.state.task(ix);
        if let (TaskStatus::Allocated | TaskStatus::Pipelined, Some(node)) =
            (task.status, task.node)
        {
            return self.print_of_place(task.status, node);
        }
        if let Some(print) = self.print_of_wait(ix) {
            return print;
        }
        if let Some(hold) = self.state.hold(ix) {
            return Print {
                headline: hash_of((kind::HELD, &hold.message)),
                data: hash_of((kind::HELD, &hold.message, hold.until_s)),
            };
        }
        if let Some(why) = self
            .unserved(ix)
            .filter(|_| !shared.unplaced.contains_key(&ix))
        {
            let data = hash_of((kind::UNSERVED, why));
            return Print {
                headline: data,
                data,
            };
        }
        let untried = !shared.unplaced.contains_key(&ix);
        let no_nodes = self.state.nodes.is_empty();
        if untried && shared.note.is_some_and(held_by_queue) && (no_nodes || self.never_fits(ix)) {
            return Print {
                headline: hash_of((kind::NEVER, no_nodes)),
                data: hash_of((kind::NEVER, self.state.nodes.static_epoch())),
            };
        }
        if let Some(skip) = shared.note.and_then(|note| note.skip.as_ref()) {
            return self.print_of_skip(job, skip);
        }
        let discarded = shared.note.and_then(|note| note.discarded.get(&ix));
        if let Some((status, node)) = discarded {
            return self.print_of_place(*status, *node);
        }
        match shared.unplaced.get(&ix) {
            Some(Unplaced::NoNode(error)) => self.print_of_error(error),
            Some(Unplaced::RoleFailed) => {
                let never = self.exceeds_nodes(ix);
                let epoch = self.state.nodes.static_epoch();
                Print {
                    headline: hash_of((kind::ROLE_FAILED, never)),
                    data: hash_of((kind::ROLE_FAILED, never.then_some(epoch))),
                }
            }
            None => *shared
                .group
                .get_or_insert_with(|| Print::of_text(&self.untried_text(job)).and(GROUP)),
        }
    }

    fn print_of_place(&self, status: TaskStatus, node: NodeIx) -> Print {
        let nodes = self.state.nodes.static_epoch();
        Print {
            headline: hash_of((kind::PLACE, status as u8)),
            data: hash_of((kind::PLACE, status as u8, node, nodes)),
        }
    }

    fn print_of_skip(&self, job: JobIx, skip: &Skip) -> Print {
        let text = match skip {
            Skip::Unserved(why) => Print::of_text(why),
            Skip::NotEnqueued(refusal) => Print::of_refusal(refusal),
            Skip::Invalid(invalid) => Print::of_text(&invalid.message),
            // The nearest name is told too.
            Skip::NoQueue => Print {
                headline: 0,
                data: self.state.queues_epoch(),
            },
            Skip::Overused(overruns) => Print {
                headline: 0,
                data: hash_of(overruns),
            },
            _ => Print::default(),
        };
        let which = hash_of((
            kind::SKIPPED,
            std::mem::discriminant(skip),
            self.state.job(job).queue_name,
        ));
        text.and(Print {
            headline: which,
            data: which,
        })
    }

    fn print_of_error(&self, error: &FitError) -> Print {
        let nearest = error.nearest.as_ref();
        let epoch = self.state.nodes.static_epoch();
        let nearest = nearest.map(|miss| (miss.node, &miss.short, &miss.devices, epoch));
        // Reasons are numbered by each configuration for itself.
        let reasons = reasons_of(error, &self.kernel.reasons);
        let which = (kind::NO_NODE, self.configurations);
        let headline = hash_of((which, reasons, &error.everywhere, error.never));
        Print {
            headline,
            data: hash_of((headline, error.nodes, &error.counts, nearest)),
        }
    }
}

const GROUP: Print = Print {
    headline: kind::GROUP,
    data: kind::GROUP,
};

/// Hash of the reasons some node has, whatever their order.
fn reasons_of(error: &FitError, table: &ReasonTable) -> u64 {
    let sets = error.counts.iter().filter(|(_, count)| *count > 0);
    let mut reasons: Vec<u16> = sets
        .flat_map(|(set, _)| table.members(*set))
        .map(|reason| reason.0)
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    hash_of(reasons)
}
