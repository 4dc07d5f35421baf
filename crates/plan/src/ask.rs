//! A question, and the two clusters that it compares.

use pumice_conf::Config;
use pumice_engine::{Engine, Fork};
use pumice_model::{Delta, JobIx};

use crate::error::PlanError;
use crate::what_if::{PlannedJob, WhatIf};

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanQuestion {
    /// Objects that there would be: new ones, or others instead of those with the same identity.
    pub objects: Vec<Delta>,
    /// What else would be otherwise, one after the other; before the objects come.
    pub what_ifs: Vec<WhatIf>,
    /// Jobs that exist and are asked about, besides those that the objects make.
    pub about: Vec<PlannedJob>,
    /// The configuration that there would be.
    pub config: Option<Box<Config>>,
}

/// A question that can be answered.
pub struct TwoClusters<'c> {
    /// The cluster as it is, in which nothing was decided since.
    pub now: Engine,
    /// The cluster as it would be, likewise.
    pub changed: Engine,
    /// The configuration as it is.
    pub config_now: &'c Config,
    /// The configuration as it would be.
    pub config_then: &'c Config,
    /// `namespace/name` of the jobs that are asked about, in the order of the question.
    pub about: Vec<String>,
    /// UIDs of pods that what-ifs take away.
    pub gone: Vec<String>,
}

impl<'c> TwoClusters<'c> {
    pub fn prepare(
        fork: Fork,
        config: &'c Config,
        question: &'c PlanQuestion,
        now_s: i64,
    ) -> Result<Self, PlanError> {
        let mut now = fork.wake(config);
        let config_then = question.config.as_deref().unwrap_or(config);
        let mut changed = now.fork().wake(config);
        if question.config.is_some() {
            changed.reconfigure(config_then);
        }
        let (mut about, mut gone) = (Vec::new(), Vec::new());
        for job in &question.about {
            add(&mut about, key(&changed, job.find(&changed)?));
        }
        for what_if in &question.what_ifs {
            let deltas = what_if.deltas(&changed)?;
            gone.extend(deltas.iter().filter_map(|delta| match delta {
                Delta::PodDelete(uid) => Some(uid.clone()),
                _ => None,
            }));
            let again: Vec<Delta> = deltas
                .iter()
                .filter(|one| matches!(one, Delta::PodApply(_)))
                .cloned()
                .collect();
            crate::course::come_true(&mut changed, deltas);
            // What has to find another place is asked about too.
            for job in made(&changed, &again) {
                add(&mut about, key(&changed, job));
            }
        }
        let objects = question.objects.iter().cloned();
        let taken: Vec<Delta> = objects
            .map(|object| as_taken(&changed, object, now_s))
            .collect();
        crate::course::apply(&mut changed, taken);
        for job in made(&changed, &question.objects) {
            add(&mut about, key(&changed, job));
        }
        Ok(Self {
            now,
            changed,
            config_now: config,
            config_then,
            about,
            gone,
        })
    }
}

/// An object as an API server would have taken it now: it gets its time, and a pod the priority of its class; a claim that
/// is there keeps what it has.
fn as_taken(engine: &Engine, object: Delta, now_s: i64) -> Delta {
    let dated = |created_s: i64| if created_s == 0 { now_s } else { created_s };
    match object {
        Delta::GroupApply(mut group) => {
            group.created_s = dated(group.created_s);
            Delta::GroupApply(group)
        }
        Delta::PodApply(mut pod) => {
            pod.created_s = dated(pod.created_s);
            let classes = engine.state().population().priority_classes();
            pod.priority = classes.value(&pod.priority_class).unwrap_or(pod.priority);
            Delta::PodApply(pod)
        }
        Delta::ResourceClaimApply(claim) => {
            let key = (claim.namespace.clone(), claim.name.clone());
            let claims = engine.state().supplies().resource_claims();
            let known = claims.object(&key).cloned();
            Delta::ResourceClaimApply(known.map_or(claim, Box::new))
        }
        other => other,
    }
}

fn add(all: &mut Vec<String>, one: String) {
    if !all.contains(&one) {
        all.push(one);
    }
}

fn key(engine: &Engine, job: JobIx) -> String {
    engine.state().population().job_key(job)
}

/// The job of that key: a pod without a PodGroup is one, too.
pub(crate) fn asked_job(engine: &Engine, of: &str) -> Option<JobIx> {
    let (namespace, name) = of.split_once('/')?;
    let grouped = engine.state().population().job_by_key(namespace, name);
    let alone = || engine.known().find_job(namespace, name).ok();
    grouped.or_else(|| alone().filter(|ix| key(engine, *ix) == of))
}

/// Jobs of new objects.
fn made(engine: &Engine, objects: &[Delta]) -> Vec<JobIx> {
    let population = engine.state().population();
    let of = |delta: &Delta| match delta {
        Delta::GroupApply(group) => population.job_by_key(&group.namespace, &group.name),
        Delta::PodApply(pod) => {
            let task = population.task_by_uid(&pod.uid)?;
            engine.state().task(task).job
        }
        _ => None,
    };
    objects.iter().filter_map(of).collect()
}
