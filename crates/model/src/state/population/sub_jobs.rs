//! Jobs divided into sub-jobs by the policies of their PodGroups.

use rustc_hash::FxHashMap;

use super::{JobBooks, Population};
use crate::intern::{Interner, Sym};
use crate::ix::{JobIx, TaskIx};
use crate::job::{Job, SubJob};
use crate::object::{NATIVE_GROUP, SubGroupPolicy};
use crate::selector::{label, selects};

impl JobBooks<'_> {
    /// Divides jobs anew whose pods or policies have changed.
    pub fn settle_sub_jobs(&mut self) {
        for ix in std::mem::take(&mut self.population.sub_jobs_stale) {
            self.split_job(ix);
        }
    }

    /// Divides the tasks of a job among its sub-jobs (spec/01 §3.5).
    fn split_job(&mut self, ix: JobIx) {
        let Some(job) = self.population.jobs.get(ix.at()) else {
            return;
        };
        let Some(group) = job.group().filter(|group| !group.sub_groups.is_empty()) else {
            self.merge_sub_jobs(ix);
            return;
        };
        let policies = group.sub_groups.clone();
        if group.native.tree.is_some() {
            return self.split_tree(ix, &policies);
        }
        let key = self.population.job_key(ix);
        let mut tasks = self.population.job(ix).tasks.clone();
        tasks.sort_unstable();
        let default = SubJob {
            id: key.clone(),
            min_available: 1,
            ..SubJob::default()
        };
        let mut sub_jobs = vec![default];
        let mut place = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let labels = &self.population.task(*task).labels;
            let found = policies.iter().enumerate().find_map(|(at, policy)| {
                group_values(&self.population.names, policy, labels).map(|values| (at, values))
            });
            let at = found.map_or(0, |(policy, values)| {
                sub_job_for(&mut sub_jobs, &key, policy, &policies[policy], &values)
            });
            sub_jobs[at].tasks.push(*task);
            place.push(at as u16);
        }
        self.divide(ix, sub_jobs, tasks.into_iter().zip(place));
    }

    /// Divides the tasks of a job that stands for a tree by the PodGroups that they name.
    fn split_tree(&mut self, ix: JobIx, policies: &[SubGroupPolicy]) {
        let namespace = self
            .population
            .names
            .text(self.population.job(ix).namespace);
        let default = SubJob {
            id: self.population.job_key(ix),
            min_available: 1,
            ..SubJob::default()
        };
        let sub_job = |(at, policy): (usize, &SubGroupPolicy)| {
            let name = policy
                .name
                .strip_prefix(NATIVE_GROUP)
                .unwrap_or(&policy.name);
            let number = name.rsplit('-').next().and_then(|end| end.parse().ok());
            SubJob {
                id: format!("{namespace}/{name}"),
                policy: Some(at as u16),
                min_available: policy.size,
                match_index: number.unwrap_or(0),
                tasks: Vec::new(),
            }
        };
        let of_groups = policies.iter().enumerate().map(sub_job);
        let mut sub_jobs: Vec<SubJob> = std::iter::once(default).chain(of_groups).collect();
        let places = policies.iter().zip(1..);
        let places = places.map(|(policy, at)| (policy.name.as_str(), at));
        let places: FxHashMap<&str, u16> = places.collect();
        let mut tasks = self.population.job(ix).tasks.clone();
        tasks.sort_unstable();
        let mut divided = Vec::with_capacity(tasks.len());
        for task in tasks {
            let group = self.population.task(task).group;
            let named = places.get(self.population.names.text(group));
            let at = named.copied().unwrap_or(0);
            sub_jobs[at as usize].tasks.push(task);
            divided.push((task, at));
        }
        self.divide(ix, sub_jobs, divided.into_iter());
    }

    /// Tasks of a job are of these sub-jobs from now on.
    fn divide(
        &mut self,
        ix: JobIx,
        sub_jobs: Vec<SubJob>,
        tasks: impl Iterator<Item = (TaskIx, u16)>,
    ) {
        for (task, at) in tasks {
            self.population.tasks[task.at()].sub_job = at;
        }
        self.population.jobs[ix.at()].sub_jobs = sub_jobs;
        self.journal.sub_jobs_changed();
        self.population.touch_job(ix, self.journal);
    }

    /// The inverse of dividing: the job is whole.
    pub(super) fn merge_sub_jobs(&mut self, ix: JobIx) {
        self.journal.sub_jobs_changed();
        let Population { jobs, tasks, .. } = &mut *self.population;
        let job = &mut jobs[ix.at()];
        job.sub_jobs.clear();
        for task in &job.tasks {
            tasks[task.at()].sub_job = 0;
        }
        self.population.touch_job(ix, self.journal);
    }
}

impl Population {
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
