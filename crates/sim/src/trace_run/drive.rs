//! The loop: the next event, what it tells the engine, cycles until nothing changes, what they decided.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use pumice_conf::Config;
use pumice_devices::binding::Sequences;
use pumice_engine::Engine;
use pumice_engine::view::{Ask, View, planned_starts};
use pumice_model::Delta;
use pumice_model::object::{GroupObject, GroupStatus, PodPhase};
use pumice_traces::{TraceJob, WHOLE_CARD};

use super::books::{JobOwner, TraceBooks};
use super::figures::{TraceFigures, TraceOutcome};
use super::ground::TraceGround;
use super::objects::{self, JobMaker, NAMESPACE, PodKind};
use super::promises::PromiseBook;
use super::summing::WindowSums;

/// Most cycles in one second: with more the next ones are a second later.
const MAX_CYCLES_A_SECOND: u32 = 100;

/// How long a run waits for a plugin whose answers change with time, once nothing else is to come.
const MAX_IDLE_S: i64 = 86_400;

/// How to run a trace.
#[derive(Clone, Debug)]
pub struct TraceRunSettings {
    /// Queue of jobs without one.
    pub default_queue: String,
    /// Resource of cards; `None`: the one that nodes offer.
    pub card_resource: Option<String>,
    /// Label of nodes with the model of their cards.
    pub model_label: String,
    /// How long after the first job the run ends; `None`: when nothing more is to come.
    pub until_s: Option<i64>,
}

/// A job that has come and not ended.
pub(super) struct LiveJob {
    pub(super) attempt: u32,
    pub(super) kinds: Vec<PodKind>,
    /// Where its pods run: kind and node.
    pub(super) places: Vec<(u16, u32)>,
    pub(super) start_s: Option<i64>,
    pub(super) status: GroupStatus,
}

/// What may happen to a job by itself, in the order in which it does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum JobHappening {
    Ends,
    ComesAgain,
}

/// A pod of manifests that runs.
pub(super) struct OtherPod {
    pub(super) node: String,
    pub(super) cpu_milli: i64,
    pub(super) cards_milli: i64,
}

pub(super) struct Drive<'a> {
    pub(super) engine: Engine,
    pub(super) jobs: &'a [TraceJob],
    pub(super) maker: JobMaker,
    pub(super) outcomes: Vec<TraceOutcome>,
    pub(super) owners: Vec<JobOwner>,
    pub(super) queues: Vec<(String, i64)>,
    pub(super) users: Vec<String>,
    pub(super) live: BTreeMap<usize, LiveJob>,
    /// Groups of manifests.
    pub(super) other_groups: BTreeMap<String, GroupObject>,
    /// Pods of manifests, by UID.
    pub(super) other_pods: BTreeMap<String, OtherPod>,
    pub(super) events: BinaryHeap<Reverse<(i64, JobHappening, usize, u32)>>,
    pub(super) arrived: usize,
    pub(super) books: TraceBooks,
    pub(super) sequences: Sequences,
    pub(super) promises: PromiseBook,
    pub(super) keeps_mix: bool,
    pub(super) keeps_limits: bool,
    /// Somebody learns from jobs that end well: these are there as such for one moment before they are gone.
    pub(super) learns: bool,
    /// What is applied once that moment is over.
    pub(super) leaving: Vec<Delta>,
    pub(super) next_look_s: i64,
    pub(super) cycles: u64,
    pub(super) evictions: usize,
    pub(super) ended_by_limit: usize,
    pub(super) others_evicted: usize,
    pub(super) lost_milli_s: i128,
    pub(super) running: usize,
}

/// Runs a trace under a configuration. `progress` is called with the jobs that have ended or were given up so far.
pub fn run_trace(
    config: &Config,
    ground: &TraceGround,
    jobs: &[TraceJob],
    settings: &TraceRunSettings,
    mut progress: impl FnMut(usize),
) -> TraceFigures {
    let mut remarks = Vec::new();
    let mut drive = Drive::new(config, ground, jobs, settings, &mut remarks);
    let start_s = jobs.first().map_or(0, |job| job.submit_s);
    let until_s = settings
        .until_s
        .map_or(i64::MAX, |until_s| start_s.saturating_add(until_s));
    let (mut now_s, mut window) = (start_s, None);
    let mut last_event_s = start_s;
    let mut unsettled = false;
    while let Some(next_s) = drive.next_s(now_s, last_event_s, unsettled) {
        if next_s > until_s {
            now_s = until_s;
            break;
        }
        now_s = next_s;
        if drive.happen(now_s) {
            last_event_s = now_s;
        }
        unsettled = drive.decide(now_s);
        let leaving = std::mem::take(&mut drive.leaving);
        leaving
            .into_iter()
            .for_each(|delta| drive.engine.apply(delta));
        drive.forget_what_was_meant();
        drive.look_at_promises();
        drive.look_at_mix(now_s);
        if window.is_none() && drive.arrived == jobs.len() {
            drive.books.advance(now_s);
            window = Some(WindowSums::of(&drive.books, now_s - start_s));
        }
        progress(drive.arrived - drive.live.len());
    }
    drive.books.advance(now_s);
    // A trace that came in one second has no time in which jobs came: the whole run stands for it.
    let whole = || WindowSums::of(&drive.books, now_s - start_s);
    let window = window
        .filter(|window| window.seconds > 0)
        .unwrap_or_else(whole);
    drive.figures(remarks, &window, now_s - start_s)
}

impl<'a> Drive<'a> {
    pub(super) fn occupy_other(&mut self, now_s: i64, pod: &OtherPod, sign: i64) {
        let node = self.engine.state().nodes().find(&pod.node);
        let node = node.map_or(usize::MAX, |node| node.at());
        self.books
            .occupy(now_s, node, (pod.cpu_milli, pod.cards_milli), sign);
    }

    /// When something happens next; `None`: nothing is to come.
    fn next_s(&self, now_s: i64, last_event_s: i64, unsettled: bool) -> Option<i64> {
        let arrival_s = self.jobs.get(self.arrived).map(|job| job.submit_s);
        let event_s = self.events.peek().map(|Reverse((at_s, ..))| *at_s);
        let next_s = arrival_s.into_iter().chain(event_s).min();
        let again_s = unsettled.then_some(now_s + 1);
        // Plugins may have something to say later, as long as somebody waits for it, or runs until then.
        let waits = self.live.len() > self.running || self.keeps_limits;
        let wake_s = self.engine.plugins_wake_at_s().filter(|_| waits);
        let wake_s = wake_s
            .into_iter()
            .chain(again_s)
            .min()
            .map(|at_s| at_s.max(now_s + 1));
        let patience_s = last_event_s.saturating_add(MAX_IDLE_S);
        let wake_s = wake_s.filter(|at_s| next_s.is_some() || *at_s <= patience_s);
        next_s.into_iter().chain(wake_s).min()
    }

    /// What was to happen first was so to jobs that have ended since, or started over.
    fn forget_what_was_meant(&mut self) {
        while let Some(Reverse((_, _, number, attempt))) = self.events.peek() {
            let live = self.live.get(number);
            if live.is_some_and(|live| live.attempt == *attempt) {
                break;
            }
            self.events.pop();
        }
    }

    /// Jobs end, come again and come; whether anything did.
    fn happen(&mut self, now_s: i64) -> bool {
        let mut any = false;
        while let Some(Reverse((at_s, happening, number, attempt))) = self.events.peek().copied() {
            if at_s > now_s {
                break;
            }
            self.events.pop();
            let is_meant = self
                .live
                .get(&number)
                .is_some_and(|live| live.attempt == attempt);
            if is_meant {
                any = true;
                match happening {
                    JobHappening::Ends => self.end(now_s, number, self.learns),
                    JobHappening::ComesAgain => self.make_pods(number),
                }
            }
        }
        while let Some(job) = self
            .jobs
            .get(self.arrived)
            .filter(|job| job.submit_s <= now_s)
        {
            any = true;
            self.come(now_s, self.arrived, job);
            self.arrived += 1;
        }
        any
    }

    fn come(&mut self, now_s: i64, number: usize, job: &TraceJob) {
        let kinds = self.maker.kinds(job);
        let owner = self.owners[number];
        let queue = &self.queues[owner.queue as usize].0;
        let group = self.maker.group(number, job, queue, &kinds);
        let weight = self.books.weight_of(&kinds);
        self.books.note_wish(now_s, owner, weight);
        self.books.waiting.add(now_s, 1);
        self.outcomes[number].came = true;
        let live = LiveJob {
            attempt: 0,
            kinds,
            places: Vec::new(),
            start_s: None,
            status: GroupStatus::default(),
        };
        self.live.insert(number, live);
        self.engine.apply(Delta::GroupApply(Box::new(group)));
        self.make_pods(number);
    }

    fn make_pods(&mut self, number: usize) {
        let Some(live) = self.live.get(&number) else {
            return;
        };
        let job = (number, &self.jobs[number]);
        let mut member = 0;
        for kind in &live.kinds {
            for _ in 0..kind.members {
                let pod = self.maker.pod(job, live.attempt, member, kind);
                self.engine.apply(Delta::PodApply(Box::new(pod)));
                member += 1;
            }
        }
    }

    /// The pods of a job have ended well, and are gone after the next decision.
    fn succeed(&mut self, now_s: i64, number: usize) {
        let Some(live) = self.live.get(&number) else {
            return;
        };
        let kinds = live.kinds.iter();
        let kinds = kinds.flat_map(|kind| std::iter::repeat_n(kind, kind.members as usize));
        for (member, kind) in (0..).zip(kinds) {
            let job = (number, &self.jobs[number]);
            let mut pod = self.maker.pod(job, live.attempt, member, kind);
            let state = self.engine.state();
            let task = state.population().task_by_uid(&pod.uid);
            let node = task.and_then(|task| state.task(task).node);
            pod.node = node.map(|node| state.nodes().object(node).name.clone());
            (pod.phase, pod.scheduled_s) = (PodPhase::Succeeded, live.start_s);
            pod.ends_by_s = Some(now_s);
            self.leaving.push(Delta::PodDelete(pod.uid.clone()));
            self.engine.apply(Delta::PodApply(Box::new(pod)));
        }
    }

    /// The pods of a job are gone, or have ended well, and it has given back what they had.
    fn clear(&mut self, now_s: i64, number: usize, well: bool) {
        if well {
            self.succeed(now_s, number);
        }
        let Some(live) = self.live.get_mut(&number) else {
            return;
        };
        let members: u32 = live.kinds.iter().map(|kind| kind.members).sum();
        for member in (0..members).filter(|_| !well) {
            let uid = objects::uid(number, live.attempt, member);
            self.engine.apply(Delta::PodDelete(uid));
        }
        let mut given_back = 0;
        for (kind, node) in std::mem::take(&mut live.places) {
            let kind = &live.kinds[usize::from(kind)];
            given_back += self.books.weight(kind);
            self.books
                .occupy(now_s, node as usize, (kind.cpu_milli, kind.cards_milli), -1);
        }
        self.books.note_had(now_s, self.owners[number], -given_back);
        match live.start_s.take() {
            Some(_) => {
                self.running -= 1;
                self.books.running.add(now_s, -1);
            }
            None => self.books.waiting.add(now_s, -1),
        }
    }

    /// A job ends, by itself or by its limit, and where that is `well` is seen to have.
    pub(super) fn end(&mut self, now_s: i64, number: usize, well: bool) {
        self.clear(now_s, number, well);
        let name = objects::group_name(number);
        let gone = Delta::GroupDelete(NAMESPACE.to_owned(), name);
        match well {
            true => self.leaving.push(gone),
            false => self.engine.apply(gone),
        }
        self.outcomes[number].end_s = Some(now_s);
        if let Some(live) = self.live.remove(&number) {
            let weight = self.books.weight_of(&live.kinds);
            self.books.note_wish(now_s, self.owners[number], -weight);
        }
    }

    /// A pod of it was evicted: all of them end, and come anew.
    pub(super) fn start_over(&mut self, now_s: i64, number: usize) {
        let Some(live) = self.live.get(&number) else {
            return;
        };
        if let Some(start_s) = live.start_s {
            let weight = self.books.weight_of(&live.kinds);
            self.lost_milli_s += i128::from(weight) * i128::from(now_s - start_s);
        }
        self.clear(now_s, number, false);
        self.books.waiting.add(now_s, 1);
        self.outcomes[number].restarts += 1;
        if let Some(live) = self.live.get_mut(&number) {
            live.attempt += 1;
            let event = (now_s + 1, JobHappening::ComesAgain, number, live.attempt);
            self.events.push(Reverse(event));
        }
    }

    /// Cycles until nothing changes; true if there were too many for one second.
    fn decide(&mut self, now_s: i64) -> bool {
        for _ in 0..MAX_CYCLES_A_SECOND {
            let decisions = self.engine.cycle(now_s);
            self.cycles += 1;
            if decisions.settled {
                return false;
            }
            let told = self.carry_out(now_s, &decisions);
            let goes_on = told
                || decisions.postponed
                || !decisions.evictions.is_empty()
                || !decisions.admitted.is_empty();
            if !goes_on && decisions.nominations.is_empty() {
                return false;
            }
        }
        true
    }

    /// What is promised now to whom nothing was promised before.
    fn look_at_promises(&mut self) {
        let state = self.engine.state();
        for (job, start_s) in planned_starts(self.engine.known()) {
            let key = state.population().job_key(job);
            if let Some(number) = objects::number_of(&key) {
                self.promises.note(number, start_s);
            }
        }
    }

    /// Once a part of the time: which free cards are of use to no task.
    fn look_at_mix(&mut self, now_s: i64) {
        if !self.keeps_mix || now_s < self.next_look_s {
            return;
        }
        self.next_look_s = now_s + self.books.waiting.width_s();
        if let Ok(View::Mix(mix)) = self.engine.known().view(&Ask::Mix)
            && mix.absent.is_none()
        {
            let useless: f64 = mix.cards.iter().map(|row| row.useless_cards).sum();
            self.books
                .note_useless(now_s, (useless * WHOLE_CARD as f64) as i64);
        }
    }
}
