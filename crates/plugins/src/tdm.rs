//! Plugin `tdm`: shares nodes with others by the time of day (spec/02 §14).
//!
//! ```text
//!  node label volcano.sh/revocable-zone: rz1      tdm.revocable-zone.rz1: 22:00-06:00
//!       open    revocable pods may go there, and are drawn there
//!       closed  nobody goes there; those who run there go, job by job, as far as their budgets allow
//! ```
//!
//! Which zones are open is part of the class signature of revocable pods, so no answer outlives an hour. That others
//! are preemptable is the signature of those, for whom nobody goes.

mod budget;
mod victims;
mod window;

use std::cmp::Ordering;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use pumice_conf::{Arg, Arguments, FormedText, PluginSpec, TextForm};
use pumice_framework::points;
use pumice_framework::points::{
    ClassSignature, JobOrder, JobPipelined, JobStarving, NodeFilters, NodeScores, StaticClass,
    StaticPart, VictimTasks, Victims,
};
use pumice_framework::{
    CycleInfo, Plugin, PluginMemory, ReasonId, ReasonKind, ReasonTable, Step, Vote,
};
use pumice_model::object::PreemptableMark;
use pumice_model::selector::pair;
use pumice_model::{Job, JobIx, NodeIx, State, TaskIx, TaskStatus};

use crate::entry::PluginEntry;
use crate::period::{self, Period};
use budget::{MAX_UNAVAILABLE, MIN_AVAILABLE};
use window::ZoneWindow;

/// Label that names the zone of a node; annotation of pods and PodGroups that may go to such nodes.
const ZONE: &str = "volcano.sh/revocable-zone";
/// What all signatures of revocable pods begin with.
const REVOCABLE: &str = "revocable";
/// Signature of other pods that may be evicted.
const PREEMPTABLE: &str = "preemptable";
/// The one value of the annotation that says so.
const ANY_ZONE: &str = "*";
const NODE_SCORE: i64 = 100;

const ZONES: Arg<FormedText> = Arg::formed(
    "tdm.revocable-zone.*",
    TextForm {
        phrase: "two times of day",
        example: "22:00-06:00",
        fault: |text| ZoneWindow::parse(text).err(),
    },
    "",
    "When nodes with label volcano.sh/revocable-zone of this value take pods; past midnight where the \
     second time is not later.",
);
const TIME_ZONE: Arg<FormedText> = Arg::formed(
    "tdm.time-zone",
    TextForm {
        phrase: "a time zone",
        example: "Europe/Berlin",
        fault: |text| match clocks(text) {
            Some(_) => None,
            None => Some("is no time zone of the IANA database".to_owned()),
        },
    },
    "UTC",
    "By which clocks zones open and close.",
);
const PERIOD: Arg<FormedText> = Arg::formed(
    "tdm.evict.period",
    TextForm {
        phrase: "a duration of a second or more",
        example: "30s",
        fault: |text| period::seconds(text).err(),
    },
    "1m",
    "How often pods are evicted from closed zones.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "tdm",
    summary: "Shares revocable nodes by time of day.",
    args: &[ZONES.spec(), PERIOD.spec(), TIME_ZONE.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, reasons| {
    Box::new(Tdm::new(&conf.arguments, reasons))
})
.reading(&[ZONE, MIN_AVAILABLE, MAX_UNAVAILABLE]);

fn clocks(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

/// A zone that the configuration names.
#[derive(Clone)]
struct Zone {
    name: String,
    window: ZoneWindow,
    /// Why pods may not go there while it is closed.
    closed: ReasonId,
}

/// The plugin.
#[derive(Clone)]
pub struct Tdm {
    /// By name.
    zones: Vec<Zone>,
    clocks: TimeZone,
    period: Period,
    /// Why a pod that is not revocable may not go to a node with a zone.
    not_revocable: ReasonId,
    /// Why nobody may go to a node of a zone that the configuration does not name.
    unknown: ReasonId,
    now_s: i64,
    /// Which zones are open.
    open: Vec<bool>,
    /// What revocable pods are told apart by.
    signature: String,
    /// Somebody may have to leave a closed zone who had not to when it was due last.
    is_stirred: bool,
}

impl Tdm {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments, reasons: &mut ReasonTable) -> Self {
        let place = TIME_ZONE.read(arguments);
        let mut hard = |text: &str| reasons.intern(text, ReasonKind::Unresolvable);
        let prefix = ZONES.spec().prefix().unwrap_or_default();
        let names = arguments
            .iter()
            .filter_map(|(key, _)| key.strip_prefix(prefix));
        let mut zones: Vec<Zone> = names
            .filter_map(|name| {
                let text = ZONES.read_for(arguments, name);
                let window = ZoneWindow::parse(text).ok()?;
                let closed =
                    format!("zone {name} is open {text} {place}, it is closed at this time");
                Some(Zone {
                    name: name.to_owned(),
                    window,
                    closed: hard(&closed),
                })
            })
            .collect();
        zones.sort_by(|l, r| l.name.cmp(&r.name));
        Self {
            zones,
            clocks: clocks(place).unwrap_or(TimeZone::UTC),
            period: Period::new(period::seconds(PERIOD.read(arguments)).unwrap_or(60)),
            not_revocable: hard("node is revocable, the pod is not"),
            unknown: hard("the times of the node's revocable zone are not configured"),
            now_s: 0,
            open: Vec::new(),
            signature: REVOCABLE.to_owned(),
            is_stirred: false,
        }
    }

    /// The zone of a node, if it is one that is configured.
    fn zone_of(&self, state: &State, node: NodeIx) -> Option<usize> {
        let name = zone_name(state, node)?;
        self.zones
            .binary_search_by(|zone| (*zone.name).cmp(name))
            .ok()
    }

    fn is_closed(&self, state: &State, node: NodeIx) -> bool {
        let zone = self.zone_of(state, node);
        zone.is_some_and(|zone| !self.open.get(zone).copied().unwrap_or(false))
    }

    /// A running pod that has to leave its node, its budget aside.
    fn has_to_leave(&self, state: &State, ix: TaskIx) -> bool {
        let task = state.task(ix);
        task.status == TaskStatus::Running
            && task.node.is_some_and(|node| self.is_closed(state, node))
            && (is_revocable(state, ix) || is_preemptable(state, ix))
    }

    /// Whether somebody of these jobs has to leave; of all jobs where it is not known which have changed.
    fn has_leavers(&self, state: &State, jobs: Option<&[JobIx]>) -> bool {
        if self.open.iter().all(|open| *open) {
            return false;
        }
        let leaves = |task: &TaskIx| self.has_to_leave(state, *task);
        match jobs {
            Some(jobs) => jobs
                .iter()
                .filter(|job| state.population().has_job(**job))
                .any(|job| state.job(*job).tasks.iter().any(leaves)),
            None => state.nodes().indices().any(|node| {
                self.is_closed(state, node) && state.nodes().tasks(node).iter().any(leaves)
            }),
        }
    }
}

/// The zone a node's label names; an empty one names none.
fn zone_name(state: &State, node: NodeIx) -> Option<&str> {
    pair(&state.nodes().object(node).labels, ZONE).filter(|name| !name.is_empty())
}

/// What a pod says of its eviction; where it says nothing, what its PodGroup says.
fn mark(state: &State, ix: TaskIx) -> PreemptableMark {
    let task = state.task(ix);
    let group = || task.job.and_then(|job| state.job(job).group());
    match task.preemptable {
        PreemptableMark::Unsaid => group().map_or(PreemptableMark::Unsaid, |g| g.preemptable),
        said => said,
    }
}

/// It says that it may be evicted.
fn is_preemptable(state: &State, ix: TaskIx) -> bool {
    mark(state, ix) == PreemptableMark::Yes
}

/// It says that it may be on nodes that are taken away.
fn is_revocable(state: &State, ix: TaskIx) -> bool {
    let task = state.task(ix);
    let group = task.job.and_then(|job| state.job(job).group());
    let of_group = || group.and_then(|group| group.annotation(ZONE));
    match task.annotation(ZONE).or_else(of_group) {
        Some(zone) => zone == ANY_ZONE,
        None => is_preemptable(state, ix),
    }
}

/// Whether a job's PodGroup, or the pod that has none, says that it may be evicted.
fn is_preemptable_job(state: &State, job: &Job) -> bool {
    match job.group() {
        Some(group) => group.preemptable == PreemptableMark::Yes,
        None => job
            .tasks
            .first()
            .is_some_and(|task| is_preemptable(state, *task)),
    }
}

impl Plugin for Tdm {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_class_signature: ClassSignature,
        as_node_filters: NodeFilters,
        as_node_scores: NodeScores,
        as_job_order: JobOrder,
        as_job_pipelined: JobPipelined,
        as_job_starving: JobStarving,
        as_victims: Victims,
        as_victim_tasks: VictimTasks,
    );

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.now_s = cycle.now_s;
        let is_open = |zone: &Zone| zone.window.is_open(cycle.now_s, &self.clocks);
        let open: Vec<bool> = self.zones.iter().map(is_open).collect();
        let has_turned = open != self.open;
        if has_turned {
            self.open = open;
            let names = self.zones.iter().zip(&self.open);
            let names = names
                .filter(|(_, open)| **open)
                .map(|(zone, _)| &*zone.name);
            self.signature = format!("{REVOCABLE}\n{}", names.collect::<Vec<_>>().join("\n"));
        }
        let is_new = has_turned || cycle.changed.nodes;
        let jobs = cycle.changed.jobs.as_deref().filter(|_| !is_new);
        self.is_stirred = self.is_stirred || self.has_leavers(state, jobs);
        if self.period.open(cycle.now_s) {
            self.is_stirred = false;
        }
    }

    fn observe(&mut self, state: &State, step: Step) {
        // Of a job from which some go more may go in the next period.
        if let Step::Evicting(task) = step {
            self.is_stirred = self.is_stirred || self.has_to_leave(state, task);
        }
    }

    fn keep(&self, _: &State) -> Option<PluginMemory> {
        let [last_s, is_due] = self.period.keep();
        let others = [Some(self.now_s), Some(i64::from(self.is_stirred))];
        Some(PluginMemory {
            numbers: [last_s, is_due].into_iter().chain(others).collect(),
            // Which zones were open, and who has left since.
            in_part: true,
            ..PluginMemory::default()
        })
    }

    fn restore(&mut self, told: &PluginMemory, _: &State) {
        self.period.restore(told.number(0), told.is_so(1));
        self.now_s = told.number(2).unwrap_or(self.now_s);
        self.is_stirred = told.is_so(3);
    }

    fn wake_at_s(&self) -> Option<i64> {
        let edges = self.zones.iter();
        let edges = edges.filter_map(|zone| zone.window.next_edge_s(self.now_s, &self.clocks));
        let due = self.period.next_s().filter(|_| self.is_stirred);
        edges.chain(due).min()
    }

    fn job_warning(&self, state: &State, job: JobIx) -> Option<String> {
        let job = state.job(job);
        if let Some((key, text)) = budget::unreadable(job) {
            return Some(format!(
                "annotation {key}: `{text}` is neither a number of pods nor a share such as `30%`, so plugin \
                 tdm lets none of them go"
            ));
        }
        let group = job.group().and_then(|group| group.annotation(ZONE));
        let pods = job.tasks.iter().map(|task| state.task(*task));
        let pods = pods.filter_map(|task| task.annotation(ZONE));
        let odd = group.into_iter().chain(pods);
        let odd = odd.filter(|text| *text != ANY_ZONE).min()?;
        Some(format!(
            "annotation {ZONE}: `{odd}` keeps pods off revocable nodes: only `{ANY_ZONE}`, for all zones, \
             lets them go there"
        ))
    }
}

impl ClassSignature for Tdm {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        if is_revocable(state, task) {
            self.signature.clone()
        } else if is_preemptable(state, task) {
            PREEMPTABLE.to_owned()
        } else {
            String::new()
        }
    }
}

impl NodeFilters for Tdm {
    fn static_filter(
        &self,
        state: &State,
        class: StaticClass<'_>,
        _: &mut ReasonTable,
        part: &mut StaticPart,
    ) {
        let is_revocable = class.signature.of(SPEC.name) == self.signature;
        for (node, verdict) in state.nodes().indices().zip(&mut part.verdict) {
            if zone_name(state, node).is_none() {
                continue;
            }
            let reason = match self.zone_of(state, node) {
                _ if !is_revocable => self.not_revocable,
                None => self.unknown,
                Some(_) if !self.is_closed(state, node) => continue,
                Some(zone) => self.zones[zone].closed,
            };
            verdict.get_or_insert(reason);
        }
    }
}

impl NodeScores for Tdm {
    fn static_score(&self, state: &State, class: StaticClass<'_>, part: &mut StaticPart) {
        if class.signature.of(SPEC.name) != self.signature {
            return;
        }
        for (node, score) in state.nodes().indices().zip(&mut part.score) {
            if self.zone_of(state, node).is_some() && !self.is_closed(state, node) {
                *score += NODE_SCORE;
            }
        }
    }
}

impl JobOrder for Tdm {
    fn job_order(&self, state: &State, left: JobIx, right: JobIx) -> Ordering {
        let is_preemptable = |job| is_preemptable_job(state, state.job(job));
        is_preemptable(left).cmp(&is_preemptable(right))
    }

    fn is_steady(&self) -> bool {
        true
    }
}

impl JobPipelined for Tdm {
    fn job_pipelined(&self, state: &State, job: JobIx) -> Vote {
        match state.job(job).is_pipelined() {
            true => Vote::Permit,
            false => Vote::Reject,
        }
    }

    fn lacks(&self, state: &State, job: JobIx) -> u32 {
        state.job(job).lacks_placed()
    }

    /// Only whole jobs wait.
    fn sub_job_pipelined(&self, _: &State, _: JobIx, _: u16) -> Vote {
        Vote::Abstain
    }
}

impl JobStarving for Tdm {
    fn job_starving(&self, state: &State, job: JobIx) -> bool {
        let job = state.job(job);
        !is_preemptable_job(state, job) && job.count(TaskStatus::Pending) > 0
    }
}

#[cfg(test)]
mod tests;
