//! Which questions stand (spec/02 §23.3).

use std::collections::BTreeMap;

use pumice_framework::points::NeededAnswer;
use pumice_model::extender::{ExtenderQuestion, ExtenderSettings, ExtenderVerb};
use pumice_model::{JobIx, State};

use super::asked_pods::AskedPods;
use super::turn::Turn;

/// Jobs that are asked about, or told of, at the same time.
const MAX_JOBS: usize = 4096;

/// Pods whose nodes are asked about at the same time.
const MAX_PODS: usize = 1024;

/// Answers about a pod and a node, of all that stand at the same time.
const MAX_NODE_ANSWERS: usize = 1 << 20;

/// Pods for which others may go, asked about at the same time.
const MAX_EVICTORS: usize = 32;

/// The questions that stand, and whose turn it is.
#[derive(Clone, Default)]
pub(super) struct StandingQuestions {
    /// Each once.
    pub needed: Vec<NeededAnswer>,
    /// The jobs a cycle is told with, and what tells changes of them.
    pub told_jobs: Vec<(JobIx, u64)>,
    of_jobs: Turn,
    of_pods: Turn,
    of_evictors: Turn,
}

impl StandingQuestions {
    /// When others have their turn, seconds since the epoch; none where all stand.
    pub fn ends_s(&self) -> Option<i64> {
        let turns = [&self.of_jobs, &self.of_pods, &self.of_evictors];
        turns.into_iter().filter_map(Turn::ends_s).min()
    }

    /// Updates the questions that have their turn at `now_s`, seconds since the epoch, of all that is to
    /// be asked.
    pub fn update(
        &mut self,
        state: &State,
        settings: &ExtenderSettings,
        asked: &AskedPods,
        now_s: i64,
    ) {
        let mut jobs = state.journal().waiting_jobs();
        jobs.retain(|job| {
            let job = state.job(*job);
            job.queue.is_some() && !job.origin.lacks_group()
        });
        let all = QuestionSources {
            state,
            settings,
            asked,
        };
        self.needed = all.of_queues(&jobs);
        let of_jobs = jobs.iter().copied();
        let of_jobs = of_jobs.filter(|job| all.verb_of_job(*job).is_some());
        let of_jobs = self
            .of_jobs
            .choose(state, of_jobs, (MAX_JOBS, now_s), |_| 1);
        self.needed
            .extend(of_jobs.into_iter().filter_map(|job| all.of_job(job)));
        let most = all.most_pods();
        let kinds = |job| asked.kinds(job).len().min(most);
        let of_pods = jobs.iter().copied();
        let of_pods = of_pods.filter(|job| !state.job(*job).is_pending() && kinds(*job) > 0);
        let of_pods = self.of_pods.choose(state, of_pods, (most, now_s), kinds);
        self.needed
            .extend(of_pods.into_iter().flat_map(|job| all.of_pods(job, most)));
        let of_evictors = jobs.iter().copied();
        let of_evictors = of_evictors.filter(|job| asked.evictor(*job).is_some());
        let limits = (MAX_EVICTORS, now_s);
        let of_evictors = self.of_evictors.choose(state, of_evictors, limits, |_| 1);
        self.needed
            .extend(of_evictors.into_iter().flat_map(|job| all.of_evictor(job)));
        self.told_jobs = match settings.tells_sessions() {
            true => all.told(jobs),
            false => Vec::new(),
        };
    }
}

/// What questions are made of.
struct QuestionSources<'a> {
    state: &'a State,
    settings: &'a ExtenderSettings,
    asked: &'a AskedPods,
}

impl QuestionSources<'_> {
    fn asks(&self, verb: ExtenderVerb) -> bool {
        self.settings.verbs.contains_key(&verb)
    }

    fn of_queues(&self, jobs: &[JobIx]) -> Vec<NeededAnswer> {
        let verb = ExtenderVerb::QueueOverused;
        if !self.asks(verb) {
            return Vec::new();
        }
        let state = self.state;
        let queues = jobs.iter().filter_map(|job| state.job(*job).queue);
        let by_name: BTreeMap<&str, _> = queues
            .map(|queue| (state.queue(queue).object.name.as_str(), queue))
            .collect();
        let needed = |queue| NeededAnswer {
            question: ExtenderQuestion::about_queue(verb, state.population(), queue),
            revision: self.asked.updates(),
        };
        by_name.into_values().map(needed).collect()
    }

    /// What is asked about a job; without `minResources` it is admitted unasked.
    fn verb_of_job(&self, job: JobIx) -> Option<ExtenderVerb> {
        let job = self.state.job(job);
        let verb = match job.is_pending() {
            true => job
                .min_resources
                .as_ref()
                .map(|_| ExtenderVerb::JobEnqueueable)?,
            false => ExtenderVerb::JobReady,
        };
        self.asks(verb).then_some(verb)
    }

    fn of_job(&self, job: JobIx) -> Option<NeededAnswer> {
        let verb = self.verb_of_job(job)?;
        Some(NeededAnswer {
            question: ExtenderQuestion::about_job(verb, self.state.population(), job),
            revision: self.asked.revision(job),
        })
    }

    /// Pods that may be asked about at a time.
    fn most_pods(&self) -> usize {
        let verbs = [ExtenderVerb::Predicate, ExtenderVerb::Prioritize];
        let verbs = verbs.into_iter().filter(|verb| self.asks(*verb)).count();
        let of_pod = verbs.saturating_mul(self.state.nodes().len()).max(1);
        (MAX_NODE_ANSWERS / of_pod).clamp(1, MAX_PODS)
    }

    fn of_pods(&self, job: JobIx, most: usize) -> Vec<NeededAnswer> {
        let verbs = [ExtenderVerb::Predicate, ExtenderVerb::Prioritize];
        let pods = self.asked.kinds(job).iter().take(most);
        let all = pods.flat_map(|pod| verbs.into_iter().map(move |verb| (verb, pod)));
        let all = all.filter(|(verb, _)| self.asks(*verb));
        all.map(|(verb, pod)| self.of_pod(verb, job, pod)).collect()
    }

    fn of_evictor(&self, job: JobIx) -> Vec<NeededAnswer> {
        let verbs = [ExtenderVerb::Preemptable, ExtenderVerb::Reclaimable];
        let verbs = verbs.into_iter().filter(|verb| self.asks(*verb));
        let pod = self.asked.evictor(job);
        verbs
            .filter_map(|verb| Some(self.of_pod(verb, job, pod?)))
            .collect()
    }

    fn of_pod(&self, verb: ExtenderVerb, job: JobIx, pod: &str) -> NeededAnswer {
        NeededAnswer {
            question: ExtenderQuestion {
                verb,
                subject: pod.to_owned(),
                uid: String::new(),
            },
            revision: self.asked.revision(job),
        }
    }

    /// The oldest ones.
    fn told(&self, jobs: Vec<JobIx>) -> Vec<(JobIx, u64)> {
        let oldest = Turn::default().choose(self.state, jobs, (MAX_JOBS, 0), |_| 1);
        let told = oldest
            .into_iter()
            .map(|job| (job, self.asked.revision(job)));
        told.collect()
    }
}
