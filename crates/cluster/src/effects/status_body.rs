//! What statuses look like on the wire: as a patch, and as an edit of the whole object.
//!
//! Edits take the object as the API server gave it and leave alone whatever they do not know.
//! They say whether there is anything to write.

use jiff::Timestamp;
use pumice_model::KeptTopic;
use pumice_model::object::{Amounts, GroupCondition, GroupStatus};
use serde_json::{Map, Value, json};

use super::PodRef;

/// Seconds, as Kubernetes writes times.
pub(super) fn seconds(time: Timestamp) -> String {
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(time);
    whole.to_string()
}

/// `PodScheduled=False`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodConditionBody {
    pub(super) pod: PodRef,
    pub(super) reason: String,
    pub(super) message: String,
}

impl PodConditionBody {
    fn condition(&self) -> Value {
        json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": self.reason,
            "message": self.message,
        })
    }

    /// `since` is the time of the transition; without it the time that is there stays.
    pub(super) fn patch(&self, since: Option<Timestamp>) -> Value {
        let mut condition = self.condition();
        if let Some(since) = since {
            condition["lastTransitionTime"] = json!(seconds(since));
        }
        json!({"metadata": {"uid": self.pod.uid}, "status": {"conditions": [condition]}})
    }

    pub(super) fn edit(&self, pod: &mut Value, now: Timestamp) -> bool {
        still_waits(pod, &self.pod) && set_condition(pod, self.condition(), now)
    }
}

/// Whether the object is that pod, and it is on no node.
fn still_waits(object: &Value, pod: &PodRef) -> bool {
    let node = object["spec"]["nodeName"].as_str();
    node.is_none_or(str::is_empty) && object["metadata"]["uid"] == json!(pod.uid)
}

/// `status.nominatedNodeName`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NominationBody {
    pub(super) pod: PodRef,
    /// `None`: none any more.
    pub(super) node: Option<String>,
}

impl NominationBody {
    pub(super) fn patch(&self) -> Value {
        json!({"metadata": {"uid": self.pod.uid}, "status": {"nominatedNodeName": self.node}})
    }

    pub(super) fn edit(&self, object: &mut Value) -> bool {
        let known = object["status"]["nominatedNodeName"].as_str();
        if known == self.node.as_deref() || !still_waits(object, &self.pod) {
            return false;
        }
        // JSON's null is no name; the API server drops it.
        merge(object, "status", json!({"nominatedNodeName": self.node}));
        true
    }
}

/// `Ready=False` and `DisruptionTarget=True` (spec/01 §7.4).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VictimMark {
    pub(super) pod: PodRef,
    /// `preempt`, or `preempt for PodGroup ns/g`.
    pub(super) why: String,
    pub(super) scheduler_name: String,
    pub(super) now: Timestamp,
}

impl VictimMark {
    /// `Pod is evicted, because of preempt for PodGroup ns/g`.
    pub(super) fn message(&self) -> String {
        format!("Pod is evicted, because of {}", self.why)
    }

    fn conditions(&self) -> [Value; 2] {
        let target = format!("{}: evicted because of {}", self.scheduler_name, self.why);
        [
            json!({
                "type": "Ready",
                "status": "False",
                "reason": "Evict",
                "message": self.message(),
            }),
            json!({
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": target,
            }),
        ]
    }

    pub(super) fn patch(&self) -> Value {
        let conditions = self.conditions().map(|mut condition| {
            condition["lastTransitionTime"] = json!(seconds(self.now));
            condition
        });
        json!({"metadata": {"uid": self.pod.uid}, "status": {"conditions": conditions}})
    }

    pub(super) fn edit(&self, pod: &mut Value) -> bool {
        if pod["metadata"]["uid"] != json!(self.pod.uid) {
            return false;
        }
        let mut changed = false;
        for condition in self.conditions() {
            changed |= set_condition(pod, condition, self.now);
        }
        changed
    }
}

/// Replaces the condition of that type in place. The time of the last transition changes with the
/// status only.
pub(super) fn set_condition(object: &mut Value, mut condition: Value, now: Timestamp) -> bool {
    let kind = condition["type"].clone();
    let list = &mut object["status"]["conditions"];
    if !list.is_array() {
        *list = json!([]);
    }
    let Some(list) = list.as_array_mut() else {
        return false;
    };
    let old = list.iter_mut().find(|old| old["type"] == kind);
    let same = |old: &Value, field: &str| old[field] == condition[field];
    match old {
        Some(old)
            if ["status", "reason", "message"]
                .iter()
                .all(|field| same(old, field)) =>
        {
            false
        }
        Some(old) => {
            let stays = same(old, "status");
            for field in ["status", "reason", "message"] {
                old[field] = condition[field].take();
            }
            if !stays {
                old["lastTransitionTime"] = json!(seconds(now));
            }
            true
        }
        None => {
            condition["lastTransitionTime"] = json!(seconds(now));
            list.push(condition);
            true
        }
    }
}

/// Status of a PodGroup. All of it is ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodGroupStatusBody {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) status: GroupStatus,
}

impl PodGroupStatusBody {
    fn status(&self) -> Value {
        let status = &self.status;
        json!({
            "phase": status.phase.name(),
            "conditions": status.conditions.iter().map(group_condition).collect::<Vec<_>>(),
            "running": status.running,
            "succeeded": status.succeeded,
            "failed": status.failed,
        })
    }

    pub(super) fn patch(&self) -> Value {
        match self.uid.as_str() {
            "" => json!({"status": self.status()}),
            uid => json!({"metadata": {"uid": uid}, "status": self.status()}),
        }
    }

    pub(super) fn edit(&self, group: &mut Value) -> bool {
        if !self.uid.is_empty() && group["metadata"]["uid"] != json!(self.uid) {
            return false;
        }
        merge(group, "status", self.status());
        true
    }
}

fn group_condition(condition: &GroupCondition) -> Value {
    let mut out = json!({"type": condition.kind, "status": condition.status});
    let texts = [
        ("transitionID", &condition.transition_id),
        ("reason", &condition.reason),
        ("message", &condition.message),
    ];
    for (field, text) in texts {
        if !text.is_empty() {
            out[field] = json!(text);
        }
    }
    if let Ok(time) = Timestamp::from_second(condition.transition_s) {
        out["lastTransitionTime"] = json!(seconds(time));
    }
    out
}

/// `status.allocated` of a Queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QueueStatusBody {
    pub(super) name: String,
    pub(super) allocated: Amounts,
}

impl QueueStatusBody {
    /// A JSON patch that replaces the whole list; refused where the queue has no status at all.
    pub(super) fn replacing(&self) -> Value {
        let value = pumice_ingest::resource_list(&self.allocated);
        json!([{"op": "add", "path": "/status/allocated", "value": value}])
    }

    pub(super) fn patch(&self) -> Value {
        json!({"status": {"allocated": pumice_ingest::resource_list(&self.allocated)}})
    }

    pub(super) fn edit(&self, queue: &mut Value) -> bool {
        let allocated = json!({"allocated": pumice_ingest::resource_list(&self.allocated)});
        merge(queue, "status", allocated);
        true
    }
}

/// Status of a NodeShard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeShardStatusBody {
    pub(super) name: String,
    pub(super) nodes_in_use: Vec<String>,
    pub(super) nodes_to_remove: Vec<String>,
    pub(super) nodes_to_add: Vec<String>,
}

impl NodeShardStatusBody {
    fn status(&self, now: Timestamp) -> Value {
        json!({
            "lastUpdateTime": seconds(now),
            "nodesInUse": self.nodes_in_use,
            "nodesToRemove": self.nodes_to_remove,
            "nodesToAdd": self.nodes_to_add,
        })
    }

    pub(super) fn patch(&self, now: Timestamp) -> Value {
        json!({"status": self.status(now)})
    }

    pub(super) fn edit(&self, shard: &mut Value, now: Timestamp) -> bool {
        merge(shard, "status", self.status(now));
        true
    }
}

/// What a plugin keeps, in a ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeptTextBody {
    pub(super) topic: KeptTopic,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) text: String,
}

impl KeptTextBody {
    pub(super) fn path(&self) -> String {
        format!(
            "/api/v1/namespaces/{}/configmaps/{}",
            self.namespace, self.name
        )
    }

    fn data(&self) -> Value {
        Value::Object(Map::from_iter([(
            self.topic.key().to_owned(),
            Value::String(self.text.clone()),
        )]))
    }

    pub(super) fn patch(&self) -> Value {
        json!({"data": self.data()})
    }

    pub(super) fn edit(&self, map: &mut Value) -> bool {
        merge(map, "data", self.data());
        true
    }
}

/// Sets the fields of `object[field]` that `value` has.
fn merge(object: &mut Value, field: &str, value: Value) {
    if !object[field].is_object() {
        object[field] = Value::Object(Map::new());
    }
    if let (Some(target), Value::Object(fields)) = (object[field].as_object_mut(), value) {
        target.extend(fields);
    }
}
