//! The engine: takes changes in, runs cycles, hands out what they decided.

use std::collections::BTreeMap;

use pumice_actions::{Action, Kernel};
use pumice_conf::{Arguments, Config};
use pumice_framework::{
    JobNote, Observer, Plugins, ReasonTable, Session, Sleepers, Stage, Step, Unobserved, Unplaced,
    Work, hand_memories_on, keep_memories,
};
use pumice_model::extender::ExtenderEvent;
use pumice_model::object::QueueObject;
use pumice_model::{ClaimReturn, Delta, DeviceNote, JobIx, State, TaskId, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::closing::take_in;
use crate::configured::{actions, before_actions, has_action, run_actions, set_up};
use crate::decisions::Decisions;
use crate::devices::Told;
use crate::epochs::ClosedEpochs;
use crate::extender::{ToldQuestions, forget_answers};
use crate::follow_up::FollowUp;
use crate::history::{self, JobHistory};
use crate::kept::open_reservations;
use crate::knowledge::Knowledge;
use crate::metrics_snapshot::MetricsCounts;
use crate::report::ReportLog;
use crate::task_mix::readable_mix;
use crate::tidying::Tidying;
use crate::trees;

/// The scheduler without its surroundings.
pub struct Engine {
    pub(crate) state: State,
    actions: Vec<(&'static Action, Arguments)>,
    pub(crate) plugins: Plugins,
    pub(crate) kernel: Kernel,
    work: Work,
    sleepers: Sleepers,
    cycle: u64,
    configurations: u64,
    /// Tasks that hold a place tentatively until the next cycle.
    pub(crate) kept: Vec<TaskId>,
    pub(crate) settled: Option<u64>,
    now_s: i64,
    /// Epochs at the last close.
    pub(crate) closed_epoch: Option<ClosedEpochs>,
    pub(crate) follow_up: FollowUp,
    pub(crate) report_log: ReportLog,
    pub(crate) counted: MetricsCounts,
    pub(crate) devices_told: Told,
    pub(crate) extender: ToldQuestions,
    pub(crate) tidying: Tidying,
    pub(crate) history: Option<Box<JobHistory>>,
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
            settled: None,
            now_s: 0,
            closed_epoch: None,
            follow_up: FollowUp::default(),
            report_log: ReportLog::default(),
            counted: MetricsCounts::default(),
            devices_told: Told::default(),
            extender: ToldQuestions::of(pumice_plugins::extender_settings(config)),
            tidying: Tidying::default(),
            history: None,
        }
    }

    /// Takes another configuration: from the next cycle on everything is as in an engine that had
    /// it from the start. What was told before is not told again.
    pub fn reconfigure(&mut self, config: &Config) {
        // The old plugins placed them.
        self.release_kept();
        if let Some(counted) = self.known().counted_tasks() {
            self.state.supplies_mut().set_counted_before(counted);
        }
        let remembered = keep_memories(&self.plugins, &self.state);
        let mut reasons = ReasonTable::default();
        self.plugins = pumice_plugins::build(config, &mut reasons);
        hand_memories_on(&mut self.plugins, &remembered, &self.state);
        // Pools may be named by other labels.
        self.counted.forget_wasted();
        self.kernel = self.kernel.for_reasons(reasons);
        self.state
            .set_device_settings(self.plugins.device_settings());
        self.state.set_network_labels(self.plugins.network_labels());
        let settings = pumice_plugins::extender_settings(config);
        if self.extender.set(settings) {
            self.state.answer_books().keep(|_| false);
        }
        self.configurations += 1;
        self.actions = actions(config);
        // Notes speak of reasons by their number in the old table.
        self.forget_notes();
        self.state.admissions().forget_unwritten();
        let has_gangs = self.plugins.has_gangs();
        self.follow_up.partial.forget_unless(has_gangs);
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
            if self.state.population().queue_by_name(name).is_none() {
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
    pub fn apply(&mut self, delta: Delta) {
        let Some(mut delta) = readable_mix(&mut self.state, delta) else {
            return;
        };
        self.follow_up.expect(&self.state, &mut delta);
        self.tidying.note(&delta);
        if let Delta::QueueDelete(name) = &delta {
            self.report_log.queue_gone(name, self.now_s);
        }
        if let Delta::BindFailed { uid, .. } | Delta::BindTakenBack { uid } = &delta {
            self.tell_unplaced(uid);
        }
        let restored = match &delta {
            Delta::EvictFailed { uid, .. } | Delta::EvictTakenBack { uid } => {
                // The eviction was decided, and the pod's object does not show it yet.
                let known = self.state.population().task_by_uid(uid);
                known.filter(|task| self.state.population().evictions().before(*task).is_some())
            }
            _ => None,
        };
        let held = self.follow_up.hold_back(&self.state, &delta);
        let applied = self.state.apply(delta);
        if let Some(held) = held {
            self.state.apply(held);
        }
        if let Some(task) = restored {
            self.plugins.observe(&self.state, Step::Restored(task));
            let event = ExtenderEvent::Allocate;
            self.extender.notice_pod(&self.state, event, task);
        }
        self.follow_up.follow(&applied, &self.state);
        self.report_log.follow(&applied);
        history::follow(self, &applied);
    }

    /// The place a failed Binding held is about to be given back.
    fn tell_unplaced(&mut self, uid: &str) {
        let Some(ix) = self.state.population().task_by_uid(uid) else {
            return;
        };
        let task = self.state.task(ix);
        if task.status == TaskStatus::Binding && task.node.is_some() {
            self.plugins.observe(&self.state, Step::Leaving(ix));
            let event = ExtenderEvent::Deallocate;
            self.extender.notice_pod(&self.state, event, ix);
        }
    }

    /// Notes mean nothing any more, and what was told with them is to be told again.
    fn forget_notes(&mut self) {
        let noted = std::mem::take(&mut self.follow_up.notes);
        noted.jobs().for_each(|ix| self.look_at(ix));
    }

    /// What there is to tell of a job may have changed.
    pub(crate) fn look_at(&mut self, ix: JobIx) {
        if self.state.population().has_job(ix) {
            self.report_log.look_at(self.state.population().job_id(ix));
        }
    }

    /// What is known, for whoever only reads: why pods wait, pages, warnings.
    pub fn known(&self) -> Knowledge<'_> {
        Knowledge {
            state: &self.state,
            plugins: &self.plugins,
            reasons: &self.kernel.reasons,
            actions: &self.actions,
            sleep_times: self.sleepers.times(),
            notes: &self.follow_up.notes,
            follow_up: &self.follow_up,
            cycle: self.cycle,
            now_s: self.now_s,
            configurations: self.configurations,
        }
    }

    /// The cluster as the engine sees it, its own decisions included.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Gangs of which some pods are bound, fewer than they need, and when each was first seen so
    /// after this engine started (`now_s` of that cycle). They are completed before other jobs of
    /// their queue, and given up after a time ([`Engine::give_up_gangs`]).
    pub fn partial_gangs(&self) -> Vec<(JobIx, i64)> {
        self.follow_up.partial.all()
    }

    /// Brings the books up to date without deciding: for a replica that waits for its turn. Memory
    /// stays bounded, and the first cycle finds little left to do.
    pub fn stand_by(&mut self) {
        self.state.admissions().doubt();
        self.release_kept();
        let epoch = self.state.nodes().static_epoch();
        trees::seal(self);
        if epoch != self.state.nodes().static_epoch() && !self.follow_up.notes.is_empty() {
            // Notes name nodes by index, which may mean other nodes now, and somebody may ask.
            self.forget_notes();
            self.closed_epoch = None;
        }
    }

    /// Limits the work a job may take of a cycle, in units of about one look at one node;
    /// `None`: no limit. A cycle in which some job had to wait is not settled.
    pub fn limit_work(&mut self, limit: Option<u64>) {
        self.work = Work::new(limit);
        self.state.supplies_mut().limit_selectors(limit.is_some());
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
        self.state.supplies_mut().ignore_provisioners(names);
    }

    /// How long the claims of a pod may take to be bound before its Binding fails, in seconds;
    /// `None` when no plugin binds claims, and so no decision has volume steps.
    pub fn volume_timeout_s(&self) -> Option<i64> {
        self.plugins.volume_timeout_s()
    }

    /// What was found wrong with devices, or has to be known of a pod that asks for some, since this
    /// was last asked.
    pub fn take_device_notes(&mut self) -> Vec<DeviceNote> {
        self.state.supplies_mut().take_device_notes()
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
        let release_s = self.state.population().next_release_s().into_iter();
        let due_s = [
            self.report_log.due_s(),
            self.follow_up.partial.setbacks.next_s,
        ];
        let others_s = [
            self.plugins_wake_at_s(),
            self.sleepers.check_due_s(),
            self.follow_up.nominations.next_s(),
        ];
        let due_s = due_s.into_iter().chain(others_s).flatten();
        release_s.chain(due_s).min()
    }

    /// When a cycle may decide something although nothing happens, because a plugin's answers change
    /// with time, or what was measured of a node becomes old. Seconds since the epoch.
    pub fn plugins_wake_at_s(&self) -> Option<i64> {
        let old_s = self.state.nodes().usage_old_from_s();
        let others_s = [self.plugins.wake_at_s(), self.follow_up.reserved.due_s()];
        old_s
            .into_iter()
            .chain(others_s.into_iter().flatten())
            .min()
    }

    /// Runs one cycle at `now_s` (seconds since the epoch).
    pub fn cycle(&mut self, now_s: i64) -> Decisions {
        self.cycle_observed(now_s, &mut Unobserved)
    }

    /// Runs one cycle at `now_s` (seconds since the epoch), and tells when parts of it begin and end.
    pub fn cycle_observed(&mut self, now_s: i64, observer: &mut dyn Observer) -> Decisions {
        self.now_s = now_s;
        self.state.release_holds(now_s);
        self.state.forget_old_usage(now_s);
        let (time_matters, quiet) = self.look_at_time(now_s);
        if quiet {
            return Decisions::skipped(self.close_due(now_s));
        }
        observer.begin(Stage::Open);
        trees::seal(self);
        self.state.admissions().learn();
        self.release_kept();
        self.state.settle_cpus();
        self.cycle += 1;
        let phase_changes = self.state.journal().phase_changes();
        self.kernel.begin_cycle(&self.state);
        let has_enqueue = has_action(&self.actions, &["enqueue"]);
        let (state, plugins) = (&mut self.state, &mut self.plugins);
        let mut session = Session::open(state, plugins, has_enqueue, now_s, observer);
        set_up(&mut session, &self.actions);
        session.work = std::mem::take(&mut self.work);
        open_reservations(&mut session, std::mem::take(&mut self.follow_up.reserved));
        session.wake(std::mem::take(&mut self.sleepers), time_matters);
        let nominations = &mut self.follow_up.nominations;
        let ended = before_actions(&mut session, &mut self.kernel, nominations);
        observer.end(Stage::Open);
        run_actions(&self.actions, &mut session, &mut self.kernel, observer);
        session.hindrances.tell(&mut session.notes);
        let looked_at = pumice_actions::put_to_bed(&mut session);
        self.sleepers = std::mem::take(&mut session.sleepers);
        let plan = std::mem::take(&mut session.plan);
        let admitted = std::mem::take(&mut session.admitted);
        let kept = std::mem::take(&mut session.kept).into_iter();
        let population = session.state.population();
        self.kept = kept.map(|ix| population.task_id(ix)).collect();
        let notes = std::mem::take(&mut session.notes);
        self.counted.tally.add(std::mem::take(&mut session.tally));
        self.work = std::mem::take(&mut session.work);
        self.follow_up.reserved = std::mem::take(&mut session.reserved);
        drop(session);
        let claims = self.state.supplies().resource_claims();
        let postponed = self.work.end_cycle(&self.state) || claims.stock().is_asking_selectors();
        take_in(self, &plan, now_s);
        let device_returns = self.return_devices(&notes);
        let (nominations, noted) = (&self.follow_up.nominations, &mut self.follow_up.notes);
        let nominations_ended = nominations.still_waiting(&self.state, ended);
        let before = noted.renew(&self.sleepers, &looked_at, notes);
        observer.begin(Stage::Close);
        let (groups, trees) = self.close(&looked_at, &before, now_s);
        observer.end(Stage::Close);
        let mut forgot = forget_answers(&mut self.state, &self.plugins);
        forgot |= self.follow_up.reserved.take_given_up();
        let mut decisions = Decisions {
            binds: plan.binds,
            evictions: plan.evictions,
            nominations: plan.nominations,
            nominations_ended,
            device_returns,
            groups,
            trees,
            admitted,
            postponed,
            tried: self.sleepers.tried(),
            missed: self.sleepers.missed_jobs().to_vec(),
            ..Decisions::default()
        };
        // A bare pod that was admitted shows in no decision.
        decisions.settled = decisions.is_empty()
            && !(postponed || forgot)
            && phase_changes == self.state.journal().phase_changes();
        self.settled = (decisions.settled).then(|| self.state.journal().generation());
        decisions
    }

    /// Whether time alone may change what is decided, and whether nothing is to be decided. Forgets what nobody uses any
    /// more, if it is time; what was held until the next cycle goes with it, so that there is something to decide.
    fn look_at_time(&mut self, now_s: i64) -> (bool, bool) {
        let is_due = |at_s: Option<i64>| at_s.is_some_and(|at_s| at_s <= now_s);
        let nominations_s = self.follow_up.nominations.next_s();
        let reserved_s = self.follow_up.reserved.due_s();
        let time_matters = [self.plugins.wake_at_s(), nominations_s, reserved_s]
            .into_iter()
            .any(is_due);
        let settled = self.settled == Some(self.state.journal().generation());
        let quiet = settled && !time_matters && !is_due(self.sleepers.check_due_s());
        let tidies = self.tidying.take_due(now_s, quiet);
        if tidies {
            self.forget_unused();
        }
        (time_matters, quiet && !tidies)
    }

    /// Pods that fit nowhere give back devices that keep them from nodes.
    fn return_devices(&mut self, notes: &FxHashMap<JobIx, JobNote>) -> Vec<ClaimReturn> {
        if self.state.supplies().resource_claims().version() == 0 {
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

    /// Forgets what nobody uses any more, if it is time, in a replica that decides nothing. After [`Engine::stand_by`].
    pub fn tidy(&mut self, now_s: i64) {
        if self.tidying.take_due(now_s, true) {
            self.forget_unused();
        }
    }

    /// Forgets at once what nobody uses any more: names, terms, label keys, classes. Cycles do it by themselves when it
    /// pays, and some time after a good deal has gone. Places that are held until the next cycle are given up with it.
    pub fn forget_unused(&mut self) {
        self.release_kept();
        self.state.forget_unused();
        self.kernel.forget_unused(&self.state);
    }

    /// Tentative placements of the last cycle end with it.
    pub(crate) fn release_kept(&mut self) {
        for id in std::mem::take(&mut self.kept) {
            if let Some(task) = tentative(&self.state, id) {
                self.plugins.observe(&self.state, Step::Leaving(task));
                self.state.move_task(task, TaskStatus::Pending, None);
            }
        }
    }
}

/// The task of a placement of the last cycle that still stands: the pod may be gone, and its place may have
/// been given to another.
pub(crate) fn tentative(state: &State, id: TaskId) -> Option<TaskIx> {
    let task = state.population().known_task(id)?;
    let status = state.task(task).status;
    matches!(status, TaskStatus::Allocated | TaskStatus::Pipelined).then_some(task)
}
