//! Storage as the scheduler sees it: volumes, claims, classes, and who is about to use what.
//!
//! ```text
//!  objects ─► Volumes ─► Need of every pod with volumes (part of its class)
//!                │            │ conflicts(): what VolumeBinding says of every node
//!   a placement ─┴► Assumption per open claim: this volume, or provisioning for this node
//!                         undone with the placement; steps(): what to write before the Binding
//! ```
//!
//! Pods without claims, in-line disks or migrated in-line volumes never come here.
//!
//! Invariant: the need of a pod is what `Volumes::resolve` says, as long as nothing it reads has
//! changed; whoever changes that queues the pods concerned.

mod attached;
mod csi;
mod dump;
mod matching;
mod need;
mod objects;
mod reach;
mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ix::{NeedIx, TaskIx};
use crate::named::NamedEntries;
use crate::needs::NeedPool;
use crate::object::{AccessModes, ClaimObject, CsiCapacityObject, PvObject, StorageClassObject};
use crate::stale::StaleEntries;

pub use attached::OnNode;
pub(crate) use attached::{Attached, Held};
pub use csi::CsiObjects;
pub use matching::Conflicts;
pub use need::{ClaimNeed, ExclusiveUse, OpenClaim, VolumeNeed};
pub(crate) use reach::{ReachIx, ReachLimits, Reaches};
use users::TaskVolumes;
pub use users::VolumePlan;

/// Provisioners whose volumes never count against the limits of a node (spec/01 §1.1).
const IGNORED_PROVISIONERS: [&str; 2] = ["rancher.io/local-path", "hostpath.csi.k8s.io"];

/// Dense index of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimIx(u32);

impl ClaimIx {
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// What a cycle has decided about an open claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// It gets this PersistentVolume.
    Volume(String),
    /// It is provisioned for this node.
    Provision(String),
}

/// What has to be written before the Binding of a pod, for one claim. Then the claim must have
/// become bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeStep {
    /// Set `spec.claimRef` of the volume, and its annotation `pv.kubernetes.io/bound-by-controller`.
    BindVolume {
        /// PersistentVolume.
        volume: String,
        /// Namespace of the claim.
        namespace: String,
        /// Name of the PersistentVolumeClaim.
        claim: String,
        /// UID of the claim.
        claim_uid: String,
    },
    /// Set annotation `volume.kubernetes.io/selected-node` of the claim.
    SelectNode {
        /// Namespace of the claim.
        namespace: String,
        /// Name of the PersistentVolumeClaim.
        claim: String,
        /// UID of the claim.
        claim_uid: String,
        /// Node that the pod is to be bound to.
        node: String,
    },
}

#[derive(Clone)]
struct Pv {
    object: Arc<PvObject>,
    reach: ReachIx,
    /// The claim it is assumed for.
    assumed_for: Option<ClaimIx>,
}

#[derive(Clone, Default)]
struct Claim {
    key: (String, String),
    object: Option<ClaimObject>,
    /// Pods that mount it.
    users: Vec<TaskIx>,
    /// How many of them are on a node.
    placed: u32,
    /// How many of those are being released.
    releasing: u32,
    /// How many of those on a node the scheduler has placed: the last of them takes the assumption with it.
    holders: u32,
    assumed: Option<Assumption>,
}

#[derive(Clone)]
struct Capacity {
    object: CsiCapacityObject,
    reach: ReachIx,
}

/// Unclaimed volumes of a class: by reach, then by (capacity, name).
type FreeVolumes = BTreeMap<ReachIx, BTreeMap<(i64, String), Arc<PvObject>>>;

/// All of it.
#[derive(Clone)]
pub struct Volumes {
    pvs: FxHashMap<String, Pv>,
    free: FxHashMap<String, FreeVolumes>,
    /// Volumes with a claimRef, by namespace and name of the claim.
    set_aside: FxHashMap<(String, String), BTreeSet<String>>,
    claims: NamedEntries<Claim>,
    /// Claims that name a volume (`spec.volumeName`).
    claims_of_pv: FxHashMap<String, Vec<ClaimIx>>,
    classes: FxHashMap<String, StorageClassObject>,
    csi: CsiObjects,
    capacities: BTreeMap<(String, String), Capacity>,
    ignored: BTreeSet<String>,
    reaches: Reaches,
    tasks: FxHashMap<TaskIx, TaskVolumes>,
    needs: NeedPool<NeedIx, VolumeNeed>,
    stale: StaleEntries<ClaimIx>,
    objects_epoch: u64,
    free_epoch: u64,
}

impl Default for Volumes {
    fn default() -> Self {
        Self {
            pvs: FxHashMap::default(),
            free: FxHashMap::default(),
            set_aside: FxHashMap::default(),
            claims: NamedEntries::default(),
            claims_of_pv: FxHashMap::default(),
            classes: FxHashMap::default(),
            csi: CsiObjects::default(),
            capacities: BTreeMap::new(),
            ignored: IGNORED_PROVISIONERS.map(str::to_owned).into(),
            reaches: Reaches::default(),
            tasks: FxHashMap::default(),
            needs: NeedPool::default(),
            stale: StaleEntries::default(),
            objects_epoch: 0,
            free_epoch: 0,
        }
    }
}

impl Volumes {
    /// Further provisioners whose volumes do not count against limits (`--ignored-provisioners`).
    /// To be called before anything is applied.
    pub(crate) fn ignore_provisioners(&mut self, names: impl IntoIterator<Item = String>) {
        self.ignored.extend(names);
    }

    /// What pods need, pooled.
    #[inline]
    pub fn needs(&self) -> &NeedPool<NeedIx, VolumeNeed> {
        &self.needs
    }

    pub(crate) fn needs_mut(&mut self) -> &mut NeedPool<NeedIx, VolumeNeed> {
        &mut self.needs
    }

    /// Changes whenever the verdict on a node may change for pods of this need although neither the
    /// need nor what is on the node has changed.
    pub fn epoch(&self, ix: NeedIx) -> u64 {
        if ix == NeedIx::NONE {
            return 0;
        }
        // Both only grow, so their sum tells every change of either. Odd and even keep the two kinds
        // apart: a need may be volatile at one time and not at another.
        match self.is_volatile(ix) {
            true => 2 * (self.objects_epoch + self.free_epoch) + 1,
            false => 2 * self.objects_epoch,
        }
    }

    /// Whether every placement of a pod of this need changes the epoch: it may take a volume that
    /// others may take as well.
    pub fn is_volatile(&self, ix: NeedIx) -> bool {
        let may_get_a_free_one = |(_, open): (usize, &OpenClaim)| {
            let undecided = open.selected_node.is_none() && open.reserved.is_none();
            undecided && self.free.contains_key(&open.class)
        };
        self.needs.get(ix).open().any(may_get_a_free_one)
    }

    /// What is told of CSI drivers.
    pub fn csi(&self) -> &CsiObjects {
        &self.csi
    }

    /// A PersistentVolume.
    pub fn pv(&self, name: &str) -> Option<&PvObject> {
        self.pvs.get(name).map(|pv| &*pv.object)
    }

    /// What has to be written before a pod is bound, in the order of its claims.
    pub fn steps(&self, task: TaskIx) -> Vec<VolumeStep> {
        let Some(volumes) = self.tasks.get(&task) else {
            return Vec::new();
        };
        let claims = volumes.claims.iter().map(|(ix, _)| &self.claims[ix.at()]);
        claims.filter_map(Claim::step).collect()
    }
}

impl Claim {
    /// Handle of a volume that is still to be made for it. No CSI handle has this form in practice; the peer
    /// prefixes a random text instead.
    fn future_handle(&self) -> String {
        let (namespace, name) = &self.key;
        format!("unbound claim {namespace}/{name}")
    }

    /// Only one pod at a time may have it.
    fn is_exclusive(&self) -> bool {
        let object = self.object.as_ref();
        object.is_some_and(|claim| claim.modes.contains(AccessModes::READ_WRITE_ONCE_POD))
    }

    fn step(&self) -> Option<VolumeStep> {
        let object = self.object.as_ref().filter(|object| !object.is_bound())?;
        let (namespace, claim) = self.key.clone();
        let claim_uid = object.uid.clone();
        Some(match self.assumed.as_ref()? {
            Assumption::Volume(volume) => VolumeStep::BindVolume {
                volume: volume.clone(),
                namespace,
                claim,
                claim_uid,
            },
            Assumption::Provision(node) => VolumeStep::SelectNode {
                namespace,
                claim,
                claim_uid,
                node: node.clone(),
            },
        })
    }
}
