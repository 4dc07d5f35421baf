//! What would have been: where each pod was placed first, and where another configuration would have placed it first.

use std::collections::BTreeMap;
use std::time::Duration;

use pumice_record::Compared;
use serde::Serialize;

use crate::recordings::rfc3339;

/// First place of a pod: node and time.
type FirstPlace = (String, Duration);

/// One pod, then and now.
#[derive(Default)]
struct PodPlaces {
    name: String,
    was: Option<FirstPlace>,
    would_be: Option<FirstPlace>,
}

/// See the module. Pods by UID.
#[derive(Default)]
pub struct Hindsight {
    pods: BTreeMap<String, PodPlaces>,
    evicted: (usize, usize),
}

/// How many pods, by what would have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HindsightSums {
    /// On the node where they are, in the step in which they were placed.
    pub same: usize,
    /// On that node, earlier.
    pub earlier: usize,
    /// On another node.
    pub elsewhere: usize,
    /// Not by the time at which they were placed.
    pub not_by_then: usize,
    /// Placed, while in the recording they were not.
    pub only_here: usize,
    /// Evictions that were decided.
    pub evicted: usize,
    /// Evictions that would have been.
    pub evicted_here: usize,
}

/// One pod for which something else would have been.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HindsightPod {
    /// Namespace and name, or the UID.
    pub pod: String,
    /// Node on which it was placed.
    pub node: Option<String>,
    /// When.
    pub at: Option<String>,
    /// Node on which it would have been.
    pub node_here: Option<String>,
    /// When.
    pub at_here: Option<String>,
}

impl Hindsight {
    /// Takes a step in; `name` tells the name of a pod.
    pub fn see(&mut self, step: &Compared, name: impl Fn(&str) -> Option<String>) {
        self.evicted.0 += step.recorded_evicted.len();
        self.evicted.1 += step.now_evicted.len();
        for (uid, node) in &step.recorded {
            let pod = self.pod(uid, &name);
            pod.was.get_or_insert_with(|| (node.clone(), step.at));
        }
        for (uid, node) in &step.now {
            let pod = self.pod(uid, &name);
            pod.would_be.get_or_insert_with(|| (node.clone(), step.at));
        }
    }

    fn pod(&mut self, uid: &str, name: &impl Fn(&str) -> Option<String>) -> &mut PodPlaces {
        self.pods
            .entry(uid.to_owned())
            .or_insert_with(|| PodPlaces {
                name: name(uid).unwrap_or_else(|| uid.to_owned()),
                ..PodPlaces::default()
            })
    }

    /// How many of each.
    pub fn sums(&self) -> HindsightSums {
        let mut sums = HindsightSums {
            evicted: self.evicted.0,
            evicted_here: self.evicted.1,
            ..HindsightSums::default()
        };
        for pod in self.pods.values() {
            *match (&pod.was, &pod.would_be) {
                (Some(was), Some(would_be)) if was == would_be => &mut sums.same,
                (Some((was, _)), Some((would_be, _))) if was == would_be => &mut sums.earlier,
                (Some(_), Some(_)) => &mut sums.elsewhere,
                (Some(_), None) => &mut sums.not_by_then,
                (None, _) => &mut sums.only_here,
            } += 1;
        }
        sums
    }

    /// Those for which something else would have been, by name.
    pub fn others(&self) -> Vec<HindsightPod> {
        let others = self.pods.values().filter(|pod| pod.was != pod.would_be);
        let time = |place: &Option<FirstPlace>| place.as_ref().map(|(_, at)| rfc3339(*at));
        let node = |place: &Option<FirstPlace>| place.as_ref().map(|(node, _)| node.clone());
        let others = others.map(|pod| HindsightPod {
            pod: pod.name.clone(),
            node: node(&pod.was),
            at: time(&pod.was),
            node_here: node(&pod.would_be),
            at_here: time(&pod.would_be),
        });
        let mut others: Vec<HindsightPod> = others.collect();
        others.sort_by(|a, b| a.pod.cmp(&b.pod));
        others
    }
}
