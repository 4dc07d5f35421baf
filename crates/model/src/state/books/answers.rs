//! What an extender said (spec/02 §23): taken in, and forgotten once nobody needs it.

use crate::extender::{ExtenderAnswer, ExtenderAnswers, ExtenderQuestion, ExtenderVerb};
use crate::state::ChangeJournal;
use crate::state::population::Population;

/// Keeps answers, and rouses the jobs that they are about.
pub struct AnswerBooks<'a> {
    pub(in crate::state) population: &'a mut Population,
    pub(in crate::state) answers: &'a mut ExtenderAnswers,
    pub(in crate::state) journal: &'a mut ChangeJournal,
}

impl AnswerBooks<'_> {
    /// Takes an answer in.
    pub(in crate::state) fn set(mut self, question: ExtenderQuestion, answer: ExtenderAnswer) {
        if self.answers.set(question.clone(), answer) {
            self.changed(&question);
        }
    }

    /// Forgets all answers but those to some questions.
    pub fn keep(mut self, is_asked: impl Fn(&ExtenderQuestion) -> bool) {
        for question in self.answers.keep(is_asked) {
            self.changed(&question);
            if question.verb == ExtenderVerb::QueueOverused {
                self.journal.upheaval();
            }
        }
    }

    fn changed(&mut self, question: &ExtenderQuestion) {
        self.journal.changed();
        let job = match question.verb {
            // All jobs of the queue, which is an upheaval.
            ExtenderVerb::QueueOverused => None,
            ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => question.job(self.population),
            ExtenderVerb::Predicate
            | ExtenderVerb::Prioritize
            | ExtenderVerb::Preemptable
            | ExtenderVerb::Reclaimable => {
                let task = question.pod(self.population);
                task.and_then(|task| self.population.task(task).job)
            }
        };
        if let Some(job) = job {
            self.population.touch_job(job, self.journal);
        }
    }
}
