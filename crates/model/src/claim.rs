//! Claims of devices (dynamic resource allocation, spec/09): what there is, who has what,
//! and what a placement gives.
//!
//! ```text
//!  slices ─► DeviceBook ─► DeviceStock ─► pools a node reaches ─┐
//!  classes, claims ─► NeedReader ─► ResourceNeed of a pod ──────┴► fits() on every node; plan() on the chosen one
//!  a placement ─► ClaimPlan, devices per open claim: they are taken at once
//!                 undone with the placement; steps(): what to write before the Binding
//! ```
//!
//! What claims count for queues is kept beside them, in `ClaimCounts`.
//!
//! Pods without resource claims never come here.
//!
//! Invariant: devices that the ledger has for claims are those of their allocations, known from the API
//! server or decided here, and a claim that was decided here keeps its devices until the API server tells
//! of it or it is certain that nothing was written.

mod adrift;
mod before;
mod charge;
mod dump;
mod grant;
mod groups;
mod held;
mod holding;
mod need;
mod objects;
mod returns;
mod step;
mod stock;
mod users;

use rustc_hash::FxHashMap;

use crate::ix::{NodeIx, ResourceNeedIx, TaskIx};
use crate::named::NamedEntries;
use crate::needs::NeedPool;
use crate::node::{LoadMoment, Nodes};
use crate::object::{ClaimAllocation, ResourceClaimObject};
use crate::stale::StaleEntries;

use adrift::AdriftBinds;
pub use before::ClaimsBefore;
pub use charge::{ClaimCharge, ClaimedDevices};
pub(crate) use charge::{ClaimCounts, DeviceHold};
use grant::ClaimGrant;
pub use groups::ClaimGroup;
pub(crate) use groups::GroupKey;
use groups::{ClaimingGroups, NamedClaim};
use held::{HeldClaims, HeldCounts};
pub(crate) use holding::ClaimExit;
pub use need::{OpenResourceClaim, ResourceNeed};
pub use pumice_claims::Misfit as DeviceMisfit;
pub use returns::ClaimReturn;
use returns::Returning;
pub use step::{ClaimChange, ClaimGift, ClaimReading, ClaimStep, FoundDevices, MAX_RESERVED};
pub(crate) use stock::DeviceBook;
use stock::DeviceObstacles;
pub use stock::{ClaimMisfit, DeviceStock};
pub use users::ClaimPlan;
pub(crate) use users::ClaimPresence;
use users::TaskClaims;

/// Dense index of a ResourceClaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceClaimIx(u32);

impl ResourceClaimIx {
    fn at(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Default)]
struct ClaimEntry {
    key: (String, String),
    object: Option<ResourceClaimObject>,
    /// Pods that name it.
    users: Vec<TaskIx>,
    /// How many of those on a node the scheduler has placed: the last of them takes the grant with it.
    holders: u32,
    /// What it was given here, as long as the API server does not tell of it alone.
    grant: ClaimGrant,
    /// Whoever uses it is being released: its devices are free then.
    leaves: bool,
    /// Whether its devices are given back because they keep a pod from nodes.
    returning: Returning,
}

/// Claims, the pods that name them, and the devices they are about.
#[derive(Clone, Default)]
pub struct ResourceClaims {
    claims: NamedEntries<ClaimEntry>,
    stock: DeviceStock,
    tasks: FxHashMap<TaskIx, TaskClaims>,
    /// PodGroups that have claims of their own.
    groups: ClaimingGroups,
    held: HeldClaims,
    adrift: AdriftBinds,
    needs: NeedPool<ResourceNeedIx, ResourceNeed>,
    stale: StaleEntries<ResourceClaimIx>,
    /// Changes of objects, and of what claims have outside of placements.
    objects_epoch: u64,
    /// Placements that took or gave back what several nodes reach.
    wide_epoch: u64,
    /// Changes of what claims have.
    grants: u64,
}

impl ResourceClaims {
    /// What pods need, pooled.
    #[inline]
    pub fn needs(&self) -> &NeedPool<ResourceNeedIx, ResourceNeed> {
        &self.needs
    }

    pub(crate) fn needs_mut(&mut self) -> &mut NeedPool<ResourceNeedIx, ResourceNeed> {
        &mut self.needs
    }

    /// Changes whenever the verdict on a node may change for pods of this need although neither the need
    /// nor what is on the node has changed.
    pub fn epoch(&self, ix: ResourceNeedIx) -> u64 {
        match ix == ResourceNeedIx::NONE {
            true => 0,
            false => self.objects_epoch + self.wide_epoch,
        }
    }

    /// Moves on with everything that [`ResourceClaims::why_not_served`] may tell; 0 without claims.
    pub fn version(&self) -> u64 {
        match self.tasks.is_empty() {
            true => 0,
            false => self.objects_epoch + self.grants,
        }
    }

    /// Devices, and who has them.
    #[inline]
    pub fn stock(&self) -> &DeviceStock {
        &self.stock
    }

    /// Devices, to be changed as objects tell of them.
    pub(crate) fn devices(&mut self) -> DeviceBook<'_> {
        DeviceBook {
            stock: &mut self.stock,
            stale: &mut self.stale,
            objects_epoch: &mut self.objects_epoch,
        }
    }

    /// Pods that have claims.
    pub(crate) fn users(&self) -> Vec<TaskIx> {
        let mut all: Vec<TaskIx> = self.tasks.keys().copied().collect();
        all.sort_unstable();
        all
    }

    /// Whether what is placed on one node may matter to pods of this need on another: they claim devices,
    /// and some are reached by several nodes.
    pub fn spans_nodes(&self, ix: ResourceNeedIx) -> bool {
        !self.needs.get(ix).open.is_empty() && self.stock.has_wide()
    }

    /// What has to be written before a pod is bound, in the order of its claims.
    pub fn steps(&self, task: TaskIx) -> Vec<ClaimStep> {
        let Some(pod) = self.tasks.get(&task) else {
            return Vec::new();
        };
        let step = |named: &NamedClaim| self.claims[named.ix?.at()].step(named, &pod.uid);
        pod.claims.iter().filter_map(step).collect()
    }

    /// What stands against each device for the claims of a pod that have none, if that keeps the pod off a
    /// node.
    pub fn why_not_served(&self, task: TaskIx, nodes: &Nodes) -> Option<String> {
        let pod = self.tasks.get(&task)?;
        let need = self.resolved(task)?;
        let keeps_off = |node: NodeIx| {
            let fits = self.stock.fits(need, nodes, node, LoadMoment::Now);
            matches!(fits, Err(ClaimMisfit::Devices(_)))
        };
        if need.open.is_empty() || !nodes.indices().any(keeps_off) {
            return None;
        }
        let holder = |holder: ResourceClaimIx| {
            let entry = &self.claims[holder.at()];
            let leaves = if entry.leaves { ", whose pods go" } else { "" };
            format!("{}{leaves}", entry.full_name())
        };
        let (stock, holder) = (&self.stock, &holder);
        let obstacles = DeviceObstacles { stock, holder };
        let mut told = Vec::new();
        for open in &need.open {
            let claim = &self.claims[pod.claims[open.at].ix?.at()];
            told.push(obstacles.of_claim(&claim.full_name(), open));
        }
        Some(told.join(" "))
    }

    /// Whether every claim of a pod has its devices, so that the pod may be bound.
    pub fn are_served(&self, task: TaskIx) -> bool {
        let Some(pod) = self.tasks.get(&task) else {
            return true;
        };
        let is_served = |ix: ResourceClaimIx| self.claims[ix.at()].serves();
        pod.claims
            .iter()
            .all(|named| named.ix.is_some_and(is_served))
    }
}

impl ClaimEntry {
    fn full_name(&self) -> String {
        format!("{}/{}", self.key.0, self.key.1)
    }

    /// What it has: as the API server tells, or as was decided.
    fn allocation(&self) -> Option<&ClaimAllocation> {
        let told = self
            .object
            .as_ref()
            .and_then(|object| object.allocation.as_ref());
        told.or(self.grant.devices().map(|given| &**given))
    }

    /// The API server tells what it has.
    fn is_told(&self) -> bool {
        let object = self.object.as_ref();
        object.is_some_and(|object| object.allocation.is_some())
    }

    /// What it has was only promised.
    fn has_promise(&self) -> bool {
        matches!(self.grant, ClaimGrant::Promised(_)) && !self.is_told()
    }

    /// It has devices, and they may be used.
    fn serves(&self) -> bool {
        self.allocation().is_some() && !self.has_promise()
    }

    /// How many it is reserved for at most: some may be counted twice, pods of one group many times.
    fn most_consumers(&self) -> usize {
        let reserved = self.object.as_ref().map(|object| object.reserved_for.len());
        self.holders as usize + reserved.unwrap_or(0)
    }

    /// What a bind has to write about the claim, also for a pod that the claim is told to be reserved
    /// for: a bind that failed may have taken it out again, and that may not be told yet.
    fn step(&self, named: &NamedClaim, pod_uid: &str) -> Option<ClaimStep> {
        let object = self.object.as_ref()?;
        let (allocation, known) = match &object.allocation {
            Some(known) => (None, Some(Box::new(known.clone()))),
            None => (Some(Box::new((**self.grant.devices()?).clone())), None),
        };
        Some(ClaimStep {
            namespace: self.key.0.clone(),
            claim: self.key.1.clone(),
            claim_uid: object.uid.clone(),
            group: self
                .group_for(named, pod_uid)
                .map(|group| (**group).clone()),
            allocation,
            known,
        })
    }
}
