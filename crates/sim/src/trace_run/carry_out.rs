//! What a cycle decided comes true: pods run at once, those that are evicted go at once.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use pumice_engine::Decisions;
use pumice_model::object::{GroupStatus, PodPhase};
use pumice_model::{Delta, JobIx};

use super::drive::{Drive, JobHappening};
use super::objects::{self, PodKind};
use crate::device_plugin::answer_at_once;
use crate::run::written_annotations;

/// Why a pod is evicted whose time is over (docs/spec/11-time.md).
pub(super) const LIMIT: &str = "runtimelimit";

impl Drive<'_> {
    /// Tells the engine what its decisions have led to; whether there was anything to tell.
    pub(super) fn carry_out(&mut self, now_s: i64, decisions: &Decisions) -> bool {
        let mut news = Vec::new();
        for bind in &decisions.binds {
            let state = self.engine.state();
            let node = &state.nodes().object(bind.node).name;
            let written =
                written_annotations(bind.devices.as_deref(), node, now_s, &mut self.sequences);
            let of_trace = objects::parts(&state.task(bind.task).uid);
            let Some((number, attempt, member)) = of_trace else {
                continue;
            };
            let Some(live) = self
                .live
                .get_mut(&number)
                .filter(|live| live.attempt == attempt)
            else {
                continue;
            };
            let Some(at) = kind_of(&live.kinds, member) else {
                continue;
            };
            let kind = &live.kinds[usize::from(at)];
            let mut pod = self
                .maker
                .pod((number, &self.jobs[number]), attempt, member, kind);
            pod.node = Some(node.clone());
            pod.phase = PodPhase::Running;
            pod.scheduled_s = Some(now_s);
            if !written.is_empty() {
                pod.records = answer_at_once(&written);
            }
            news.push(Delta::PodApply(Box::new(pod)));
            live.places.push((at, bind.node.at() as u32));
            let amounts = (kind.cpu_milli, kind.cards_milli);
            let weight = self.books.weight(kind);
            let is_whole = live
                .kinds
                .iter()
                .map(|kind| kind.members as usize)
                .sum::<usize>()
                == live.places.len();
            self.books.occupy(now_s, bind.node.at(), amounts, 1);
            self.books.note_had(now_s, self.owners[number], weight);
            if is_whole {
                self.start(now_s, number);
            }
        }
        let by_limit = self.evict(now_s, decisions, &mut news);
        let groups = decisions
            .groups
            .iter()
            .filter_map(|job| self.written_group(*job));
        news.extend(groups.collect::<Vec<Delta>>());
        let is_any = !(news.is_empty() && by_limit.is_empty());
        news.into_iter().for_each(|delta| self.engine.apply(delta));
        self.ended_by_limit += by_limit.len();
        by_limit
            .into_iter()
            .for_each(|number| self.end(now_s, number, false));
        is_any
    }

    fn start(&mut self, now_s: i64, number: usize) {
        let Some(live) = self.live.get_mut(&number) else {
            return;
        };
        live.start_s = Some(now_s);
        self.running += 1;
        self.books.waiting.add(now_s, -1);
        self.books.running.add(now_s, 1);
        self.outcomes[number].first_start_s.get_or_insert(now_s);
        if let Some(lasts_s) = self.jobs[number].lasts_s {
            let event = (
                now_s.saturating_add(lasts_s),
                JobHappening::Ends,
                number,
                live.attempt,
            );
            self.events.push(Reverse(event));
        }
    }

    /// Pods go that are evicted, and their jobs start over; but for those, which are handed back, whose time is over.
    fn evict(
        &mut self,
        now_s: i64,
        decisions: &Decisions,
        news: &mut Vec<Delta>,
    ) -> BTreeSet<usize> {
        let (mut over, mut by_limit) = (BTreeSet::new(), BTreeSet::new());
        for eviction in &decisions.evictions {
            self.evictions += 1;
            let uid = self.engine.state().task(eviction.task).uid.to_string();
            match objects::parts(&uid) {
                Some((number, ..)) if self.live.contains_key(&number) => {
                    let is_by_limit = eviction.reason == LIMIT;
                    let jobs = if is_by_limit {
                        &mut by_limit
                    } else {
                        &mut over
                    };
                    jobs.insert(number);
                }
                _ => {
                    if let Some(pod) = self.other_pods.remove(&uid) {
                        self.occupy_other(now_s, &pod, -1);
                        self.others_evicted += 1;
                    }
                    news.push(Delta::PodDelete(uid));
                }
            }
        }
        for number in over {
            if !by_limit.contains(&number) {
                self.start_over(now_s, number);
            }
        }
        by_limit
    }

    /// The PodGroup of a job with the status that it has now.
    fn written_group(&mut self, job: JobIx) -> Option<Delta> {
        let state = self.engine.state();
        let key = state.population().job_key(job);
        let status = state.job(job).status.clone();
        if let Some(group) = self.other_groups.get_mut(&key) {
            group.status = status;
            return Some(Delta::GroupApply(Box::new(group.clone())));
        }
        let number = objects::number_of(&key)?;
        let live = self.live.get_mut(&number)?;
        // Conditions tell people; with each change of their numbers the engine would look at who waits again.
        if says_the_same(&live.status, &status) {
            return None;
        }
        live.status = status;
        let queue = &self.queues[self.owners[number].queue as usize].0;
        let job = &self.jobs[number];
        let mut group = self.maker.group(number, job, queue, &live.kinds);
        group.status = live.status.clone();
        Some(Delta::GroupApply(Box::new(group)))
    }
}

/// Whether two statuses differ in conditions alone.
fn says_the_same(one: &GroupStatus, other: &GroupStatus) -> bool {
    let told = |status: &GroupStatus| {
        let counts = [status.running, status.succeeded, status.failed];
        (status.phase, status.is_blank, counts)
    };
    told(one) == told(other)
}

/// Which kind a member of a job is of.
fn kind_of(kinds: &[PodKind], member: u32) -> Option<u16> {
    let mut before = 0;
    let at = kinds.iter().position(|kind| {
        before += kind.members;
        member < before
    })?;
    u16::try_from(at).ok()
}
