//! Pods of other schedulers, which nobody here places.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use pumice_conf::nearest;
use pumice_ingest::Options;

use super::World;
use crate::problem::InputProblem;
use crate::report::StrangerLine;

/// Where a pod names its scheduler.
const SCHEDULER: &str = "spec.schedulerName";

/// Scheduler of pods that name none.
const KUBERNETES_SCHEDULER: &str = "default-scheduler";

/// Pods without node of schedulers that are not ours.
#[derive(Default)]
pub(super) struct Strangers {
    /// How many, and the first of them, by the name of the scheduler.
    pods: BTreeMap<String, (u64, String)>,
}

impl Strangers {
    /// Counts a pod that is not ours.
    pub(super) fn count(&mut self, wire: &Pod, key: &str) {
        let named = wire
            .spec
            .as_ref()
            .and_then(|spec| spec.scheduler_name.as_deref());
        let name = named.filter(|name| !name.is_empty());
        let name = name.unwrap_or(KUBERNETES_SCHEDULER).to_owned();
        self.pods.entry(name).or_insert((0, key.to_owned())).0 += 1;
    }

    /// A line for each scheduler.
    pub(super) fn lines(&self, options: &Options) -> Vec<StrangerLine> {
        let line = |(name, (pods, _)): (&String, &(u64, String))| StrangerLine {
            scheduler: name.clone(),
            pods: *pods,
            nearest: meant(name, options).unwrap_or_default().to_owned(),
        };
        self.pods.iter().map(line).collect()
    }
}

/// The scheduler of ours that was most likely meant.
fn meant<'o>(name: &str, options: &'o Options) -> Option<&'o str> {
    nearest(name, options.scheduler_names.iter().map(String::as_str))
}

impl World {
    /// How many pods are of which other scheduler.
    pub fn stranger_lines(&self, options: &Options) -> Vec<StrangerLine> {
        self.strangers.lines(options)
    }

    /// Warns of names of schedulers that resemble ours.
    pub fn misspelt_schedulers(&self, options: &Options) -> Vec<InputProblem> {
        let pods = self.strangers.pods.iter();
        let misspelt = pods.filter_map(|(name, (count, first))| {
            let meant = meant(name, options)?;
            let place = self
                .place("Pod", first)
                .or_else(|| self.place_of_owner(first));
            let more = match count {
                1 => String::new(),
                2 => " (one more pod names it)".to_owned(),
                count => format!(" ({} more pods name it)", count - 1),
            };
            Some(InputProblem {
                place: place.unwrap_or_default(),
                object: format!("Pod {first}"),
                message: format!(
                    "{SCHEDULER}: {name:?} is none of the schedulers here{more}: did you mean \
                     {meant:?}?"
                ),
                help: "correct the name, or give --scheduler-name: nobody places the pod as it \
                       stands"
                    .to_owned(),
                kept: true,
            })
        });
        misspelt.collect()
    }

    /// Where the Job of a pod was read.
    fn place_of_owner(&self, pod: &str) -> Option<crate::problem::InputPlace> {
        let job = &self.pods.get(pod)?.owners.first()?.1;
        let (namespace, _) = pod.split_once('/')?;
        self.place("Job", &format!("{namespace}/{job}"))
    }
}
