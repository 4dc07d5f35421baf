//! Who may be evicted for whom (spec/07 §3), and who is to go for nobody's sake (spec/07 §10). Actions that evict ask once a preemptor and set of
//! candidates, within the transaction, and keep no answer. Within a tier the answers are intersected; the
//! first tier that names victims decides, and so does one in which a protecting plugin answered; vetoes
//! count whatever decides (`tiers::victims`).

use pumice_model::{QueueIx, State, TaskIx};

use crate::refusal::{Overruns, Refusal};
use crate::tiers::{VictimAnswer, Weight};

/// Why tasks would be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// For another job of the same queue: points of `enablePreemptable`.
    Preempt,
    /// For another task of the same job: points of `enablePreemptable`.
    WithinJob,
    /// For another queue: points of `enableReclaimable`.
    Reclaim,
}

/// Why a plugin keeps pods, as it is told to those for whom they would have gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhyKept {
    /// For this reason, as it is said of one pod and of several: `within its cool-down`, `within their cool-down`.
    Said {
        /// What is said of one pod.
        one: &'static str,
        /// What is said of several pods.
        many: &'static str,
    },
    /// Gangs need them. Who sees to it: a plugin, by name, or the action itself.
    ByGang(Option<&'static str>),
    /// Budgets do not let them go.
    ByBudget,
    /// This plugin does not allow it, and does not say why.
    ByPlugin(&'static str),
}

/// Chooses victims.
pub trait Victims {
    /// Why it keeps pods, if it has words of its own for it.
    fn why_kept(&self) -> Option<WhyKept> {
        None
    }

    /// It has a word on whom pods go for; otherwise it is not asked, as if it were not there.
    fn speaks(&self, _purpose: Purpose) -> bool {
        true
    }

    /// Those of `candidates`, given cheapest first, that may go for `preemptor`, all at once or any of
    /// them. Running totals start from the state, in which the preemptor waits.
    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx>;

    /// Those of `candidates` that may go for a gang that is placed as a whole: for all of these tasks,
    /// which wait, together. Who does not count what a preemptor asks looks at the first one.
    fn victims_for_gang(
        &self,
        state: &State,
        purpose: Purpose,
        gang: &[TaskIx],
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        match gang.first() {
            Some(first) => self.victims(state, purpose, *first, candidates),
            None => VictimAnswer::abstains(),
        }
    }

    /// Those of `candidates`, given cheapest first, that it does not protect whoever they go for, and be it
    /// nobody: all of them at once or any. `None`: it protects nobody by itself.
    fn unprotected(&self, _state: &State, _candidates: &[TaskIx]) -> Option<Vec<TaskIx>> {
        None
    }

    /// It only sees to it that jobs keep their minimum. Actions that take gangs as a whole do so
    /// themselves, and do not ask.
    fn keeps_minimum(&self) -> bool {
        false
    }

    /// Whether answers depend on the preemptor's job by more than queue and priority.
    fn depends_on_job(&self) -> bool {
        false
    }

    /// A candidate is never named for any preemptor of the same queue and job priority, as long as no pod
    /// of the candidate's job (of its queue, in reclaim) gains a place; and what such an answer weighs: `Opinion`
    /// only where its tier may leave the decision to the next one. It saves asking; `None` promises nothing.
    fn never(
        &self,
        _state: &State,
        _purpose: Purpose,
        _preemptor: TaskIx,
        _candidate: TaskIx,
    ) -> Option<Weight> {
        None
    }
}

/// Names pods that are to be evicted for nobody's sake, for action `shuffle` (spec/07 §10). The union of
/// a tier; the first tier that names any decides. Asked once a cycle at most; no answer is kept.
pub trait VictimTasks {
    /// Whether it names anybody in this cycle at all: looking for those that run is saved otherwise.
    fn is_due(&self) -> bool;

    /// Whom of `candidates`, running pods that may go, cheapest first.
    fn victim_tasks(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx>;
}

/// Whether a queue may have others give up something (Preemptive); all must agree.
pub trait Reclaimer {
    /// The queue may reclaim for tasks that wait, which are to be placed together (spec/07 §4): for what of
    /// their requests it still deserves. Of the resources that are given back it has what it deserves:
    /// nobody goes for these, so they have to be idle where the tasks are placed.
    ///
    /// # Errors
    /// Why not.
    fn may_reclaim(
        &self,
        state: &State,
        queue: QueueIx,
        tasks: &[TaskIx],
    ) -> Result<Overruns, Refusal>;
}

/// Whom a queue takes from first (VictimQueueOrder).
pub trait QueueDistance {
    /// How far `victim` is from the queue of the preemptor: nearer ones give up something first.
    fn queue_distance(&self, state: &State, preemptor: QueueIx, victim: QueueIx) -> u32;
}
