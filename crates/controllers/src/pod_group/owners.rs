//! Who owns the pods of a group, as far as it is known.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::WORKLOADS;
use crate::runtime::{ManagedKind, ManagedRef, ObjectCache, TrackedWorkload};

/// How long a pod waits for its owner and namespace to be known: kinds are watched one by one, so
/// that a pod may come before them.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(5);

/// Owners of pods, in the order of the pods' references.
pub(super) struct Owners<'a> {
    /// Workloads that are known.
    pub workloads: Vec<&'a TrackedWorkload>,
    /// The one of them that controls the pods.
    controller: Option<&'a TrackedWorkload>,
    /// Kinds of owners that should be known and are not.
    missing: Vec<ManagedKind>,
}

impl<'a> Owners<'a> {
    /// Looks up the owners of pods in a namespace.
    pub fn find(references: &[OwnerReference], namespace: &str, cache: &'a ObjectCache) -> Self {
        let mut owners = Self {
            workloads: Vec::new(),
            controller: None,
            missing: Vec::new(),
        };
        for reference in references {
            let kind = ManagedKind::of(&reference.api_version, &reference.kind);
            let Some(kind) = kind.filter(|kind| WORKLOADS.contains(kind)) else {
                continue;
            };
            let known = cache.workload(kind, namespace, &reference.name);
            match known.filter(|known| known.metadata.uid.as_ref() == Some(&reference.uid)) {
                Some(workload) => {
                    owners.workloads.push(workload);
                    if reference.controller == Some(true) {
                        owners.controller = Some(workload);
                    }
                }
                None => owners.missing.push(kind),
            }
        }
        owners
    }

    /// Their pods' group follows them: a ReplicaSet or StatefulSet.
    pub fn is_followed(&self) -> bool {
        let followed = [ManagedKind::ReplicaSet, ManagedKind::StatefulSet];
        self.controller
            .is_some_and(|workload| followed.contains(&workload.kind))
    }

    /// Whether a ReplicaSet or StatefulSet wants no pods.
    pub fn want_no_pods(&self) -> bool {
        self.is_followed()
            && self
                .controller
                .is_some_and(|owner| owner.replicas == Some(0))
    }

    /// Until when a pod made at a time waits for what its group is made from; `None` if everything is
    /// known that will be.
    pub fn wait_until(
        &self,
        created: Option<Timestamp>,
        namespace: &str,
        cache: &ObjectCache,
        inherits: bool,
    ) -> Option<Timestamp> {
        // A kind that the role may not list is never known.
        let is_watched = |kind: ManagedKind| cache.is_followed(kind);
        let lacks_owner = inherits && self.missing.iter().any(|kind| is_watched(*kind));
        let of = ManagedRef::global(ManagedKind::Namespace, namespace);
        let lacks_namespace = cache.get(&of).is_none() && is_watched(ManagedKind::Namespace);
        let until = created?.checked_add(LONGEST_WAIT).ok()?;
        (lacks_owner || lacks_namespace).then_some(until)
    }

    /// The owner whose annotation counts.
    pub fn who_says(&self, key: &str) -> Option<&'a TrackedWorkload> {
        let says = |workload: &&&TrackedWorkload| {
            let annotations = workload.metadata.annotations.as_ref();
            annotations.is_some_and(|map| map.contains_key(key))
        };
        self.workloads.iter().find(says).copied()
    }

    /// Annotations of all owners; those of the first owner win.
    pub fn annotations(&self) -> BTreeMap<&'a str, &'a str> {
        let mut all = BTreeMap::new();
        for workload in &self.workloads {
            for (key, value) in workload.metadata.annotations.iter().flatten() {
                all.entry(key.as_str()).or_insert(value.as_str());
            }
        }
        all
    }
}
