//! Which jobs this scheduler has admitted, and with what. Only that counts as reserved: the status of a PodGroup may
//! have been written by somebody else.
//!
//! A scheduler that starts, or leads again, knows of what was admitted before only by the statuses: then these are
//! believed once, as far as they could be true ([`State::learn_admissions`]).

use super::State;
use crate::delta::Delta;
use crate::ix::JobIx;
use crate::job::Job;
use crate::object::{Amounts, GroupPhase};
use crate::resource::{PODS, ResIx, ResVec};

impl State {
    /// A job leaves phase Pending.
    pub fn admit(&mut self, ix: JobIx) {
        self.set_phase(ix, GroupPhase::Inqueue);
        self.confirm_admission(ix);
    }

    /// Makes it count from now on that a job was admitted.
    pub fn confirm_admission(&mut self, ix: JobIx) {
        let job = &mut self.jobs[ix.at()];
        job.admitted = Some(job.min_resources_or_zero());
        self.touch_job(ix);
    }

    /// Before the first cycle of a scheduler that starts, or leads again: what was admitted before it led, as statuses
    /// say, counts, the oldest first, as far as the cluster has so much for all of them together. From then on only
    /// what is admitted counts.
    pub fn learn_admissions(&mut self) {
        if std::mem::replace(&mut self.knows_admissions, true) {
            return;
        }
        let says = |job: &Job| job.admitted.is_none() && job.says_admitted();
        let found = self.jobs.iter().filter(|(_, job)| says(job));
        let mut found: Vec<JobIx> = found.map(|(at, _)| JobIx(at as u32)).collect();
        found.sort_by_cached_key(|ix| (self.job(*ix).created_s, self.job_key(*ix)));
        let mut reserved = ResVec::default();
        for ix in found {
            self.confirm_admission(ix);
            let mut with = reserved.clone();
            with.add_saturating(&self.job(ix).reservation());
            let total = &self.nodes.cluster_total;
            let is_there = |(ix, amount): (ResIx, i64)| ix == PODS || amount <= total.get(ix);
            let fits = with.iter().all(is_there);
            match fits {
                true => reserved = with,
                false => self.jobs[ix.at()].admitted = None,
            }
        }
    }

    /// Somebody else may admit jobs from now on.
    pub fn doubt_admissions(&mut self) {
        self.knows_admissions = false;
    }

    /// What was admitted, if that is known, as a scheduler is told of it that starts with what this one knows.
    pub fn admissions(&self) -> Option<Delta> {
        let admitted = self.jobs.iter().filter_map(|(_, job)| {
            let (group, with) = (job.group()?, job.admitted.as_ref()?);
            let amounts = with
                .iter()
                .map(|(ix, n)| (self.resources.name(ix).to_owned(), n));
            Some((
                group.namespace.clone(),
                group.name.clone(),
                amounts.collect(),
            ))
        });
        let mut admitted: Vec<_> = admitted.collect();
        admitted.sort();
        self.knows_admissions.then_some(Delta::Admissions(admitted))
    }

    /// What a dump says was admitted.
    pub(super) fn restore_admissions(&mut self, admitted: &[(String, String, Amounts)]) {
        self.knows_admissions = true;
        for (namespace, name, amounts) in admitted {
            let Some(ix) = self.job_by_key(namespace, name) else {
                continue;
            };
            let with = self.shapes.counted(&self.resources, amounts).0;
            self.jobs[ix.at()].admitted = Some(with);
            self.journal.changed();
            self.touch_job(ix);
        }
    }
}
