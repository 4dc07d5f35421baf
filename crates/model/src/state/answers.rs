//! What an extender said (spec/02 §23): taken in, and forgotten once nobody needs it.

use super::State;
use crate::extender::{ExtenderAnswer, ExtenderAnswers, ExtenderQuestion, ExtenderVerb};
use crate::ix::{JobIx, QueueIx, TaskIx};
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

    /// Whether a pod asks for one of some resources, as an extender counts: also for those that do not count
    /// here.
    pub fn asks_for_any(&self, task: TaskIx, resources: &[String]) -> bool {
        let shape = self.shape(task);
        let asks = |name: &String| shape.amount_of(&self.resources, name) > 0;
        resources.iter().any(asks)
    }

    /// A question about a job.
    pub fn question_about_job(&self, verb: ExtenderVerb, job: JobIx) -> ExtenderQuestion {
        let job = self.job(job);
        ExtenderQuestion {
            verb,
            subject: self.extender_key(job),
            uid: job.uid.to_string(),
        }
    }

    /// A question about a queue.
    pub fn question_about_queue(&self, verb: ExtenderVerb, queue: QueueIx) -> ExtenderQuestion {
        let queue = &self.queue(queue).object;
        ExtenderQuestion {
            verb,
            subject: queue.name.clone(),
            uid: queue.uid.clone(),
        }
    }

    /// The queue a question is about, if it is still the same.
    pub fn queue_asked_about(&self, question: &ExtenderQuestion) -> Option<QueueIx> {
        let queue = self.queue_by_name(&question.subject)?;
        (self.queue(queue).object.uid == question.uid).then_some(queue)
    }

    /// The job a question is about, if it is still the same.
    pub fn job_asked_about(&self, question: &ExtenderQuestion) -> Option<JobIx> {
        let job = self.job_by_extender_key(&question.subject)?;
        (*self.job(job).uid == *question.uid).then_some(job)
    }

    /// The pod a question is about.
    pub fn pod_asked_about(&self, question: &ExtenderQuestion) -> Option<TaskIx> {
        self.task_by_uid(&question.subject)
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
            if question.verb == ExtenderVerb::QueueOverused {
                self.journal.upheaval();
            }
        }
    }

    fn answer_changed(&mut self, question: &ExtenderQuestion) {
        self.journal.changed();
        let job = match question.verb {
            // All jobs of the queue, which is an upheaval.
            ExtenderVerb::QueueOverused => None,
            ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => self.job_asked_about(question),
            ExtenderVerb::Predicate
            | ExtenderVerb::Prioritize
            | ExtenderVerb::Preemptable
            | ExtenderVerb::Reclaimable => {
                let task = self.pod_asked_about(question);
                task.and_then(|task| self.task(task).job)
            }
        };
        if let Some(job) = job {
            self.touch_job(job);
        }
    }

    fn job_by_extender_key(&self, key: &str) -> Option<JobIx> {
        let (namespace, name) = key.split_once('/')?;
        let of_pod = || {
            self.task(self.task_by_uid(name.strip_prefix("podgroup-")?)?)
                .job
        };
        self.job_by_key(namespace, name).or_else(of_pod)
    }
}
