//! PodGroups of Kubernetes itself that have resource claims (spec/09 §9): pods of the group that name one of these alike
//! share the claim, and it is reserved for the group once and not for each of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ix::TaskIx;
use crate::object::{GroupObject, PodObject, PodResourceClaim};

use super::users::TaskClaims;
use super::{ClaimEntry, MAX_RESERVED, ResourceClaimIx, ResourceClaims};

/// A PodGroup of Kubernetes itself that a claim is reserved for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimGroup {
    /// Name of the PodGroup, as the API server knows it.
    pub name: String,
    /// UID of the PodGroup.
    pub uid: String,
}

/// What a group says of its claims.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClaimingGroup {
    group: Arc<ClaimGroup>,
    claims: Vec<PodResourceClaim>,
}

/// All groups that have claims.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimingGroups {
    all: FxHashMap<GroupKey, ClaimingGroup>,
    by_uid: FxHashMap<String, GroupKey>,
    /// Pods with claims by the group that they name, whether that has claims, or is there, or not.
    members: FxHashMap<GroupKey, BTreeSet<TaskIx>>,
}

/// Namespace and name of a PodGroup, the name as it is known here.
pub(crate) type GroupKey = (String, String);

/// One claim that a pod names.
#[derive(Clone)]
pub(super) struct NamedClaim {
    /// Which claim, if it has a name by now.
    pub(super) ix: Option<ResourceClaimIx>,
    /// As the pod names it.
    pub(super) entry: PodResourceClaim,
    /// The group of the pod, if that has this claim too.
    pub(super) group: Option<Arc<ClaimGroup>>,
}

impl ClaimingGroups {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The group with a UID.
    pub(super) fn key_of(&self, uid: &str) -> Option<&GroupKey> {
        self.by_uid.get(uid)
    }

    /// A pod with claims names a group.
    pub(super) fn join(&mut self, key: &GroupKey, task: TaskIx) {
        self.members.entry(key.clone()).or_default().insert(task);
    }

    /// A pod that named a group is gone.
    pub(super) fn leave(&mut self, key: &GroupKey, task: TaskIx) {
        if let Some(members) = self.members.get_mut(key) {
            members.remove(&task);
            if members.is_empty() {
                self.members.remove(key);
            }
        }
    }

    fn set(&mut self, key: &GroupKey, new: Option<ClaimingGroup>) {
        let uid = new.as_ref().map(|new| new.group.uid.clone());
        let old = match new {
            Some(new) => self.all.insert(key.clone(), new),
            None => self.all.remove(key),
        };
        if let Some(old) = old {
            self.by_uid.remove(&old.group.uid);
        }
        if let Some(uid) = uid {
            self.by_uid.insert(uid, key.clone());
        }
    }

    /// The group of a pod, if it has a claim of the same name and the same source.
    pub(super) fn that_has(
        &self,
        key: Option<&GroupKey>,
        entry: &PodResourceClaim,
    ) -> Option<Arc<ClaimGroup>> {
        let known = self.all.get(key?)?;
        let is_same = |own: &PodResourceClaim| {
            let by_name = own.template.is_none();
            own.entry == entry.entry
                && own.template == entry.template
                && (!by_name || own.claim == entry.claim)
        };
        let mut claims = known.claims.iter();
        claims.any(is_same).then(|| Arc::clone(&known.group))
    }
}

/// The group that a pod names.
pub(super) fn key_of(pod: &PodObject) -> Option<GroupKey> {
    let name = pod.group.as_ref()?;
    Some((pod.namespace.clone(), name.clone()))
}

/// Whether that is the group that a pod names.
pub(super) fn is_key_of(key: Option<&GroupKey>, pod: &PodObject) -> bool {
    let named = pod.group.as_ref().map(|name| (&pod.namespace, name));
    key.map(|(namespace, name)| (namespace, name)) == named
}

impl ClaimEntry {
    /// The group that a claim is reserved for on behalf of a pod. A claim that was made for the pod itself is the pod's own,
    /// whatever the group says.
    pub(super) fn group_for<'a>(
        &self,
        named: &'a NamedClaim,
        pod_uid: &str,
    ) -> Option<&'a Arc<ClaimGroup>> {
        let of_pod = |owner: &str| named.entry.template.is_some() && owner == pod_uid;
        let object = self.object.as_ref();
        let group = named.group.as_ref();
        group.filter(|_| object.is_none_or(|object| !of_pod(&object.owner_uid)))
    }

    /// UIDs of all that a claim is reserved for, and of those that it will be reserved for, as pods with a place use it.
    pub(super) fn consumers<'a>(
        &'a self,
        ix: ResourceClaimIx,
        tasks: &'a FxHashMap<TaskIx, TaskClaims>,
    ) -> FxHashSet<&'a str> {
        let object = self.object.iter();
        let reserved = object.flat_map(|object| &object.reserved_for);
        let mut all: FxHashSet<&str> = reserved.map(String::as_str).collect();
        let users = self.users.iter().filter_map(|user| tasks.get(user));
        for user in users.filter(|user| user.holds()) {
            let named = user.claims.iter().filter(|named| named.ix == Some(ix));
            all.extend(named.map(|named| self.consumer(named, &user.uid)));
        }
        all
    }

    /// There may be no room for another pod or group, also once the pod is gone that is leaving.
    pub(super) fn may_be_full(
        &self,
        ix: ResourceClaimIx,
        tasks: &FxHashMap<TaskIx, TaskClaims>,
    ) -> bool {
        self.most_consumers() >= MAX_RESERVED && self.consumers(ix, tasks).len() + 1 >= MAX_RESERVED
    }

    /// UID of the one that a claim is reserved for when a pod uses it.
    pub(super) fn consumer<'a>(&self, named: &'a NamedClaim, pod_uid: &'a str) -> &'a str {
        let group = self.group_for(named, pod_uid);
        group.map_or(pod_uid, |group| &group.uid)
    }
}

impl ClaimingGroup {
    /// A group, if it has claims.
    fn of(group: &GroupObject) -> Option<Self> {
        let claims = group.native.claims.clone();
        let name = group.own_name().to_owned();
        let uid = group.uid.clone();
        (!claims.is_empty()).then(|| Self {
            group: Arc::new(ClaimGroup { name, uid }),
            claims,
        })
    }
}

impl ResourceClaims {
    /// Whether this is the UID of a PodGroup that has claims.
    pub fn is_group(&self, uid: &str) -> bool {
        self.groups.key_of(uid).is_some()
    }

    /// A PodGroup is there, with what it says of claims, or there is none with this namespace and name. Returns pods whose
    /// need may have changed.
    pub(crate) fn learn_group(
        &mut self,
        (namespace, name): (&str, &str),
        group: Option<&GroupObject>,
    ) -> Vec<TaskIx> {
        let has_claims = group.is_some_and(|group| !group.native.claims.is_empty());
        if !has_claims && self.groups.is_empty() {
            return Vec::new();
        }
        let key = (namespace.to_owned(), name.to_owned());
        let new = group.and_then(ClaimingGroup::of);
        if self.groups.all.get(&key) == new.as_ref() {
            return Vec::new();
        }
        self.groups.set(&key, new);
        self.held.groups_changed();
        let members = self.groups.members.get(&key).into_iter().flatten();
        let members: Vec<TaskIx> = members.copied().collect();
        for task in &members {
            let pod = self.tasks.get_mut(task);
            for named in pod.into_iter().flat_map(|pod| &mut pod.claims) {
                named.group = self.groups.that_has(Some(&key), &named.entry);
            }
        }
        self.objects_epoch += 1;
        members
    }
}
