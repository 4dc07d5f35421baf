//! Who sleeps and who is woken (see `pumice_framework::sleep`): the questions only actions can ask,
//! because they take the kernel.

use pumice_framework::plugins::Lasting;
use pumice_framework::points::MovedQueues;
use pumice_framework::sleep::{
    Bed, Minimum, PodClassIx, Sleep, SleepGroupIx, SleepGroups, SleepReason, SleepsFor, WakeMode,
    WantedPlaces,
};
use pumice_framework::{JobNote, Plugins, Session, Skip};
use pumice_model::{DomainIx, JobIx, State, TaskIx};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::by_queue::ByQueue;
use crate::domains;
use crate::kernel::Kernel;
use crate::pod_classes::{class_of, pods_by_class};
use crate::worksheet::{TaskKind, has_tasks, placeable};

/// Sleepers that have turns in a run of an action: the first of each group that may get something, and
/// the next one after its turn.
#[derive(Default)]
pub(crate) struct WokenSleepers(FxHashMap<JobIx, (SleepGroupIx, usize)>);

/// A group, and the place of the member that has its turn.
#[derive(Clone, Copy)]
pub(crate) struct SleeperTurn {
    group: SleepGroupIx,
    at: usize,
}

impl WokenSleepers {
    /// Wakes the first of each group that waits for admission.
    pub fn for_admission(session: &mut Session, jobs: &mut ByQueue) -> Self {
        let mut woken = Self::default();
        if session.sleepers.mode() == WakeMode::Awake {
            for group in session.sleepers.groups().admissions() {
                woken.push(session, jobs, group, 0);
            }
        }
        woken
    }

    /// Wakes the first of each group that may get places for pods of a kind.
    pub fn for_places(
        session: &mut Session,
        kernel: &mut Kernel,
        jobs: &mut ByQueue,
        kind: TaskKind,
    ) -> Self {
        let mut woken = Self::default();
        if session.sleepers.mode() != WakeMode::Awake {
            return woken;
        }
        if matches!(session.plugins.moved_by_placement(), MovedQueues::Any) {
            // The order of others depends on queues that take part in vain, too.
            let queues = session
                .sleepers
                .groups()
                .queues(kind == TaskKind::BestEffort);
            queues
                .into_iter()
                .for_each(|queue| jobs.attend(session, queue));
        }
        for group in session.sleepers.groups().open() {
            let waits_for = session.sleepers.groups().get(group).waits_for().clone();
            let SleepsFor::Places(places) = &*waits_for else {
                continue;
            };
            let wanted = match kind {
                TaskKind::Requesting => places.requests,
                TaskKind::BestEffort => places.best_effort,
            };
            if wanted && !is_certain(session, kernel, group, places) {
                woken.push(session, jobs, group, 0);
            }
        }
        woken
    }

    /// Lets the member at a place of a group have its turn; where jobs have no lasting order, all from
    /// there on.
    fn push(&mut self, session: &mut Session, jobs: &mut ByQueue, group: SleepGroupIx, at: usize) {
        let members = session.sleepers.groups().get(group).members();
        let together = match session.lasting.order {
            true => 1,
            false => members.len(),
        };
        // Who got something in an earlier action is awake.
        let sleeps = |(_, job): &(usize, JobIx)| !session.sleepers.has_stirred(*job);
        let members = members.iter().copied().enumerate().skip(at);
        let next = members.filter(sleeps).take(together);
        for (at, job) in next.collect::<Vec<_>>() {
            self.0.insert(job, (group, at));
            jobs.push(session, job);
        }
    }

    /// A job has its turn: the group that it sleeps in, if that is why it has one.
    pub fn take(&mut self, job: JobIx) -> Option<SleeperTurn> {
        let (group, at) = self.0.remove(&job)?;
        Some(SleeperTurn { group, at })
    }

    /// The turn of a member is over: the next one comes.
    pub fn next(&mut self, session: &mut Session, jobs: &mut ByQueue, turn: SleeperTurn) {
        if session.lasting.order {
            self.push(session, jobs, turn.group, turn.at + 1);
        }
    }
}

/// Whether the members of a group get nothing any more in this cycle: it is their turn, and by now
/// there is too little.
pub(crate) fn sleeps_on(session: &mut Session, kernel: &mut Kernel, turn: SleeperTurn) -> bool {
    let waits_for = session
        .sleepers
        .groups()
        .get(turn.group)
        .waits_for()
        .clone();
    match &*waits_for {
        SleepsFor::Places(places) => is_certain(session, kernel, turn.group, places),
        SleepsFor::Admission(..) => false,
    }
}

/// Whether a job that has its turn because all are tried would have slept through it.
pub(crate) fn should_sleep(session: &mut Session, kernel: &mut Kernel, job: JobIx) -> bool {
    if session.sleepers.mode() != WakeMode::Check || session.sleepers.has_stirred(job) {
        return false;
    }
    let Bed::Group(group) = session.sleepers.bed(job) else {
        return false;
    };
    let waits_for = session.sleepers.groups().get(group).waits_for().clone();
    match &*waits_for {
        SleepsFor::Places(places) => is_certain(session, kernel, group, places),
        SleepsFor::Admission(..) => false,
    }
}

/// Whether it is certain that no member of a group gets anything in the rest of this cycle, if it still
/// waits for what it was told.
fn is_certain(
    session: &mut Session,
    kernel: &mut Kernel,
    group: SleepGroupIx,
    places: &WantedPlaces,
) -> bool {
    let is_overused = |session: &Session| {
        session.lasting.overused && session.plugins.overused(session.state, places.queue)
    };
    // `backfill` does not ask whether a queue is overused.
    if !places.best_effort && is_overused(session) {
        return true;
    }
    if places.told == SleepReason::Overused {
        return false;
    }
    match outlook(session, kernel, group, places) {
        Some(Outlook::TooFewPlaces) => {
            session.sleepers.groups_mut().close(group);
            true
        }
        Some(Outlook::Refused) => true,
        Some(Outlook::MayGet) | None => false,
    }
}

/// What the members of a group have to expect.
enum Outlook {
    /// There may be as many places as they need.
    MayGet,
    /// There are fewer.
    TooFewPlaces,
    /// The queue does not take some of the pods now, and of places for the others there are fewer.
    /// It may take them in the next cycle without anything happening to a node.
    Refused,
}

/// Some of the pods of a job.
struct SomePods {
    class: PodClassIx,
    sample: TaskIx,
    count: u64,
    /// The queue takes them.
    is_allowed: bool,
}

/// Whether as many of the pods of a job could be placed as it needs; `None` for a group of which all got
/// something in this cycle.
fn outlook(
    session: &mut Session,
    kernel: &mut Kernel,
    group: SleepGroupIx,
    places: &WantedPlaces,
) -> Option<Outlook> {
    let pods = pods_of(session, group, places)?;
    if session
        .sleepers
        .groups()
        .get(group)
        .widest_domains()
        .is_some()
    {
        return Some(outlook_in_domains(session, kernel, group, places, &pods));
    }
    let mut found = 0;
    let mut outlook = Outlook::TooFewPlaces;
    for some in &pods {
        if !some.is_allowed {
            outlook = Outlook::Refused;
            continue;
        }
        let need = u64::from(places.need) - found;
        let most = places_for(session, kernel, some.class, some.sample, need);
        found += some.count.min(most);
        if found >= u64::from(places.need) {
            return Some(Outlook::MayGet);
        }
    }
    Some(outlook)
}

/// The pods of a member of a group that got nothing in this cycle, if there is one.
fn pods_of(
    session: &Session,
    group: SleepGroupIx,
    places: &WantedPlaces,
) -> Option<SmallVec<[SomePods; 2]>> {
    // Pods of who got something in this cycle wait no more.
    let sleepers = &session.sleepers;
    let mut members = sleepers.groups().get(group).members().iter();
    let job = *members.find(|job| !sleepers.has_stirred(**job))?;
    let (state, plugins) = (&*session.state, &*session.plugins);
    let pods = places.pods.iter().map(|(class, count)| {
        let sample = sample(state, plugins, sleepers.groups(), job, *class)?;
        // As `allocate` and `backfill` ask.
        let allowed = match state.task(sample).best_effort {
            false => plugins.allocatable(state, places.queue, sample),
            true => plugins.within_limits(state, places.queue, sample),
        };
        Some(SomePods {
            class: *class,
            sample,
            count: u64::from(*count),
            is_allowed: !session.lasting.allocatable || allowed.is_ok(),
        })
    });
    pods.collect()
}

/// Whether a group may get places that it needs, where a domain has to hold as many as are needed. A
/// domain is looked at again once it may have gained enough.
fn outlook_in_domains(
    session: &mut Session,
    kernel: &mut Kernel,
    group: SleepGroupIx,
    places: &WantedPlaces,
    pods: &[SomePods],
) -> Outlook {
    let need = u64::from(places.need);
    let widest = |session: &Session| {
        let group = session.sleepers.groups().get(group);
        group.widest_domains().unwrap_or_default().to_vec()
    };
    let all_allowed = pods.iter().all(|some| some.is_allowed);
    let mut may_hold = false;
    for (at, (domain, most)) in widest(session).into_iter().enumerate() {
        if most >= need {
            let found = places_in(session, kernel, domain, pods.iter(), need);
            let groups = session.sleepers.groups_mut();
            groups.set_places_in_domain(group, at, found);
            may_hold |= found >= need;
        }
        if may_hold && all_allowed {
            return Outlook::MayGet;
        }
    }
    if !may_hold {
        return Outlook::TooFewPlaces;
    }
    let able = widest(session)
        .into_iter()
        .filter(|(_, most)| *most >= need);
    for (domain, _) in able {
        let allowed = pods.iter().filter(|some| some.is_allowed);
        if places_in(session, kernel, domain, allowed, need) >= need {
            return Outlook::MayGet;
        }
    }
    Outlook::Refused
}

/// How many of some pods a domain has places for, at most, and no further than `need`.
fn places_in<'p>(
    session: &mut Session,
    kernel: &mut Kernel,
    domain: DomainIx,
    pods: impl Iterator<Item = &'p SomePods>,
    need: u64,
) -> u64 {
    let nodes = session.state.ground().network().nodes(domain).clone();
    let mut found = 0;
    for some in pods {
        let enough = some.count.min(need - found);
        let (state, plugins) = (&mut *session.state, &*session.plugins);
        let places = kernel.places_among(state, plugins, some.sample, &nodes, enough);
        found += places.most.min(enough);
        let groups = session.sleepers.groups_mut();
        groups.set_spans_nodes(some.class, places.spans_nodes);
        if found >= need {
            break;
        }
    }
    // Nobody's work: it saves that of many.
    kernel.take_effort();
    found
}

/// The most places there are for a class of pods; counted only if there may be as many as needed.
fn places_for(
    session: &mut Session,
    kernel: &mut Kernel,
    class: PodClassIx,
    sample: TaskIx,
    need: u64,
) -> u64 {
    let cursor = session.state.nodes().touch_cursor();
    match session.sleepers.groups().most_places(class, cursor) {
        Some((most, is_exact)) if is_exact || most < need => return most,
        _ => {}
    }
    let count = kernel.places(session.state, session.plugins, sample);
    // Nobody's work: it saves that of many.
    kernel.take_effort();
    let groups = session.sleepers.groups_mut();
    groups.set_places(class, count.most, count.spans_nodes, cursor);
    count.most
}

/// A pod of a class among those of a job.
fn sample(
    state: &State,
    chain: &Plugins,
    groups: &SleepGroups,
    job: JobIx,
    class: PodClassIx,
) -> Option<TaskIx> {
    let wanted = groups.class(class);
    placeable(state, job).find(|task| class_of(state, chain, *task) == *wanted)
}

/// The cycle is over: jobs nothing came of are put to bed. Returns all that were looked at or changed,
/// by index; some may be gone.
pub fn put_to_bed(session: &mut Session) -> Vec<JobIx> {
    let mut sleepers = std::mem::take(&mut session.sleepers);
    let mut jobs = sleepers.take_looked_at(session.state);
    jobs.extend(session.notes.keys());
    jobs.sort_unstable();
    jobs.dedup();
    if sleepers.is_on() {
        let (state, chain, lasting) = (&*session.state, &*session.plugins, session.lasting);
        for job in &jobs {
            let note = session.notes.get(job);
            sleepers.put_to_bed(
                state,
                *job,
                session.now_s,
                |sleepers| how(state, chain, lasting, sleepers.groups_mut(), *job, note),
                |left, right| chain.job_order(state, left, right),
            );
        }
    }
    session.sleepers = sleepers;
    jobs
}

/// How a job may sleep that waits and got nothing; `None`: not at all.
fn how(
    state: &State,
    chain: &Plugins,
    lasting: Lasting,
    groups: &mut SleepGroups,
    job: JobIx,
    note: Option<&JobNote>,
) -> Option<Sleep> {
    let record = state.job(job);
    match note.and_then(|note| note.skip.as_ref()) {
        Some(
            Skip::NoGroup | Skip::AwaitsGroup | Skip::NoQueue | Skip::Tier(_) | Skip::Unserved(_),
        ) => return Some(Sleep::Alone),
        // Who looks after users tells when they may have more.
        Some(Skip::NoConsent(_) | Skip::NoRoomOfUser(_)) => return Some(Sleep::Alone),
        Some(Skip::Invalid(_)) => return lasting.valid.then_some(Sleep::Alone),
        Some(Skip::NotEnqueued(_)) if lasting.admission => {
            let minimum = record.min_resources.iter().flat_map(|all| all.iter());
            let minimum: Minimum = minimum.filter(|(_, amount)| *amount != 0).collect();
            return Some(Sleep::For(SleepsFor::Admission(record.queue?, minimum)));
        }
        Some(Skip::NotEnqueued(_) | Skip::Postponed | Skip::Behind(_)) => return None,
        Some(Skip::Overused(_) | Skip::QueueHeldBack(_)) if !lasting.overused => return None,
        Some(Skip::Overused(_) | Skip::QueueHeldBack(_)) | None => {}
    }
    if record.is_pending() {
        return None;
    }
    let requests = has_tasks(state, job, TaskKind::Requesting);
    let best_effort = has_tasks(state, job, TaskKind::BestEffort);
    if !requests && !best_effort {
        return Some(Sleep::Alone);
    }
    let told = match note {
        Some(note) if note.skip.is_some() => SleepReason::Overused,
        Some(note) if note.refusal.is_some() => SleepReason::Refused,
        _ => SleepReason::NoPlace,
    };
    let mut pods: SmallVec<[(PodClassIx, u32); 2]> = SmallVec::new();
    for of_class in pods_by_class(state, chain, placeable(state, job)) {
        pods.push((groups.class_ix(state, of_class.class), of_class.count));
    }
    pods.sort_unstable();
    Some(Sleep::For(SleepsFor::Places(WantedPlaces {
        queue: record.queue?,
        told,
        is_ready: chain.job_ready(state, job),
        need: chain.lacks(state, job).max(1),
        pods,
        requests,
        best_effort,
        domains: domains::asked_for(state, job).map(Into::into),
        sub_jobs_of: (record.wants_topology() && !record.sub_jobs.is_empty()).then_some(job),
    })))
}
