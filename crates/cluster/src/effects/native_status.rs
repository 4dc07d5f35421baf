//! Status of a PodGroup of Kubernetes itself: conditions through its status subresource, in the version that is
//! served (spec/03 §B10).

use jiff::Timestamp;
use pumice_api::k8s_openapi::Resource;
use pumice_api::{CompositePodGroup, NativePodGroup};
use pumice_model::object::{
    BOUND_IN_PART, COMPOSITE_GROUP, GroupStatus, NATIVE_GROUP, NativeCondition, NativeTopic,
};
use serde_json::{Value, json};

use super::status_body::{seconds, set_condition};

/// Status of a PodGroup of Kubernetes itself. Conditions of others, and what else the status has, stay.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NativeGroupStatusBody {
    pub(super) namespace: String,
    /// As the object has it.
    pub(super) name: String,
    /// It is a CompositePodGroup.
    pub(super) is_composite: bool,
    pub(super) uid: String,
    pub(super) status: GroupStatus,
}

impl NativeGroupStatusBody {
    /// The status, if a PodGroup with this name is one of Kubernetes itself.
    pub(super) fn of(namespace: &str, name: &str, uid: &str, status: &GroupStatus) -> Option<Self> {
        let composite = name.strip_prefix(COMPOSITE_GROUP);
        Some(Self {
            namespace: namespace.to_owned(),
            name: composite
                .or_else(|| name.strip_prefix(NATIVE_GROUP))?
                .to_owned(),
            is_composite: composite.is_some(),
            uid: uid.to_owned(),
            status: status.clone(),
        })
    }

    /// The name of the PodGroup where all PodGroups are known.
    pub(super) fn known_name(&self) -> String {
        match self.is_composite {
            true => format!("{COMPOSITE_GROUP}{}", self.name),
            false => format!("{NATIVE_GROUP}{}", self.name),
        }
    }

    /// Path of all groups of its kind in its namespace. CompositePodGroups are in one version alone.
    pub(super) fn all(&self, api_version: &str) -> String {
        let (api_version, all) = match self.is_composite {
            true => (
                CompositePodGroup::API_VERSION,
                CompositePodGroup::URL_PATH_SEGMENT,
            ),
            false => (api_version, NativePodGroup::URL_PATH_SEGMENT),
        };
        format!("/apis/{api_version}/namespaces/{}/{all}", self.namespace)
    }

    fn conditions(&self, api_version: &str) -> Vec<Value> {
        let native = self.status.native_conditions();
        let placed = match self.is_composite {
            true => CompositePodGroup::PLACED_CONDITION,
            false => NativePodGroup::placed_condition(api_version),
        };
        let written = native.iter().map(|one| condition(one, placed));
        written.collect()
    }

    /// What identifies the transitions that its conditions tell of.
    pub(super) fn transition(&self) -> String {
        let native = self.status.native_conditions().into_iter();
        let told: Vec<_> = native.map(|one| (one.topic, one.holds)).collect();
        format!("{}/{told:?}", self.uid)
    }

    /// A strategic merge patch. `since` is the time of the transitions; without it the times that are there stay.
    pub(super) fn patch(&self, api_version: &str, since: Option<Timestamp>) -> Value {
        let mut conditions = self.conditions(api_version);
        let is_in_part = conditions.iter().any(|one| one["type"] == BOUND_IN_PART);
        if let Some(since) = since {
            for condition in &mut conditions {
                condition["lastTransitionTime"] = json!(seconds(since));
            }
        }
        if !is_in_part {
            conditions.push(json!({"$patch": "delete", "type": BOUND_IN_PART}));
        }
        let status = json!({"conditions": conditions});
        match self.uid.as_str() {
            "" => json!({"status": status}),
            uid => json!({"metadata": {"uid": uid}, "status": status}),
        }
    }

    /// Changes the object as it was read; whether there is anything to write.
    pub(super) fn edit(&self, group: &mut Value, api_version: &str, now: Timestamp) -> bool {
        if !self.uid.is_empty() && group["metadata"]["uid"] != json!(self.uid) {
            return false;
        }
        let conditions = self.conditions(api_version);
        let is_in_part = conditions.iter().any(|one| one["type"] == BOUND_IN_PART);
        let mut changed = false;
        for condition in conditions {
            changed |= set_condition(group, condition, now);
        }
        if let Some(list) = group["status"]["conditions"].as_array_mut() {
            let before = list.len();
            list.retain(|one| is_in_part || one["type"] != BOUND_IN_PART);
            changed |= list.len() != before;
        }
        changed
    }
}

fn condition(native: &NativeCondition, placed: &str) -> Value {
    json!({
        "type": match native.topic {
            NativeTopic::Placed => placed,
            NativeTopic::InPart => BOUND_IN_PART,
        },
        "status": match native.holds {
            true => "True",
            false => "False",
        },
        "reason": native.reason,
        "message": native.message,
    })
}
