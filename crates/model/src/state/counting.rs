//! Which dimensions of their own the resources have that pods and gangs ask for: those that somebody offers, a node,
//! its devices or a queue. It follows from what there is now, not from what there was. Where a name is
//! offered for the first time or no longer, and where devices are configured otherwise, who asks for it counts anew.

use super::State;
use super::dump::ObjectReader;
use crate::ix::{JobIx, TaskIx};
use crate::resource::{NOBODYS, ResIx, ResVec};

impl State {
    /// Takes in who offers what; who asks for what turned counts anew.
    pub(super) fn settle_offers(&mut self) {
        let queues = self.population.queues_mut();
        queues.settle_named(self.ground.resources(), &self.journal);
        let queues = self.population.queues();
        let turned = self.ground.settle_offers(|ix| queues.name(ix));
        if turned.is_empty() {
            return;
        }
        let gone: Vec<ResIx> = turned
            .into_iter()
            .filter(|ix| !self.resources().is_offered(*ix))
            .collect();
        let has_gone = |amounts: &ResVec| gone.iter().any(|ix| amounts.get(*ix) != 0);
        let counts_otherwise = |ix: &TaskIx| {
            let shape = self.shape(*ix);
            let mut names = shape.unoffered.iter();
            names.any(|(name, _)| self.resources().offered(name).is_some())
                || has_gone(&shape.request)
        };
        let tasks = self
            .population
            .tasks()
            .map(|(ix, _)| ix)
            .filter(counts_otherwise)
            .collect::<Vec<_>>();
        let needs_otherwise = |ix: &JobIx| {
            let least = self.job(*ix).min_resources.as_ref();
            least.is_some_and(|least| least.get(NOBODYS) > 0 || has_gone(least))
        };
        let jobs = self
            .population
            .jobs()
            .map(|(ix, _)| ix)
            .filter(needs_otherwise)
            .collect::<Vec<_>>();
        self.count_anew(&tasks, &jobs);
    }

    /// Requests of pods, and what gangs need at least, count other resources than before.
    pub(super) fn count_anew(&mut self, tasks: &[TaskIx], jobs: &[JobIx]) {
        for ix in jobs {
            let job = self.population.job_mut(*ix);
            if let Some(least) = job.group().and_then(|group| group.min_resources.clone()) {
                job.min_resources = Some(self.ground.counted(&least));
                self.population.touch_job(*ix, &mut self.journal);
            }
        }
        for ix in tasks {
            let mut pod = ObjectReader::of(self).pod_object(self.task(*ix));
            let names = self.population.names_mut();
            let shape = self.ground.acquire_shape(&pod, names);
            let is_same = shape == self.task(*ix).shape;
            self.ground.release_shape(shape);
            if !is_same {
                self.supplies.volumes().fill_in(*ix, &mut pod);
                self.supplies.resource_claims().fill_in(*ix, &mut pod);
                let _ = self.apply_pod(&pod);
            }
        }
    }
}
