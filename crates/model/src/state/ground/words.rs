//! How resources are called to those who ask for them.

use super::Ground;
use crate::ix::{JobIx, TaskIx};
use crate::object::Amounts;
use crate::resource::{NOBODYS, ResIx};
use crate::state::population::Population;

impl Ground {
    /// How a resource is called to a pod that asks for it: by the pod's own word, where nobody offers it.
    pub fn name_for_task<'a>(
        &'a self,
        population: &Population,
        task: TaskIx,
        resource: ResIx,
    ) -> &'a str {
        match resource {
            NOBODYS => self.first_name(population, task),
            _ => None,
        }
        .unwrap_or_else(|| self.resources.name(resource))
    }

    /// How a resource is called to a job that asks for it, likewise.
    pub fn name_for_job<'a>(
        &'a self,
        population: &'a Population,
        job: JobIx,
        resource: ResIx,
    ) -> &'a str {
        if resource != NOBODYS {
            return self.resources.name(resource);
        }
        let job = population.job(job);
        let group = job.group();
        let least = group.and_then(|group| group.min_resources.as_ref());
        let mut of_least = least.into_iter().flatten();
        let strange = of_least.find(|(name, _)| self.resources.offered(name).is_none());
        let of_pods = || {
            let mut tasks = job.tasks.iter();
            tasks.find_map(|task| self.first_name(population, *task))
        };
        let name = strange.map(|(name, _)| name.as_str()).or_else(of_pods);
        name.unwrap_or_else(|| self.resources.name(resource))
    }

    /// The first resource that a pod asks for and nobody offers.
    fn first_name(&self, population: &Population, task: TaskIx) -> Option<&str> {
        let unoffered: &Amounts = &self.shapes.get(population.task(task).shape).unoffered;
        unoffered.first().map(|(name, _)| name.as_str())
    }
}
