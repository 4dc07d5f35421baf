//! One scheduling cycle: inputs in, decisions out.
//!
//! ```text
//!  Delta, Delta, … ──► Engine::apply ──► State
//!                      Engine::cycle(now) ──► actions in order ──► PodGroup status
//!                             │
//!                             └──► Decisions: binds, changed PodGroups
//! ```
//!
//! The engine is pure and deterministic: time is an argument, the same inputs give the same
//! decisions. A cycle on an unchanged cluster costs nothing and decides nothing.

mod assumed_status;
mod backoffs;
mod bind_waits;
pub mod devices;
mod extender;
mod give_up;
pub mod metrics_snapshot;
mod nominations;
mod notes;
pub mod outdated;
mod partial;
mod pod_group_status;
pub mod report;
mod tidying;
mod unread_reports;
pub mod view;
pub mod waiting;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub use pumice_actions::Action;
use pumice_actions::Kernel;
use pumice_conf::{Arguments, Config, Registry};
use pumice_framework::{
    Bind, Evicts, JobNote, Plugins, QueueShare, ReasonTable, Session, Sleepers, Step, Unplaced,
    Work,
};
use pumice_model::extender::ExtenderEvent;
use pumice_model::object::QueueObject;
use pumice_model::{
    ClaimReturn, Delta, DeviceNote, JobIx, NodeIx, QueueIx, State, Task, TaskIx, TaskStatus,
};
use rustc_hash::{FxHashMap, FxHashSet};

pub use bind_waits::BindWait;
use bind_waits::BindWaits;
pub use give_up::GivenUp;
pub use metrics_snapshot::{JobSnapshot, MetricsSnapshot, QueueSnapshot};
use partial::PartialGangs;
pub use pumice_framework::{Eviction, EvictionTally, Observer, Stage, Unobserved};
use report::ReportLog;
pub use report::{GroupEvent, HyperNodeEvent, PodReport, QueueEvent, Reports};
use waiting::Serviceable;

/// Everything a configuration may name, built or not.
pub static REGISTRY: Registry = Registry {
    plugins: pumice_plugins::SPECS,
    actions: pumice_actions::SPECS,
};

pub use pumice_plugins::annotations_read;

/// The actions of a checked configuration, each with its arguments.
fn actions(config: &Config) -> Vec<(&'static Action, Arguments)> {
    let named = config.actions.iter();
    let arguments = |name: &String| config.configuration(name).cloned().unwrap_or_default();
    named
        .filter_map(|name| Some((pumice_actions::find(name)?, arguments(name))))
        .collect()
}

/// Whether one of these actions is among them.
fn has_action(actions: &[(&'static Action, Arguments)], names: &[&str]) -> bool {
    let mut actions = actions.iter().map(|(action, _)| action.spec.name);
    actions.any(|name| names.contains(&name))
}

/// Which of the actions evict.
fn evicts(actions: &[(&'static Action, Arguments)]) -> Evicts {
    Evicts {
        preempt: has_action(actions, &["preempt", "gangpreempt"]),
        reclaim: has_action(actions, &["reclaim", "gangreclaim"]),
    }
}

/// Runs the actions in their order.
fn run_actions(
    actions: &[(&'static Action, Arguments)],
    session: &mut Session,
    kernel: &mut Kernel,
    observer: &mut dyn Observer,
) {
    for (action, arguments) in actions {
        if let Some(run) = action.run {
            let stage = Stage::Action(action.spec.name);
            observer.begin(stage);
            run(session, kernel, arguments);
            observer.end(stage);
        }
    }
}

/// What a cycle decided. Names are read from [`Engine::state`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Pods to bind, in the order of the decisions.
    pub binds: Vec<Bind>,
    /// Pods to evict, Releasing in the state. One that cannot be evicted comes back as [`Delta::EvictFailed`].
    pub evictions: Vec<Eviction>,
    /// Pods that wait on a node for those evicted for them.
    pub nominations: Vec<(TaskIx, NodeIx)>,
    /// Pods that still wait and are nominated no more.
    pub nominations_ended: Vec<TaskIx>,
    /// Claims whose devices keep a pod that fits nowhere from nodes. One that keeps them comes back as
    /// [`Delta::DevicesKept`].
    pub device_returns: Vec<ClaimReturn>,
    /// Jobs whose PodGroup status changed; the new one is in the state.
    pub groups: Vec<JobIx>,
    /// Jobs that were admitted, in that order.
    pub admitted: Vec<JobIx>,
    /// The cycle was skipped: nothing has changed since the last one, which changed nothing.
    pub skipped: bool,
    /// Further cycles will change nothing until something happens outside.
    pub settled: bool,
    /// Some jobs go on in the next cycle: there was more to do than the limit of work allows.
    pub postponed: bool,
    /// Number of jobs that were tried; the others slept.
    pub tried: usize,
    /// Jobs that would have slept through what they got in this cycle, which tried all: a fault of this
    /// program.
    pub missed: Vec<JobIx>,
}

impl Decisions {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        self.binds.is_empty()
            && self.evictions.is_empty()
            && self.nominations.is_empty()
            && self.nominations_ended.is_empty()
            && self.device_returns.is_empty()
            && self.groups.is_empty()
    }
}

/// The scheduler without its surroundings.
pub struct Engine {
    state: State,
    actions: Vec<(&'static Action, Arguments)>,
    plugins: Plugins,
    kernel: Kernel,
    work: Work,
    sleepers: Sleepers,
    cycle: u64,
    configurations: u64,
    kept: Vec<TaskIx>,
    notes: FxHashMap<JobIx, JobNote>,
    settled: Option<u64>,
    now_s: i64,
    /// Epochs at the last close.
    closed_epoch: Option<pod_group_status::ClosedEpochs>,
    partial: PartialGangs,
    report_log: ReportLog,
    /// Jobs looked at since [`Engine::metrics_snapshot`] was last asked.
    uncounted: FxHashSet<JobIx>,
    /// Jobs with a PodGroup and pods that are not ready.
    unready: FxHashSet<JobIx>,
    devices_told: devices::Told,
    serviceable: Serviceable,
    bind_waits: BindWaits,
    suspects: outdated::Suspects,
    bind_backoffs: backoffs::Backoffs,
    evict_backoffs: backoffs::Backoffs,
    nominations: nominations::Nominations,
    /// Since [`Engine::metrics_snapshot`] was last asked.
    tally: EvictionTally,
    assumed_statuses: assumed_status::AssumedStatuses,
    extender: extender::ToldQuestions,
    unread_reports: unread_reports::UnreadReports,
    tidying: tidying::Tidying,
}

impl Engine {
    /// An engine for an empty cluster.
    pub fn new(config: &Config, default_queue: &str) -> Self {
        let mut reasons = ReasonTable::default();
        let plugins = pumice_plugins::build(config, &mut reasons);
        let mut state = State::new(default_queue);
        state.set_device_settings(plugins.device_settings());
        state.set_network_labels(plugins.network_labels());
        Self {
            state,
            actions: actions(config),
            plugins,
            kernel: Kernel::new(reasons),
            work: Work::default(),
            sleepers: Sleepers::default(),
            cycle: 0,
            configurations: 0,
            kept: Vec::new(),
            notes: FxHashMap::default(),
            settled: None,
            now_s: 0,
            closed_epoch: None,
            partial: PartialGangs::default(),
            report_log: ReportLog::default(),
            uncounted: FxHashSet::default(),
            unready: FxHashSet::default(),
            devices_told: devices::Told::default(),
            serviceable: Serviceable::default(),
            bind_waits: BindWaits::default(),
            suspects: outdated::Suspects::default(),
            bind_backoffs: backoffs::Backoffs::default(),
            evict_backoffs: backoffs::Backoffs::default(),
            nominations: nominations::Nominations::default(),
            tally: EvictionTally::default(),
            assumed_statuses: assumed_status::AssumedStatuses::default(),
            extender: extender::ToldQuestions::of(pumice_plugins::extender_settings(config)),
            unread_reports: unread_reports::UnreadReports::default(),
            tidying: tidying::Tidying::default(),
        }
    }

    /// Takes another configuration: from the next cycle on everything is as in an engine that had
    /// it from the start. What was told before is not told again.
    pub fn reconfigure(&mut self, config: &Config) {
        // The old plugins placed them.
        self.release_kept();
        let mut reasons = ReasonTable::default();
        self.plugins = pumice_plugins::build(config, &mut reasons);
        self.kernel = self.kernel.for_reasons(reasons);
        self.state
            .set_device_settings(self.plugins.device_settings());
        self.state.set_network_labels(self.plugins.network_labels());
        self.set_extender(pumice_plugins::extender_settings(config));
        self.configurations += 1;
        self.actions = actions(config);
        // Notes speak of reasons by their number in the old table.
        let noted = std::mem::take(&mut self.notes);
        noted.keys().for_each(|ix| self.report_log.look_at(*ix));
        self.state.forget_unwritten_admissions();
        self.partial.forget_unless(self.plugins.has_gangs());
        self.closed_epoch = None;
        self.settled = None;
        self.sleepers.reset();
    }

    /// Runs an action after those of the configuration, until the next configuration comes: for tests,
    /// and for trying out one that is not in the list.
    pub fn add_action(&mut self, action: &'static Action) {
        self.actions.push((action, Arguments::default()));
        self.settled = None;
    }

    /// As if the queues were there that every cluster has: for one that decides without writing.
    pub fn assume_default_queues(&mut self, default_queue: &str) {
        for (name, reclaimable) in [("root", false), (default_queue, true)] {
            if self.state.queue_by_name(name).is_none() {
                self.apply(Delta::QueueApply(Box::new(QueueObject {
                    name: name.to_owned(),
                    weight: 1,
                    reclaimable,
                    ..QueueObject::default()
                })));
            }
        }
    }

    /// Takes in one change of the cluster.
    pub fn apply(&mut self, mut delta: Delta) {
        self.correct_status(&mut delta);
        self.suspects.note(&self.state, &delta);
        self.tidying.note(&delta);
        let pod = match &delta {
            Delta::PodApply(pod) => Some(pod.uid.clone()),
            Delta::PodDelete(uid) => Some(uid.clone()),
            Delta::GroupDelete(namespace, name) => {
                // Its index may be another job's soon.
                if let Some(job) = self.state.job_by_key(namespace, name) {
                    self.notes.remove(&job);
                }
                None
            }
            _ => None,
        };
        if let Delta::QueueDelete(name) = &delta {
            self.report_log.queue_gone(name, self.now_s);
        }
        let mut held = None;
        if let Delta::BindFailed { uid, .. } | Delta::BindTakenBack { uid } = &delta {
            self.tell_unplaced(uid);
        }
        let evicted = match &delta {
            Delta::EvictFailed { uid, .. } | Delta::EvictTakenBack { uid } => self.evicted(uid),
            _ => None,
        };
        match &delta {
            Delta::BindFailed { uid, message, at_s } => held = self.back_off(uid, message, *at_s),
            Delta::EvictFailed { uid, message, at_s } if evicted.is_some() => {
                held = Some(self.spare(uid, message, *at_s));
            }
            _ => {}
        }
        let known = pod.as_ref().and_then(|uid| self.state.task_by_uid(uid));
        let job = known.and_then(|task| self.state.task(task).job);
        self.state.apply(delta);
        held.into_iter().for_each(|held| self.state.apply(held));
        if let Some(task) = evicted {
            self.plugins.observe(&self.state, Step::Restored(task));
            self.notice_pod(ExtenderEvent::Allocate, task);
        }
        if let Some(task) = pod.as_ref().and_then(|uid| self.state.task_by_uid(uid)) {
            self.nominations.read(&self.state, task);
        }
        let (Some(task), Some(uid)) = (known, pod) else {
            return;
        };
        let now = self
            .state
            .task_by_uid(&uid)
            .map(|task| self.state.task(task));
        let is_placed = |task: &Task| {
            let is_told = !task.status.is_undecided() && task.status != TaskStatus::Binding;
            task.node.is_some() && is_told
        };
        if now.is_none_or(is_placed) {
            self.bind_backoffs.forget(&uid);
            self.nominations.forget(task);
        }
        if now.is_none_or(|task| task.deleting) {
            self.evict_backoffs.forget(&uid);
        }
        if self.state.task_by_uid(&uid).is_none() {
            self.kept.retain(|kept| *kept != task);
            self.report_log.forget_pod(task);
            self.forget_note(task, job);
        } else if self.state.task(task).job != job {
            self.forget_note(task, job);
        }
    }

    /// The place a failed Binding held is about to be given back.
    fn tell_unplaced(&mut self, uid: &str) {
        let Some(ix) = self.state.task_by_uid(uid) else {
            return;
        };
        let task = self.state.task(ix);
        if task.status == TaskStatus::Binding && task.node.is_some() {
            self.plugins.observe(&self.state, Step::Leaving(ix));
            self.notice_pod(ExtenderEvent::Deallocate, ix);
        }
    }

    /// A task has left a job: what was noted of it there means nothing any more.
    fn forget_note(&mut self, task: TaskIx, job: Option<JobIx>) {
        let Some(job) = job else { return };
        if !self.state.has_job(job) {
            self.notes.remove(&job);
        } else if let Some(note) = self.notes.get_mut(&job) {
            note.unplaced.retain(|(unplaced, _)| *unplaced != task);
            note.discarded.remove(&task);
        }
    }

    /// The cluster as the engine sees it, its own decisions included.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What the queue plugin says about a queue.
    pub fn queue_view(&self, queue: QueueIx) -> Option<QueueShare> {
        self.plugins.queue_view(&self.state, queue)
    }

    /// What is wrong on queues, as their owners are told; nothing while a change of queues waits for its
    /// cycle.
    pub fn queue_warnings(&self) -> BTreeMap<QueueIx, String> {
        self.warnings_on_queues().unwrap_or_default()
    }

    /// Likewise; `None` while a change of queues waits for its cycle.
    fn warnings_on_queues(&self) -> Option<BTreeMap<QueueIx, String>> {
        let mut all = self.plugins.queue_warnings(&self.state)?;
        for (queue, text) in report::misnamed(&self.state) {
            match all.entry(queue) {
                Entry::Vacant(none) => {
                    none.insert(text);
                }
                Entry::Occupied(mut said) => said.get_mut().push_str(&format!("; {text}")),
            }
        }
        Some(all)
    }

    /// Gangs of which some pods are bound, fewer than they need, and when each was first seen so
    /// after this engine started (`now_s` of that cycle). They are completed before other jobs of
    /// their queue, and given up after a time ([`Engine::give_up_gangs`]).
    pub fn partial_gangs(&self) -> Vec<(JobIx, i64)> {
        self.partial.all()
    }

    /// Brings the books up to date without deciding: for a replica that waits for its turn. Memory
    /// stays bounded, and the first cycle finds little left to do.
    pub fn stand_by(&mut self) {
        self.state.doubt_admissions();
        self.release_kept();
        let epoch = self.state.nodes().static_epoch();
        self.state.seal();
        if epoch != self.state.nodes().static_epoch() && !self.notes.is_empty() {
            // Notes name nodes by index, which may mean other nodes now, and somebody may ask.
            let noted = std::mem::take(&mut self.notes);
            noted.keys().for_each(|ix| self.report_log.look_at(*ix));
            self.closed_epoch = None;
        }
    }

    /// Limits the work a job may take of a cycle, in units of about one look at one node;
    /// `None`: no limit. A cycle in which some job had to wait is not settled.
    pub fn limit_work(&mut self, limit: Option<u64>) {
        self.work = Work::new(limit);
        self.state.limit_selectors(limit.is_some());
    }

    /// Lets jobs sleep that would get nothing, and tries all of them every so many seconds, which renews
    /// what is told of them and counts what sleeping would have missed; 0: in every cycle. `None`: every
    /// job is tried in every cycle, and nothing is counted. Decisions are the same.
    pub fn set_full_check_interval_s(&mut self, interval_s: Option<i64>) {
        self.sleepers.set_check_interval_s(interval_s);
    }

    /// How much memory what is known of classes of pods may have, in bytes; 512 MiB unless set. With less,
    /// the same decisions take longer.
    pub fn set_index_budget_bytes(&mut self, bytes: usize) {
        self.kernel.set_index_budget_bytes(bytes);
    }

    /// Work that the jobs of each namespace took of the last cycle, in units of about one look at one node.
    /// To be asked before anything else is applied.
    pub fn work_by_namespace(&self) -> BTreeMap<&str, u64> {
        self.work.by_namespace(&self.state)
    }

    /// The jobs that sleep.
    pub fn sleepers(&self) -> &Sleepers {
        &self.sleepers
    }

    /// Provisioners, besides the built-in ones, whose volumes do not count against the limits of
    /// nodes. To be called before anything is applied.
    pub fn ignore_provisioners(&mut self, names: impl IntoIterator<Item = String>) {
        self.state.ignore_provisioners(names);
    }

    /// How long the claims of a pod may take to be bound before its Binding fails, in seconds;
    /// `None` when no plugin binds claims, and so no decision has volume steps.
    pub fn volume_timeout_s(&self) -> Option<i64> {
        self.plugins.volume_timeout_s()
    }

    /// What was found wrong with devices, or has to be known of a pod that asks for some, since this
    /// was last asked.
    pub fn take_device_notes(&mut self) -> Vec<DeviceNote> {
        self.state.take_device_notes()
    }

    /// Number of cycles run so far, skipped ones not counted.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// When a cycle, [`Engine::reports`] and [`Engine::give_up_gangs`] are due although nothing happens outside: a pod that
    /// was held back after a failed Binding may be placed again, or evicted after an eviction that
    /// failed, something is to be told again
    /// or with other numbers, what is known of jobs that sleep has become old, or a gang is to be given up.
    /// Seconds since the epoch.
    pub fn wake_at_s(&self) -> Option<i64> {
        let release_s = self.state.next_release_s().into_iter();
        let due_s = [self.report_log.due_s(), self.partial.setbacks.next_s];
        let others_s = [
            self.plugins_wake_at_s(),
            self.sleepers.check_due_s(),
            self.nominations.next_s(),
        ];
        let due_s = due_s.into_iter().chain(others_s).flatten();
        release_s.chain(due_s).min()
    }

    /// When a cycle may decide something although nothing happens, because a plugin's answers change
    /// with time, or what was measured of a node becomes old. Seconds since the epoch.
    pub fn plugins_wake_at_s(&self) -> Option<i64> {
        let old_s = self.state.nodes().usage_old_from_s();
        old_s.into_iter().chain(self.plugins.wake_at_s()).min()
    }

    /// Runs one cycle at `now_s` (seconds since the epoch).
    pub fn cycle(&mut self, now_s: i64) -> Decisions {
        self.cycle_observed(now_s, &mut Unobserved)
    }

    /// Likewise, and tells when parts of the cycle begin and end.
    pub fn cycle_observed(&mut self, now_s: i64, observer: &mut dyn Observer) -> Decisions {
        self.now_s = now_s;
        self.state.release_holds(now_s);
        self.state.forget_old_usage(now_s);
        let (time_matters, quiet) = self.is_due(now_s);
        self.tidy(now_s, quiet);
        if quiet {
            return self.skip(now_s);
        }
        observer.begin(Stage::Open);
        self.state.seal();
        self.state.learn_admissions();
        self.release_kept();
        self.state.settle_cpus();
        self.cycle += 1;
        let phase_changes = self.state.phase_changes();
        self.kernel.begin_cycle(&self.state);
        let has_enqueue = has_action(&self.actions, &["enqueue"]);
        let (state, plugins) = (&mut self.state, &mut self.plugins);
        let mut session = Session::open(state, plugins, has_enqueue, now_s, observer);
        session.evicts = evicts(&self.actions);
        session.work = std::mem::take(&mut self.work);
        session.wake(std::mem::take(&mut self.sleepers), time_matters);
        let ended = self.nominations.renew(&mut session, &mut self.kernel);
        observer.end(Stage::Open);
        run_actions(&self.actions, &mut session, &mut self.kernel, observer);
        session.tell_hindrances();
        let looked_at = pumice_actions::put_to_bed(&mut session);
        self.sleepers = std::mem::take(&mut session.sleepers);
        let plan = std::mem::take(&mut session.plan);
        let admitted = std::mem::take(&mut session.admitted);
        self.kept = std::mem::take(&mut session.kept);
        let notes = std::mem::take(&mut session.notes);
        self.tally.add(std::mem::take(&mut session.tally));
        self.work = std::mem::take(&mut session.work);
        drop(session);
        let is_asking = self.state.resource_claims().is_asking_selectors();
        let postponed = self.work.end_cycle(&self.state) || is_asking;
        self.nominations.take_in(&self.state, &plan, now_s);
        let nominations_ended = self.still_waiting(ended);
        let device_returns = self.return_devices(&notes);
        let before = self.renew_notes(looked_at, notes);
        observer.begin(Stage::Close);
        let groups = self.close(&before, now_s);
        observer.end(Stage::Close);
        let forgot = self.forget_answers();
        // A bare pod that was admitted shows in no decision.
        let settled = plan.is_empty()
            && nominations_ended.is_empty()
            && device_returns.is_empty()
            && groups.is_empty()
            && !postponed
            && !forgot
            && phase_changes == self.state.phase_changes();
        self.settled = settled.then(|| self.state.generation());
        Decisions {
            binds: plan.binds,
            evictions: plan.evictions,
            nominations: plan.nominations,
            nominations_ended,
            device_returns,
            groups,
            admitted,
            skipped: false,
            settled,
            postponed,
            tried: self.sleepers.tried(),
            missed: self.sleepers.missed_jobs().to_vec(),
        }
    }

    /// Whether time alone may change what is decided, and whether nothing is to be decided.
    fn is_due(&self, now_s: i64) -> (bool, bool) {
        let is_due = |at_s: Option<i64>| at_s.is_some_and(|at_s| at_s <= now_s);
        let time_matters = is_due(self.plugins.wake_at_s()) || is_due(self.nominations.next_s());
        let settled = self.settled == Some(self.state.generation());
        let quiet = settled && !time_matters && !is_due(self.sleepers.check_due_s());
        (time_matters, quiet)
    }

    /// Nothing is to be decided; a status may be due.
    fn skip(&mut self, now_s: i64) -> Decisions {
        Decisions {
            groups: self.close_due(now_s),
            skipped: true,
            settled: true,
            ..Decisions::default()
        }
    }

    /// Pods that fit nowhere give back devices that keep them from nodes.
    fn return_devices(&mut self, notes: &FxHashMap<JobIx, JobNote>) -> Vec<ClaimReturn> {
        if self.state.resource_claims().version() == 0 {
            return Vec::new();
        }
        let unplaced = notes.values().flat_map(|note| &note.unplaced);
        let fits_nowhere = unplaced.filter(|(_, why)| matches!(why, Unplaced::NoNode(_)));
        let mut tasks: Vec<TaskIx> = fits_nowhere.map(|(task, _)| *task).collect();
        tasks.retain(|ix| self.state.task(*ix).status == TaskStatus::Pending);
        tasks.sort_by_key(|ix| self.state.task(*ix).age());
        tasks.dedup();
        self.state.return_devices(&tasks)
    }

    /// Tentative placements of the last cycle end with it.
    fn release_kept(&mut self) {
        for task in std::mem::take(&mut self.kept) {
            // Its pod may be gone, and its place may have been given to another.
            let status = self.state.find_task(task).map(|task| task.status);
            if matches!(status, Some(TaskStatus::Allocated | TaskStatus::Pipelined)) {
                self.plugins.observe(&self.state, Step::Leaving(task));
                self.state.move_task(task, TaskStatus::Pending, None);
            }
        }
    }
}
