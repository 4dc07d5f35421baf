//! The end of a batch of changes: everything that is cheaper once for all of them.

use super::State;
use crate::intern::{Interner, Sym};
use crate::ix::{JobIx, NodeIx, QueueIx, TaskIx};
use crate::job::{Job, SubJob};
use crate::object::SubGroupPolicy;
use crate::selector::{label, selects};
use crate::topology::Stay;

/// Appearances kept beyond the number of tasks before unused ones are dropped.
const SPARE_APPEARANCES: usize = 4096;

impl State {
    /// Completes a batch of [`State::apply`]: name order of nodes, pods that waited for their node,
    /// queues of jobs, sub-jobs, and what selectors see. Cheap when none of it changed.
    pub fn seal(&mut self) {
        self.settle_offers();
        self.sweep_rules(false);
        if self.topology.appearance_count() > 2 * self.tasks.len() + SPARE_APPEARANCES {
            self.appearances_stale = true;
        }
        if self.topology.is_full() {
            self.topology.forget_counters();
        }
        if let Some(moved) = self.nodes.seal() {
            for (_, task) in self.tasks.iter_mut() {
                if let Some(node) = task.node {
                    task.node = Some(NodeIx(moved[node.at()]));
                }
            }
            self.counts_stale = true;
        }
        self.network.seal(&self.nodes);
        if std::mem::take(&mut self.appearances_stale) {
            self.topology.forget_appearances();
            for (_, task) in self.tasks.iter_mut() {
                task.appearance = self.topology.appearance(
                    &mut self.names,
                    task.namespace,
                    &task.labels,
                    &task.owners,
                );
            }
            self.counts_stale = true;
        }
        if std::mem::take(&mut self.counts_stale) {
            self.recount();
        }
        self.seal_volumes();
        self.seal_claims();
        self.place_lost();
        if std::mem::take(&mut self.queues_stale) {
            self.reassign_queues();
        }
        for ix in std::mem::take(&mut self.sub_jobs_stale) {
            self.split_job(ix);
        }
        self.settle_cpus();
        self.sweep_names(false);
    }

    fn recount(&mut self) {
        self.topology.forget_counts();
        for (_, task) in self.tasks.iter() {
            if let (Some(node), Some(_)) = (task.node, task.status.load()) {
                let rules = self.shapes.get(task.shape).rules;
                let stay = Stay::of(task);
                self.topology
                    .shift(&self.names, rules, task.appearance, stay, node, 1);
            }
        }
    }

    fn place_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        let mut found: Vec<(TaskIx, NodeIx)> = Vec::new();
        for ix in &self.lost {
            let name = self.names.text(self.task(*ix).lost_node);
            if let Some(node) = self.nodes.find(name) {
                found.push((*ix, node));
            }
        }
        found.sort_unstable();
        for (ix, node) in found {
            self.lost.remove(&ix);
            let status = self.task(ix).status;
            self.move_task(ix, status, Some(node));
            self.tasks[ix.at()].lost_node = Sym::default();
        }
    }

    fn reassign_queues(&mut self) {
        self.uncount_all_claims();
        for (_, queue) in &mut self.queues {
            queue.allocated = Default::default();
            queue.pipelined = Default::default();
            queue.in_doubt = Default::default();
            queue.pending = Default::default();
            queue.jobs = 0;
        }
        for (_, job) in self.jobs.iter_mut() {
            job.queue = match job.origin.lacks_group() {
                true => None,
                false => self.queue_by_name.get(&job.queue_name).copied(),
            };
            if let Some(ix) = job.queue {
                let queue = &mut self.queues[ix.at()];
                queue.allocated.add(&job.allocated);
                queue.pipelined.add(&job.pipelined);
                queue.in_doubt.add(&job.in_doubt);
                queue.pending.shift_sum(&job.pending, 1);
                queue.jobs += 1;
            }
        }
        self.count_all_claims();
        let all: Vec<QueueIx> = self.queues().map(|(ix, _)| ix).collect();
        all.into_iter().for_each(|ix| self.touch_queue(ix));
        self.forget_books();
    }

    /// Divides the tasks of a job among its sub-jobs (spec/01 §3.5).
    fn split_job(&mut self, ix: JobIx) {
        let Some(job) = self.jobs.get(ix.at()) else {
            return;
        };
        let Some(group) = job.group().filter(|group| !group.sub_groups.is_empty()) else {
            self.merge_sub_jobs(ix);
            return;
        };
        let policies = group.sub_groups.clone();
        let key = self.job_key(ix);
        let mut tasks = self.job(ix).tasks.clone();
        tasks.sort_unstable();
        let default = SubJob {
            id: key.clone(),
            min_available: 1,
            ..SubJob::default()
        };
        let mut sub_jobs = vec![default];
        let mut place = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let labels = &self.task(*task).labels;
            let found = policies.iter().enumerate().find_map(|(at, policy)| {
                group_values(&self.names, policy, labels).map(|values| (at, values))
            });
            let at = found.map_or(0, |(policy, values)| {
                sub_job_for(&mut sub_jobs, &key, policy, &policies[policy], &values)
            });
            sub_jobs[at].tasks.push(*task);
            place.push(at as u16);
        }
        for (task, at) in tasks.iter().zip(place) {
            self.tasks[task.at()].sub_job = at;
        }
        self.jobs[ix.at()].sub_jobs = sub_jobs;
        self.journal.sub_jobs_changed();
        self.touch_job(ix);
    }

    /// The inverse of dividing: the job is whole.
    pub(super) fn merge_sub_jobs(&mut self, ix: JobIx) {
        self.journal.sub_jobs_changed();
        let job = &mut self.jobs[ix.at()];
        job.sub_jobs.clear();
        for task in &job.tasks {
            self.tasks[task.at()].sub_job = 0;
        }
        self.touch_job(ix);
    }

    /// Number of live sub-jobs of a policy that pass a test.
    pub fn sub_jobs_passing(
        &self,
        job: &Job,
        policy: u16,
        test: impl Fn(&SubJob) -> bool,
    ) -> usize {
        job.sub_jobs
            .iter()
            .filter(|sub| sub.policy == Some(policy) && test(sub))
            .count()
    }

    /// The first label key of a policy that a pod has no value of, although the policy selects it.
    pub fn missing_group_label<'p>(
        &self,
        task: TaskIx,
        policy: &'p SubGroupPolicy,
    ) -> Option<&'p str> {
        let (names, labels) = (&self.names, &self.task(task).labels);
        let mut keys = policy.match_label_keys.iter();
        is_selected(names, policy, labels)
            .then(|| keys.find(|key| group_value(names, key, labels).is_none()))?
            .map(String::as_str)
    }
}

impl State {
    /// The first policy of a job that has no sub-group because pods that it selects, and no other one claims,
    /// have no value of one of its label keys: its place, and the first such key.
    pub fn policy_without_label<'j>(&self, job: &'j Job) -> Option<(usize, &'j str)> {
        let group = job.group()?;
        let unclaimed = job.sub_jobs.iter().filter(|sub| sub.policy.is_none());
        let unclaimed = unclaimed.flat_map(|sub| &sub.tasks);
        let unclaimed: Vec<_> = unclaimed.map(|task| &self.task(*task).labels).collect();
        let mut policies = group.sub_groups.iter().enumerate();
        policies.find_map(|(at, policy)| {
            let mut sub_jobs = job.sub_jobs.iter();
            if sub_jobs.any(|sub| sub.policy == Some(at as u16)) {
                return None;
            }
            let selected = unclaimed.iter();
            let selected = selected.filter(|labels| is_selected(&self.names, policy, labels));
            let selected: Vec<_> = selected.collect();
            let lacks = |key: &&String| {
                let mut pods = selected.iter();
                pods.any(|labels| group_value(&self.names, key, labels).is_none())
            };
            let key = policy.match_label_keys.iter().find(lacks)?;
            Some((at, key.as_str()))
        })
    }
}

/// Values of a policy's label keys when the policy claims a pod with these labels.
fn group_values(
    names: &Interner,
    policy: &SubGroupPolicy,
    labels: &[(Sym, Sym)],
) -> Option<Vec<String>> {
    if !is_selected(names, policy, labels) {
        return None;
    }
    let value = |key: &String| group_value(names, key, labels).map(str::to_owned);
    policy.match_label_keys.iter().map(value).collect()
}

fn is_selected(names: &Interner, policy: &SubGroupPolicy, labels: &[(Sym, Sym)]) -> bool {
    let selector = policy.selector.as_ref();
    selector.is_none_or(|selector| selects(names, selector, labels))
}

fn group_value<'n>(names: &'n Interner, key: &str, labels: &[(Sym, Sym)]) -> Option<&'n str> {
    let value = names.text(label(labels, names.get(key)?)?);
    (!value.is_empty()).then_some(value)
}

fn sub_job_for(
    sub_jobs: &mut Vec<SubJob>,
    job: &str,
    at: usize,
    policy: &SubGroupPolicy,
    values: &[String],
) -> usize {
    let id = format!("{job}/{}-{}", policy.name, values.join("-"));
    if let Some(found) = sub_jobs
        .iter()
        .position(|sub| sub.policy == Some(at as u16) && sub.id == id)
    {
        return found;
    }
    sub_jobs.push(SubJob {
        id,
        policy: Some(at as u16),
        min_available: policy.size,
        match_index: values
            .first()
            .and_then(|value| value.parse().ok())
            .unwrap_or(0),
        tasks: Vec::new(),
    });
    sub_jobs.len() - 1
}
