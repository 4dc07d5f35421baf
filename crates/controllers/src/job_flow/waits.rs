//! What a step waits for: Jobs that complete, or probes of Jobs that go on.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use pumice_api::Job;
use pumice_api::job::TaskSpec;
use pumice_api::job_flow::{Flow, FlowProbe, JobFlowStatus, TaskStatusProbe};

use super::graph::{probe, targets};
use super::status::{StepState, step_state};
use crate::job::{defaults, minimum, task_name};
use crate::runtime::{HttpQuestion, ObjectCache, PodProbe, ProbeOutcome, TrackedPhase};

/// Time between a probe that failed and the next.
const PROBE_PERIOD: SignedDuration = SignedDuration::from_secs(5);
/// Probes of one flow that are asked at a time.
const MAX_PROBES: usize = 100;

/// What pods have answered.
#[derive(Debug, Default)]
pub(super) struct ProbeAnswers(BTreeMap<PodProbe, ProbeAnswer>);

#[derive(Debug)]
enum ProbeAnswer {
    Holds,
    Fails { again_at: Timestamp, why: String },
}

impl ProbeAnswers {
    pub(super) fn note(&mut self, probe: &PodProbe, outcome: &ProbeOutcome, now: Timestamp) {
        let answer = match outcome {
            ProbeOutcome::Holds => ProbeAnswer::Holds,
            ProbeOutcome::Fails(why) => ProbeAnswer::Fails {
                again_at: now.checked_add(PROBE_PERIOD).unwrap_or(now),
                why: why.clone(),
            },
        };
        self.0.insert(probe.clone(), answer);
    }

    /// Forgets what nobody wants to know any more.
    pub(super) fn keep(&mut self, wanted: &BTreeSet<PodProbe>) {
        self.0.retain(|probe, _| wanted.contains(probe));
    }
}

/// What one look at a flow wants to know of pods.
#[derive(Debug, Default)]
pub(super) struct Asking {
    /// To be asked now.
    pub(super) probes: Vec<PodProbe>,
    /// Probes that are of any use.
    pub(super) wanted: BTreeSet<PodProbe>,
    /// When to ask again.
    pub(super) again_at: Option<Timestamp>,
    /// What has failed, for people.
    pub(super) failing: BTreeSet<String>,
}

impl Asking {
    fn holds(&mut self, probe: PodProbe, answers: &ProbeAnswers, now: Timestamp) -> bool {
        self.wanted.insert(probe.clone());
        match answers.0.get(&probe) {
            Some(ProbeAnswer::Holds) => return true,
            Some(ProbeAnswer::Fails { again_at, why }) => {
                self.failing.insert(format!("{}: {why}", in_words(&probe)));
                if *again_at > now {
                    let earlier = self.again_at.is_none_or(|known| *again_at < known);
                    self.again_at = if earlier {
                        Some(*again_at)
                    } else {
                        self.again_at
                    };
                    return false;
                }
            }
            None => {}
        }
        if self.probes.len() < MAX_PROBES && !self.probes.contains(&probe) {
            self.probes.push(probe);
        }
        false
    }
}

fn in_words(probe: &PodProbe) -> String {
    let PodProbe {
        address,
        port,
        http,
    } = probe;
    match http {
        Some(question) => format!("GET {} of {address} port {port}", question.path),
        None => format!("{address} port {port}"),
    }
}

/// What is known when it is decided whether a step may start.
pub(super) struct StepWorld<'a> {
    pub(super) status: &'a JobFlowStatus,
    /// Jobs of the flow, by name.
    pub(super) jobs: &'a BTreeMap<String, &'a Job>,
    pub(super) cache: &'a ObjectCache,
    pub(super) answers: &'a ProbeAnswers,
    pub(super) now: Timestamp,
}

impl StepWorld<'_> {
    /// Every target of the step has completed, or is as its probes want it. `job_of` names the Job
    /// of a step.
    pub(super) fn may_start(
        &self,
        step: &Flow,
        job_of: impl Fn(&str) -> String,
        asking: &mut Asking,
    ) -> bool {
        let mut may_start = true;
        for target in targets(step) {
            let name = job_of(target);
            let is_met = match (step_state(self.status, &name), probe(step)) {
                (StepState::Completed, _) => true,
                (StepState::Started, Some(probe)) => self
                    .jobs
                    .get(&name)
                    .is_some_and(|job| self.probes_hold(job, probe, asking)),
                _ => false,
            };
            may_start &= is_met;
        }
        may_start
    }

    /// At least one probe is about a task of the Job, and all that are hold.
    fn probes_hold(&self, job: &Job, probe: &FlowProbe, asking: &mut Asking) -> bool {
        let mut job = job.clone();
        defaults(&mut job);
        let tasks = |wanted: &str| {
            let fits = |task: &&TaskSpec| wanted.is_empty() || task_name(task) == wanted;
            job.spec.tasks.iter().filter(fits).collect::<Vec<_>>()
        };
        let mut about = 0;
        let mut holds = true;
        let mut ask = |task: &TaskSpec, port: i32, http: Option<HttpQuestion>| {
            about += 1;
            holds &= self.pods_hold(&job, task, port, http.as_ref(), asking);
        };
        for one in &probe.http_get_list {
            let path = match one.path.as_str() {
                path if path.starts_with('/') => path.to_owned(),
                path => format!("/{path}"),
            };
            let header = one.http_header.as_ref();
            let header = header.map(|header| (header.name.clone(), header.value.clone()));
            for task in tasks(&one.task_name) {
                let (path, header) = (path.clone(), header.clone());
                ask(task, one.port, Some(HttpQuestion { path, header }));
            }
        }
        for one in &probe.tcp_socket_list {
            for task in tasks(&one.task_name) {
                ask(task, one.port, None);
            }
        }
        for one in &probe.task_status_list {
            for task in tasks(&one.task_name) {
                about += 1;
                holds &= is_in_phase(&job, task, one);
            }
        }
        about > 0 && holds
    }

    /// As many pods of a task answer as the task needs to start.
    fn pods_hold(
        &self,
        job: &Job,
        task: &TaskSpec,
        port: i32,
        http: Option<&HttpQuestion>,
        asking: &mut Asking,
    ) -> bool {
        let Ok(port) = u16::try_from(port) else {
            return false;
        };
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (namespace, name) = (text(&job.metadata.namespace), text(&job.metadata.name));
        let uid = text(&job.metadata.uid);
        let mut holding = 0;
        for pod in self.cache.pods_of_job(&namespace, &name) {
            let is_of_task = pod
                .member
                .as_ref()
                .is_some_and(|member| *member.job_uid == uid && *member.task == *task_name(task));
            let runs = pod.phase == TrackedPhase::Running && pod.deleted.is_none();
            if !is_of_task || !runs || pod.address.is_empty() {
                continue;
            }
            let probe = PodProbe {
                address: pod.address.to_string(),
                port,
                http: http.cloned(),
            };
            holding += i32::from(asking.holds(probe, self.answers, self.now));
        }
        holding >= minimum(task).max(1)
    }
}

/// As many pods of a task are in the phase as the task needs to start. One that has succeeded has
/// run.
fn is_in_phase(job: &Job, task: &TaskSpec, wanted: &TaskStatusProbe) -> bool {
    let state = job.status.task_status_count.get(task_name(task));
    let count = |phase: &str| {
        let counts = state.map(|state| &state.phase);
        counts
            .and_then(|counts| counts.get(phase))
            .copied()
            .unwrap_or(0)
    };
    let found = match wanted.phase.as_str() {
        "Running" => count("Running").saturating_add(count("Succeeded")),
        phase => count(phase),
    };
    found >= minimum(task).max(1)
}
