//! Groups that were admitted a moment ago: their minimum goes before the extras of others.
//!
//! ```text
//!  enqueue admits a PodGroup ─► its controller makes the pods ─► allocate places the minimum
//!                             └─ meanwhile, and for a few seconds at most: pods beyond the
//!                                minMember of other groups leave its minResources free
//! ```
//!
//! Whoever runs already has pods at hand, the newcomer has none yet: without this the extras of an
//! elastic job take, in the moment they appear, the room for which the newcomer was admitted. What is
//! left is counted over the whole cluster, not by node.

use pumice_framework::{Bound, Overrun, Overruns, PluginMemory, Refusal, RememberedObject};
use pumice_model::job::RoleCount;
use pumice_model::object::GroupPhase;
use pumice_model::resource::{PODS, WideSum};
use pumice_model::{Job, JobIx, ResIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use super::{sub_groups, trees};

/// Newcomers, what they are to get, and what there is.
#[derive(Clone, Default)]
pub(super) struct Newcomers {
    /// For how long a group is one, in seconds; 0: never.
    hold_s: i64,
    now_s: i64,
    /// Until when, with the UID that tells a job from a later one of the same index.
    until_s: FxHashMap<JobIx, (Box<str>, i64)>,
    /// What they reserve, while there are any.
    reserved: WideSum,
    /// What is idle on nodes that take pods, while there are any newcomers.
    idle: WideSum,
    /// Some pod may be waiting because of them.
    is_waited_for: bool,
}

impl Newcomers {
    /// None yet; a group is one for `hold_s` seconds at most.
    pub fn new(hold_s: i64) -> Self {
        Self {
            hold_s,
            ..Self::default()
        }
    }

    /// As one of another process is told of them: when the last cycle was, whether some pod may be waiting because of
    /// them, and until when each is one.
    pub fn keep(&self, state: &State) -> PluginMemory {
        let known = self.until_s.iter();
        let known = known.filter(|(ix, (uid, _))| {
            let job = state.population().has_job(**ix).then(|| state.job(**ix));
            job.is_some_and(|job| job.uid == *uid)
        });
        let told = known.map(|(ix, (uid, until_s))| RememberedObject {
            namespace: state.names().text(state.job(*ix).namespace).to_owned(),
            name: state.job(*ix).name.to_string(),
            uid: uid.to_string(),
            numbers: vec![Some(*until_s)],
            ..RememberedObject::default()
        });
        let mut objects: Vec<RememberedObject> = told.collect();
        objects.sort_unstable();
        PluginMemory {
            numbers: vec![Some(self.now_s), Some(i64::from(self.is_waited_for))],
            objects,
            ..PluginMemory::default()
        }
    }

    /// What one of another process told of.
    pub fn restore(&mut self, told: &PluginMemory, state: &State) {
        self.now_s = told.number(0).unwrap_or(self.now_s);
        self.is_waited_for = told.is_so(1);
        let known = told.objects.iter().filter_map(|one| {
            let job = state.population().job_by_key(&one.namespace, &one.name)?;
            Some((job, (one.uid.clone().into_boxed_str(), one.number(0)?)))
        });
        self.until_s = known.collect();
        self.sum(state);
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.until_s.is_empty()
    }

    /// A cycle begins.
    pub fn open(&mut self, state: &State, now_s: i64) {
        self.now_s = now_s;
        if self.until_s.is_empty() {
            return;
        }
        self.until_s.retain(|ix, (uid, until_s)| {
            let known = state.population().has_job(*ix).then(|| state.job(*ix));
            known.is_some_and(|job| job.uid == *uid && lacks_pods(state, job)) && now_s < *until_s
        });
        self.sum(state);
        let waits = |ix: &JobIx| {
            let job = state.job(*ix);
            job.is_ready() && job.count(TaskStatus::Pending) > 0
        };
        let mut waiting = state.journal().waiting_jobs_unordered().iter();
        self.is_waited_for = !self.until_s.is_empty() && waiting.any(waits);
    }

    /// A job was admitted.
    pub fn admitted(&mut self, state: &State, ix: JobIx) {
        let job = state.job(ix);
        if self.hold_s <= 0 || !lacks_pods(state, job) {
            return;
        }
        let until_s = self.now_s.saturating_add(self.hold_s);
        let is_first = self.until_s.is_empty();
        self.until_s.insert(ix, (job.uid.clone(), until_s));
        match is_first {
            true => self.sum(state),
            false => self.reserved.shift(&job.reservation(), 1),
        }
    }

    /// A task enters an idle place (`by` = −1) or leaves it.
    pub fn moved(&mut self, state: &State, task: TaskIx, by: i32) {
        if self.is_empty() {
            return;
        }
        let record = state.task(task);
        let counts = |node| !state.nodes().object(node).unschedulable;
        if record.status == TaskStatus::Allocated && record.node.is_some_and(counts) {
            self.idle.shift(&state.shape(task).request, by);
        }
    }

    /// When pods that wait because of a newcomer may be placed although nothing happens.
    pub fn wake_at_s(&self) -> Option<i64> {
        let until_s = self.until_s.values().map(|(_, until_s)| *until_s);
        until_s.filter(|_| self.is_waited_for).min()
    }

    /// Whether a pod that its own gang does not need leaves the newcomers what they reserve.
    ///
    /// # Errors
    /// The resources of which too little would be left.
    pub fn leave_room_for(&self, state: &State, task: TaskIx) -> Result<(), Refusal> {
        let request = &state.shape(task).request;
        let is_short = |ix: ResIx| {
            let (asked, reserved) = (request.get(ix), self.reserved.get(ix));
            let left = self.idle.get(ix).saturating_sub(asked);
            ix != PODS && asked > 0 && reserved > 0 && left < reserved
        };
        let overrun = |ix: ResIx| {
            let total = state.nodes().cluster_total.get(ix);
            Overrun {
                resource: ix,
                above: None,
                bound: Bound::Cluster,
                limit: total,
                total,
                used: total.saturating_sub(self.idle.get(ix)),
                reserved: self.reserved.get(ix),
                asked: request.get(ix),
            }
        };
        let resources = state.resources().in_order().iter().copied();
        let short: Overruns = resources.filter(|ix| is_short(*ix)).map(overrun).collect();
        match short.is_empty() {
            true => Ok(()),
            false => Err(Refusal::Quota(short)),
        }
    }

    fn sum(&mut self, state: &State) {
        (self.reserved, self.idle) = Default::default();
        if self.until_s.is_empty() {
            return;
        }
        for ix in self.until_s.keys() {
            self.reserved.shift(&state.job(*ix).reservation(), 1);
        }
        let nodes = state.nodes();
        for ix in state.resources().in_order() {
            let takes_pods = |node: &_| !nodes.object(*node).unschedulable;
            let idle = nodes.indices().filter(takes_pods);
            let idle = idle.map(|node| i128::from(nodes.idle.get(*ix, node).max(0)));
            self.idle.shift_one(*ix, idle.sum());
        }
    }
}

/// A PodGroup that is admitted and has fewer pods than it needs, in all, of a role or of a sub-group: they are
/// still being made.
fn lacks_pods(state: &State, job: &Job) -> bool {
    let has_all = || {
        let of_roles = job.roles_hold(RoleCount::valid);
        job.valid() >= job.min_available
            && of_roles
            && sub_groups::valid(state, job).is_ok()
            && trees::valid(state, job).is_ok()
    };
    job.group().is_some() && job.status.phase == GroupPhase::Inqueue && !has_all()
}
