//! What an extender said (spec/02 §23): taken in, and forgotten once nobody needs it.

use super::State;
use crate::extender::{ExtenderAnswer, ExtenderAnswers, ExtenderQuestion, ExtenderVerb};
use crate::ix::JobIx;
use crate::job::Job;

impl State {
    /// What an extender said.
    pub fn extender_answers(&self) -> &ExtenderAnswers {
        &self.answers
    }

    /// How an extender is told of a job: `namespace/name` of its PodGroup, or of the one that Volcano's
    /// controller would make.
    pub fn extender_key(&self, job: &Job) -> String {
        format!("{}/{}", self.names.text(job.namespace), job.group_name())
    }

    pub(super) fn set_answer(&mut self, question: ExtenderQuestion, answer: ExtenderAnswer) {
        if self.answers.set(question.clone(), answer) {
            self.answer_changed(&question);
        }
    }

    /// Forgets all answers but those to some questions.
    pub fn keep_answers(&mut self, is_asked: impl Fn(&ExtenderQuestion) -> bool) {
        for question in self.answers.keep(is_asked) {
            self.answer_changed(&question);
            let is_of_queue = question.verb == ExtenderVerb::QueueOverused;
            self.upheavals += u64::from(is_of_queue);
        }
    }

    fn answer_changed(&mut self, question: &ExtenderQuestion) {
        self.generation += 1;
        let job = match question.verb {
            // All jobs of the queue, which is an upheaval.
            ExtenderVerb::QueueOverused => None,
            ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => {
                self.job_by_extender_key(&question.subject)
            }
            ExtenderVerb::Predicate | ExtenderVerb::Prioritize => {
                let task = self.task_by_uid(&question.subject);
                task.and_then(|task| self.task(task).job)
            }
        };
        if let Some(job) = job {
            self.touch_job(job);
        }
    }

    /// The job with such a name.
    pub fn job_by_extender_key(&self, key: &str) -> Option<JobIx> {
        let (namespace, name) = key.split_once('/')?;
        let of_pod = || {
            self.task(self.task_by_uid(name.strip_prefix("podgroup-")?)?)
                .job
        };
        self.job_by_key(namespace, name).or_else(of_pod)
    }
}
