//! Whom an extender lets go for a pod (spec/02 §23.6).

use pumice_framework::points::{Purpose, Victims};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_model::extender::{ExtenderAnswer, ExtenderQuestion, ExtenderVerb};
use pumice_model::{State, TaskIx};

use super::Extender;

fn verb_of(purpose: Purpose) -> ExtenderVerb {
    match purpose {
        Purpose::Preempt | Purpose::WithinJob => ExtenderVerb::Preemptable,
        Purpose::Reclaim => ExtenderVerb::Reclaimable,
    }
}

impl Extender {
    /// What it says of those who could go for a pod.
    fn of_victims<'a>(
        &self,
        state: &'a State,
        purpose: Purpose,
        preemptor: TaskIx,
    ) -> Option<&'a ExtenderAnswer> {
        let evictor = self.asked.evictor(state.task(preemptor).job?)?;
        let question = ExtenderQuestion {
            verb: verb_of(purpose),
            subject: evictor.to_owned(),
            uid: String::new(),
        };
        Some(state.supplies().extender_answers().find(&question)?.1)
    }
}

impl Victims for Extender {
    fn speaks(&self, purpose: Purpose) -> bool {
        self.asks(verb_of(purpose))
    }

    /// Names the victims that the extender has allowed. An extender's word is final in its tier: whom it
    /// has not named, or not yet, no later tier names.
    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        if !self.asked.is_of_interest(state, preemptor) {
            return VictimAnswer::abstains();
        }
        let named = match self.of_victims(state, purpose, preemptor) {
            Some(ExtenderAnswer::Victims(None)) => return VictimAnswer::abstains(),
            Some(ExtenderAnswer::Failed(_)) if self.settings.ignorable => {
                return VictimAnswer::abstains();
            }
            Some(ExtenderAnswer::Victims(Some(named))) => &named[..],
            _ => &[],
        };
        let is_named = |task: &&TaskIx| {
            let uid = &*state.task(**task).uid;
            named.binary_search_by(|known| (**known).cmp(uid)).is_ok()
        };
        let allowed = candidates.iter().filter(is_named).copied();
        VictimAnswer::new(Weight::Protection, allowed.collect())
    }

    fn depends_on_job(&self) -> bool {
        true
    }
}
