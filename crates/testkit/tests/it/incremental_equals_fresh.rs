//! An engine that followed every change of a cluster decides what one decides that is shown the
//! cluster as it is now: nothing is left behind by a change, a transaction or a skipped cycle.

mod evicting;
mod snapshots;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use pumice_conf::Config;
use pumice_devices::LedgerTime;
use pumice_engine::Engine;
use pumice_engine::report::REWRITE_NUMBERS_AFTER_S;
use pumice_engine::report::SETTLED_AFTER_S;
use pumice_model::object::{
    Gates, GroupObject, GroupPhase, GroupStatus, NATIVE_GROUP, NodeObject, Pairs, PodObject,
    PodPhase, QueueObject, SubGroupPolicy,
};
use pumice_model::{
    ClaimReturn, ClaimStep, Delta, Job, JobIx, NodeIx, ResVec, State, TaskIx, TaskStatus,
    VolumeStep, parts_within,
};
use pumice_testkit::generate::{
    Changing, claims_conf_text, conf_text, extender_answers, extender_conf_text, network_conf_text,
    npu_conf_text, numa_conf_text, tree_conf_text, trees_conf_text,
};
use pumice_testkit::naive::claims::freed;

use crate::run;
use snapshots::TakenAnswers;

/// Small clusters, and steps of each.
const CASES: u64 = 400;
const STEPS: u32 = 12;

/// Wide clusters, and steps of each.
const WIDE_CASES: u64 = 12;
const WIDE_STEPS: u32 = 8;

/// Whether jobs of the engine that followed the changes sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    /// All are tried in every cycle, and it is counted what sleeping would have missed.
    Checked,
    /// They do, and nobody looks after them.
    Sound,
}

impl Sleep {
    fn interval_s(self) -> i64 {
        match self {
            Self::Checked => 0,
            Self::Sound => i64::MAX,
        }
    }

    /// Something happens: in a calm cluster mostly to pods and PodGroups.
    fn happens(self, cluster: &mut Changing, step: u32) -> Vec<Delta> {
        match self {
            Self::Sound if step % 6 != 5 => cluster.calm_step(),
            _ => cluster.step(),
        }
    }
}

/// How often a job was tried, and how often one waited.
#[derive(Debug, Default)]
struct Tries {
    tried: usize,
    waiting: usize,
    bound: usize,
    /// Claims that were given devices.
    served: usize,
    /// Claims that gave devices back.
    returned: usize,
}

impl Tries {
    /// A cycle in which so many jobs waited.
    fn count(&mut self, waiting: usize, seen: &Seen) {
        self.waiting += waiting;
        self.tried += seen.tried;
        self.bound += seen.binds.len();
        self.returned += seen.returns.len();
        let steps = seen.claims.values().flatten();
        self.served += steps.filter(|step| step.allocation.is_some()).count();
    }
}

/// Statuses that PodGroups of Kubernetes itself have, which keep conditions alone.
fn kept_statuses(cluster: &Changing) -> BTreeMap<String, GroupStatus> {
    let objects = cluster.objects().into_iter();
    let statuses = objects.filter_map(|object| match object {
        Delta::GroupApply(group) if group.is_native => {
            let key = format!("{}/{}", group.namespace, group.name);
            Some((key, group.status))
        }
        _ => None,
    });
    statuses.collect()
}

impl Seen {
    /// Notes which statuses the objects have already, but for what only somebody knows who was there.
    fn beside(mut self, kept: &BTreeMap<String, GroupStatus>) -> Self {
        let conditions = |status: &GroupStatus| without_history(status).native_conditions();
        let same = self.groups.iter().filter(|(key, status)| {
            let known = kept.get(*key).map(conditions);
            known.is_some_and(|known| known == conditions(status))
        });
        self.unchanged = same.map(|(key, _)| key.clone()).collect();
        self
    }
}

/// One cycle as the outside sees it, and the books after it.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    tried: usize,
    phases: BTreeMap<String, GroupPhase>,
    binds: Vec<(String, String)>,
    /// Pod, reason, and the job it goes for.
    evictions: Vec<(String, &'static str, Option<String>)>,
    nominations: Vec<(String, String)>,
    nominations_ended: Vec<String>,
    /// What bound pods write of their devices.
    records: BTreeMap<String, Pairs>,
    steps: Vec<VolumeStep>,
    /// What is written about claims, by pod.
    claims: BTreeMap<String, Vec<ClaimStep>>,
    /// Claims whose devices are given back.
    returns: Vec<ClaimReturn>,
    pipelined: BTreeMap<String, String>,
    groups: BTreeMap<String, GroupStatus>,
    /// Those of `groups` whose objects say so already.
    unchanged: BTreeSet<String>,
    /// PodGroups and CompositePodGroups within trees that are to be told that they were placed.
    within: BTreeMap<String, GroupStatus>,
    why: BTreeMap<String, (String, String)>,
    nodes: BTreeMap<String, Books>,
    ledgers: BTreeMap<String, Vec<String>>,
    queues: BTreeMap<String, Books>,
}

/// Amounts by what they are and resource, without zeros.
pub(crate) type Books = BTreeMap<(&'static str, String), i64>;

fn enter(books: &mut Books, state: &State, what: &'static str, amounts: &ResVec) {
    let real = amounts.iter().filter(|(_, amount)| *amount != 0);
    books.extend(real.map(|(ix, amount)| ((what, state.resources().name(ix).to_owned()), amount)));
}

pub(crate) fn books_of_nodes(state: &State) -> BTreeMap<String, Books> {
    let nodes = state.nodes();
    let of = |node| {
        let mut books = Books::new();
        for (what, columns) in [
            ("total", &nodes.total),
            ("allocatable", &nodes.allocatable),
            ("idle", &nodes.idle),
            ("used", &nodes.used),
            ("releasing", &nodes.releasing),
            ("pipelined", &nodes.pipelined),
        ] {
            enter(&mut books, state, what, &columns.row(node));
        }
        for (what, column) in [
            ("cpu with defaults", &nodes.nonzero_cpu_milli),
            ("memory with defaults", &nodes.nonzero_memory_bytes),
            ("pods there", &nodes.pod_count),
        ] {
            books.insert((what, String::new()), column[node.at()]);
        }
        (nodes.object(node).name.clone(), books)
    };
    nodes.indices().map(of).collect()
}

/// No card a bound pod was given is over its memory, cores or slots, and nobody else has the
/// partition it was given.
fn check_cards(state: &State, pod: TaskIx, node: NodeIx) {
    let Some(holding) = &state.task(pod).holding else {
        return;
    };
    for (family, picks) in &holding.parts {
        let cards = state.nodes().devices[node.at()].family(*family);
        let cards = cards.expect("cards that were picked");
        for pick in picks {
            let at = usize::from(pick.card.expect("a card of the node"));
            let card = &cards.cards[at];
            let context = format!("{}: {card:?}", state.population().task_key(pod));
            let (used, all) = (cards.used(at, LedgerTime::Now), cards.capacity(at));
            let fits = |name| cards.dimension(name).is_none_or(|of| used[of] <= all[of]);
            assert!(card.is_usable() && fits("sharers"), "{context}");
            let mode = state.supplies().devices().families().mode(*family, card);
            if mode == "vnpu" {
                assert!(
                    used.iter().zip(all).all(|(used, all)| used <= all),
                    "{context}"
                );
                continue;
            }
            assert_eq!(mode == "mig", pick.partition.is_some(), "{context}");
            match pick.partition {
                Some(partition) => {
                    let same = cards
                        .partitions(at, LedgerTime::Now)
                        .filter(|held| *held == partition);
                    assert_eq!(same.count(), 1, "{context}");
                    let mut all = cards.partitions(at, LedgerTime::Now);
                    assert!(all.all(|held| held.group == partition.group), "{context}");
                }
                None => {
                    assert!(fits("memory") && fits("cores"), "{context}");
                }
            }
        }
    }
}

/// Cards of nodes and who holds them, each entry as a line.
pub(crate) fn ledgers(state: &State) -> BTreeMap<String, Vec<String>> {
    let of = |node: NodeIx| {
        let mut lines = Vec::new();
        for (family, cards) in state.nodes().devices[node.at()].families() {
            for (at, card) in cards.cards.iter().enumerate() {
                let (now, future) = (
                    cards.used(at, LedgerTime::Now),
                    cards.used(at, LedgerTime::Future),
                );
                let card = (&card.id, &card.unusable, &card.kind, card.variant);
                lines.push(format!("{family} {card:?} {now:?} {future:?}"));
            }
            let both = [LedgerTime::Now, LedgerTime::Future];
            let all = |view: &LedgerTime| cards.entries(*view).chain(cards.strays(*view));
            for hold in both.iter().flat_map(all) {
                let pod = state.population().task_key(TaskIx(hold.pod));
                let what = (
                    hold.card,
                    hold.partition,
                    &hold.held,
                    hold.load,
                    hold.certain,
                );
                lines.push(format!("{family} {pod} {what:?}"));
            }
        }
        if let Some(cpus) = state.nodes().cpus(node) {
            lines.push(format!("free {:?}", cpus.layout().numbers(cpus.free())));
            for task in state.nodes().tasks(node) {
                let expected = cpus.expected_of(*task);
                let expected = expected.map(|of| cpus.layout().numbers(of));
                lines.push(format!(
                    "{} has {expected:?}",
                    state.population().task_key(*task)
                ));
            }
        }
        lines.sort();
        (state.nodes().object(node).name.clone(), lines)
    };
    state.nodes().indices().map(of).collect()
}

pub(crate) fn books_of_queues(state: &State) -> BTreeMap<String, Books> {
    let of = |queue: &pumice_model::Queue| {
        let mut books = Books::new();
        enter(&mut books, state, "allocated", &queue.allocated);
        enter(&mut books, state, "pipelined", &queue.pipelined);
        enter(&mut books, state, "pending", &queue.pending.clamped());
        books.insert(("jobs", String::new()), i64::from(queue.jobs));
        (queue.object.name.clone(), books)
    };
    state
        .population()
        .queues()
        .iter()
        .map(|(_, queue)| of(queue))
        .collect()
}

fn cycle(engine: &mut Engine, now_s: i64) -> Seen {
    let before = statuses(engine.state());
    let decisions = engine.cycle(now_s);
    let mut returns = decisions.device_returns.clone();
    returns.sort_by(|left, right| left.claim_uid.cmp(&right.claim_uid));
    let state = engine.state();
    let node = |ix| state.nodes().object(ix).name.clone();
    let jobs = state
        .population()
        .jobs()
        .filter(|(_, job)| job.group().is_some());
    let mut seen = Seen {
        tried: decisions.tried,
        returns,
        phases: jobs
            .map(|(ix, job)| (state.population().job_key(ix), job.status.phase))
            .collect(),
        nodes: books_of_nodes(state),
        ledgers: ledgers(state),
        queues: books_of_queues(state),
        ..Seen::default()
    };
    for bind in &decisions.binds {
        seen.binds
            .push((state.population().task_key(bind.task), node(bind.node)));
        check_cards(state, bind.task, bind.node);
        seen.records
            .insert(state.population().task_key(bind.task), run::records(bind));
        seen.steps.extend(bind.volumes.iter().cloned());
        let claims = bind.claims.clone();
        seen.claims
            .insert(state.population().task_key(bind.task), claims);
    }
    let key = |task: &TaskIx| state.population().task_key(*task);
    for eviction in &decisions.evictions {
        let by = eviction.by.map(|by| state.population().job_key(by));
        let line = (key(&eviction.task), eviction.reason, by);
        seen.evictions.push(line);
    }
    let promised = decisions.nominations.iter();
    seen.nominations = promised.map(|(task, to)| (key(task), node(*to))).collect();
    seen.nominations_ended = decisions.nominations_ended.iter().map(key).collect();
    seen.nominations_ended.sort();
    for (ix, task) in state.population().tasks() {
        if task.status == TaskStatus::Pipelined {
            let to = node(task.node.expect("a node"));
            seen.pipelined.insert(state.population().task_key(ix), to);
        }
        if let Some(why) = engine.known().why_pending(ix) {
            let why = (why.reason.to_owned(), why.message);
            seen.why.insert(state.population().task_key(ix), why);
        }
    }
    let trees = decisions.trees.iter();
    seen.within = trees.flat_map(|ix| placed_within(state, *ix)).collect();
    let after = statuses(state);
    for ix in decisions.groups {
        let key = state.population().job_key(ix);
        let new = &after[&key];
        // A tree of PodGroups is a job from this cycle on where it was not one before.
        let tells_history = before
            .get(&key)
            .is_some_and(|old| old != new && without_history(old) == without_history(new));
        if !tells_history {
            seen.groups.insert(key, new.clone());
        }
    }
    seen
}

/// What parts of a tree are told that were placed and do not say so yet.
fn placed_within(state: &State, ix: JobIx) -> impl Iterator<Item = (String, GroupStatus)> {
    let parts = parts_within(state, ix).into_iter();
    let silent = parts.filter(|part| part.was_placed && !part.object.status.says_placed());
    silent.map(|part| {
        let mut placed = GroupStatus::default();
        placed.say_placed();
        let key = format!("{}/{}", part.object.namespace, part.object.name);
        (key, placed)
    })
}

/// Statuses of all PodGroups, without the number of the cycle: each engine counts for itself.
fn statuses(state: &State) -> BTreeMap<String, GroupStatus> {
    let of = |(ix, job): (JobIx, &Job)| {
        let mut status = job.status.clone();
        if job.group().is_some_and(|group| group.is_native) {
            // The object keeps no more.
            status.conditions = pumice_fixtures::kept_natively(&status).conditions;
        }
        let conditions = status.conditions.iter_mut();
        conditions.for_each(|condition| condition.transition_id.clear());
        (state.population().job_key(ix), status)
    };
    state.population().jobs().map(of).collect()
}

/// What may differ from what a fresh engine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct May {
    /// It waits for Bindings to be confirmed, and says so.
    be_late: bool,
    /// The last word on jobs that sleep stands.
    be_old: bool,
    /// PodGroups are not told of every device that somebody else gets.
    know_devices_late: bool,
}

impl May {
    fn beside(is_late: bool, sleep: Sleep, cluster: &Changing) -> Self {
        Self {
            be_late: is_late,
            be_old: sleep == Sleep::Sound,
            know_devices_late: cluster.has_claims(),
        }
    }
}

/// The live engine has seen what the fresh one sees.
fn check(live: &Seen, fresh: &Seen, may: May, context: &str) {
    assert_eq!(live.evictions, fresh.evictions, "evictions: {context}");
    assert_eq!(live.nominations, fresh.nominations, "promises: {context}");
    let (ended, expected) = (&live.nominations_ended, &fresh.nominations_ended);
    assert_eq!(ended, expected, "promises that end: {context}");
    assert_eq!(live.binds, fresh.binds, "binds: {context}");
    assert_eq!(live.steps, fresh.steps, "volume steps: {context}");
    check_each(&live.claims, &fresh.claims, "claims", context);
    assert_eq!(live.returns, fresh.returns, "returns: {context}");
    check_each(&live.pipelined, &fresh.pipelined, "pipelined", context);
    if !may.be_late {
        check_each(&live.phases, &fresh.phases, "phases", context);
    }
    if !may.be_late && !may.be_old {
        if !may.know_devices_late {
            let [groups, expected] = [live, fresh].map(|seen| {
                let groups = seen.groups.iter();
                let changed = groups.filter(|(key, _)| !seen.unchanged.contains(*key));
                let told = changed.map(|(key, status)| {
                    let mut status = without_history(status);
                    if key.contains(NATIVE_GROUP) {
                        // Not written, and compared as `phases`.
                        status = GroupStatus::of_native(status.conditions);
                    }
                    (key.clone(), status)
                });
                told.collect::<BTreeMap<_, _>>()
            });
            check_each(&groups, &expected, "groups", context);
        }
        check_each(&live.why, &fresh.why, "reasons", context);
    }
    assert_eq!(live.records, fresh.records, "devices: {context}");
    check_each(&live.ledgers, &fresh.ledgers, "cards", context);
    check_each(&live.nodes, &fresh.nodes, "nodes", context);
    check_each(&live.queues, &fresh.queues, "queues", context);
}

/// A status without the condition that only somebody who was there can know: a gang may have been
/// complete between two looks at its pods.
fn without_history(status: &GroupStatus) -> GroupStatus {
    let mut status = status.clone();
    let conditions = &mut status.conditions;
    conditions.retain(|known| known.kind != "BoundInPart");
    status
}

fn check_each<T: PartialEq + Debug>(
    live: &BTreeMap<String, T>,
    fresh: &BTreeMap<String, T>,
    what: &str,
    context: &str,
) {
    let keys: BTreeSet<&String> = live.keys().chain(fresh.keys()).collect();
    for key in keys {
        assert_eq!(live.get(key), fresh.get(key), "{what} of {key}: {context}");
    }
}

/// What the outside was told last.
#[derive(Default)]
struct Told {
    pods: BTreeMap<String, (String, String)>,
}

impl Told {
    /// Everything that is due is told; then it is what a fresh look says.
    fn check(&mut self, engine: &mut Engine, now_s: i64, context: &str) {
        for later_s in [0, SETTLED_AFTER_S, REWRITE_NUMBERS_AFTER_S + 5] {
            let reports = engine.reports(now_s + later_s);
            let state = engine.state();
            for report in reports.pods {
                let what = (report.reason.to_owned(), report.message);
                self.pods
                    .insert(state.population().task_key(report.task), what);
            }
            let objects = reports.queues.into_iter().map(|(ix, allocated)| {
                let object = state.queue(ix).object.clone();
                QueueObject {
                    allocated,
                    ..object
                }
            });
            let written: Vec<QueueObject> = objects.collect();
            for object in written {
                engine.apply(Delta::QueueApply(Box::new(object)));
            }
        }
        let state = engine.state();
        for (ix, task) in state
            .population()
            .tasks()
            .filter(|(_, task)| task.gates == Gates::None)
        {
            let Some(why) = engine.known().why_pending(ix) else {
                continue;
            };
            let key = state.population().task_key(ix);
            let told = self.pods.get(&key);
            let same = told.is_some_and(|(reason, text)| {
                *reason == why.reason && say_the_same(text, &why.message)
            });
            assert!(same, "{key} {}: {told:?} and {why:?}: {context}", task.uid);
        }
        for (_, queue) in state.population().queues().iter() {
            let name = &queue.object.name;
            let told = queue.object.allocated.iter().cloned();
            let told: BTreeMap<_, _> = told.filter(|(_, amount)| *amount != 0).collect();
            assert_eq!(
                told,
                allocated_below(state, name),
                "queue {name}: {context}"
            );
        }
    }
}

/// Seconds that run down while nothing happens are not told again.
fn without_countdown(message: &str) -> String {
    let (before, _) = message.split_once("next try in").unwrap_or((message, ""));
    before.to_owned()
}

/// Two messages are the same, but for what has become of the devices that a claim could have had: that is
/// told with the next change of something else.
fn say_the_same(told: &str, now: &str) -> bool {
    let [told, now] = [told, now].map(without_countdown);
    if ![&told, &now].iter().any(|text| text.contains(" Claim ")) {
        return told == now;
    }
    let headline = |text: &str| {
        let details = [" Claim ", " Nearest miss", " It never fits"];
        let starts = details.iter().filter_map(|detail| text.find(detail));
        text[..starts.min().unwrap_or(text.len())].to_owned()
    };
    headline(&told) == headline(&now)
}

/// The parent of a queue: `root` where it names none, nobody where there is no such queue.
fn named_parent(state: &State, name: &str) -> Option<String> {
    let parent = &state
        .queue(state.population().queue_by_name(name)?)
        .object
        .parent;
    let parent = match parent.as_str() {
        "" if name == "root" => return None,
        "" => "root",
        parent => parent,
    };
    state
        .population()
        .queue_by_name(parent)
        .map(|_| parent.to_owned())
}

/// A queue and its ancestors. One that is its own ancestor has none.
fn with_ancestors(state: &State, name: &str) -> Vec<String> {
    let parent_of = |name: &str| {
        let mut above = named_parent(state, name);
        for _ in state.population().queues().iter() {
            if above.as_deref() == Some(name) {
                return None;
            }
            above = above.and_then(|above| named_parent(state, &above));
        }
        named_parent(state, name)
    };
    let mut path = vec![name.to_owned()];
    while let Some(above) = parent_of(&path[path.len() - 1]) {
        path.push(above);
    }
    path
}

/// What a queue and its descendants have allocated, without zeros.
fn allocated_below(state: &State, name: &str) -> BTreeMap<String, i64> {
    let mut sum = BTreeMap::new();
    for (_, queue) in state.population().queues().iter() {
        let path = with_ancestors(state, &queue.object.name);
        if path.iter().any(|above| above == name) {
            for (ix, amount) in queue.allocated_with_devices().iter() {
                *sum.entry(state.resources().name(ix).to_owned())
                    .or_insert(0) += amount;
            }
        }
    }
    sum.retain(|_, amount| *amount != 0);
    sum
}

/// The Binding of a pod fails; its UID and when it may be tried again.
fn fail(engine: &mut Engine, cluster: &Changing, pod: &str, at_s: i64) -> Option<(String, i64)> {
    let Some(Delta::PodApply(pod)) = cluster.pod(pod) else {
        return None;
    };
    engine.apply(Delta::BindFailed {
        uid: pod.uid.clone(),
        message: "refused".to_owned(),
        at_s,
    });
    let task = engine.state().population().task_by_uid(&pod.uid)?;
    let until_s = engine.state().population().holds().get(task)?.until_s;
    Some((pod.uid, until_s))
}

/// An engine that hears of everything now.
fn fresh_engine(config: &Config, cluster: &Changing, holds: &[(String, i64)]) -> Engine {
    let mut fresh = run::engine(config, &cluster.objects());
    for (uid, until_s) in holds {
        fresh.apply(Delta::PodHeld {
            uid: uid.clone(),
            message: "refused".to_owned(),
            until_s: *until_s,
        });
    }
    fresh
}

/// An engine that hears of everything now; both hear what an extender says, if there is one.
fn fresh_beside(
    live: &mut Engine,
    (seed, step): (u64, u32),
    config: &Config,
    cluster: &Changing,
    holds: &[(String, i64)],
) -> Engine {
    let mut fresh = fresh_engine(config, cluster, holds);
    // Who was admitted by whom stands nowhere.
    let known = live.state();
    let known = known.population().admissions(known.resources());
    known.into_iter().for_each(|known| fresh.apply(known));
    if config.plugin("extender").is_some() {
        for answer in extender_answers(seed, step.into(), &cluster.objects()) {
            live.apply(answer.clone());
            fresh.apply(answer);
        }
    }
    fresh
}

/// The engine that will follow all changes, of some seeds one that cannot keep all it finds out.
fn live_engine(seed: u64, config: &Config, cluster: &Changing, sleep: Sleep) -> Engine {
    let mut live = run::engine(config, &cluster.objects());
    live.set_full_check_interval_s(Some(sleep.interval_s()));
    if seed % 5 == 2 {
        live.set_index_budget_bytes(500);
    }
    live
}

fn follow(seed: u64, cluster: Changing, steps: u32, sleep: Sleep) -> Tries {
    follow_under(seed, cluster, steps, sleep, |_| conf_text(seed))
}

/// Steps before Bindings are done; what a watch tells of it.
fn write_volumes(cluster: &mut Changing, steps: &[VolumeStep]) -> Vec<Delta> {
    let mut storage = run::Storage::new(&cluster.objects());
    let told = steps.iter().flat_map(|step| storage.take(step));
    let told: Vec<Delta> = told.collect();
    told.iter().for_each(|delta| cluster.tell(delta));
    told
}

/// What is written about the claims of a pod is accepted; what a watch tells of it.
fn write_claims(
    cluster: &mut Changing,
    claims: &mut run::Claims,
    pod: &str,
    steps: &[ClaimStep],
) -> Vec<Delta> {
    let uid = cluster.uid(pod).expect("a known pod");
    let told = steps
        .iter()
        .map(|step| claims.take(step, &uid).expect("a known claim"));
    let told: Vec<Delta> = told.collect();
    told.iter().for_each(|delta| cluster.tell(delta));
    told
}

/// Statuses of PodGroups are accepted; what a watch tells of it.
fn write_statuses(cluster: &mut Changing, seen: &Seen) -> Vec<Delta> {
    let echo = |(group, status): (&String, &GroupStatus)| {
        let echo = cluster.set_status(group, status.clone());
        echo.expect("a known group")
    };
    let written = seen.groups.iter().chain(&seen.within);
    written.map(echo).collect()
}

/// These claims give their devices back; what a watch tells of it.
fn give_back(cluster: &mut Changing, returns: &[ClaimReturn]) -> Vec<Delta> {
    let known = run::Claims::new(&cluster.objects()).claims;
    let told = returns.iter().map(|asked| {
        let claim = &known[&(asked.namespace.clone(), asked.claim.clone())];
        assert_eq!(claim.version, asked.version, "{asked:?}");
        Delta::ResourceClaimApply(Box::new(freed(claim)))
    });
    let told: Vec<Delta> = told.collect();
    told.iter().for_each(|delta| cluster.tell(delta));
    told
}

/// Follows the changes with a configuration for each step, and compares after each.
fn follow_under(
    seed: u64,
    mut cluster: Changing,
    steps: u32,
    sleep: Sleep,
    conf: impl Fn(u32) -> String,
) -> Tries {
    let mut text = conf(0);
    let mut config = run::config(&text);
    let mut live = live_engine(seed, &config, &cluster, sleep);
    // Of some Bindings these only hear after the next cycle.
    let is_late = seed.is_multiple_of(4);
    let mut late: Vec<String> = Vec::new();
    let mut tries = Tries::default();
    let mut told = Told::default();
    let mut holds: Vec<(String, i64)> = Vec::new();
    for step in 0..steps {
        if conf(step) != text {
            text = conf(step);
            config = run::config(&text);
            live.reconfigure(&config);
        }
        let mut fresh = fresh_beside(&mut live, (seed, step), &config, &cluster, &holds);
        let now_s = i64::from(step) * 100;
        if seed % 3 == 1 && step % 4 == 2 {
            live.forget_unused();
        }
        let mut dumped = run::engine(&config, &live.state().dump());
        let fork = (step % 3 == 1).then(|| live.fork());
        let waiting = live.state().journal().waiting_jobs().len();
        let kept = kept_statuses(&cluster);
        let cycle = |engine: &mut Engine| cycle(engine, now_s).beside(&kept);
        let seen = cycle(&mut live);
        let taken = (step % 4 == 1).then(|| TakenAnswers::of(&mut live));
        tries.count(waiting, &seen);
        let context = format!("seed {seed}, step {step}, {sleep:?}, conf:\n{text}");
        let may = May::beside(is_late, sleep, &cluster);
        check(&seen, &cycle(&mut fresh), may, &context);
        let may = May::beside(false, sleep, &cluster);
        let expected = cycle(&mut dumped);
        check(&seen, &expected, may, &format!("dump {context}"));
        assert_eq!(live.sleepers().missed(), 0, "missed: {context}");
        told.check(&mut live, now_s, &context);
        let heard = late.drain(..).filter_map(|pod| cluster.pod(&pod));
        heard.for_each(|pod| live.apply(pod));
        holds.retain(|(_, until_s)| *until_s > now_s);
        let written = write_volumes(&mut cluster, &seen.steps).into_iter();
        let given = give_back(&mut cluster, &seen.returns);
        written.chain(given).for_each(|told| live.apply(told));
        let mut claims = run::Claims::new(&cluster.objects());
        for (at, (pod, node)) in seen.binds.iter().enumerate() {
            if seed % 4 == 2 && at % 3 == 0 {
                let failed = fail(&mut live, &cluster, pod, now_s + 50 * (at as i64 % 6));
                holds.extend(failed);
                continue;
            }
            let written = write_claims(&mut cluster, &mut claims, pod, &seen.claims[pod]);
            written.into_iter().for_each(|told| live.apply(told));
            let records = seen.records[pod].clone();
            let echo = cluster.bind(pod, node, records).expect("a known pod");
            if is_late && at % 2 == 0 {
                late.push(pod.clone());
            } else {
                live.apply(echo);
            }
        }
        let echoes = write_statuses(&mut cluster, &seen).into_iter();
        echoes.for_each(|told| live.apply(told));
        for _ in 0..(seed + u64::from(step)) % 5 {
            let happened = sleep.happens(&mut cluster, step).into_iter();
            happened.for_each(|delta| live.apply(delta));
        }
        taken.iter().for_each(|taken| taken.check(&context));
        // The fork hears and sees nothing of all this, and whatever it decides is not the other's.
        let expected = fork.map(|fork| cycle(&mut fork.wake(&config)));
        let expected = expected.iter();
        expected.for_each(|expected| check(&seen, expected, may, &format!("fork {context}")));
    }
    tries
}

/// Follows many clusters.
fn follow_all(seeds: std::ops::Range<u64>, mut one: impl FnMut(u64) -> Tries) -> Tries {
    let mut all = Tries::default();
    for seed in seeds {
        let tries = one(seed);
        all.tried += tries.tried;
        all.waiting += tries.waiting;
        all.bound += tries.bound;
        all.served += tries.served;
        all.returned += tries.returned;
    }
    assert!(all.bound > 0);
    all
}

#[test]
fn an_engine_that_followed_all_changes_decides_like_a_fresh_one() {
    follow_all(run::seeds(0, CASES), |seed| {
        follow(seed, Changing::small(seed), STEPS, Sleep::Checked)
    });
}

#[test]
fn so_does_one_whose_waiting_jobs_sleep() {
    let tries = follow_all(run::seeds(0, CASES / 2), |seed| {
        follow(seed, Changing::small(seed), STEPS, Sleep::Sound)
    });
    let (tried, waiting) = (tries.tried, tries.waiting);
    assert!(tried * 3 < waiting * 2, "{tried} of {waiting} were tried");
}

#[test]
fn so_does_one_that_followed_hundreds_of_nodes() {
    for sleep in [Sleep::Checked, Sleep::Sound] {
        follow_all(run::seeds(0, WIDE_CASES), |seed| {
            follow(seed, Changing::wide(seed), WIDE_STEPS, sleep)
        });
    }
}

/// The first seed from `from` on, in steps of 1000, whose configuration filters volumes as that of
/// `seed` does. Pods bound while nothing asks about their volumes leave claims open that the state
/// remembers a choice for and the objects do not, so such a change is not one to compare.
fn like(seed: u64, from: u64) -> u64 {
    let filters = |seed: u64| -> Vec<String> {
        let text = conf_text(seed);
        let lines = text.lines().map(str::trim);
        let of_volumes = ["predicates", "enablePredicate", "olume"];
        let lines = lines.filter(|line| of_volumes.iter().any(|word| line.contains(word)));
        lines.map(str::to_owned).collect()
    };
    let wanted = filters(seed);
    let mut seeds = (0..).map(|step| from + step * 1000);
    let found = seeds.find(|other| *other == seed || filters(*other) == wanted);
    found.expect("an endless search")
}

#[test]
fn so_does_one_whose_configuration_changes_on_the_way() {
    follow_all(run::seeds(0, CASES / 2), |seed| {
        let conf_seed = |step: u32| like(seed, seed + u64::from(step / 3) * 1000);
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        let conf = |step| conf_text(conf_seed(step));
        follow_under(seed, Changing::small(seed), STEPS, sleep, conf)
    });
}

#[test]
fn so_does_one_to_which_an_extender_says_now_this_and_now_that() {
    follow_all(run::seeds(0, CASES / 2), |seed| {
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        let conf = |step: u32| match (seed % 5, step / 6) {
            // It is asked from then on.
            (0, 0) => conf_text(seed),
            _ => extender_conf_text(seed),
        };
        follow_under(seed, Changing::small(seed), STEPS, sleep, conf)
    });
}

#[test]
fn so_does_one_that_hands_out_npus() {
    follow_all(run::seeds(0, CASES / 2), |seed| {
        let conf = |step: u32| match seed % 5 {
            0 => npu_conf_text(seed + u64::from(step / 4)),
            _ => npu_conf_text(seed),
        };
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        follow_under(seed, Changing::npus(seed), STEPS, sleep, conf)
    });
}

#[test]
fn so_does_one_whose_hyper_nodes_change() {
    follow_all(run::seeds(0, CASES / 4), |seed| {
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        let conf = |_| network_conf_text(seed);
        follow_under(seed, Changing::network(seed), STEPS, sleep, conf)
    });
}

#[test]
fn so_does_one_whose_groups_are_parts_of_trees_that_change() {
    follow_all(run::seeds(0, CASES), |seed| {
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        let conf = |_| trees_conf_text(seed);
        follow_under(seed, Changing::trees(seed), STEPS, sleep, conf)
    });
}

#[test]
fn so_does_one_whose_nodes_tell_of_their_cpus() {
    follow_all(run::seeds(0, CASES / 2), |seed| {
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        let conf = |_| numa_conf_text(4 * seed);
        follow_under(seed, Changing::numas(seed), STEPS, sleep, conf)
    });
}

#[test]
fn so_does_one_that_hands_out_devices_to_claims() {
    let seeds = run::seeds(0, CASES / 2);
    let cases = seeds.end - seeds.start;
    let tries = follow_all(seeds, |seed| {
        let sleep = match seed % 2 {
            0 => Sleep::Checked,
            _ => Sleep::Sound,
        };
        // Never one that evicts.
        let conf = |_| match seed % 3 {
            0 => {
                let text = tree_conf_text(seed);
                let tiers = text.split_once('\n').expect("actions").1;
                format!("actions: \"enqueue, allocate, backfill\"\n{tiers}")
            }
            _ => claims_conf_text(6 * seed),
        };
        follow_under(seed, Changing::claims(seed), STEPS, sleep, conf)
    });
    assert!(tries.served as u64 > cases / 4, "{tries:?}");
    assert!(tries.returned as u64 > cases / 4, "{tries:?}");
}

/// A pod of a group, waiting.
fn pod(name: &str, group: &str, request: &[(&str, i64)]) -> PodObject {
    let mut all: Vec<(String, i64)> = request.iter().map(|(n, a)| ((*n).to_owned(), *a)).collect();
    all.push(("pods".to_owned(), 1));
    PodObject {
        uid: format!("uid-{name}"),
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        group: Some(group.to_owned()),
        role: "worker".to_owned(),
        ours: true,
        request: all,
        ..PodObject::default()
    }
}

fn node(name: &str) -> Delta {
    let allocatable = [("cpu", 1000), ("memory", 1 << 30), ("pods", 10)];
    Delta::NodeApply(Box::new(NodeObject {
        name: name.to_owned(),
        allocatable: allocatable.map(|(n, a)| (n.to_owned(), a)).to_vec(),
        ..NodeObject::default()
    }))
}

fn group(min_member: i32, sub_groups: Vec<SubGroupPolicy>) -> Delta {
    Delta::GroupApply(Box::new(GroupObject {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        min_member,
        sub_groups,
        status: GroupStatus {
            phase: GroupPhase::Inqueue,
            ..GroupStatus::default()
        },
        ..GroupObject::default()
    }))
}

/// Batches of changes with a cycle after each: must not depend on there having been batches.
fn check_batches(batches: &[Vec<Delta>]) {
    let config = run::config("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n");
    let mut live = run::engine(&config, &[]);
    for (at, batch) in batches.iter().enumerate() {
        batch.iter().for_each(|delta| live.apply(delta.clone()));
        let fresh = || run::engine(&config, &batches[..=at].concat());
        let (seen, expected) = (cycle(&mut live, 0), cycle(&mut fresh(), 0));
        assert_eq!(seen.pipelined, expected.pipelined, "batch {at}");
        check_each(&seen.why, &expected.why, "reasons", "");
        check_each(&seen.nodes, &expected.nodes, "nodes", "");
    }
}

#[test]
fn a_pod_that_has_ended_outlives_its_node() {
    let mut ended = pod("a", "g", &[("cpu", 500)]);
    (ended.node, ended.phase) = (Some("n1".to_owned()), PodPhase::Succeeded);
    let ended = Delta::PodApply(Box::new(ended));
    check_batches(&[
        vec![node("n1"), node("n2"), group(1, Vec::new()), ended],
        vec![Delta::NodeDelete("n1".to_owned())],
        vec![node("n0")],
        vec![node("n1")],
    ]);
}

#[test]
fn a_pod_that_waited_on_a_node_may_be_deleted() {
    let mut leaving = pod("a", "other", &[("cpu", 1000)]);
    (leaving.node, leaving.deleting) = (Some("n1".to_owned()), true);
    let apply = |pod: PodObject| Delta::PodApply(Box::new(pod));
    check_batches(&[
        vec![
            node("n1"),
            group(1, Vec::new()),
            apply(leaving),
            apply(pod("b", "g", &[("cpu", 1000)])),
        ],
        vec![Delta::PodDelete("uid-b".to_owned())],
        vec![apply(pod("c", "g", &[("cpu", 1000)]))],
    ]);
}

#[test]
fn a_job_whose_sub_groups_are_taken_away_is_whole_again() {
    let slices = SubGroupPolicy {
        name: "slices".to_owned(),
        match_label_keys: vec!["slice".to_owned()],
        size: 1,
        ..SubGroupPolicy::default()
    };
    let member = |name: &str, slice: &str| {
        let mut pod = pod(name, "g", &[("cpu", 5000)]);
        pod.labels = vec![("slice".to_owned(), slice.to_owned())];
        Delta::PodApply(Box::new(pod))
    };
    check_batches(&[
        vec![
            node("n1"),
            group(1, vec![slices.clone()]),
            member("a", "0"),
            member("b", "1"),
        ],
        vec![group(1, Vec::new())],
        vec![group(1, vec![slices])],
        vec![
            Delta::GroupDelete("ns".to_owned(), "g".to_owned()),
            group(1, Vec::new()),
        ],
    ]);
}
