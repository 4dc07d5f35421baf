//! Job plugins: what `spec.plugins` adds to a Job and to its pods (spec/03 C3.7).
//!
//! ```text
//!  spec.plugins ─► flags ─┬─► problems   what is wrong with them
//!                         ├─► objects    made once a Job: hosts, Service, NetworkPolicy, keys
//!                         ├─► refresh    what of them follows the number of replicas
//!                         └─► prepare    each pod before it is made, in the order of the list
//! ```
//!
//! A new plugin is a module and a line in `PLUGINS`. The order of that list is the order in which
//! a pod is prepared, whatever the order in the Job: `hcclrank` comes after `pytorch`, whose rank
//! it takes over.

mod entry;
mod env;
mod flags;
mod hcclrank;
mod hosts;
mod mpi;
mod pods;
mod pytorch;
mod ray;
mod ssh;
mod svc;
mod tensorflow;

use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;

use self::entry::{Asked, JobPlugin, PodPlace, one_of};
use self::flags::PluginFlags;
use super::problem::{JobDoubt, JobProblem, JobProblems, add};
use crate::runtime::ApiWrite;

/// All plugins, in the order in which they prepare a pod.
const PLUGINS: [&dyn JobPlugin; 8] = [
    &env::Env,
    &svc::Svc,
    &ssh::Ssh,
    &pytorch::Pytorch,
    &tensorflow::Tensorflow,
    &mpi::Mpi,
    &hcclrank::Hcclrank,
    &ray::Ray,
];

/// What is wrong with `spec.plugins` of a defaulted Job, in words for whoever wrote it.
pub fn problems(job: &Job) -> Vec<JobProblem> {
    let mut problems = JobProblems::new();
    for (name, arguments) in &job.spec.plugins {
        let path = format!("spec.plugins.{name}");
        let Some(plugin) = PLUGINS.iter().find(|plugin| plugin.name() == name) else {
            let known: Vec<&str> = PLUGINS.iter().map(|plugin| plugin.name()).collect();
            let message = format!("there is no such plugin; use {}", known.join(", "));
            add(&mut problems, path, message);
            continue;
        };
        let flags = PluginFlags::read(plugin.flags(), arguments, &path, &mut problems);
        let asked = Asked { job, flags, path };
        for (at, flag) in asked.flags.named_tasks(plugin.flags()) {
            if asked.task(flag).is_none() {
                let wanted = asked.flags.text(flag);
                let message = format!("there is no task {wanted:?}{}", one_of(job));
                add(&mut problems, format!("{}[{at}]", asked.path), message);
            }
        }
        plugin.problems(&asked, &mut problems);
    }
    problems
}

/// What is odd about `spec.plugins` of a defaulted Job, which runs all the same: flags that a plugin
/// does not have, as where they are those of another scheduler's plugin of the same name.
pub(super) fn doubts(job: &Job) -> Vec<JobDoubt> {
    let mut doubts = Vec::new();
    for (plugin, asked) in wanted(job) {
        let unknown = asked.flags.unknown().iter();
        doubts.extend(unknown.map(|(at, message)| JobDoubt {
            path: format!("{}[{at}]", asked.path),
            message: message.clone(),
            help: "correct or remove it: the plugin runs without it".to_owned(),
        }));
        plugin.doubts(&asked, &mut doubts);
    }
    doubts
}

/// What the plugins of a Job make once, with the key in `status.controlledResources` that tells it
/// was made (its value is the plugin's name): nothing for some plugins, but a key all the same.
/// Everything is owned by the Job and goes with it.
///
/// A write that ends with `Exists` found an object of an earlier Job of that name, which goes soon,
/// somebody else's, or, after a crash, the Job's own. A Secret that exists is kept: pods may have its
/// keys.
pub fn objects(job: &Job) -> Vec<(String, Vec<ApiWrite>)> {
    let recorded = wanted(job).filter(|(plugin, _)| plugin.is_recorded());
    recorded
        .map(|(plugin, asked)| (format!("plugin-{}", plugin.name()), plugin.objects(&asked)))
        .collect()
}

/// The keys of [`objects`], without the work of making them.
pub fn recorded(job: &Job) -> impl Iterator<Item = String> {
    let recorded = asked_for(job).filter(|plugin| plugin.is_recorded());
    recorded.map(|plugin| format!("plugin-{}", plugin.name()))
}

/// Whether [`refresh`] says anything, without the work of saying it.
pub fn follows_replicas(job: &Job) -> bool {
    asked_for(job).any(|plugin| plugin.follows_replicas())
}

/// Merge patches that make what [`objects`] tells fit the replicas the Job has now: the hosts in
/// the ConfigMap of `svc`, never a Secret. To be written when the
/// replicas of a Job have changed since its objects were made or refreshed, before the new pods are
/// made; writing them once more changes nothing. The same patches always for the same tasks, so
/// their text tells whether something has changed.
pub fn refresh(job: &Job) -> Vec<ApiWrite> {
    wanted(job)
        .flat_map(|(plugin, asked)| plugin.refresh(&asked))
        .collect()
}

/// Prepares pod `index` of the task at position `task`, as [`super::task_pod`] makes it. Flags
/// that cannot be read count as absent: [`problems`] tells of them.
///
/// # Errors
/// A plugin cannot prepare it, as `ray` without a head. The pod must not be made.
pub fn prepare(job: &Job, task: usize, index: i32, pod: &mut Pod) -> Result<(), JobProblem> {
    let task = job.spec.tasks.get(task).ok_or_else(|| JobProblem {
        path: "spec.tasks".to_owned(),
        message: format!("there is no task at position {task}"),
    })?;
    let place = PodPlace { task, index };
    wanted(job).try_for_each(|(plugin, asked)| plugin.prepare(&asked, place, pod))
}

/// Plugins of a Job, in the order of [`PLUGINS`].
fn wanted(job: &Job) -> impl Iterator<Item = (&'static dyn JobPlugin, Asked<'_>)> {
    asked_for(job).filter_map(|plugin| {
        let arguments = job.spec.plugins.get(plugin.name())?;
        let path = format!("spec.plugins.{}", plugin.name());
        let flags = PluginFlags::read(plugin.flags(), arguments, &path, &mut JobProblems::new());
        Some((plugin, Asked { job, flags, path }))
    })
}

/// Plugins of a Job, in the order of [`PLUGINS`], whose flags nobody has read yet.
fn asked_for(job: &Job) -> impl Iterator<Item = &'static dyn JobPlugin> {
    let asked = |plugin: &&dyn JobPlugin| job.spec.plugins.contains_key(plugin.name());
    PLUGINS.into_iter().filter(asked)
}
