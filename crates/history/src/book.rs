//! The book of jobs that are there: each is looked at when something of it has changed, and its record goes on from there.
//!
//! ```text
//!  look: same job, same queue ─► advance the record to now ─► what it does and holds from now on
//!  first look ─► from when it was made: unseen, or waiting for what is found now ─► pods arrive when they got their nodes
//!  gone ─► at the end of the pass the record is handed out
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::record::{JobOutcome, JobRecord};
use crate::spans::HeldAmounts;
use crate::words::{kept_name, reasons};

/// Records of jobs that are gone which may wait to be taken; of more, the oldest are lost.
const MAX_ENDED: usize = 20_000;

/// A job that was made so soon before the first look at it that nobody can have missed anything.
const SOON_S: i64 = 2;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobDoing<'a> {
    /// It waits for something.
    Waits {
        /// Kind of reason, as metrics name it.
        reason: &'a str,
        /// What is told of it.
        text: &'a str,
    },
    /// It waits, and nothing new is known of it.
    AsBefore,
    /// The gang is on nodes.
    Runs,
    /// All its pods have ended.
    Ended {
        /// Some of them badly.
        badly: bool,
    },
    /// There are no pods.
    NoPods,
    /// Nobody decides here: why it waits is not known.
    Unseen,
}

/// A pod that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodArrival<'a> {
    /// When it got its node, seconds since the epoch.
    pub since_s: i64,
    /// What it holds.
    pub held: HeldAmounts<'a>,
}

/// A job as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSight<'a> {
    /// UID of its PodGroup.
    pub uid: &'a str,
    /// Namespace that it is in.
    pub namespace: &'a str,
    /// Name of the PodGroup or pod.
    pub name: &'a str,
    /// Queue that it is in.
    pub queue: &'a str,
    /// Whom it names as its user.
    pub user: &'a str,
    /// When it was made, seconds since the epoch.
    pub created_s: i64,
    /// What it does.
    pub doing: JobDoing<'a>,
    /// Pods that have to be on nodes for it to run.
    pub needs: usize,
    /// Pods that are on nodes.
    pub pods: usize,
    /// Nodes on which they are.
    pub nodes: BTreeSet<&'a str>,
    /// What they hold.
    pub held: HeldAmounts<'a>,
    /// Each of them, where the book [does not know](HistoryBook::knows) the job.
    pub arrivals: Vec<PodArrival<'a>>,
}

/// What is new since it was last taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookNews {
    /// Records that are complete.
    pub ended: Vec<JobRecord>,
    /// Records that go on and have changed, as they stand.
    pub open: Vec<JobRecord>,
    /// Records that were lost, since nobody took them.
    pub lost: u64,
}

/// The book. See the module.
pub struct HistoryBook<Id> {
    jobs: BTreeMap<Id, JobRecord>,
    /// Records of another process, by UID, until the first pass.
    before: BTreeMap<Box<str>, JobRecord>,
    /// Since when somebody looks.
    began_s: Option<i64>,
    gone: Vec<Id>,
    /// All jobs were looked at.
    has_looked: bool,
    changed: BTreeSet<Id>,
    ended: VecDeque<JobRecord>,
    lost: u64,
}

impl<Id> Default for HistoryBook<Id> {
    fn default() -> Self {
        Self {
            jobs: BTreeMap::new(),
            before: BTreeMap::new(),
            began_s: None,
            gone: Vec::new(),
            has_looked: false,
            changed: BTreeSet::new(),
            ended: VecDeque::new(),
            lost: 0,
        }
    }
}

impl<Id: Copy + Ord> HistoryBook<Id> {
    /// Whether there is a record of that job, and it has that UID or none at the moment.
    pub fn knows(&self, job: Id, uid: &str) -> bool {
        let known = self.jobs.get(&job);
        known.is_some_and(|record| uid.is_empty() || *record.uid == *uid)
    }

    /// Goes on where another process was: its records that were not complete.
    pub fn resume(&mut self, records: Vec<JobRecord>) {
        for record in records {
            self.before.insert(record.uid.clone(), record);
        }
    }

    /// A job is gone; it counts at the end of the next pass.
    pub fn gone(&mut self, job: Id) {
        self.gone.push(job);
    }

    /// Pods of a job are evicted.
    pub fn evicted(&mut self, job: Id) {
        if let Some(record) = self.jobs.get_mut(&job) {
            record.evicted = record.evicted.saturating_add(1);
            self.changed.insert(job);
        }
    }

    /// A job as it is now. One that had ended before anybody looked is not in the book.
    pub fn look(&mut self, id: Id, look: &JobSight<'_>, now_s: i64) {
        let began_s = *self.began_s.get_or_insert(now_s);
        let is_known = self.knows(id, look.uid);
        let record = match self.jobs.remove(&id) {
            Some(mut record) if is_known => {
                record.advance(now_s);
                Some(self.follow_owner(record, look))
            }
            Some(replaced) => {
                self.complete(replaced, now_s);
                // What its pods held so far is in that one.
                let arrivals = Vec::new();
                let look = JobSight {
                    arrivals,
                    ..look.clone()
                };
                first(&look, began_s, now_s)
            }
            None => match self.before.remove(look.uid) {
                Some(record) => Some(resumed(record, look, now_s)),
                None => first(look, began_s, now_s),
            },
        };
        let Some(mut record) = record else {
            return;
        };
        do_now(&mut record, look);
        self.changed.insert(id);
        self.jobs.insert(id, record);
    }

    /// The record of a job that has another queue or user now goes on as another part: what was held counts for whom it
    /// was held.
    fn follow_owner(&mut self, mut record: JobRecord, look: &JobSight<'_>) -> JobRecord {
        let (queue, user) = (kept_name(look.queue), kept_name(look.user));
        if record.queue == queue && record.user == user {
            return record;
        }
        if record.spans.spans().is_empty() {
            (record.queue, record.user) = (queue, user);
            return record;
        }
        let next = JobRecord {
            part: record.part.saturating_add(1),
            queue,
            user,
            submit_s: record.as_of_s,
            ..identity(look, record.as_of_s)
        };
        record.end(JobOutcome::Moved);
        self.put(record);
        next
    }

    /// All jobs that have changed were looked at.
    pub fn end_pass(&mut self, now_s: i64) {
        self.has_looked = true;
        for id in std::mem::take(&mut self.gone) {
            self.changed.remove(&id);
            if let Some(record) = self.jobs.remove(&id) {
                self.complete(record, now_s);
            }
        }
        // Whoever was not found in the first pass has gone meanwhile.
        for (_, mut record) in std::mem::take(&mut self.before) {
            if record.end_s.is_none() {
                record.end(JobOutcome::Unseen);
            }
            self.put(record);
        }
    }

    /// Nothing of the job is there any more.
    fn complete(&mut self, mut record: JobRecord, now_s: i64) {
        record.advance(now_s);
        if record.end_s.is_none() {
            record.end(JobOutcome::Deleted);
        }
        self.put(record);
    }

    fn put(&mut self, record: JobRecord) {
        if self.ended.len() >= MAX_ENDED {
            self.ended.pop_front();
            self.lost = self.lost.saturating_add(1);
        }
        self.ended.push_back(record);
    }

    /// Whether all jobs were looked at, so that all that go on are known.
    pub fn has_looked(&self) -> bool {
        self.has_looked
    }

    /// How many records wait to be taken.
    pub fn waiting(&self) -> usize {
        self.ended.len() + self.changed.len()
    }

    /// What is new.
    pub fn take(&mut self) -> BookNews {
        let changed = std::mem::take(&mut self.changed).into_iter();
        let open = changed.filter_map(|id| self.jobs.get(&id).cloned());
        BookNews {
            open: open.collect(),
            ended: std::mem::take(&mut self.ended).into(),
            lost: std::mem::take(&mut self.lost),
        }
    }

    /// All records that go on, as they stand.
    pub fn open(&self) -> impl Iterator<Item = &JobRecord> {
        self.jobs.values()
    }
}

/// A record of which nothing but whose it is is known.
fn identity(look: &JobSight<'_>, as_of_s: i64) -> JobRecord {
    JobRecord {
        uid: look.uid.into(),
        namespace: kept_name(look.namespace),
        name: kept_name(look.name),
        queue: kept_name(look.queue),
        user: kept_name(look.user),
        submit_s: look.created_s.min(as_of_s),
        as_of_s,
        ..JobRecord::default()
    }
}

/// The record of a job that is new: what it did before is told by when it was made and when its pods got their nodes.
fn first(look: &JobSight<'_>, began_s: i64, now_s: i64) -> Option<JobRecord> {
    let mut record = identity(look, now_s);
    record.as_of_s = record.submit_s;
    let missed_s = now_s.saturating_sub(record.submit_s);
    let was_there = record.submit_s >= began_s || missed_s <= SOON_S;
    let reason = match look.doing {
        JobDoing::Ended { .. } if !was_there => return None,
        JobDoing::Waits { reason, .. } if was_there => reason,
        JobDoing::Runs | JobDoing::AsBefore | JobDoing::Ended { .. } if was_there => {
            reasons::DECIDING
        }
        // Nobody makes pods behind anybody's back.
        JobDoing::NoPods => reasons::NO_PODS,
        _ => reasons::UNSEEN,
    };
    record.wait_for(reason, "");
    catch_up(&mut record, look, now_s);
    Some(record)
}

/// The record of another process goes on: in between it is not known why the job waited.
fn resumed(mut record: JobRecord, look: &JobSight<'_>, now_s: i64) -> JobRecord {
    if record.outcome == JobOutcome::Waiting {
        record.wait_for(reasons::UNSEEN, "");
    }
    catch_up(&mut record, look, now_s);
    record
}

/// Pods arrive one after the other, until now.
fn catch_up(record: &mut JobRecord, look: &JobSight<'_>, now_s: i64) {
    let from_s = record.as_of_s.min(now_s);
    let arrival_s = |pod: &PodArrival<'_>| pod.since_s.clamp(from_s, now_s);
    let mut pods: Vec<&PodArrival<'_>> = look.arrivals.iter().collect();
    pods.sort_by_key(|pod| pod.since_s);
    // What was held before may have gone meanwhile.
    record.spans.set_held(&[]);
    let mut there = BTreeMap::new();
    let groups = pods.chunk_by(|left, right| arrival_s(left) == arrival_s(right));
    let mut arrived = 0;
    for at_once in groups {
        record.advance(arrival_s(at_once[0]));
        for (name, amount) in at_once.iter().flat_map(|pod| &pod.held) {
            let sum: &mut u64 = there.entry(*name).or_default();
            *sum = sum.saturating_add(*amount);
        }
        arrived += at_once.len();
        let held: HeldAmounts<'_> = there.iter().map(|(name, sum)| (*name, *sum)).collect();
        record.spans.set_held(&held);
        if arrived >= look.needs && look.doing == JobDoing::Runs {
            record.run();
        }
    }
    record.advance(now_s);
}

/// What it does and holds from now on.
fn do_now(record: &mut JobRecord, look: &JobSight<'_>) {
    match look.doing {
        JobDoing::Waits { reason, text } => record.wait_for(reason, text),
        JobDoing::AsBefore if record.waits_for_something() => {}
        JobDoing::AsBefore => record.wait_for(reasons::DECIDING, ""),
        JobDoing::Runs => record.run(),
        JobDoing::NoPods if record.start_s.is_none() => record.wait_for(reasons::NO_PODS, ""),
        JobDoing::NoPods => record.end(JobOutcome::Deleted),
        JobDoing::Ended { badly: true } => record.end(JobOutcome::Failed),
        JobDoing::Ended { badly: false } => record.end(JobOutcome::Succeeded),
        JobDoing::Unseen => record.wait_for(reasons::UNSEEN, ""),
    }
    record.spans.set_held(&look.held);
    record.be_on(look.pods, look.nodes.iter().copied());
}

#[cfg(test)]
mod tests;
