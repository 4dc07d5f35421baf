//! What a PodGroup is made from, and what of it follows later.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use pumice_api::pod_group::{PodGroupSpec, PodGroupStatus};
use pumice_api::{NetworkTopology, PodGroup, ResourceList, keys};
use pumice_units::quantity::{self, Quantity};
use serde_json::{Map, Value, json};

use super::owners::Owners;
use crate::runtime::{
    LonePod, ManagedKind, ManagedRef, ObjectEvent, Observed, TrackedPod, controlling,
};
use crate::usage::{self, QuotaUsage};

/// Annotations of a pod its group takes over, before those of its owner.
const POD_ANNOTATIONS: [&str; 4] = [
    keys::PREEMPTABLE,
    keys::COOLDOWN_TIME,
    keys::REVOCABLE_ZONE,
    keys::USER,
];
/// Annotations about disruption that a pod's group takes over, before those of its owner; only the first
/// of them counts.
const DISRUPTION: [&str; 2] = [keys::JDB_MIN_AVAILABLE, keys::JDB_MAX_UNAVAILABLE];
/// Labels of a pod its group takes over.
const POD_LABELS: [&str; 3] = [keys::PREEMPTABLE, keys::COOLDOWN_TIME, keys::USER];

/// What pods and their owners want of a group; `None` and absent keys leave the group as it is.
#[derive(Default)]
pub(super) struct GroupWishes {
    min_member: Option<i32>,
    min_resources: Option<ResourceList>,
    priority_class_name: Option<String>,
    network_topology: Option<NetworkTopology>,
    annotations: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    /// What cannot be read.
    pub events: Vec<ObjectEvent>,
}

impl GroupWishes {
    /// What a pod and its owners want of a group that has to be made for it.
    pub fn of(pod: &TrackedPod, lone: &LonePod, owners: &Owners<'_>, inherits: bool) -> Self {
        let mut wanted = Self::default();
        if inherits {
            wanted.inherit(owners, true);
        }
        let least = *wanted.min_member.get_or_insert(1);
        wanted.follow(pod, lone, least);
        wanted
    }

    /// What is wanted of a group that exists, with the newest pod that has none yet.
    pub fn anew(
        group: &PodGroup,
        newest: Option<(&TrackedPod, &LonePod)>,
        owners: &Owners<'_>,
        inherits: bool,
    ) -> Self {
        let mut wanted = Self::default();
        if inherits {
            // What pods say for themselves is not known of pods that have their group.
            wanted.inherit(owners, newest.is_some());
        }
        let known = group.spec.min_member;
        let least = wanted.min_member.unwrap_or(known);
        match newest {
            Some((pod, lone)) => wanted.follow(pod, lone, least),
            None if least != known => {
                let resources = group.spec.min_resources.as_ref();
                wanted.min_resources = resources.map(|list| scaled(list, known.max(1), least));
            }
            None => {}
        }
        wanted
    }

    /// Takes over what owners say.
    fn inherit(&mut self, owners: &Owners<'_>, all: bool) {
        let annotations = owners.annotations();
        if let Some(text) = annotations.get(keys::GROUP_MIN_MEMBER) {
            match text.parse() {
                Ok(number @ 0..) => self.min_member = Some(number),
                _ => {
                    let says = owners.who_says(keys::GROUP_MIN_MEMBER);
                    self.events.extend(says.map(|workload| {
                        let uid = workload.metadata.uid.clone().unwrap_or_default();
                        let about = Observed::Workload(Box::new(workload.clone())).reference();
                        let wanted = "a number, 0 or more";
                        unreadable(about, uid, keys::GROUP_MIN_MEMBER, text, wanted)
                    }));
                }
            }
        }
        let of_pods = |key: &str| POD_ANNOTATIONS.contains(&key) || DISRUPTION.contains(&key);
        let inherited = annotations
            .into_iter()
            .filter(|(key, _)| key.starts_with(keys::INHERITED_PREFIX))
            .filter(|(key, _)| all || !of_pods(key));
        self.annotations
            .extend(inherited.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    /// Takes over what a pod says; `least` pods have to start together.
    fn follow(&mut self, pod: &TrackedPod, lone: &LonePod, least: i32) {
        self.min_resources = Some(scaled(&lone.usage, 1, least));
        self.priority_class_name =
            Some(lone.priority_class_name.clone()).filter(|name| !name.is_empty());
        let disruption = DISRUPTION
            .into_iter()
            .find(|key| lone.annotations.contains_key(*key));
        for key in POD_ANNOTATIONS.into_iter().chain(disruption) {
            copy(&lone.annotations, &mut self.annotations, key);
        }
        for key in POD_LABELS {
            copy(&lone.labels, &mut self.labels, key);
        }
        self.network_topology = self.topology(pod, lone);
    }

    fn topology(&mut self, pod: &TrackedPod, lone: &LonePod) -> Option<NetworkTopology> {
        let mode = lone.annotations.get(keys::NETWORK_TOPOLOGY_MODE);
        let tier = lone.annotations.get(keys::NETWORK_TOPOLOGY_HIGHEST_TIER);
        if mode.is_none() && tier.is_none() {
            return None;
        }
        let mut complain = |key, text: &str, wanted| {
            let about = ManagedRef::new(ManagedKind::Pod, &pod.namespace, &pod.name);
            let event = unreadable(about, pod.uid.to_string(), key, text, wanted);
            self.events.push(event);
        };
        let mut topology = NetworkTopology {
            mode: "hard".to_owned(),
            ..NetworkTopology::default()
        };
        match mode.map(|text| text.to_lowercase()) {
            Some(mode) if mode == "hard" || mode == "soft" => topology.mode = mode,
            Some(text) => complain(keys::NETWORK_TOPOLOGY_MODE, &text, "hard or soft"),
            None => {}
        }
        match tier.map(|text| (text, text.parse())) {
            Some((_, Ok(number @ 0..))) => topology.highest_tier_allowed = Some(number),
            Some((text, _)) => {
                complain(
                    keys::NETWORK_TOPOLOGY_HIGHEST_TIER,
                    text,
                    "a number, 0 or more",
                );
            }
            None => {}
        }
        Some(topology)
    }

    /// The group to make for a pod in a namespace.
    pub fn object(
        &self,
        of: &ManagedRef,
        pod: &TrackedPod,
        lone: &LonePod,
        namespace: Option<&Observed>,
    ) -> Value {
        let of_namespace = namespace.and_then(Observed::meta).and_then(|meta| {
            let annotations = meta.annotations.as_ref()?;
            annotations.get(keys::QUEUE_NAME)
        });
        let queue = lone
            .annotations
            .get(keys::QUEUE_NAME)
            .filter(|name| !name.is_empty());
        let mut group = PodGroup {
            spec: PodGroupSpec {
                min_member: self.min_member.unwrap_or(1),
                min_resources: self.min_resources.clone(),
                priority_class_name: self.priority_class_name.clone().unwrap_or_default(),
                queue: queue.or(of_namespace).cloned().unwrap_or_default(),
                network_topology: self.network_topology.clone(),
                ..PodGroupSpec::default()
            },
            status: PodGroupStatus {
                phase: "Pending".to_owned(),
                ..PodGroupStatus::default()
            },
            ..PodGroup::default()
        };
        let meta = &mut group.metadata;
        meta.name = Some(of.name.clone());
        meta.namespace = Some(of.namespace.clone());
        meta.annotations = Some(self.annotations.clone()).filter(|map| !map.is_empty());
        meta.labels = Some(self.labels.clone()).filter(|map| !map.is_empty());
        meta.owner_references = Some(match controlling(&lone.owners) {
            Some(_) => lone.owners.clone(),
            None => vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                name: pod.name.to_string(),
                uid: pod.uid.to_string(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }],
        });
        json!(group)
    }
}

/// Merge patch that makes a group what is wanted; `None` if it is.
pub(super) fn differences(group: &PodGroup, wanted: &GroupWishes) -> Option<Value> {
    let mut spec = Map::new();
    let known = &group.spec;
    let mut change = |field: &str, value: Value| spec.insert(field.to_owned(), value);
    if let Some(least) = wanted.min_member.filter(|least| *least != known.min_member) {
        change("minMember", json!(least));
    }
    if let Some(list) = &wanted.min_resources
        && known.min_resources.as_ref() != Some(list)
    {
        let old = known.min_resources.iter().flatten();
        let gone = old.filter(|(name, _)| !list.contains_key(*name));
        let gone = gone.map(|(name, _)| (name.clone(), Value::Null));
        let new = list
            .iter()
            .map(|(name, amount)| (name.clone(), json!(amount)));
        change(
            "minResources",
            new.chain(gone).collect::<Map<_, _>>().into(),
        );
    }
    if let Some(class) = &wanted.priority_class_name
        && known.priority_class_name != *class
    {
        change("priorityClassName", json!(class));
    }
    if let Some(topology) = &wanted.network_topology
        && known.network_topology.as_ref() != Some(topology)
    {
        let tier = topology.highest_tier_allowed;
        let value = json!({"mode": topology.mode, "highestTierAllowed": tier,
            "highestTierName": null});
        change("networkTopology", value);
    }
    let annotations = missing(group.metadata.annotations.as_ref(), &wanted.annotations);
    let labels = missing(group.metadata.labels.as_ref(), &wanted.labels);
    if spec.is_empty() && annotations.is_empty() && labels.is_empty() {
        return None;
    }
    Some(json!({"metadata": {"annotations": annotations, "labels": labels}, "spec": spec}))
}

/// Entries that are not known, or otherwise.
fn missing(
    known: Option<&BTreeMap<String, String>>,
    wanted: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let has = |key: &String, value: &String| known.and_then(|map| map.get(key)) == Some(value);
    let entries = wanted.iter().filter(|(key, value)| !has(key, value));
    entries
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn copy(from: &BTreeMap<String, String>, to: &mut BTreeMap<String, String>, key: &str) {
    if let Some(value) = from.get(key) {
        to.insert(key.to_owned(), value.clone());
    }
}

/// What `to` pods use when `from` pods use this.
fn scaled(list: &ResourceList, from: i32, to: i32) -> ResourceList {
    let mut all = QuotaUsage::new();
    for (name, text) in list {
        let Ok(one) = quantity::parse(&text.0) else {
            continue;
        };
        let share = |amount: i64| {
            let product = i128::from(amount) * i128::from(to);
            let from = i128::from(from.max(1));
            i64::try_from((product + from - 1) / from).unwrap_or(i64::MAX)
        };
        let whole = one.whole_ceil();
        let amount = match from {
            1 => one.times(i64::from(to)),
            _ if one == Quantity::whole(whole) => Quantity::whole(share(whole)),
            _ => Quantity::milli(share(one.milli_ceil())),
        };
        all.insert(name.clone(), amount);
    }
    usage::resource_list(&all)
}

fn unreadable(about: ManagedRef, uid: String, key: &str, text: &str, wanted: &str) -> ObjectEvent {
    ObjectEvent {
        about,
        uid,
        warning: true,
        reason: "InvalidAnnotation",
        message: format!("annotation {key}: {text:?} cannot be read, write {wanted}"),
    }
}
