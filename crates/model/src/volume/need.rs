//! What a pod asks of its volumes, resolved: the part of a pod's class that its claims decide.
//!
//! Two pods with equal needs are treated alike on every node. An open claim therefore shows what it
//! asks for and not who it is, until somebody else uses it as well.

use crate::object::{AccessModes, ClaimObject, Disk, PodClaim, Selector, VolumeSource};

use super::{Assumption, Claim, ClaimIx, Volumes};

/// What a pod asks of its volumes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VolumeNeed {
    /// A claim that does not exist (any more), or not yet: text.
    pub missing: Option<String>,
    /// Why VolumeBinding refuses the pod on every node.
    pub refusal: Option<String>,
    /// Why VolumeZone refuses the pod on every node.
    pub zone_refusal: Option<String>,
    /// Whether others use a `ReadWriteOncePod` claim of it.
    pub exclusive_use: ExclusiveUse,
    /// Claims of the pod, as far as they exist.
    pub claims: Vec<ClaimNeed>,
    /// In-line disks.
    pub disks: Vec<Disk>,
    /// In-line volumes that a CSI driver has taken over.
    pub inline: Vec<VolumeSource>,
}

/// How other pods use claims of which only one pod may have each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExclusiveUse {
    /// Nobody does.
    #[default]
    Free,
    /// Those that do are being released.
    Releasing,
    /// Somebody does who stays.
    InUse,
}

/// One claim of a [`VolumeNeed`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClaimNeed {
    /// Bound to this PersistentVolume.
    Bound(String),
    /// To be bound or provisioned for the node that is chosen.
    Open(OpenClaim),
}

/// A claim that waits for its first consumer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenClaim {
    /// Storage class.
    pub class: String,
    /// Bytes.
    pub request: i64,
    /// Access modes.
    pub modes: AccessModes,
    /// Block volume.
    pub block: bool,
    /// VolumeAttributesClass.
    pub attributes_class: String,
    /// Which PersistentVolumes.
    pub selector: Option<Selector>,
    /// Being provisioned for this node: no other will do.
    pub selected_node: Option<String>,
    /// Set aside for the claim: no other PersistentVolume will do.
    pub reserved: Option<String>,
    /// Which claim it is; `None` while nobody else uses it and no volume is reserved for it.
    pub identity: Option<ClaimIx>,
}

impl VolumeNeed {
    /// Claims to be bound or provisioned, with their place among all.
    pub fn open(&self) -> impl Iterator<Item = (usize, &OpenClaim)> {
        let claims = self.claims.iter().enumerate();
        claims.filter_map(|(at, claim)| match claim {
            ClaimNeed::Open(open) => Some((at, open)),
            ClaimNeed::Bound(_) => None,
        })
    }

    /// PersistentVolumes of bound claims.
    pub fn bound(&self) -> impl Iterator<Item = &str> {
        self.claims.iter().filter_map(|claim| match claim {
            ClaimNeed::Bound(volume) => Some(volume.as_str()),
            ClaimNeed::Open(_) => None,
        })
    }
}

/// Who asks: what the rules about ownership need to know.
pub(super) struct Asker<'a> {
    /// Pod UID.
    pub uid: &'a str,
    /// `namespace/name` of the pod.
    pub key: &'a str,
    /// It is on a node itself, so its claims count one user that is no other.
    pub placed: bool,
    /// It is being released there.
    pub releasing: bool,
}

impl Asker<'_> {
    /// How pods other than this one use a claim.
    fn use_by_others(&self, claim: &Claim) -> ExclusiveUse {
        let all = claim.placed - u32::from(self.placed);
        let releasing = claim.releasing - u32::from(self.releasing);
        match all {
            0 => ExclusiveUse::Free,
            _ if all == releasing => ExclusiveUse::Releasing,
            _ => ExclusiveUse::InUse,
        }
    }
}

impl Volumes {
    /// Resolves the claims of a pod as they are now.
    pub(super) fn resolve(&self, asker: &Asker, claims: &[(ClaimIx, PodClaim)]) -> VolumeNeed {
        let mut need = VolumeNeed::default();
        for (ix, wanted) in claims {
            let slot = &self.claims[ix.at()];
            let Some(object) = &slot.object else {
                need.missing.get_or_insert_with(|| missing(wanted));
                continue;
            };
            if let Some(text) = unusable(object, wanted, asker) {
                need.refusal.get_or_insert(text);
            }
            let by_others = asker.use_by_others(slot);
            if object.modes.contains(AccessModes::READ_WRITE_ONCE_POD) {
                need.exclusive_use = need.exclusive_use.max(by_others);
            }
            let others = by_others != ExclusiveUse::Free;
            if object.is_bound() {
                need.claims.push(ClaimNeed::Bound(object.volume.clone()));
                if !self.pvs.contains_key(&object.volume) {
                    let text = format!("persistentvolume {:?} not found", object.volume);
                    need.zone_refusal.get_or_insert(text);
                }
                continue;
            }
            match self.why_not_delayed(object) {
                Some((text, zone)) => {
                    need.refusal.get_or_insert(text);
                    need.zone_refusal.get_or_insert(zone);
                }
                None => {
                    let open = self.open_claim(*ix, object, others);
                    need.claims.push(ClaimNeed::Open(open));
                }
            }
        }
        need
    }

    /// Why an unbound claim is not left to the scheduler: texts of VolumeBinding and VolumeZone.
    fn why_not_delayed(&self, claim: &ClaimObject) -> Option<(String, String)> {
        let unbound = || "pod has unbound immediate PersistentVolumeClaims".to_owned();
        let class = claim.class_name();
        if class.is_empty() {
            let zone = match claim.volume.is_empty() {
                true => "PersistentVolumeClaim had no pv name and storageClass name",
                false => "PersistentVolume had no name",
            };
            return Some((unbound(), zone.to_owned()));
        }
        let Some(class) = self.classes.get(class) else {
            let text = format!("storageclass.storage.k8s.io {class:?} not found");
            return Some((text.clone(), text));
        };
        (!class.delayed || !claim.volume.is_empty())
            .then(|| (unbound(), "PersistentVolume had no name".to_owned()))
    }

    fn open_claim(&self, ix: ClaimIx, claim: &ClaimObject, others: bool) -> OpenClaim {
        let (mut selected, mut reserved) = (claim.selected_node.clone(), None);
        match &self.claims[ix.at()].assumed {
            Some(Assumption::Provision(node)) => selected = Some(node.clone()),
            Some(Assumption::Volume(volume)) => {
                (selected, reserved) = (None, Some(volume.clone()));
            }
            None => reserved = self.reserved_for(claim),
        }
        let identity = (others || reserved.is_some()).then_some(ix);
        OpenClaim {
            class: claim.class_name().to_owned(),
            request: claim.request,
            modes: claim.modes,
            block: claim.block,
            attributes_class: claim.attributes_class.clone(),
            selector: claim.selector.clone(),
            selected_node: selected,
            reserved,
            identity,
        }
    }

    /// The PersistentVolume a user or the controller has set aside for a claim (its `claimRef`),
    /// if it can hold it; the first by name.
    fn reserved_for(&self, claim: &ClaimObject) -> Option<String> {
        let key = (claim.namespace.clone(), claim.name.clone());
        let volumes = self.set_aside.get(&key)?.iter();
        let mut fitting = volumes.filter(|name| {
            self.pvs.get(*name).is_some_and(|pv| {
                let uid = pv.object.claim.as_ref().map_or("", |c| c.uid.as_str());
                (uid.is_empty() || uid == claim.uid)
                    && pv.object.class == claim.class_name()
                    && pv.object.capacity >= claim.request
                    && pv.object.block == claim.block
                    && pv.object.attributes_class == claim.attributes_class
                    && !pv.object.deleting
            })
        });
        fitting.next().cloned()
    }
}

fn missing(wanted: &PodClaim) -> String {
    match wanted.ephemeral {
        true => format!(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}",
            wanted.name
        ),
        false => format!("persistentvolumeclaim {:?} not found", wanted.name),
    }
}

/// Why a claim that exists cannot be used by the pod at all.
fn unusable(claim: &ClaimObject, wanted: &PodClaim, asker: &Asker) -> Option<String> {
    if claim.lost {
        return Some(format!(
            "persistentvolumeclaim {:?} bound to non-existent persistentvolume {:?}",
            claim.name, claim.volume
        ));
    }
    if claim.deleting {
        let name = &claim.name;
        return Some(format!("persistentvolumeclaim {name:?} is being deleted"));
    }
    (wanted.ephemeral && claim.owner_uid != asker.uid).then(|| {
        format!(
            "PVC {}/{} was not created for pod {} (pod is not owner)",
            claim.namespace, claim.name, asker.key
        )
    })
}
