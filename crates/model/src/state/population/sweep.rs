//! Forgetting names that nobody has.

use super::Population;
use crate::intern::Sym;
use crate::topology::Topology;

/// Names beyond those in use before unused ones are looked for.
const SPARE_NAMES: usize = 10_000;

impl Population {
    /// Names nobody has. Who holds symbols is listed here by hand; `tests/it/forgetting.rs`
    /// compares the list with the fields. Outside the state only notes on jobs hold some from one seal to the next
    /// (roles that failed), and they compare them with roles of the same job alone.
    pub(in crate::state) fn sweep_names(&mut self, topology: &Topology, at_once: bool) {
        if !at_once && self.names.young() <= self.names.len() / 2 + SPARE_NAMES {
            return;
        }
        for (_, job) in self.jobs.iter_mut() {
            let is_used = |count: &u32| *count > 0;
            job.roles
                .retain(|role| role.min != 0 || role.by_status.iter().any(is_used));
        }
        let of_tasks = self.tasks.iter().flat_map(|(_, task)| {
            let pairs = task.labels.iter().chain(&task.owners);
            let pairs = pairs.flat_map(|(key, value)| [*key, *value]);
            let own = [
                task.namespace,
                task.role,
                task.lost_node,
                task.group,
                task.priority_class,
            ];
            pairs.chain(own)
        });
        let of_jobs = self.jobs.iter().flat_map(|(_, job)| {
            let roles = job.roles.iter().map(|role| role.role);
            roles.chain([job.namespace, job.queue_name])
        });
        let keys = self.job_by_key.keys();
        let live: Vec<Sym> = of_tasks
            .chain(of_jobs)
            .chain(keys.flat_map(|(namespace, name)| [*namespace, *name]))
            .chain(self.queues.by_name.keys().copied())
            .chain(topology.symbols())
            .chain([self.default_queue])
            .collect();
        self.names.sweep(live.into_iter());
    }
}
