//! What would have to change for a pod or a job to be placed, from what the last cycle noted.

use pumice_framework::{Bound, JobNote, Overrun, Refusal, Skip, Unplaced};
use pumice_model::object::{Gates, NATIVE_GROUP};
use pumice_model::resource::AmountUnit;
use pumice_model::{JobIx, TaskIx, TaskStatus};

use crate::view::remedies::Remedies;

/// What to do about a request that no node whatever can serve: why says what to write.
const NOT_AS_IT_IS: &str =
    "what the reason says has to be mended: as it is no node can serve the pod";

impl Remedies<'_> {
    /// For a job: for its gang, then for the pod that was tried first.
    pub(super) fn changes_for_job(&self, ix: JobIx) -> Vec<String> {
        if self.pages().why_waiting(ix).is_none() {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let note = self.notes.get(&ix);
        if let Some(skip) = note.and_then(|note| note.skip.as_ref()) {
            self.change_for_skip(ix, skip, &mut changes);
            return changes;
        }
        let tried = note.and_then(|note| note.unplaced.first());
        let tried = tried.map(|(task, _)| *task);
        let known = tried.filter(|task| self.state.population().find_task(*task).is_some());
        let first = known.or_else(|| self.pages().first_pods(ix).first().copied());
        if let Some(task) = first {
            changes = self.changes_for_pod(task);
        } else if let Some(refusal) = note.and_then(|note| note.refusal.as_ref()) {
            self.changes_for_refusal(ix, refusal, &mut changes);
        }
        changes
    }

    /// For a pod that waits.
    pub(super) fn changes_for_pod(&self, ix: TaskIx) -> Vec<String> {
        let mut changes = Vec::new();
        let task = self.state.task(ix);
        let Some(job) = task.job else { return changes };
        if let Some(hold) = self.state.population().holds().get(ix) {
            let seconds = hold.until_s.saturating_sub(self.now_s).max(0);
            changes.push(format!("nothing: it is tried again in {seconds} s"));
            return changes;
        }
        let note = self.notes.get(&job);
        let skip = note.and_then(|note| note.skip.as_ref());
        if self.unserved(ix).is_some() {
            changes.push(NOT_AS_IT_IS.to_owned());
            return changes;
        }
        // Whatever its queue says.
        let only_queue = skip.is_none_or(Skip::is_of_queue);
        if let Some(excess) = self.wording().excess(ix).filter(|_| only_queue) {
            changes.push(format!(
                "a larger node has to come, or the pod to ask less: {excess}"
            ));
            return changes;
        }
        if let Some(skip) = skip {
            self.change_for_skip(job, skip, &mut changes);
            return changes;
        }
        if task.gates != Gates::None {
            changes.push("its scheduling gates have to be removed".to_owned());
            return changes;
        }
        if let Some(note) = note {
            self.changes_noted(ix, job, note, &mut changes);
        }
        changes
    }

    fn changes_noted(&self, ix: TaskIx, job: JobIx, note: &JobNote, changes: &mut Vec<String>) {
        let unplaced = note.unplaced.iter().find(|(task, _)| *task == ix);
        // Others of the gang stand in its way, or it was not reached.
        let first = note.unplaced.first();
        let noted = unplaced.or(first);
        if let Some((_, Unplaced::NoNode(error))) = noted {
            let task = unplaced.or(first).map_or(ix, |(task, _)| *task);
            let task = self.state.population().find_task(task).map_or(ix, |_| task);
            self.changes_for_nodes(task, error, changes);
        }
        if let Some(refusal) = &note.refusal {
            self.changes_for_refusal(job, refusal, changes);
        }
        self.change_for_gang(job, changes);
    }

    fn change_for_skip(&self, ix: JobIx, skip: &Skip, changes: &mut Vec<String>) {
        let key = self.state.population().job_key(ix);
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        match skip {
            Skip::NoGroup if self.state.job(ix).name.starts_with(NATIVE_GROUP) => {
                let name = self.state.job(ix).name.trim_start_matches(NATIVE_GROUP);
                changes.push(format!(
                    "PodGroup {name} of scheduling.k8s.io has to be created and served, or the pods made \
                     anew without spec.schedulingGroup"
                ));
            }
            Skip::NoGroup => changes.push(format!(
                "PodGroup {key} has to be created, or the pod's annotation \
                 scheduling.k8s.io/group-name removed"
            )),
            Skip::NoQueue => changes.push(format!(
                "queue {queue} has to be created, or another one named"
            )),
            Skip::NotEnqueued(refusal) => self.changes_for_refusal(ix, refusal, changes),
            Skip::Overused(overruns) => {
                let of = overruns.iter().filter(|overrun| overrun.asked > 0);
                changes.extend(of.map(|overrun| self.change_for_overrun(ix, overrun)));
            }
            Skip::Unserved(_) => changes.push(NOT_AS_IT_IS.to_owned()),
            Skip::Postponed => changes.push("nothing: it goes on in the next cycle".to_owned()),
            Skip::Invalid(_) => {
                let job = self.state.job(ix);
                let missing = job.min_available - job.valid();
                if missing > 0 {
                    changes.push(format!(
                        "{} of the gang {} to be created (it needs {}, there are {}), or {} lowered",
                        more_pods(missing),
                        if missing == 1 { "has" } else { "have" },
                        job.min_available,
                        job.valid().max(0),
                        job.minimum_field()
                    ));
                }
            }
            // Their texts say it.
            _ => {}
        }
    }

    fn changes_for_refusal(&self, ix: JobIx, refusal: &Refusal, changes: &mut Vec<String>) {
        let overruns = refusal.overruns().iter();
        changes.extend(overruns.map(|overrun| self.change_for_overrun(ix, overrun)));
        if let Refusal::NotOpen(_) = refusal {
            let queue = self.state.names().text(self.state.job(ix).queue_name);
            changes.push(format!(
                "queue {queue} has to be opened, or another one named"
            ));
        }
    }

    /// What of one limit stands in the way.
    fn change_for_overrun(&self, ix: JobIx, overrun: &Overrun) -> String {
        let above = overrun
            .above
            .and_then(|queue| self.state.population().queues().find(queue));
        let queue = match above {
            Some(above) => above.object.name.as_str(),
            None => self.state.names().text(self.state.job(ix).queue_name),
        };
        let name = self
            .state
            .ground()
            .name_for_job(self.state.population(), ix, overrun.resource);
        let taken = overrun.used.saturating_add(overrun.reserved);
        let missing = taken.saturating_add(overrun.asked);
        let missing = missing.saturating_sub(overrun.limit).max(0);
        let mut told = overrun.told_amounts().to_vec();
        if !overrun.is_for_ever() {
            told.push(missing);
        }
        let unit = AmountUnit::of(name, &told);
        let show = |amount: i64| unit.show(amount);
        let (limit, total) = (show(overrun.limit), show(overrun.total));
        let asked = show(overrun.asked);
        if overrun.is_for_ever() {
            return match overrun.bound {
                Bound::Capability if overrun.asked > overrun.limit => format!(
                    "spec.capability of queue {queue} has to be raised, or less {name} be asked \
                     (limit {limit}, asked {asked})"
                ),
                _ => format!(
                    "the cluster has to grow, or less {name} be asked ({total} in all, asked {asked})"
                ),
            };
        }
        let missing = show(missing);
        let sum = match overrun.reserved {
            0 => format!("held {}, asked {asked}", show(overrun.used)),
            reserved => format!(
                "held {}, reserved for admitted jobs {}, asked {asked}",
                show(overrun.used),
                show(reserved)
            ),
        };
        match overrun.bound {
            Bound::Capability => format!(
                "queue {queue} has to give back {missing} {name}, or its spec.capability be raised \
                 (limit {limit}, {sum})"
            ),
            Bound::Guarantees => format!(
                "queue {queue} has to give back {missing} {name}, or guarantees of other queues be \
                 lowered (they leave {limit}, {sum})"
            ),
            Bound::Deserved => format!(
                "queue {queue} has to give back {missing} {name}, or to deserve more by a larger \
                 weight or cluster (deserved {limit} of {total}, {sum})"
            ),
            Bound::Cluster => format!(
                "{missing} {name} has to become free in the cluster ({total} in all, {sum})"
            ),
        }
    }

    /// How many pods of the gang still lack a place.
    fn change_for_gang(&self, ix: JobIx, changes: &mut Vec<String>) {
        let job = self.state.job(ix);
        let short = self.short_of(ix);
        let could = self.notes.get(&ix).map_or(0, |note| note.discarded.len());
        if job.min_available > 1 && short > 0 && self.plugins.has_gangs() {
            let releasing = job.count(TaskStatus::Pipelined);
            let mut text = format!(
                "{} of its gang {} to find a place at the same time (it needs {}, {} hold one",
                more_pods(short),
                if short == 1 { "has" } else { "have" },
                job.min_available,
                job.ready()
            );
            if could > 0 {
                text.push_str(&format!(", {could} could have one"));
            }
            if releasing > 0 {
                text.push_str(&format!(", {releasing} wait for pods that are ending"));
            }
            text.push(')');
            changes.push(text);
        }
    }
}

/// `1 more pod`, `2 more pods`.
fn more_pods(count: i32) -> String {
    match count {
        1 => "1 more pod".to_owned(),
        _ => format!("{count} more pods"),
    }
}
