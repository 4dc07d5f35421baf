//! Which pods use which claims, and what a placement gives them.

use std::sync::Arc;

use crate::ix::{NodeIx, ResourceNeedIx, TaskIx};
use crate::node::{LoadMoment, Nodes};
use crate::object::{ClaimAllocation, PodObject};
use crate::resource::ResourceNames;

use super::groups::{GroupKey, NamedClaim, is_key_of, key_of};
use super::holding::ClaimHold;
use super::need::NeedReader;
use super::{ResourceClaimIx, ResourceClaims, ResourceNeed};

/// Whether a pod uses its claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClaimPresence {
    /// It has no place, or has ended.
    #[default]
    Waits,
    /// It has one.
    There,
    /// It is being released.
    Goes,
}

/// What is known of the resource claims of one pod.
#[derive(Clone)]
pub(super) struct TaskClaims {
    pub(super) uid: String,
    /// Claims of the pod, in the order of its spec.
    pub(super) claims: Vec<NamedClaim>,
    /// The group that it names.
    pub(super) group: Option<GroupKey>,
    /// What they ask for.
    pub(super) need: ResourceNeedIx,
    pub(super) hold: ClaimHold,
    pub(super) presence: ClaimPresence,
}

impl TaskClaims {
    /// The scheduler has placed it: it has what was given to its claims.
    pub(super) fn holds(&self) -> bool {
        matches!(self.hold, ClaimHold::OnItsWay(_) | ClaimHold::Arrived)
    }
}

/// What a placement gives to claims that have nothing yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimPlan {
    pub(super) gifts: Vec<(ResourceClaimIx, Arc<ClaimAllocation>)>,
    /// The pod waits until others are gone.
    pub(super) is_promise: bool,
}

impl ResourceClaims {
    /// Whether a pod is known with exactly these claims.
    pub(crate) fn knows(&self, task: TaskIx, pod: &PodObject) -> bool {
        let Some(known) = self.tasks.get(&task) else {
            return pod.resource_claims.is_empty();
        };
        let named = known.claims.iter().map(|named| &named.entry);
        named.eq(&pod.resource_claims) && is_key_of(known.group.as_ref(), pod)
    }

    /// Takes in the claims of a pod that is on no node yet; its need, in use.
    pub(crate) fn register(
        &mut self,
        task: TaskIx,
        pod: &PodObject,
        names: &mut ResourceNames,
    ) -> ResourceNeedIx {
        if pod.resource_claims.is_empty() {
            return ResourceNeedIx::NONE;
        }
        let group = key_of(pod);
        let mut claims = Vec::with_capacity(pod.resource_claims.len());
        for claim in &pod.resource_claims {
            let name = claim.claim.as_ref();
            let ix = name.map(|name| self.claim_entry(&pod.namespace, name));
            if let Some(ix) = ix {
                self.claims[ix.at()].users.push(task);
            }
            claims.push(NamedClaim {
                ix,
                entry: claim.clone(),
                group: self.groups.that_has(group.as_ref(), claim),
            });
        }
        if let Some(group) = &group {
            self.groups.join(group, task);
        }
        let claims = TaskClaims {
            uid: pod.uid.clone(),
            claims,
            group,
            need: ResourceNeedIx::NONE,
            hold: ClaimHold::Nothing,
            presence: ClaimPresence::Waits,
        };
        self.tasks.insert(task, claims);
        self.need_of(task, names)
    }

    /// Forgets the claims of a pod that is on no node, and gives its need back.
    pub(crate) fn unregister(&mut self, task: TaskIx, need: ResourceNeedIx) {
        let Some(pod) = self.tasks.remove(&task) else {
            return;
        };
        self.needs.give_back(need);
        if let Some(group) = &pod.group {
            self.groups.leave(group, task);
        }
        for ix in pod.claims.iter().filter_map(|named| named.ix) {
            self.claims[ix.at()].users.retain(|user| *user != task);
            self.weigh_leaving(ix, None);
            self.drop_claim_if_unused(ix);
        }
    }

    /// The need of a pod as things are now, with one use counted.
    pub(crate) fn need_of(&mut self, task: TaskIx, names: &mut ResourceNames) -> ResourceNeedIx {
        let Some(pod) = self.tasks.get(&task) else {
            return ResourceNeedIx::NONE;
        };
        let mut reader = NeedReader {
            pod,
            tasks: &self.tasks,
            claims: &self.claims,
            stock: &mut self.stock,
        };
        let need = self.needs.acquire(reader.resolve(names));
        if let Some(pod) = self.tasks.get_mut(&task) {
            pod.need = need;
        }
        need
    }

    /// What a pod asks, as it was resolved last.
    pub(crate) fn resolved(&self, task: TaskIx) -> Option<&Arc<ResourceNeed>> {
        Some(self.needs.get(self.tasks.get(&task)?.need))
    }

    pub(super) fn claims_of(&self, task: TaskIx) -> Vec<ResourceClaimIx> {
        let pod = self.tasks.get(&task);
        let claims = pod.into_iter().flat_map(|pod| &pod.claims);
        claims.filter_map(|named| named.ix).collect()
    }

    /// Whether a pod, on a node, uses its claims, from now on.
    pub(crate) fn set_presence(
        &mut self,
        task: TaskIx,
        presence: ClaimPresence,
        node: Option<&str>,
    ) {
        let Some(pod) = self.tasks.get_mut(&task) else {
            return;
        };
        if std::mem::replace(&mut pod.presence, presence) != presence {
            for ix in self.claims_of(task) {
                self.weigh_leaving(ix, node);
            }
        }
    }

    /// Whether [`ResourceClaims::take_stale`] would name anybody.
    pub(crate) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Pods whose need may have changed with the objects, in order.
    pub(crate) fn take_stale(&mut self) -> Vec<TaskIx> {
        let users = |ix: ResourceClaimIx| {
            let entry = self.claims.get(ix.at());
            entry.map_or(&[][..], |entry| &entry.users[..])
        };
        self.stale.take_users(self.tasks.keys().copied(), users)
    }

    /// The plan of a pod for a node, if its claims can be served there, at a moment.
    pub(crate) fn plan(
        &self,
        task: TaskIx,
        need: ResourceNeedIx,
        nodes: &Nodes,
        node: NodeIx,
        moment: LoadMoment,
    ) -> ClaimPlan {
        let Some(pod) = self.tasks.get(&task) else {
            return ClaimPlan::default();
        };
        let need = self.needs.get(need);
        let Ok(given) = self.stock.search(need, nodes, node, moment) else {
            // Nothing is promised; who has no devices is not bound.
            return ClaimPlan::default();
        };
        let mut gifts = Vec::new();
        for (open, given) in need.open.iter().zip(given) {
            if let Some(ix) = pod.claims[open.at].ix {
                let uid = self.claims[ix.at()]
                    .object
                    .as_ref()
                    .map(|claim| claim.uid.as_str());
                let made =
                    self.stock
                        .allocation(open, &given, uid.unwrap_or_default(), nodes, node);
                gifts.push((ix, Arc::new(made)));
            }
        }
        ClaimPlan {
            gifts,
            is_promise: moment == LoadMoment::Released,
        }
    }
}
