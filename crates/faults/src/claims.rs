//! Objects of resource.k8s.io on the virtual API server, updates of claims on the version that was read, and
//! the controller of claims at work as the one of kube-controller-manager: it makes claims of templates, takes
//! pods that are gone or have ended out of `reservedFor`, takes the devices of a claim back with its last pod
//! and its finalizer after that, and deletes claims whose pod is gone. Everything a while after the cause.

use pumice_model::Delta;
use pumice_model::object::{
    DeviceClassObject, PodObject, PodPhase, ResourceClaimObject, SliceObject,
};

use super::device_objects::{ClaimDuty, VersionedClaim};
use super::server::{VirtualServer, key};
use super::server_kind::ServerKind;

/// Answer to an update of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// It is written, and has this version.
    Written(u64),
    /// It has changed since it was read.
    Conflict,
    /// There is no such claim.
    Gone,
}

/// The pod will never run (again): it uses its claims no more.
pub(super) fn is_done(pod: &PodObject) -> bool {
    matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed)
        || (pod.deleting && pod.node.is_none())
}

impl VirtualServer {
    /// A claim, if there is one.
    pub fn claim(&self, key: &str) -> Option<&ResourceClaimObject> {
        Some(&self.devices.claims.get(key)?.object)
    }

    /// Adds or changes a claim.
    pub fn put_claim(&mut self, mut object: ResourceClaimObject) {
        let key = key(&object.namespace, &object.name);
        self.devices.writes += 1;
        let version = self.devices.writes;
        object.version = version;
        let delta = Delta::ResourceClaimApply(Box::new(object.clone()));
        self.note(ServerKind::ResourceClaim, key.clone(), delta);
        self.devices
            .claims
            .insert(key.clone(), VersionedClaim { object, version });
        self.plan_sync(key);
    }

    /// Somebody deletes a claim: one with the finalizer stays until that is gone.
    pub fn delete_claim(&mut self, key: &str) {
        let Some(mut object) = self.claim(key).cloned() else {
            return;
        };
        if object.is_protected {
            object.deleting = true;
            self.put_claim(object);
            return;
        }
        self.devices.claims.remove(key);
        let delta = Delta::ResourceClaimDelete(object.namespace, object.name);
        self.note(ServerKind::ResourceClaim, key.to_owned(), delta);
    }

    /// An update of a claim lands: of its finalizers, or of its status.
    pub fn update_claim(
        &mut self,
        (version, of_status): (u64, bool),
        new: &ResourceClaimObject,
    ) -> ClaimAnswer {
        let key = key(&new.namespace, &new.name);
        let Some(known) = self.devices.claims.get(&key) else {
            return ClaimAnswer::Gone;
        };
        if known.version != version || known.object.uid != new.uid {
            return ClaimAnswer::Conflict;
        }
        let mut object = known.object.clone();
        match of_status {
            true => {
                object.allocation.clone_from(&new.allocation);
                object.reserved_for.clone_from(&new.reserved_for);
            }
            false => object.is_protected = new.is_protected,
        }
        if object == known.object {
            return ClaimAnswer::Written(known.version);
        }
        let is_over = object.deleting && !object.is_protected;
        self.put_claim(object);
        let version = self.devices.writes;
        if is_over {
            self.delete_claim(&key);
        }
        ClaimAnswer::Written(version)
    }

    /// Adds or changes a DeviceClass.
    pub fn put_class(&mut self, class: DeviceClassObject) {
        let delta = Delta::DeviceClassApply(Box::new(class.clone()));
        self.note(ServerKind::DeviceClass, class.name.clone(), delta);
        self.devices.classes.insert(class.name.clone(), class);
    }

    /// A DeviceClass goes.
    pub fn remove_class(&mut self, name: &str) {
        if self.devices.classes.remove(name).is_some() {
            let delta = Delta::DeviceClassDelete(name.to_owned());
            self.note(ServerKind::DeviceClass, name.to_owned(), delta);
        }
    }

    /// Adds or changes a ResourceSlice.
    pub fn put_slice(&mut self, slice: SliceObject) {
        let delta = Delta::SliceApply(Box::new(slice.clone()));
        self.note(ServerKind::Slice, slice.name.clone(), delta);
        let pool = slice.pool.clone();
        self.devices.slices.insert(slice.name.clone(), slice);
        self.devices.record(&pool, self.now_ms());
    }

    /// Names of the slices of a pool.
    pub fn slices_of(&self, pool: &str) -> Vec<String> {
        let of_it = self
            .devices
            .slices
            .values()
            .filter(|slice| slice.pool == pool);
        of_it.map(|slice| slice.name.clone()).collect()
    }

    /// The driver of a pool does not write what it was about to write.
    pub fn forget_writes_of(&mut self, pool: &str) {
        self.devices.publishing.retain(|(_, write)| match write {
            Ok(slice) => slice.pool != pool,
            Err(gone) => !gone.starts_with(&format!("{pool}-")),
        });
    }

    /// A ResourceSlice goes.
    pub fn remove_slice(&mut self, name: &str) {
        if let Some(slice) = self.devices.slices.remove(name) {
            self.devices.record(&slice.pool, self.now_ms());
            let delta = Delta::SliceDelete(name.to_owned());
            self.note(ServerKind::Slice, name.to_owned(), delta);
        }
    }

    /// What drivers and the controller of claims do by now.
    pub(super) fn run_devices(&mut self) {
        let now_ms = self.now_ms();
        let publishing = std::mem::take(&mut self.devices.publishing);
        let (due, later) = publishing.into_iter().partition(|(at, _)| *at <= now_ms);
        self.devices.publishing = later;
        let due: Vec<(u64, Result<SliceObject, String>)> = due;
        for (_, write) in due {
            match write {
                Ok(slice) => self.put_slice(slice),
                Err(gone) => self.remove_slice(&gone),
            }
        }
        let pods = self.devices.pods_due_ms.clone();
        for (uid, _) in pods.into_iter().filter(|(_, at)| *at <= now_ms) {
            self.devices.pods_due_ms.remove(&uid);
            self.make_claims(&uid);
        }
        let claims = self.devices.due_ms.clone();
        for (key, (_, duty)) in claims.into_iter().filter(|(_, (at, _))| *at <= now_ms) {
            self.devices.due_ms.remove(&key);
            match duty {
                ClaimDuty::Sync => self.sync_claim(&key),
                ClaimDuty::Release(version) => self.release_claim(&key, version),
            }
        }
    }

    fn plan_sync(&mut self, key: String) {
        let at_ms = self.now_ms() + self.devices.rng.between(50, 1500);
        let due = self.devices.due_ms.entry(key);
        due.or_insert((at_ms, ClaimDuty::Sync));
    }

    /// A pod came, changed or is gone: the controller looks at its claims.
    pub(super) fn note_claims_of(&mut self, pod: &PodObject) {
        let mut entries = pod.resource_claims.iter();
        if entries.any(|entry| entry.claim.is_none()) {
            let at_ms = self.now_ms() + self.devices.rng.between(50, 1500);
            let due = self.devices.pods_due_ms.entry(pod.uid.clone());
            due.or_insert(at_ms);
        }
        for entry in &pod.resource_claims {
            if let Some(claim) = &entry.claim {
                self.plan_sync(key(&pod.namespace, claim));
            }
        }
    }

    /// The claims of a pod are made of their templates, and named in its status.
    fn make_claims(&mut self, uid: &str) {
        let Some(mut pod) = self.pods.get(uid).cloned() else {
            return;
        };
        if pod.deleting || is_done(&pod) {
            return;
        }
        let mut is_changed = false;
        for entry in &mut pod.resource_claims {
            let Some(template) = entry.template.as_ref().filter(|_| entry.claim.is_none()) else {
                continue;
            };
            let template = key(&pod.namespace, template);
            let Some(spec) = self.devices.templates.get(&template).cloned() else {
                continue;
            };
            self.devices.made += 1;
            let name = format!("{}-{}-{}", pod.name, entry.entry, self.devices.made);
            self.put_claim(ResourceClaimObject {
                namespace: pod.namespace.clone(),
                name: name.clone(),
                uid: format!("claim-{}", self.devices.made),
                owner_uid: uid.to_owned(),
                spec,
                ..ResourceClaimObject::default()
            });
            entry.claim = Some(name);
            is_changed = true;
        }
        if is_changed {
            self.put_pod(pod);
        }
    }

    /// There is a PodGroup with a UID.
    pub(super) fn has_group(&self, uid: &str) -> bool {
        let mut groups = self.groups.values();
        groups.any(|group| group.uid == uid)
    }

    /// A PodGroup is gone: nothing is reserved for it any more.
    pub(super) fn plan_syncs_of_group(&mut self, uid: &str) {
        let claims = self.devices.claims.iter();
        let of_it =
            claims.filter(|(_, claim)| claim.object.reserved_for.iter().any(|one| one == uid));
        let keys: Vec<String> = of_it.map(|(key, _)| key.clone()).collect();
        keys.into_iter().for_each(|key| self.plan_sync(key));
    }

    fn sync_claim(&mut self, key: &str) {
        let Some(mut object) = self.claim(key).cloned() else {
            return;
        };
        let may_run = |uid: &String| {
            let pod = self.pods.get(uid);
            pod.is_some_and(|pod| !is_done(pod)) || self.has_group(uid)
        };
        let before = object.reserved_for.len();
        object.reserved_for.retain(may_run);
        let is_free = object.reserved_for.is_empty();
        let owner_may_run = object.owner_uid.is_empty() || may_run(&object.owner_uid);
        let is_left = object.reserved_for.len() < before;
        if is_left || (is_free && object.deleting && object.is_protected) {
            if is_free && object.is_protected {
                object.allocation = None;
            }
            let releases = is_free && object.is_protected;
            if self.claim(key) != Some(&object) {
                self.put_claim(object);
            }
            let version = self.devices.claims.get(key).map(|claim| claim.version);
            if let Some(version) = version.filter(|_| releases) {
                let at_ms = self.now_ms() + self.devices.rng.between(20, 500);
                let duty = (at_ms, ClaimDuty::Release(version));
                self.devices.due_ms.insert(key.to_owned(), duty);
            }
        } else if is_free && !owner_may_run && !object.deleting {
            self.delete_claim(key);
        }
    }

    fn release_claim(&mut self, key: &str, version: u64) {
        if let Some(mut object) = self.claim(key).cloned() {
            object.is_protected = false;
            self.update_claim((version, false), &object);
            self.plan_sync(key.to_owned());
        }
    }
}
