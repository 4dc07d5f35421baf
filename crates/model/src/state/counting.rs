//! Which dimensions of their own the resources have that pods and gangs ask for: those that somebody offers, a node,
//! its devices or a queue. It follows from what there is now, not from what there was. Where a name is
//! offered for the first time or no longer, and where devices are configured otherwise, who asks for it counts anew.

use rustc_hash::FxHashSet;

use super::State;
use crate::ix::{JobIx, TaskIx};
use crate::object::Amounts;
use crate::resource::{NOBODYS, ResIx, ResVec};

/// The resources that queues name, be it to forbid them.
#[derive(Clone, Default)]
pub(super) struct NamedByQueues {
    /// The epoch of the queues of which it is known, plus one.
    epoch: u64,
    named: FxHashSet<ResIx>,
}

impl State {
    /// Takes in who offers what; who asks for what turned counts anew.
    pub(super) fn settle_offers(&mut self) {
        self.settle_named_by_queues();
        let (total, named) = (&self.nodes.cluster_total, &self.named_by_queues.named);
        let is_offered = |ix: ResIx| total.get(ix) > 0 || named.contains(&ix);
        let turned = self.resources.settle_offers(is_offered);
        if turned.is_empty() {
            return;
        }
        let gone: Vec<ResIx> = turned
            .into_iter()
            .filter(|ix| !self.resources.is_offered(*ix))
            .collect();
        let has_gone = |amounts: &ResVec| gone.iter().any(|ix| amounts.get(*ix) != 0);
        let counts_otherwise = |ix: &TaskIx| {
            let shape = self.shape(*ix);
            let mut names = shape.unoffered.iter();
            names.any(|(name, _)| self.resources.offered(name).is_some())
                || has_gone(&shape.request)
        };
        let tasks = self
            .tasks()
            .map(|(ix, _)| ix)
            .filter(counts_otherwise)
            .collect::<Vec<_>>();
        let needs_otherwise = |ix: &JobIx| {
            let least = self.job(*ix).min_resources.as_ref();
            least.is_some_and(|least| least.get(NOBODYS) > 0 || has_gone(least))
        };
        let jobs = self
            .jobs()
            .map(|(ix, _)| ix)
            .filter(needs_otherwise)
            .collect::<Vec<_>>();
        self.count_anew(&tasks, &jobs);
    }

    fn settle_named_by_queues(&mut self) {
        let epoch = self.journal.queues_epoch() + 1;
        if self.named_by_queues.epoch == epoch {
            return;
        }
        let objects = self.queues.iter().map(|(_, queue)| &queue.object);
        let lists =
            objects.flat_map(|queue| [&queue.capability, &queue.deserved, &queue.guarantee]);
        let names = lists
            .flatten()
            .filter_map(|(name, _)| self.resources.get(name));
        self.named_by_queues = NamedByQueues {
            epoch,
            named: names.collect(),
        };
    }

    /// Requests of pods, and what gangs need at least, count other resources than before.
    pub(super) fn count_anew(&mut self, tasks: &[TaskIx], jobs: &[JobIx]) {
        for ix in jobs {
            let job = &mut self.jobs[ix.at()];
            if let Some(least) = job.group().and_then(|group| group.min_resources.clone()) {
                job.min_resources = Some(self.shapes.counted(&self.resources, &least).0);
                self.touch_job(*ix);
            }
        }
        for ix in tasks {
            let mut pod = self.pod_object(self.task(*ix));
            let acquired = self.shapes.acquire(&pod, &self.resources);
            let is_same = acquired.shape == self.task(*ix).shape;
            self.release_shape(acquired.shape);
            if !is_same {
                self.volumes.fill_in(*ix, &mut pod);
                self.resource_claims.fill_in(*ix, &mut pod);
                let _ = self.apply_pod(&pod);
            }
        }
    }

    /// How a resource is called to a pod that asks for it: by the pod's own word, where nobody offers it.
    pub fn resource_name_for(&self, task: TaskIx, resource: ResIx) -> &str {
        match resource {
            NOBODYS => first_name(&self.shape(task).unoffered),
            _ => None,
        }
        .unwrap_or_else(|| self.resources.name(resource))
    }

    /// How a resource is called to a job that asks for it, likewise.
    pub fn resource_name_for_job(&self, job: JobIx, resource: ResIx) -> &str {
        if resource != NOBODYS {
            return self.resources.name(resource);
        }
        let group = self.job(job).group();
        let least = group.and_then(|group| group.min_resources.as_ref());
        let mut of_least = least.into_iter().flatten();
        let strange = of_least.find(|(name, _)| self.resources.offered(name).is_none());
        let of_pods = || {
            let mut tasks = self.job(job).tasks.iter();
            tasks.find_map(|task| first_name(&self.shape(*task).unoffered))
        };
        let name = strange.map(|(name, _)| name.as_str()).or_else(of_pods);
        name.unwrap_or_else(|| self.resources.name(resource))
    }
}

fn first_name(amounts: &Amounts) -> Option<&str> {
    amounts.first().map(|(name, _)| name.as_str())
}
