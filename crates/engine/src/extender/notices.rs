//! What an extender is told of decisions (spec/02 §23.7): of those that stand, never of what was only tried.

use std::sync::Arc;

use pumice_model::extender::{ExtenderEvent, ExtenderNotice, QuestionAbout};
use pumice_model::{JobIx, State, TaskIx};

use super::ToldQuestions;
use super::told::{told_job, told_pod};
use crate::decisions::Decisions;

impl ToldQuestions {
    /// What an extender is to be told of decisions, which nothing was applied after yet, and before them of
    /// what came to nothing since this was last asked.
    pub fn take_notices(
        &mut self,
        state: &State,
        decisions: Option<&Decisions>,
    ) -> Vec<ExtenderNotice> {
        if let Some(decisions) = decisions.filter(|_| self.is_told()) {
            for job in &decisions.admitted {
                self.notice_job(state, *job);
            }
            for eviction in &decisions.evictions {
                self.notice_pod(state, ExtenderEvent::Deallocate, eviction.task);
            }
            for bind in &decisions.binds {
                self.notice_pod(state, ExtenderEvent::Allocate, bind.task);
            }
        }
        std::mem::take(&mut self.notices)
    }

    fn notice_job(&mut self, state: &State, job: JobIx) {
        if let Some(told) = told_job(state, &mut self.pods, job) {
            self.notice(
                ExtenderEvent::JobEnqueued,
                QuestionAbout::Job(Arc::new(told)),
            );
        }
    }

    /// A pod has a place now, or will have none: it still has the node.
    pub fn notice_pod(&mut self, state: &State, event: ExtenderEvent, task: TaskIx) {
        let Some(settings) = &self.settings else {
            return;
        };
        let managed = settings.managed_resources.as_ref();
        let is_of_interest =
            managed.is_none_or(|all| state.shape(task).asks_for_any(state.resources(), all));
        if settings.events.contains_key(&event) && is_of_interest {
            let told = Arc::new(told_pod(state, task));
            self.notice(event, QuestionAbout::Pod(told));
        }
    }

    fn notice(&mut self, event: ExtenderEvent, about: QuestionAbout) {
        let settings = self.settings.as_ref();
        if settings.is_some_and(|settings| settings.events.contains_key(&event)) {
            self.notices.push(ExtenderNotice {
                generation: self.generation,
                event,
                about,
            });
        }
    }
}
