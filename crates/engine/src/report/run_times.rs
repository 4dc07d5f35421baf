//! Run times that cannot be read: what they are written on is as if it said nothing (spec/11 §1).

use std::collections::BTreeMap;

use pumice_model::object::Pairs;
use pumice_model::run_time::{DEFAULT_RUN_TIMES, RUN_TIMES, run_time_faults};
use pumice_model::{Job, QueueIx, State};

/// What to write.
const HELP: &str = "write a time above 0 and of ten years at most, such as \"2h30m\"";

/// What is wrong with what a PodGroup and its pods, or a pod without one, say of run times.
pub(super) fn run_times_warning(state: &State, job: &Job) -> Option<String> {
    let group = job.group().map(|group| &group.annotations);
    let of_group = group
        .into_iter()
        .flat_map(|all| faults(all, &RUN_TIMES, "the PodGroup"));
    let all: Vec<String> = of_group.chain(faults_of_pods(state, job)).collect();
    told(&all)
}

/// What is wrong with what queues say of the run times of their pods.
pub(super) fn run_times_of_queues(state: &State) -> Vec<(QueueIx, String)> {
    let all = state.population().queues().iter();
    let told = all.filter_map(|(ix, queue)| {
        let faults = faults(&queue.object.run_times, &DEFAULT_RUN_TIMES, "the queue");
        Some((ix, told(&faults)?))
    });
    told.collect()
}

/// What is wrong with annotations of an object, a sentence each.
fn faults(annotations: &Pairs, keys: &[&'static str], place: &str) -> Vec<String> {
    let faults = run_time_faults(annotations, keys);
    faults.map(|fault| sentence(fault, place)).collect()
}

fn sentence((key, text, why): (&str, &str, &str), place: &str) -> String {
    format!("`{key}` of {place} says nothing, since {text:?} {why}")
}

fn told(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| format!("{}: {HELP}", all.join("; ")))
}

/// For each way in which pods are wrong the first of them by name, and how many more are wrong so.
fn faults_of_pods(state: &State, job: &Job) -> Vec<String> {
    let mut all: BTreeMap<(&str, &str), (&str, &str, usize)> = BTreeMap::new();
    for task in &job.tasks {
        let task = state.task(*task);
        let annotations = task.annotations.as_deref();
        for (key, text, why) in annotations
            .into_iter()
            .flat_map(|all| run_time_faults(all, &RUN_TIMES))
        {
            let known = all.entry((key, why)).or_insert((&*task.name, text, 0));
            known.2 += 1;
            if *task.name < *known.0 {
                (known.0, known.1) = (&*task.name, text);
            }
        }
    }
    let told = all
        .into_iter()
        .map(|((key, why), (pod, text, count))| match count {
            1 => sentence((key, text, why), &format!("pod {pod}")),
            _ => sentence(
                (key, text, why),
                &format!("pod {pod} and {} more", count - 1),
            ),
        });
    told.collect()
}
