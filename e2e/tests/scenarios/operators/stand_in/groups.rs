//! Groups of pods that are made anew together: those of LeaderWorkerSet, and roles of Kthena.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::objects::{lives, name_of};
use super::{GROUP_NAME, Grows, Operator, StandIn};

/// Number of an LWS group, from 0.
const GROUP_INDEX: &str = "leaderworkerset.sigs.k8s.io/group-index";

/// Role of a Kthena pod, which is made anew as a whole.
const ROLE: &str = "modelserving.volcano.sh/role-id";

impl StandIn {
    /// Makes groups and roles; what has lost a pod loses all, and is then made anew.
    pub(super) fn act_by_group(&mut self) -> Result<()> {
        let pods = self.pods()?;
        let find = |name: &str| pods.iter().find(|pod| name_of(pod) == name);
        for number in 0..self.groups {
            let mut scopes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for pod in self.of_group(number) {
                scopes.entry(scope(&pod)).or_default().push(pod);
            }
            for (scope, wanted) in scopes {
                let there: Vec<&Value> = wanted
                    .iter()
                    .filter_map(|pod| find(&name_of(pod)))
                    .collect();
                let living = there.iter().filter(|pod| lives(pod)).count();
                if living == wanted.len() {
                    self.whole.insert(scope);
                } else if self.whole.remove(&scope) {
                    for pod in there {
                        self.delete_pod(&name_of(pod))?;
                    }
                } else if living == there.len() {
                    for pod in wanted.iter().filter(|pod| find(&name_of(pod)).is_none()) {
                        self.create_pod(pod)?;
                    }
                }
            }
            self.keep_group(number)?;
        }
        Ok(())
    }

    /// All pods of a group of pods.
    pub(super) fn of_group(&self, number: usize) -> Vec<Value> {
        self.workers
            .iter()
            .map(|pod| numbered(pod, self.operator, number))
            .collect()
    }
}

/// An object as it is for another group of the job, with names that differ by the number of that group.
pub(super) fn numbered(object: &Value, operator: &Operator, number: usize) -> Value {
    if operator.grows != Grows::ByGroup || number == 0 {
        return object.clone();
    }
    let stem = operator.job.trim_end_matches('0');
    let text = object
        .to_string()
        .replace(operator.job, &format!("{stem}{number}"));
    let mut object: Value = serde_json::from_str(&text).unwrap_or_default();
    let index = &mut object["metadata"]["labels"];
    if index[GROUP_INDEX].is_string() {
        index[GROUP_INDEX] = json!(number.to_string());
    }
    object
}

/// What is made anew together with a pod.
pub(super) fn scope(pod: &Value) -> String {
    let labels = &pod["metadata"]["labels"];
    let of = labels[ROLE].as_str().unwrap_or_default();
    let group = pod["metadata"]["annotations"][GROUP_NAME]
        .as_str()
        .unwrap_or_default();
    format!("{group}/{of}")
}
