//! What is kept from cycle to cycle, as another process or another engine is told of it.

use pumice_model::JobId;

use super::{JobReservation, Reservations};

/// What stands between two cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingPlaces {
    /// Reservations, in the order in which they were made.
    pub all: Vec<JobReservation>,
    /// Jobs for which no moment was found since an earlier start was last looked for.
    pub in_vain: Vec<JobId>,
    /// Jobs whose places were on nodes that are others now, and when each was to start, seconds since the epoch.
    pub lost: Vec<(JobId, i64)>,
    /// When an earlier start was last looked for, seconds since the epoch.
    pub looked_s: Option<i64>,
    /// Something has changed since.
    pub has_changed: bool,
}

impl Reservations {
    /// What stands; the jobs in vain and those that lost something in no order that lasts.
    pub fn standing(&self) -> StandingPlaces {
        StandingPlaces {
            all: self.all.clone(),
            in_vain: self.in_vain.iter().copied().collect(),
            lost: self.lost.iter().map(|(job, at_s)| (*job, *at_s)).collect(),
            looked_s: self.looked_s,
            has_changed: self.has_changed,
        }
    }

    /// Goes on with what stood, on the nodes of this epoch. All places are looked at anew in the next cycle.
    pub fn go_on_with(&mut self, told: StandingPlaces, nodes_epoch: u64) {
        self.news.extend(self.all.iter().map(|one| one.job));
        self.news.extend(told.all.iter().map(|one| one.job));
        let serials = told.all.iter().map(|one| one.serial);
        self.serial = serials.max().unwrap_or(0).max(self.serial);
        self.all = told.all;
        self.in_vain = told.in_vain.into_iter().collect();
        self.lost = told.lost.into_iter().collect();
        (self.looked_s, self.has_changed) = (told.looked_s, told.has_changed);
        (self.nodes_epoch, self.cursor) = (nodes_epoch, 0);
        self.index();
    }

    /// Whether a text of another process is to be taken in: it is another one than that taken in last. From then on it is
    /// not.
    pub fn takes_told(&mut self, epoch: u64) -> bool {
        std::mem::replace(&mut self.told, epoch) != epoch
    }

    /// Which text of another process was taken in.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Another number whenever something else is kept; 0 before anything was.
    pub fn version(&self) -> u64 {
        self.version
    }
}
