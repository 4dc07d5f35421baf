//! What questions to an extender are about.

use crate::extender::{ExtenderQuestion, ExtenderVerb};
use crate::intern::Interner;
use crate::ix::{JobIx, QueueIx, TaskIx};
use crate::job::Job;
use crate::state::Population;

impl Job {
    /// How an extender is told of it: `namespace/name` of its PodGroup, or of the one that Volcano's
    /// controller would make.
    pub fn extender_key(&self, names: &Interner) -> String {
        format!("{}/{}", names.text(self.namespace), self.group_name())
    }
}

impl ExtenderQuestion {
    /// A question about a job.
    pub fn about_job(verb: ExtenderVerb, population: &Population, job: JobIx) -> Self {
        let job = population.job(job);
        Self {
            verb,
            subject: job.extender_key(population.names()),
            uid: job.uid.to_string(),
        }
    }

    /// A question about a queue.
    pub fn about_queue(verb: ExtenderVerb, population: &Population, queue: QueueIx) -> Self {
        let queue = &population.queues().get(queue).object;
        Self {
            verb,
            subject: queue.name.clone(),
            uid: queue.uid.clone(),
        }
    }

    /// The queue it is about, if that is still the same.
    pub fn queue(&self, population: &Population) -> Option<QueueIx> {
        let queue = population.queue_by_name(&self.subject)?;
        let object = &population.queues().get(queue).object;
        (object.uid == self.uid).then_some(queue)
    }

    /// The job it is about, if that is still the same.
    pub fn job(&self, population: &Population) -> Option<JobIx> {
        let (namespace, name) = self.subject.split_once('/')?;
        let of_pod = || {
            let pod = population.task_by_uid(name.strip_prefix("podgroup-")?)?;
            population.task(pod).job
        };
        let job = population.job_by_key(namespace, name).or_else(of_pod)?;
        (*population.job(job).uid == *self.uid).then_some(job)
    }

    /// The pod it is about.
    pub fn pod(&self, population: &Population) -> Option<TaskIx> {
        population.task_by_uid(&self.subject)
    }
}
