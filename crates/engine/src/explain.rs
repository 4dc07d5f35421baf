//! Why a pod or a job waits, in Volcano's wording where it has one (spec/01 §4.4, §4.6).
//!
//! What a cycle noted is data; this module makes it text. Reasons of the queue are told apart from
//! reasons of nodes and from waiting for the rest of the gang.

use std::collections::BTreeMap;

use pumice_conf::nearest;
use pumice_framework::reason::{NearestMiss, Shortage};
use pumice_framework::session::Unplaced;
use pumice_framework::{FitError, JobNote, Skip};
use pumice_model::object::Gates;
use pumice_model::resource::display_amount;
use pumice_model::state::Hold;
use pumice_model::{Job, JobIx, NodeIx, Origin, TaskIx, TaskStatus};

use crate::Engine;
use crate::gist::NEAREST_MISS;
use crate::never::held_by_queue;

/// Annotation that names a pod's PodGroup.
const GROUP_NAME: &str = "annotation scheduling.k8s.io/group-name";

/// Why a pod is pending: the reason and message of its `PodScheduled` condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodReason {
    /// `Unschedulable`, `Schedulable` or `SchedulingGated`.
    pub reason: &'static str,
    /// Message.
    pub message: String,
}

impl PodReason {
    fn unschedulable(message: String) -> Self {
        Self {
            reason: "Unschedulable",
            message,
        }
    }
}

impl Engine {
    /// Why a task is not bound; `None` when it is, or is none of ours.
    pub fn why_pending(&self, ix: TaskIx) -> Option<PodReason> {
        let task = self.state.task(ix);
        let job = task.job?;
        if !task.ours {
            return None;
        }
        match task.status {
            TaskStatus::Allocated | TaskStatus::Pipelined => {
                Some(self.could_go_to(ix, task.status, task.node?))
            }
            TaskStatus::Pending => Some(self.why_unplaced(ix, job)),
            TaskStatus::Binding => self.why_bind_waits(ix),
            _ => None,
        }
    }

    fn why_unplaced(&self, ix: TaskIx, job: JobIx) -> PodReason {
        if let Some(hold) = self.state.hold(ix) {
            return PodReason::unschedulable(self.hold_text(hold));
        }
        let task = self.state.task(ix);
        let note = self.notes.get(&job);
        let tried = note.is_some_and(|note| note.unplaced.iter().any(|(other, _)| *other == ix));
        if let Some(why) = self.unserved(ix).filter(|_| !tried) {
            return PodReason::unschedulable(format!("no node can serve the pod: {why}"));
        }
        let may_be_told = task.gates == Gates::None && !tried && note.is_some_and(held_by_queue);
        if let Some(never) = may_be_told.then(|| self.never_text(ix)).flatten() {
            return PodReason::unschedulable(never);
        }
        if let Some(why) = note.and_then(|note| note.skip.as_ref()) {
            return PodReason::unschedulable(self.skip_text(job, why));
        }
        if task.gates != Gates::None {
            let message = "Scheduling is blocked due to non-empty scheduling gates".to_owned();
            return PodReason {
                reason: "SchedulingGated",
                message,
            };
        }
        let discarded = note.and_then(|note| note.discarded.get(&ix));
        if let Some((status, node)) = discarded {
            return self.could_go_to(ix, *status, *node);
        }
        let unplaced = note.and_then(|note| note.unplaced.iter().find(|(other, _)| *other == ix));
        match unplaced {
            Some((_, unplaced)) => PodReason::unschedulable(self.unplaced_text(ix, unplaced)),
            None => PodReason::unschedulable(self.untried_text(job)),
        }
    }

    /// Why a pod nobody tried to place waits, when nothing is in the way of its job.
    pub(crate) fn untried_text(&self, job: JobIx) -> String {
        if self.state.job(job).origin != Origin::BarePod {
            return self.group_message(job);
        }
        // A pod without PodGroup is not to read of a group.
        let queue = self.state.names.text(self.state.job(job).queue_name);
        match self.notes.get(&job).and_then(|note| note.refusal.as_ref()) {
            Some(refusal) => format!("queue \"{queue}\": {}", self.refusal_text(job, refusal)),
            None => format!("the pod waits for its turn in queue \"{queue}\""),
        }
    }

    fn hold_text(&self, hold: &Hold) -> String {
        let seconds = hold.until_s.saturating_sub(self.now_s).max(0);
        format!("bind failed: {}, next try in {seconds} s", hold.message)
    }

    /// Why a pod could be placed on no node whatever: what it asks of devices is never served. More
    /// to the point than what its queue says of it.
    pub(crate) fn unserved(&self, ix: TaskIx) -> Option<&str> {
        let demand = self.state.task(ix).demand;
        self.state.devices.demand(demand).refusal.as_deref()
    }

    fn could_go_to(&self, ix: TaskIx, status: TaskStatus, node: NodeIx) -> PodReason {
        let pod = self.state.task_key(ix);
        let node = &self.state.nodes.object(node).name;
        if status == TaskStatus::Pipelined {
            return PodReason::unschedulable(format!(
                "Pod {pod} can possibly be assigned to {node}, once resource is released and \
                 minAvailable is satisfied"
            ));
        }
        let message =
            format!("Pod {pod} can possibly be assigned to {node}, once minAvailable is satisfied");
        PodReason {
            reason: "Schedulable",
            message,
        }
    }

    /// Why a job was skipped.
    pub(crate) fn skip_text(&self, ix: JobIx, why: &Skip) -> String {
        let key = self.state.job_key(ix);
        let queue = self.state.names.text(self.state.job(ix).queue_name);
        match why {
            Skip::NoGroup => format!(
                "PodGroup {key} not found: create it, or remove annotation \
                 scheduling.k8s.io/group-name from the pod; if it is there, the scheduler cannot \
                 read PodGroups, and its log names the permission or CRD that is missing"
            ),
            Skip::AwaitsGroup => self.awaits_group_text(ix),
            Skip::NoQueue => self.no_queue_text(ix),
            Skip::Topology => format!(
                "PodGroup {key} asks for a network topology, which this version cannot place"
            ),
            Skip::Unserved(why) => format!("no node can serve a pod of {key}: {why}"),
            Skip::NotEnqueued(refusal) => {
                format!(
                    "queue \"{queue}\" does not admit {key}: {}",
                    self.refusal_text(ix, refusal)
                )
            }
            Skip::Invalid(invalid) => invalid.message.clone(),
            Skip::Overused(overruns) => self.overused_text(ix, overruns),
            Skip::Postponed => format!(
                "{key} goes on in the next cycle: more work was to be done in this one than the \
                 limit (--job-work-limit) allows"
            ),
        }
    }

    /// That the queue of a job is not there.
    pub(crate) fn no_queue_text(&self, ix: JobIx) -> String {
        let key = self.state.job_key(ix);
        let queue = self.state.names.text(self.state.job(ix).queue_name);
        let known = self.state.queues().map(|(_, queue)| queue);
        let mut known: Vec<&str> = known.map(|queue| queue.object.name.as_str()).collect();
        if known.is_empty() {
            // The scheduler makes one wherever it can.
            return format!(
                "queue \"{queue}\" of {key} not found, nor any other: the CRD \
                 queues.scheduling.volcano.sh is not installed (kubectl create -f \
                 config/crd), or the scheduler may not list queues (its log names the \
                 permission)"
            );
        }
        known.sort_unstable();
        let hint = nearest(queue, known.iter().copied());
        let hint = hint.map_or(String::new(), |name| format!(", did you mean \"{name}\"?"));
        format!(
            "queue \"{queue}\" of {key} not found (or set aside as broken){hint}: create the queue, \
             or name another one"
        )
    }

    /// What the only pod of a job waits for, and what to do should it never come.
    fn awaits_group_text(&self, ix: JobIx) -> String {
        let names = &self.state.names;
        let tasks = &self.state.job(ix).tasks;
        let owners = tasks.first().map(|task| &self.state.task(*task).owners);
        let owner = owners.and_then(|owners| owners.first());
        let owner = owner.map_or_else(String::new, |(kind, name)| {
            format!(" of {} {}", names.text(*kind), names.text(*name))
        });
        let sign = self.state.group_controller().unwrap_or_default();
        let controller = sign.rsplit('/').next().unwrap_or_default();
        format!(
            "waits for its PodGroup: {controller} is alive ({sign}) and makes one for \
             pods{owner}. If none comes, see in its log whether it runs the pg-controller for this \
             pod's schedulerName, or set {GROUP_NAME} on the pods; a scheduler started with \
             --podgroup-controller-lease=none does not wait"
        )
    }

    fn unplaced_text(&self, ix: TaskIx, unplaced: &Unplaced) -> String {
        let task = self.state.task(ix);
        match unplaced {
            Unplaced::NoNode(error) => self.fit_text(ix, error),
            Unplaced::RoleFailed if self.exceeds_nodes(ix) => {
                self.never_text(ix).unwrap_or_default()
            }
            Unplaced::RoleFailed => format!(
                "Task {} with role spec {} has already predicated failed, skip",
                task.name,
                self.state.names.text(task.role)
            ),
        }
    }

    /// Counts per reason over nodes, whether it could ever be otherwise, and the nearest miss.
    fn fit_text(&self, ix: TaskIx, error: &FitError) -> String {
        let mut text = error.text(&self.kernel.reasons);
        if error.never && error.nodes > 0 {
            let why = self.excess(ix);
            let why = why.unwrap_or("no node could serve it, even if it were idle".to_owned());
            text.push_str(&format!(" It never fits: {why}."));
        }
        if let Some(miss) = &error.nearest {
            text.push_str(&format!("{NEAREST_MISS}{}.", self.miss_text(miss)));
        }
        text
    }

    fn miss_text(&self, miss: &NearestMiss) -> String {
        if let Some(devices) = &miss.devices {
            return devices.clone();
        }
        let short: Vec<String> = miss
            .short
            .iter()
            .map(|shortage| self.shortage_text(shortage))
            .collect();
        format!(
            "node {}: {}",
            self.state.nodes.object(miss.node).name,
            short.join(", ")
        )
    }

    fn shortage_text(&self, shortage: &Shortage) -> String {
        let name = self.state.resources.name(shortage.resource);
        let show = |amount: i64| display_amount(name, amount);
        let (short, asked) = (show(shortage.short), show(shortage.asked));
        let total = show(shortage.total);
        if shortage.asked > shortage.total {
            return format!("{name} short by {short} ({asked} asked, {total} in all)");
        }
        let free = show((shortage.asked - shortage.short).max(0));
        format!("{name} short by {short} ({asked} asked, {free} of {total} free)")
    }

    /// `<u>/<tasks> tasks in gang unschedulable: …`.
    pub fn gang_message(&self, ix: JobIx) -> String {
        let (short, tasks) = (self.short_of(ix), self.state.job(ix).tasks.len());
        format!(
            "{short}/{tasks} tasks in gang unschedulable: {}",
            self.group_message(ix)
        )
    }

    /// Pods missing to `minMember` that could not be placed.
    pub(crate) fn short_of(&self, ix: JobIx) -> i32 {
        let job = self.state.job(ix);
        job.min_available - (job.ready() + self.could_be_placed(ix) as i32)
    }

    /// State of the group, of its pending tasks, and the reason behind it.
    pub(crate) fn group_message(&self, ix: JobIx) -> String {
        let job = self.state.job(ix);
        let ready = if job.is_ready() { "ready" } else { "not ready" };
        let mut text = format!("pod group is {ready}, {}", status_histogram(job));
        if job.count(TaskStatus::Pending) > 0 {
            text.push_str(&format!("; Pending: {}", self.pending_histogram(ix)));
        }
        if let Some(origin) = self.origin_reason(ix) {
            text.push_str(&format!(". Origin reason is {origin}"));
        }
        text
    }

    /// Waiting tasks of a job that were placed in a transaction that was taken back.
    fn could_be_placed(&self, ix: JobIx) -> usize {
        let waits = |task: TaskIx| {
            let task = self.state.find_task(task);
            task.is_some_and(|task| task.status == TaskStatus::Pending)
        };
        self.notes.get(&ix).map_or(0, |note| {
            let placed = note
                .discarded
                .iter()
                .filter(|(task, (status, _))| *status == TaskStatus::Allocated && waits(**task));
            placed.count()
        })
    }

    fn pending_histogram(&self, ix: JobIx) -> String {
        let job = self.state.job(ix);
        let schedulable = self.could_be_placed(ix);
        let pending = job.count(TaskStatus::Pending) as usize;
        histogram([
            ("Schedulable", schedulable),
            ("Unschedulable", pending.saturating_sub(schedulable)),
        ])
    }

    /// The first thing that went wrong for a job in this cycle, always the same one.
    pub(crate) fn origin_reason(&self, ix: JobIx) -> Option<String> {
        let from_note = self
            .notes
            .get(&ix)
            .and_then(|note| self.noted_reason(ix, note));
        from_note.or_else(|| self.held_member(ix))
    }

    fn noted_reason(&self, ix: JobIx, note: &JobNote) -> Option<String> {
        let queue = self.state.names.text(self.state.job(ix).queue_name);
        if held_by_queue(note)
            && let Some(hopeless) = self.hopeless_member(ix)
        {
            return Some(hopeless);
        }
        if let Some((task, unplaced)) = note.unplaced.first()
            && let Some(record) = self.state.find_task(*task)
        {
            let name = &record.name;
            return Some(format!("{name}: {}", self.unplaced_text(*task, unplaced)));
        }
        if let Some(refusal) = &note.refusal {
            let why = self.refusal_text(ix, refusal);
            return Some(format!("queue \"{queue}\": {why}"));
        }
        note.skip.as_ref().map(|why| self.skip_text(ix, why))
    }

    /// The first task, by name, that is held back after a failed Binding.
    fn held_member(&self, ix: JobIx) -> Option<String> {
        let members = self.state.job(ix).tasks.iter();
        let held = members.filter_map(|task| Some((task, self.state.hold(*task)?)));
        let name = |task: TaskIx| &self.state.task(task).name;
        let (task, hold) = held.min_by_key(|(task, _)| name(**task))?;
        Some(format!("{}: {}", name(*task), self.hold_text(hold)))
    }
}

/// `N Status` for every status there is, and `N minAvailable`, sorted as text.
fn status_histogram(job: &Job) -> String {
    use TaskStatus::{
        Allocated, Binding, Bound, Failed, Pending, Pipelined, Releasing, Running, Succeeded,
        Unknown,
    };
    let statuses = [
        Pending, Allocated, Pipelined, Binding, Bound, Running, Releasing, Succeeded, Failed,
        Unknown,
    ];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for status in statuses {
        counts.insert(status.name(), job.count(status) as usize);
    }
    counts.insert("minAvailable", job.min_available.max(0) as usize);
    histogram(counts)
}

fn histogram<'a>(counts: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let mut items: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    items.sort();
    items.join(", ")
}
