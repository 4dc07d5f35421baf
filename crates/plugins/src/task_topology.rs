//! Plugin `task-topology`: pods of roles that talk to each other share a node, others keep apart
//! (spec/02 §20).

mod buckets;
mod rules;
mod score;

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use pumice_conf::{Arg, Arguments, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{
    CandidateScore, CandidateScores, Class, ClassSignature, Counting, TaskOrder,
};
use pumice_framework::{CycleInfo, Plugin};
use pumice_model::{JobIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;
use buckets::JobBuckets;
use rules::RoleRules;
use score::BucketScore;

const WEIGHT: Arg<i64> = Arg::int(
    "task-topology.weight",
    1,
    "Weight of the score; 0 leaves the order of pods alone in effect.",
)
.min(0)
.or_default();

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "task-topology",
    summary: "Places tasks of a job near to or far from each other.",
    args: &[WEIGHT.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(TaskTopology::new(&conf.arguments)))
        .reading(&rules::ANNOTATIONS);

/// The plugin.
#[derive(Clone)]
pub struct TaskTopology {
    weight: i64,
    /// Jobs with rules and waiting pods, and their buckets.
    jobs: FxHashMap<JobIx, TopologyOfJob>,
    /// What is wrong with rules that mean nothing, or that name nobody, by job.
    warnings: FxHashMap<JobIx, String>,
    /// Counts buckets that were made.
    made: u64,
}

/// What is kept of a job.
#[derive(Clone)]
struct TopologyOfJob {
    rules: Arc<RoleRules>,
    buckets: Arc<JobBuckets>,
    /// Tells these rules and buckets from all others there were: part of the signature.
    revision: u64,
}

impl TaskTopology {
    fn new(arguments: &Arguments) -> Self {
        Self {
            weight: WEIGHT.read(arguments),
            jobs: FxHashMap::default(),
            warnings: FxHashMap::default(),
            made: 0,
        }
    }

    /// Brings what is kept of a job in step.
    fn follow(&mut self, state: &State, ix: JobIx) {
        let before = self.jobs.remove(&ix);
        self.warnings.remove(&ix);
        let job = state.population().has_job(ix).then(|| state.job(ix));
        let Some((job, group)) = job.and_then(|job| Some((job, job.group()?))) else {
            return;
        };
        let rules = match RoleRules::read(|key| group.annotation(key)) {
            Ok(Some(rules)) => rules,
            Ok(None) => return,
            Err(why) => {
                self.warnings.insert(ix, why);
                return;
            }
        };
        if let Some(warning) = rules.unknown_role(state, job) {
            self.warnings.insert(ix, warning);
        }
        if job.count(TaskStatus::Pending) == 0 {
            return;
        }
        let buckets = JobBuckets::new(state, ix, &rules);
        let same = |of: &TopologyOfJob| *of.rules == rules && *of.buckets == buckets;
        let kept = before.filter(same).unwrap_or_else(|| {
            self.made += 1;
            TopologyOfJob {
                rules: Arc::new(rules),
                buckets: Arc::new(buckets),
                revision: self.made,
            }
        });
        self.jobs.insert(ix, kept);
    }
}

impl Plugin for TaskTopology {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        match &cycle.changed.jobs {
            Some(jobs) => jobs.iter().for_each(|ix| self.follow(state, *ix)),
            None => {
                self.jobs.retain(|ix, _| state.population().has_job(*ix));
                self.warnings
                    .retain(|ix, _| state.population().has_job(*ix));
                state
                    .population()
                    .jobs()
                    .for_each(|(ix, _)| self.follow(state, ix));
            }
        }
    }

    fn job_warning(&self, _: &State, job: JobIx) -> Option<String> {
        self.warnings.get(&job).cloned()
    }

    points!(
        self;
        as_task_order: TaskOrder,
        as_class_signature: ClassSignature if self.weight != 0,
        as_candidate_scores: CandidateScores if self.weight != 0,
    );
}

impl TaskOrder for TaskTopology {
    fn task_order(&self, state: &State, left: TaskIx, right: TaskIx) -> Ordering {
        let job = state.task(left).job;
        let of_job = job.and_then(|job| self.jobs.get(&job));
        let Some(of_job) = of_job.filter(|_| state.task(right).job == job) else {
            return Ordering::Equal;
        };
        let key = |task: TaskIx| {
            let member = of_job.buckets.member(task);
            // The fullest bucket first, then the first one; pods in none come last.
            let bucket = member.map(|member| {
                let waiting = of_job.buckets.waiting[member.bucket];
                (Reverse(waiting), member.bucket)
            });
            let role = of_job.rules.role_of(state, state.task(task));
            let rule = role.map(|role| of_job.rules.rule(role));
            let preference = rule.map_or((0, 0), |rule| (rule.rank, rule.strength));
            let in_bucket = member.map_or(0, |_| preference.1);
            (
                bucket.is_none(),
                bucket,
                Reverse(preference.0),
                Reverse(in_bucket),
            )
        };
        key(left).cmp(&key(right))
    }
}

impl ClassSignature for TaskTopology {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        let job = state.task(task).job;
        let found = job.and_then(|job| Some((job, self.jobs.get(&job)?)));
        let found = found.and_then(|(job, of)| Some((job, of, of.buckets.member(task)?)));
        found.map_or(String::new(), |(job, of, member)| {
            let (bucket, role) = (member.bucket, member.role);
            format!("{} {} {bucket} {role}", job.0, of.revision)
        })
    }
}

impl CandidateScores for TaskTopology {
    fn candidate_scores(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        scores: &mut Vec<Box<dyn CandidateScore>>,
    ) {
        let signed = class.signature.of(SPEC.name).split(' ');
        let numbers: Vec<u64> = signed.filter_map(|text| text.parse().ok()).collect();
        let [job, revision, bucket, role] = numbers[..] else {
            return;
        };
        let of_job = self.jobs.get(&JobIx(job as u32));
        let Some(of_job) = of_job.filter(|of| of.revision == revision) else {
            return;
        };
        scores.push(Box::new(BucketScore::new(
            with.state(),
            Arc::clone(&of_job.rules),
            Arc::clone(&of_job.buckets),
            bucket as usize,
            role as usize,
            &class.shape.request,
            self.weight,
        )));
    }
}

#[cfg(test)]
mod tests;
