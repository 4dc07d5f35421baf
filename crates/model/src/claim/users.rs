//! Which pods use which claims, and what a placement gives them.

use std::rc::Rc;

use crate::ix::{NodeIx, ResourceNeedIx, TaskIx};
use crate::node::{LoadMoment, Nodes};
use crate::object::{ClaimAllocation, PodObject, PodResourceClaim, WrittenClaim};
use crate::resource::ResourceNames;

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
pub(super) struct TaskClaims {
    pub(super) uid: String,
    /// Its claims, as far as they have names, in the order of its spec.
    pub(super) claims: Vec<(Option<ResourceClaimIx>, PodResourceClaim)>,
    /// What they ask for.
    pub(super) need: ResourceNeedIx,
    /// The scheduler has placed it: it holds what was granted to its claims.
    pub(super) holds: bool,
    /// Where its Binding puts it, of which nothing is known yet: what it brings may be written still.
    pub(super) on_its_way_to: Option<NodeIx>,
    /// It is being replaced, and holds on.
    keeps: bool,
    /// What was decided is taken back, and nothing of it was written or can be.
    returns: bool,
    pub(super) presence: ClaimPresence,
}

/// What a placement gives to claims that have nothing yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimPlan {
    pub(super) gifts: Vec<(ResourceClaimIx, Rc<ClaimAllocation>)>,
    /// The pod waits until others are gone.
    is_promise: bool,
}

impl ResourceClaims {
    /// Whether a pod is known with exactly these claims.
    pub(crate) fn knows(&self, task: TaskIx, pod: &PodObject) -> bool {
        let Some(known) = self.tasks.get(&task) else {
            return pod.resource_claims.is_empty();
        };
        known
            .claims
            .iter()
            .map(|(_, claim)| claim)
            .eq(&pod.resource_claims)
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
        let mut claims = Vec::with_capacity(pod.resource_claims.len());
        for claim in &pod.resource_claims {
            let name = claim.claim.as_ref();
            let ix = name.map(|name| self.claim_entry(&pod.namespace, name));
            if let Some(ix) = ix {
                self.claims[ix.at()].users.push(task);
            }
            claims.push((ix, claim.clone()));
        }
        let claims = TaskClaims {
            uid: pod.uid.clone(),
            claims,
            need: ResourceNeedIx::NONE,
            holds: false,
            on_its_way_to: None,
            keeps: false,
            returns: false,
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
        self.give_back(need);
        for ix in pod.claims.iter().filter_map(|(ix, _)| *ix) {
            self.claims[ix.at()].users.retain(|user| *user != task);
            self.weigh_leaving(ix, None);
            self.drop_claim_if_unused(ix);
        }
    }

    /// Gives one use of a need back.
    pub(crate) fn give_back(&mut self, need: ResourceNeedIx) {
        if need != ResourceNeedIx::NONE {
            self.needs.release(need.0);
        }
    }

    /// The need of a pod as things are now, with one use counted.
    pub(crate) fn need_of(&mut self, task: TaskIx, names: &mut ResourceNames) -> ResourceNeedIx {
        if !self.tasks.contains_key(&task) {
            return ResourceNeedIx::NONE;
        }
        let need = self.resolve(task, names);
        let need = ResourceNeedIx(self.needs.acquire(need).0);
        if let Some(pod) = self.tasks.get_mut(&task) {
            pod.need = need;
        }
        need
    }

    /// What a pod asks, as it was resolved last.
    pub(super) fn resolved(&self, task: TaskIx) -> Option<&ResourceNeed> {
        Some(self.needs.get(self.tasks.get(&task)?.need.0))
    }

    fn claims_of(&self, task: TaskIx) -> Vec<ResourceClaimIx> {
        let pod = self.tasks.get(&task);
        let claims = pod.into_iter().flat_map(|pod| &pod.claims);
        claims.filter_map(|(ix, _)| *ix).collect()
    }

    /// Lets the claims of a pod keep what was granted while the pod leaves its node and comes back,
    /// whatever its status is then.
    pub(crate) fn retain(&mut self, task: TaskIx) -> Vec<ResourceClaimIx> {
        let Some(pod) = self.tasks.get_mut(&task).filter(|pod| pod.holds) else {
            return Vec::new();
        };
        pod.keeps = true;
        let claims = self.claims_of(task);
        for ix in &claims {
            self.claims[ix.at()].holders += 1;
        }
        claims
    }

    /// The end of [`ResourceClaims::retain`]. Returns pods whose need may have changed.
    pub(crate) fn release(&mut self, task: TaskIx, claims: Vec<ResourceClaimIx>) -> Vec<TaskIx> {
        let mut adrift = None;
        if let Some(pod) = self.tasks.get_mut(&task) {
            pod.keeps = false;
            let has_left = !pod.holds && pod.on_its_way_to.take().is_some();
            adrift = has_left.then(|| pod.uid.clone());
        }
        let mut others = Vec::new();
        for ix in claims {
            others.extend(self.let_go(ix, adrift.as_ref()));
            self.drop_claim_if_unused(ix);
        }
        others
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

    /// What was decided for a pod is taken back before anything of it was written, or after that was
    /// undone: its claims lose it with the pod's place.
    pub(crate) fn returns(&mut self, task: TaskIx) {
        if let Some(pod) = self.tasks.get_mut(&task) {
            pod.returns = true;
        }
    }

    /// A pod enters a node. With a plan the scheduler has chosen it: its claims get their devices.
    /// Returns pods whose need may have changed.
    pub(crate) fn enter(
        &mut self,
        task: TaskIx,
        node: NodeIx,
        plan: Option<ClaimPlan>,
    ) -> Vec<TaskIx> {
        let claims = self.claims_of(task);
        let decides = plan.is_some();
        let mut others = Vec::new();
        let ClaimPlan { gifts, is_promise } = plan.unwrap_or_default();
        for (ix, granted) in gifts {
            if self.claims[ix.at()].allocation().is_some() {
                continue;
            }
            self.note_wide(&granted);
            self.change_claim(ix, |entry| {
                (entry.granted, entry.is_promised) = (Some(granted), is_promise);
            });
            others.extend(&self.claims[ix.at()].users);
        }
        let Some(pod) = self.tasks.get_mut(&task) else {
            return others;
        };
        pod.returns = false;
        let mut is_bound = false;
        if !pod.keeps {
            pod.on_its_way_to = decides.then_some(node);
        } else if !decides {
            is_bound = pod.on_its_way_to == Some(node);
            pod.on_its_way_to = pod.on_its_way_to.filter(|to| *to != node);
        }
        // Who was put elsewhere by others does not use what was chosen here.
        pod.holds = decides || (pod.keeps && pod.on_its_way_to.is_none());
        if is_bound {
            claims.iter().for_each(|ix| self.is_on_server(*ix, None));
        }
        let holds = self.tasks.get(&task).is_some_and(|pod| pod.holds);
        if holds {
            for ix in &claims {
                let entry = &mut self.claims[ix.at()];
                entry.holders += 1;
                if entry.may_be_full() {
                    others.extend(&entry.users);
                }
            }
        }
        if !decides {
            claims.iter().for_each(|ix| self.settle_grant(*ix));
        }
        others.push(task);
        others
    }

    /// A grant that the API server tells of is kept only while binds may write it again.
    fn settle_grant(&mut self, ix: ResourceClaimIx) {
        let entry = &self.claims[ix.at()];
        let object = entry.object.as_ref();
        let is_told = object.is_some_and(|object| object.allocation.is_some());
        if is_told && entry.granted.is_some() && !self.may_be_written(ix) {
            self.change_claim(ix, |entry| entry.granted = None);
        }
    }

    /// A pod was bound with what a claim has, which has this version then.
    fn is_on_server(&mut self, ix: ResourceClaimIx, version: Option<u64>) {
        let Some(entry) = self.claims.get_mut(ix.at()) else {
            return;
        };
        entry.is_written = entry.granted.is_some() && !entry.is_told();
        entry.written_at = entry.written_at.max(version);
        let told = entry.object.as_ref().map(|object| object.version);
        told.into_iter().for_each(|version| entry.see(version));
    }

    /// Binds may be under way that write the grant of a claim: of pods that were placed here and of whose
    /// Bindings nothing is known, or that have left their places meanwhile.
    pub(super) fn may_be_written(&self, ix: ResourceClaimIx) -> bool {
        let entry = &self.claims[ix.at()];
        let mut users = entry.users.iter().filter_map(|user| self.tasks.get(user));
        !entry.adrift.is_empty() || users.any(|pod| pod.holds && pod.on_its_way_to.is_some())
    }

    /// A pod leaves its node; `undecided` if nobody was told that it was there. Returns pods whose need may
    /// have changed.
    pub(crate) fn leave(&mut self, task: TaskIx, undecided: bool) -> Vec<TaskIx> {
        let Some(pod) = self.tasks.get_mut(&task) else {
            return Vec::new();
        };
        let holds = std::mem::take(&mut pod.holds);
        let returns = std::mem::take(&mut pod.returns) || undecided;
        let mut adrift = None;
        if !pod.keeps {
            let way = pod.on_its_way_to.take().filter(|_| !returns);
            adrift = way.map(|_| pod.uid.clone());
        }
        let mut others = vec![task];
        if holds {
            for ix in self.claims_of(task) {
                others.extend(self.let_go(ix, adrift.as_ref()));
            }
        }
        others
    }

    /// One holder less, whose Binding may still write what it got if it has a UID here. Nobody has the grant
    /// any more when there is neither a holder nor such a pod.
    fn let_go(&mut self, ix: ResourceClaimIx, adrift: Option<&String>) -> Vec<TaskIx> {
        let entry = &mut self.claims[ix.at()];
        let was_full = entry.may_be_full();
        entry.holders -= 1;
        if let Some(uid) = adrift.filter(|_| entry.granted.is_some()) {
            entry.adrift.push(uid.clone());
            self.adrift.entry(uid.clone()).or_default().push(ix);
        }
        let is_over = entry.is_given_up();
        let granted = entry.granted.clone().filter(|_| is_over);
        let is_over = granted.is_some();
        let users = match is_over || was_full {
            true => entry.users.clone(),
            false => Vec::new(),
        };
        if let Some(granted) = granted {
            self.note_wide(&granted);
            self.change_claim(ix, |entry| entry.granted = None);
        }
        self.settle_grant(ix);
        users
    }

    /// The Binding of a pod has come to its end: its claims are written, or nothing of them is. Returns pods
    /// whose need may have changed, and whether devices are free.
    pub(crate) fn land(
        &mut self,
        uid: &str,
        task: Option<TaskIx>,
        written: Option<&[WrittenClaim]>,
    ) -> (Vec<TaskIx>, bool) {
        let mut touched = self.adrift.remove(uid).unwrap_or_default();
        for ix in &touched {
            // It may be another claim by now.
            if self.claims.get(ix.at()).is_some() {
                self.claims[ix.at()].adrift.retain(|pod| pod != uid);
            }
        }
        if written.is_some() {
            let pod = task.and_then(|task| self.tasks.get_mut(&task));
            let claims = pod.into_iter().flat_map(|pod| {
                pod.on_its_way_to = None;
                pod.claims.iter().filter_map(|(ix, _)| *ix)
            });
            touched.extend(claims);
            touched.iter().for_each(|ix| self.is_on_server(*ix, None));
        }
        for claim in written.unwrap_or_default() {
            let key = (claim.namespace.clone(), claim.claim.clone());
            if let Some(ix) = self.claims.find(&key).map(ResourceClaimIx) {
                self.is_on_server(ix, Some(claim.version));
                touched.push(ix);
            }
        }
        let (mut others, mut frees) = (Vec::new(), false);
        for ix in touched {
            let Some(entry) = self.claims.get(ix.at()) else {
                continue;
            };
            let users = entry.users.clone();
            if self.give_up_if_over(ix) {
                others.extend(users);
                frees = true;
                self.objects_epoch += 1;
                self.drop_claim_if_unused(ix);
            } else {
                self.settle_grant(ix);
            }
        }
        (others, frees)
    }

    /// What several nodes reach is taken or given back: they are all to be looked at again.
    fn note_wide(&mut self, allocation: &ClaimAllocation) {
        let mut devices = allocation.devices.devices.iter();
        let is_wide = devices.any(|given| {
            let number = self.inventory.number(&given.key);
            self.inventory.local_to(number).is_none()
        });
        self.wide_epoch += u64::from(is_wide);
    }

    /// What other nodes than one reach will be free or not: they are all to be looked at again.
    pub(super) fn note_elsewhere(&mut self, allocation: &ClaimAllocation, node: Option<&str>) {
        let mut devices = allocation.devices.devices.iter();
        let is_elsewhere = devices.any(|given| {
            let number = self.inventory.number(&given.key);
            node.is_none() || self.inventory.local_to(number) != node
        });
        self.wide_epoch += u64::from(is_elsewhere);
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

    /// Brings what depends on slices and node objects up to date.
    pub(crate) fn seal(&mut self, nodes: &Nodes) {
        if self.filters.are_too_many() {
            self.filters = super::filters::DeviceFilters::default();
            self.stale.all = true;
            self.objects_epoch += 1;
        }
        if self.inventory.is_stale() {
            for device in self.inventory.refresh(&mut self.reaches) {
                self.filters.forget_device(device);
            }
        }
        self.reaches.refresh(nodes);
    }

    /// Asks selectors that are new, and those of new devices. After needs are resolved.
    pub(crate) fn ask_selectors(&mut self) {
        self.filters.refresh(&self.inventory);
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
        let need = self.needs.get(need.0);
        let Ok(given) = self.search(need, nodes, node, moment) else {
            // Nothing is promised; who has no devices is not bound.
            return ClaimPlan::default();
        };
        let mut gifts = Vec::new();
        for (open, given) in need.open.iter().zip(given) {
            if let Some(ix) = pod.claims[open.at].0 {
                let uid = self.claims[ix.at()]
                    .object
                    .as_ref()
                    .map(|claim| claim.uid.as_str());
                let made = self.allocation(open, &given, uid.unwrap_or_default(), nodes, node);
                gifts.push((ix, Rc::new(made)));
            }
        }
        ClaimPlan {
            gifts,
            is_promise: moment == LoadMoment::Released,
        }
    }
}
