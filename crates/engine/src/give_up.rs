//! Gangs that stay bound in part are given up: their bound pods are to be deleted, so that they no
//! longer hold what others could use. Their controller makes them anew, and the gang starts over.
//!
//! ```text
//!  partial for the deadline ─► given up ─► partial again ─► for twice the deadline ─► given up ─► …
//!                                                      complete once ─► back to the deadline
//! ```
//!
//! What was given up is remembered by namespace and name of the PodGroup, which outlive the pods.

use pumice_model::resource::display_amount;
use pumice_model::{JobIx, ResVec, TaskIx};
use rustc_hash::FxHashMap;

use crate::Engine;
use crate::partial::members_on_nodes;

/// Longest time a gang stays partial before it is given up once more, unless the deadline itself is
/// longer.
const LONGEST_WAIT_S: i64 = 24 * 3600;

/// How long it is remembered that a gang was given up.
const REMEMBERED_S: i64 = 2 * LONGEST_WAIT_S;

/// A gang that is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// The job.
    pub job: JobIx,
    /// Its bound pods that a controller will make anew, to be deleted, by name.
    pub victims: Vec<TaskIx>,
    /// What is to be told about it, and what would help.
    pub message: String,
}

/// How often gangs were given up, and when last.
#[derive(Clone, Default)]
pub struct Setbacks {
    /// Seconds a gang may be partial; `None` for any time.
    deadline_s: Option<i64>,
    known: FxHashMap<String, Setback>,
    /// When the next gang is to be given up, as of the last look.
    pub(crate) next_s: Option<i64>,
}

#[derive(Clone, Copy)]
struct Setback {
    times: u32,
    last_s: i64,
}

impl Setbacks {
    /// A gang was complete: the next time is its first again.
    pub fn forget(&mut self, key: impl FnOnce() -> String) {
        if !self.known.is_empty() {
            self.known.remove(&key());
        }
    }

    /// How long a gang may be partial that was given up so often.
    fn wait_s(&self, times: u32) -> Option<i64> {
        let deadline_s = self.deadline_s?;
        let doubled = deadline_s.saturating_mul(1 << times.min(32));
        Some(doubled.min(LONGEST_WAIT_S.max(deadline_s)))
    }

    /// When a gang that has been partial since then is given up.
    fn due_s(&self, key: &str, since_s: i64) -> Option<i64> {
        let known = self.known.get(key);
        let wait_s = self.wait_s(known.map_or(0, |known| known.times))?;
        let from_s = known.map_or(since_s, |known| known.last_s.max(since_s));
        Some(from_s.saturating_add(wait_s))
    }

    /// A gang is given up; how long it may be partial the next time.
    fn add(&mut self, key: String, now_s: i64) -> Option<i64> {
        self.known
            .retain(|_, known| known.last_s.saturating_add(REMEMBERED_S) > now_s);
        let first = Setback {
            times: 0,
            last_s: now_s,
        };
        let known = self.known.entry(key).or_insert(first);
        known.times = known.times.saturating_add(1);
        known.last_s = now_s;
        let times = known.times;
        self.wait_s(times)
    }
}

impl Engine {
    /// Gangs that stay bound in part this long are given up, later ones of the same PodGroup after
    /// twice the time, and so on; 0 never gives up.
    pub fn set_partial_gang_deadline(&mut self, deadline_s: i64) {
        self.partial.setbacks.deadline_s = (deadline_s > 0).then_some(deadline_s);
    }

    /// Gangs whose time is over. Each is told once; the caller deletes the victims.
    pub fn give_up_gangs(&mut self, now_s: i64) -> Vec<GivenUp> {
        let due: Vec<(JobIx, i64)> = self
            .deadlines()
            .filter(|(_, _, due_s)| *due_s <= now_s)
            .map(|(job, since_s, _)| (job, since_s))
            .collect();
        let mut given_up = Vec::new();
        for (job, since_s) in due {
            let again_s = self.partial.setbacks.add(self.state.job_key(job), now_s);
            let mut victims = members_on_nodes(&self.state, job);
            // Nobody would make the others again.
            victims.retain(|ix| self.state.task(*ix).controlled);
            if victims.is_empty() {
                continue;
            }
            let message = self.give_up_message(job, victims.len(), now_s - since_s, again_s);
            given_up.push(GivenUp {
                job,
                victims,
                message,
            });
        }
        let next_s = self.deadlines().map(|(_, _, due_s)| due_s).min();
        self.partial.setbacks.next_s = next_s;
        given_up
    }

    /// Gangs that will be given up: the job, since when it is partial, when its time is over.
    fn deadlines(&self) -> impl Iterator<Item = (JobIx, i64, i64)> {
        let partial = self.partial.all().into_iter();
        let ours = partial.filter(|(job, _)| {
            self.state.has_job(*job) && self.partial.was_bound_in_part(&self.state, *job)
        });
        ours.filter_map(|(job, since_s)| {
            let key = self.state.job_key(job);
            let due_s = self.partial.setbacks.due_s(&key, since_s)?;
            Some((job, since_s, due_s))
        })
    }

    fn give_up_message(
        &self,
        ix: JobIx,
        victims: usize,
        after_s: i64,
        again_s: Option<i64>,
    ) -> String {
        let job = self.state.job(ix);
        let (needed, bound) = (job.min_available, members_on_nodes(&self.state, ix).len());
        let pods = |count: usize| match count {
            1 => "1 bound pod is".to_owned(),
            count => format!("{count} bound pods are"),
        };
        let mut text = format!(
            "{bound} of the {needed} pods it needs (minMember) could be bound within {after_s} s; {} \
             deleted so that others can use the place and the gang starts over as a whole. ",
            pods(victims)
        );
        text.push_str(&self.what_would_help(ix, bound));
        if let Some(again_s) = again_s {
            text.push_str(&format!(
                ". Should it be bound in part again, it is given up after {again_s} s"
            ));
        }
        text
    }

    /// What the missing pods of a partial gang need, and why the first of them waits.
    fn what_would_help(&self, ix: JobIx, bound: usize) -> String {
        let job = self.state.job(ix);
        let missing = usize::try_from(job.min_available)
            .unwrap_or(0)
            .saturating_sub(bound);
        let mut waiting: Vec<TaskIx> = job.tasks.clone();
        waiting.retain(|ix| self.state.task(*ix).status.is_undecided());
        waiting.sort_by_key(|ix| &self.state.task(*ix).name);
        waiting.truncate(missing);
        let Some(first) = waiting.first().copied() else {
            return format!(
                "No further pod of it exists: its controller has to make {missing} more, or set \
                 minMember of the PodGroup to {bound}"
            );
        };
        let room = self.amounts_of(&waiting);
        let name = &self.state.task(first).name;
        let why = self
            .why_pending(first)
            .map_or_else(String::new, |why| why.message);
        let why = why.trim_end_matches('.');
        format!(
            "What would help: room for {room} more, or minMember {bound} in the PodGroup. {name} \
             waits: {why}"
        )
    }

    /// What tasks ask together, such as `cpu 4, nvidia.com/gpu 8`.
    fn amounts_of(&self, tasks: &[TaskIx]) -> String {
        let mut sum = ResVec::default();
        tasks
            .iter()
            .for_each(|ix| sum.add(&self.state.shape(*ix).request));
        let names = self.state.resources().in_order().iter();
        let amounts = names.filter(|ix| sum.get(**ix) > 0).map(|ix| {
            let name = self.state.resources().name(*ix);
            format!("{name} {}", display_amount(name, sum.get(*ix)))
        });
        amounts.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_further_time_a_gang_is_given_up_takes_twice_as_long() {
        let mut setbacks = Setbacks {
            deadline_s: Some(300),
            ..Setbacks::default()
        };
        let mut now_s = 1_000;
        let mut waits = Vec::new();
        for _ in 0..11 {
            let due_s = setbacks.due_s("ns/g", now_s).expect("a deadline");
            waits.push(due_s - now_s);
            now_s = due_s;
            setbacks.add("ns/g".to_owned(), now_s);
        }
        let day_s = LONGEST_WAIT_S;
        let doubled = [300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800];
        assert_eq!(waits[..9], doubled);
        assert_eq!(waits[9..], [day_s, day_s]);
        assert_eq!(setbacks.due_s("ns/other", now_s), Some(now_s + 300));
        setbacks.forget(|| "ns/g".to_owned());
        assert_eq!(setbacks.due_s("ns/g", now_s), Some(now_s + 300));
    }

    #[test]
    fn a_gang_that_was_given_up_long_ago_is_forgotten() {
        let mut setbacks = Setbacks::default();
        setbacks.add("ns/old".to_owned(), 0);
        setbacks.add("ns/new".to_owned(), REMEMBERED_S);
        assert_eq!(setbacks.known.len(), 1);
    }
}
