//! Forgetting what nobody uses any more, so that memory follows the population and not the history
//! (spec/06 INV-15).
//!
//! Each sweep costs what there is, and comes only after as much has been added or dropped: a
//! constant share of the work that made it necessary.

use super::State;
use crate::intern::Sym;

/// Names beyond those in use before unused ones are looked for.
const SPARE_NAMES: usize = 10_000;

/// Rules dropped, beyond the number of those kept, before unread label keys are looked for.
const SPARE_RULES: usize = 1_000;

/// How much a state holds: numbers of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Pods, of all schedulers.
    pub tasks: usize,
    /// Jobs with PodGroup and without.
    pub jobs: usize,
    /// Interned strings.
    pub names: usize,
    /// Shapes, room for others included.
    pub shapes: usize,
    /// Rules, room for others included.
    pub rules: usize,
    /// Appearances: what pods look like to selectors.
    pub appearances: usize,
    /// Affinity terms that pods carry.
    pub terms: usize,
    /// Counters of queries.
    pub counters: usize,
    /// Label keys that selectors read.
    pub label_keys: usize,
}

impl State {
    /// How much the state holds now.
    pub fn footprint(&self) -> Footprint {
        let (shapes, rules) = self.shapes.counts();
        Footprint {
            tasks: self.tasks.len(),
            jobs: self.jobs.len(),
            names: self.names.len(),
            shapes,
            rules,
            appearances: self.topology.appearance_count(),
            terms: self.topology.term_count(),
            counters: self.topology.counter_count(),
            label_keys: self.topology.key_count(),
        }
    }

    /// Forgets at once what [`State::seal`] forgets when it pays.
    pub fn forget_unused(&mut self) {
        self.shapes.forget_released();
        self.sweep_rules(true);
        self.appearances_stale = true;
        self.seal();
        self.sweep_names(true);
    }

    /// Terms nobody carries, label keys nobody reads.
    pub(super) fn sweep_rules(&mut self, at_once: bool) {
        self.topology.forget_terms(at_once);
        let (_, kept) = self.shapes.counts();
        if !at_once && self.rules_gone <= kept + SPARE_RULES {
            return;
        }
        self.rules_gone = 0;
        let rules = self.shapes.rules_in_use();
        self.appearances_stale |= self.topology.forget_keys(&self.names, rules, at_once);
    }

    /// Names nobody has. Who holds symbols is listed here by hand; `tests/it/forgetting.rs` compares the
    /// list with the fields. Outside the state only notes on jobs hold some from one seal to the next
    /// (roles that failed), and they compare them with roles of the same job alone.
    pub(super) fn sweep_names(&mut self, at_once: bool) {
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
            .chain(self.queue_by_name.keys().copied())
            .chain(self.topology.symbols())
            .chain([self.default_queue])
            .collect();
        self.names.sweep(live.into_iter());
    }
}
