//! The series of jobs (spec/01 §8).
//!
//! Two families of Volcano name a job without its namespace, so equal names share one series
//! there. It is removed with the last job of the name.

use std::collections::BTreeMap;

use super::reference::Families;

/// Jobs that may have series at a time.
pub const MAX_JOBS: usize = 10_000;

/// A job and the queue it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLabels<'a> {
    /// Namespace of the job.
    pub namespace: &'a str,
    /// Name of the job's PodGroup.
    pub name: &'a str,
    /// The name of its queue.
    pub queue: &'a str,
}

/// When a task of a job was placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Creation of the PodGroup in seconds since 1970.
    pub created_unix_s: f64,
    /// The placement in seconds since 1970.
    pub placed_unix_s: f64,
    /// From one to the other in milliseconds.
    pub latency_ms: f64,
}

/// What was made for a job and has to be removed with it.
#[derive(Default)]
struct JobSeries {
    /// The queue under which the times of placement stand.
    queue: Option<String>,
    /// Whether it takes part in the series that name the job without its namespace.
    by_name: bool,
}

/// The series of all jobs.
#[derive(Default)]
pub(super) struct Jobs {
    known: BTreeMap<(String, String), JobSeries>,
    /// How many known jobs take part in the series of a bare name.
    names: BTreeMap<String, usize>,
}

impl Jobs {
    /// The entry of a job; `None` when it is new and there are too many.
    fn entry(&mut self, namespace: &str, name: &str) -> Option<&mut JobSeries> {
        let key = (namespace.to_owned(), name.to_owned());
        if self.known.len() >= MAX_JOBS && !self.known.contains_key(&key) {
            return None;
        }
        Some(self.known.entry(key).or_default())
    }

    /// Sets the times of a placement and returns the number of refused updates, as the others do.
    pub(super) fn placed(
        &mut self,
        families: &Families,
        job: JobLabels<'_>,
        placed: Placed,
    ) -> usize {
        let Some(series) = self.entry(job.namespace, job.name) else {
            return 1;
        };
        if series.queue.as_deref() != Some(job.queue)
            && let Some(before) = series.queue.replace(job.queue.to_owned())
        {
            remove_times(families, job.namespace, job.name, &before);
        }
        let labels = [job.name, job.queue, job.namespace];
        let set = |family: &prometheus::GaugeVec, value| {
            family.with_label_values(&labels).set(value);
        };
        set(&families.job_duration, placed.latency_ms);
        set(&families.job_start_time, placed.created_unix_s);
        set(&families.job_last_time, placed.placed_unix_s);
        0
    }

    pub(super) fn share(
        &mut self,
        families: &Families,
        namespace: &str,
        name: &str,
        share: f64,
    ) -> usize {
        if self.entry(namespace, name).is_none() {
            return 1;
        }
        let labels = [namespace, name];
        families.job_share.with_label_values(&labels).set(share);
        0
    }

    pub(super) fn lacks(
        &mut self,
        families: &Families,
        namespace: &str,
        name: &str,
        tasks: usize,
    ) -> usize {
        if !self.takes_part_by_name(namespace, name) {
            return 1;
        }
        let family = &families.unschedule_task_count;
        family.with_label_values(&[name]).set(tasks as f64);
        0
    }

    pub(super) fn retried(&mut self, families: &Families, namespace: &str, name: &str) -> usize {
        if !self.takes_part_by_name(namespace, name) {
            return 1;
        }
        families.job_retry_counts.with_label_values(&[name]).inc();
        0
    }

    fn takes_part_by_name(&mut self, namespace: &str, name: &str) -> bool {
        let Some(series) = self.entry(namespace, name) else {
            return false;
        };
        if !std::mem::replace(&mut series.by_name, true) {
            *self.names.entry(name.to_owned()).or_default() += 1;
        }
        true
    }

    /// Removes the series of a job.
    pub(super) fn forget(&mut self, families: &Families, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        let Some(series) = self.known.remove(&key) else {
            return;
        };
        // A series that does not exist is not there any more either way.
        let _ = families.job_share.remove_label_values(&[namespace, name]);
        if let Some(queue) = series.queue {
            remove_times(families, namespace, name, &queue);
        }
        if series.by_name && self.is_last_of_name(name) {
            let _ = families.unschedule_task_count.remove_label_values(&[name]);
            let _ = families.job_retry_counts.remove_label_values(&[name]);
        }
    }

    fn is_last_of_name(&mut self, name: &str) -> bool {
        let Some(count) = self.names.get_mut(name) else {
            return true;
        };
        *count -= 1;
        let last = *count == 0;
        if last {
            self.names.remove(name);
        }
        last
    }
}

fn remove_times(families: &Families, namespace: &str, name: &str, queue: &str) {
    let labels = [name, queue, namespace];
    for family in [
        &families.job_duration,
        &families.job_start_time,
        &families.job_last_time,
    ] {
        let _ = family.remove_label_values(&labels);
    }
}
