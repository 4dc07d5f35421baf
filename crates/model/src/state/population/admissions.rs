//! Which jobs this scheduler has admitted, and with what. Only that counts as reserved: the status of a PodGroup may
//! have been written by somebody else.
//!
//! A scheduler that starts, or leads again, knows of what was admitted before only by the statuses: then these are
//! believed once, as far as they could be true ([`Admissions::learn`]). With what a group was admitted stands in a
//! condition ([`GroupStatus::admitted_with`]), so that `minResources` may have been raised since.
//!
//! [`GroupStatus::admitted_with`]: crate::object::GroupStatus::admitted_with

use super::Population;
use crate::delta::Delta;
use crate::ix::JobIx;
use crate::job::{Job, Origin};
use crate::object::{Amounts, GroupPhase};
use crate::resource::{PODS, ResIx, ResVec, ResourceNames};
use crate::state::{ChangeJournal, Ground};

/// Admits jobs, and takes in what was admitted before.
pub struct Admissions<'a> {
    pub(in crate::state) population: &'a mut Population,
    pub(in crate::state) journal: &'a mut ChangeJournal,
    pub(in crate::state) ground: &'a Ground,
}

impl Admissions<'_> {
    /// A job leaves phase Pending.
    pub fn admit(mut self, ix: JobIx) {
        self.set_phase(ix, GroupPhase::Inqueue);
        self.confirm(ix);
    }

    fn set_phase(&mut self, ix: JobIx, phase: GroupPhase) {
        let job = self.population.job_mut(ix);
        if job.status.phase != phase {
            job.enter_phase(phase);
            self.journal.phase_changed();
            self.population.touch_job(ix, self.journal);
        }
    }

    /// Makes it count from now on that a job was admitted.
    pub fn confirm(&mut self, ix: JobIx) {
        let least = self.population.job(ix).min_resources_or_zero();
        self.set_admitted(ix, least);
    }

    fn set_admitted(&mut self, ix: JobIx, with: ResVec) {
        self.population.job_mut(ix).admitted = Some(with);
        self.population.touch_job(ix, self.journal);
    }

    /// Before the first cycle of a scheduler that starts, or leads again: what was admitted before it led, as statuses
    /// say, counts, the oldest first, as far as the cluster has so much for all of them together. From then on only
    /// what is admitted counts. A status that does not say with what its group was admitted means all it asks.
    pub fn learn(mut self) {
        if std::mem::replace(&mut self.population.knows_admissions, true) {
            return;
        }
        let says = |job: &Job| job.admitted.is_none() && job.says_admitted();
        let found = self.population.jobs().filter(|(_, job)| says(job));
        let mut found: Vec<JobIx> = found.map(|(ix, _)| ix).collect();
        found.sort_by_cached_key(|ix| {
            let population = &self.population;
            (population.job(*ix).created_s, population.job_key(*ix))
        });
        let total = &self.ground.nodes().cluster_total;
        let mut reserved = ResVec::default();
        for ix in found {
            let written = self.population.job(ix).status.admitted_with();
            match written {
                Some(amounts) => self.set_admitted(ix, self.ground.counted(&amounts)),
                None => self.confirm(ix),
            }
            let mut with = reserved.clone();
            with.add_saturating(&self.population.job(ix).reservation());
            let is_there = |(ix, amount): (ResIx, i64)| ix == PODS || amount <= total.get(ix);
            let fits = with.iter().all(is_there);
            match fits {
                true => reserved = with,
                false => self.population.job_mut(ix).admitted = None,
            }
        }
    }

    /// Somebody else may admit jobs from now on.
    pub fn doubt(self) {
        self.population.knows_admissions = false;
    }

    /// Pods without PodGroup wait for admission again: that they were admitted is written nowhere,
    /// so a restart would not know it either.
    pub fn forget_unwritten(mut self) {
        let admitted: Vec<JobIx> = self
            .population
            .jobs()
            .filter(|(_, job)| job.origin == Origin::BarePod)
            .filter(|(_, job)| job.status.phase == GroupPhase::Inqueue)
            .map(|(ix, _)| ix)
            .collect();
        for ix in admitted {
            self.set_phase(ix, GroupPhase::Pending);
        }
    }

    /// What a dump says was admitted.
    pub(in crate::state) fn restore(mut self, admitted: &[(String, String, Amounts)]) {
        self.population.knows_admissions = true;
        for (namespace, name, amounts) in admitted {
            let Some(ix) = self.population.job_by_key(namespace, name) else {
                continue;
            };
            let with = self.ground.counted(amounts);
            self.journal.changed();
            self.set_admitted(ix, with);
        }
    }
}

impl Population {
    /// What was admitted, if that is known, as a scheduler is told of it that starts with what this one knows.
    pub fn admissions(&self, resources: &ResourceNames) -> Option<Delta> {
        let admitted = self.jobs.iter().filter_map(|(_, job)| {
            let (group, with) = (job.group()?, job.admitted.as_ref()?);
            let amounts = with
                .iter()
                .map(|(ix, n)| (resources.name(ix).to_owned(), n));
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
}
