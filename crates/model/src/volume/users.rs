//! Which pods use which claims, and what a placement makes of open ones.

use std::sync::Arc;

use crate::ix::{NeedIx, NodeIx, TaskIx};
use crate::node::Nodes;
use crate::object::PodObject;
use crate::object::{Disk, PodClaim, VolumeSource};

use super::matching::{Fate, Matcher};
use super::need::Asker;
use super::{Assumption, ClaimIx, OnNode, OpenClaim, ReachLimits, Reaches, VolumeNeed, Volumes};

/// Reaches kept beyond twice what is in use before they are computed anew.
const SPARE_REACHES: usize = 1024;

/// What is known of the volumes of one pod.
#[derive(Clone)]
pub(super) struct TaskVolumes {
    uid: String,
    key: String,
    pub(super) claims: Vec<(ClaimIx, PodClaim)>,
    disks: Vec<Disk>,
    inline: Vec<VolumeSource>,
    placed: bool,
    /// The scheduler has placed it: it holds what is assumed about its claims.
    holds: bool,
    /// It is on a node and being released there.
    releasing: bool,
    /// It is being replaced, and holds on.
    keeps: bool,
    on_node: Arc<OnNode>,
}

impl TaskVolumes {
    /// In-line disks, and in-line volumes that a CSI driver has taken over.
    pub(super) fn in_line(&self) -> (Vec<Disk>, Vec<VolumeSource>) {
        (self.disks.clone(), self.inline.clone())
    }
}

/// Whether the scheduler has to look at the volumes of a pod.
pub(crate) fn has_volumes(pod: &PodObject) -> bool {
    !(pod.claims.is_empty() && pod.disks.is_empty() && pod.inline_volumes.is_empty())
}

/// What a placement decides about open claims: by number of the claim among those of the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumePlan(Vec<(usize, Assumption)>);

impl Volumes {
    /// Whether a pod is known with exactly these volumes.
    pub(crate) fn knows(&self, task: TaskIx, pod: &PodObject) -> bool {
        let Some(known) = self.tasks.get(&task) else {
            return !has_volumes(pod);
        };
        let claims = known.claims.iter().map(|(_, claim)| claim);
        claims.eq(&pod.claims) && known.disks == pod.disks && known.inline == pod.inline_volumes
    }

    /// Takes in the volumes of a pod that is on no node yet; its need, in use.
    pub(crate) fn register(&mut self, task: TaskIx, pod: &PodObject) -> NeedIx {
        if !has_volumes(pod) {
            return NeedIx::NONE;
        }
        let mut claims = Vec::with_capacity(pod.claims.len());
        for claim in &pod.claims {
            let ix = self.claim_entry(&pod.namespace, &claim.name);
            self.claims[ix.at()].users.push(task);
            claims.push((ix, claim.clone()));
        }
        let volumes = TaskVolumes {
            uid: pod.uid.clone(),
            key: format!("{}/{}", pod.namespace, pod.name),
            claims,
            disks: pod.disks.clone(),
            inline: pod.inline_volumes.clone(),
            placed: false,
            holds: false,
            releasing: false,
            keeps: false,
            on_node: Arc::default(),
        };
        self.tasks.insert(task, volumes);
        self.need_of(task)
    }

    /// Names of claims a pod mounts that do not exist, and that nobody is to make for it.
    pub fn missing_claims(&self, task: TaskIx) -> impl Iterator<Item = &str> {
        let claims = self.tasks.get(&task).into_iter();
        let claims = claims.flat_map(|volumes| &volumes.claims);
        let is_missing = |(ix, claim): &&(ClaimIx, PodClaim)| {
            !claim.ephemeral && self.claims[ix.at()].object.is_none()
        };
        claims
            .filter(is_missing)
            .map(|(_, claim)| claim.name.as_str())
    }

    /// Names of the claims that exist in a namespace.
    pub fn claims_in(&self, namespace: &str) -> impl Iterator<Item = &str> {
        let objects = self.claims.iter().filter_map(|claim| claim.object.as_ref());
        let own = objects.filter(move |object| object.namespace == namespace);
        own.map(|object| object.name.as_str())
    }

    /// Forgets the volumes of a pod that is on no node, and gives its need back.
    pub(crate) fn unregister(&mut self, task: TaskIx, need: NeedIx) {
        let Some(volumes) = self.tasks.remove(&task) else {
            return;
        };
        self.needs.give_back(need);
        for (ix, _) in volumes.claims {
            self.claims[ix.at()].users.retain(|user| *user != task);
            self.drop_claim_if_unused(ix);
        }
    }

    /// The need of a pod as things are now, with one use counted.
    pub(crate) fn need_of(&mut self, task: TaskIx) -> NeedIx {
        let Some(volumes) = self.tasks.get(&task) else {
            return NeedIx::NONE;
        };
        let asker = Asker {
            uid: &volumes.uid,
            key: &volumes.key,
            placed: volumes.placed,
            releasing: volumes.releasing,
        };
        let need = VolumeNeed {
            disks: volumes.disks.clone(),
            inline: volumes.inline.clone(),
            ..self.resolve(&asker, &volumes.claims)
        };
        self.needs.acquire(need)
    }

    /// Lets the claims of a pod keep what is assumed about them while the pod leaves its node and
    /// comes back, whatever its status is then.
    pub(crate) fn retain_claims(&mut self, task: TaskIx) -> Vec<ClaimIx> {
        let holds = self.tasks.get(&task).is_some_and(|volumes| volumes.holds);
        if !holds {
            return Vec::new();
        }
        let claims = self.claims_of(task);
        for ix in &claims {
            self.claims[ix.at()].holders += 1;
        }
        if let Some(volumes) = self.tasks.get_mut(&task) {
            volumes.keeps = true;
        }
        claims
    }

    /// The end of [`Volumes::retain_claims`]. Returns pods whose need may have changed.
    pub(crate) fn release_claims(&mut self, task: TaskIx, claims: Vec<ClaimIx>) -> Vec<TaskIx> {
        if let Some(volumes) = self.tasks.get_mut(&task) {
            volumes.keeps = false;
        }
        let mut others = Vec::new();
        for ix in claims {
            others.extend(self.let_go(ix));
            self.drop_claim_if_unused(ix);
        }
        others
    }

    fn claims_of(&self, task: TaskIx) -> Vec<ClaimIx> {
        let volumes = self.tasks.get(&task);
        let claims = volumes.map(|volumes| volumes.claims.iter().map(|(ix, _)| *ix).collect());
        claims.unwrap_or_default()
    }

    /// What a pod has on its node.
    pub(crate) fn burden(&self, task: TaskIx) -> Arc<OnNode> {
        let volumes = self.tasks.get(&task);
        volumes.map_or_else(super::attached::nothing, |volumes| volumes.on_node.clone())
    }

    /// A pod enters a node. With a plan the scheduler has chosen it: the claims of the plan get their
    /// volumes. Returns pods whose need may have changed.
    pub(crate) fn enter(
        &mut self,
        task: TaskIx,
        need: NeedIx,
        plan: Option<VolumePlan>,
    ) -> Vec<TaskIx> {
        let claims = self.claims_of(task);
        let keeps = self.tasks.get(&task).is_some_and(|volumes| volumes.keeps);
        let need = self.needs.get(need).clone();
        let decides = plan.is_some();
        let decided = self.assume(&claims, plan.unwrap_or_default());
        let mut others = Vec::new();
        for ix in &claims {
            let claim = &mut self.claims[ix.at()];
            claim.placed += 1;
            claim.holders += u32::from(decides || keeps);
            if claim.placed == 1 || decided.contains(ix) || claim.is_exclusive() {
                others.extend(claim.users.iter().filter(|user| **user != task));
            }
        }
        let disks = need.disks.clone();
        let on_node = Arc::new(self.on_node(&need, &claims, disks));
        if let Some(volumes) = self.tasks.get_mut(&task) {
            volumes.placed = true;
            volumes.holds = decides || keeps;
            volumes.on_node = on_node;
        }
        others
    }

    /// Chooses for the open claims of a pod that nobody has decided about, if it goes to a node: a
    /// volume there, or that one is provisioned for it.
    pub(crate) fn plan(
        &self,
        task: TaskIx,
        need: NeedIx,
        nodes: &Nodes,
        node: NodeIx,
    ) -> VolumePlan {
        let claims = self.claims_of(task);
        let need = self.needs.get(need);
        let undecided =
            |(at, _): (usize, &OpenClaim)| self.claims[claims[at].at()].assumed.is_none();
        if need.claims.len() != claims.len() || !need.open().any(undecided) {
            return VolumePlan::default();
        }
        let matcher = Matcher::new(self, need);
        // Without a plan (the filter is off) nothing is promised.
        let Ok(plan) = matcher.plan(nodes, node) else {
            return VolumePlan::default();
        };
        let assumption = |fate| match fate {
            Fate::Bind(volume) => Assumption::Volume(volume.to_owned()),
            Fate::Provision => Assumption::Provision(nodes.object(node).name.clone()),
        };
        let plan = plan.into_iter().map(|(at, fate)| (at, assumption(fate)));
        VolumePlan(plan.collect())
    }

    /// Books a plan; the claims it decided about.
    fn assume(&mut self, claims: &[ClaimIx], plan: VolumePlan) -> Vec<ClaimIx> {
        let mut decided = Vec::new();
        for (at, assumption) in plan.0 {
            let ix = claims[at];
            if self.claims[ix.at()].assumed.is_some() {
                continue;
            }
            if let Assumption::Volume(volume) = &assumption {
                self.unlist_free(volume);
                self.free_epoch += 1;
                if let Some(pv) = self.pvs.get_mut(volume) {
                    pv.assumed_for = Some(ix);
                }
            }
            self.claims[ix.at()].assumed = Some(assumption);
            decided.push(ix);
        }
        decided
    }

    /// The room of a pod on a node is being released, or is not any more. Returns pods whose need may have
    /// changed.
    pub(crate) fn set_releasing(&mut self, task: TaskIx, releasing: bool) -> Vec<TaskIx> {
        let volumes = self.tasks.get_mut(&task);
        let Some(volumes) = volumes.filter(|volumes| volumes.releasing != releasing) else {
            return Vec::new();
        };
        volumes.releasing = releasing;
        let mut others = Vec::new();
        for ix in self.claims_of(task) {
            let claim = &mut self.claims[ix.at()];
            match releasing {
                true => claim.releasing += 1,
                false => claim.releasing -= 1,
            }
            if claim.is_exclusive() {
                others.extend(claim.users.iter().filter(|user| **user != task));
            }
        }
        others
    }

    /// A pod leaves its node. Returns pods whose need may have changed.
    pub(crate) fn leave(&mut self, task: TaskIx) -> Vec<TaskIx> {
        let mut others = self.set_releasing(task, false);
        let holds = self.tasks.get(&task).is_some_and(|volumes| volumes.holds);
        for ix in self.claims_of(task) {
            let claim = &mut self.claims[ix.at()];
            claim.placed -= 1;
            if claim.placed == 0 || claim.is_exclusive() {
                others.extend(&claim.users);
            }
            if holds {
                others.extend(self.let_go(ix));
            }
        }
        if let Some(volumes) = self.tasks.get_mut(&task) {
            volumes.placed = false;
            volumes.holds = false;
            volumes.on_node = Arc::default();
        }
        others.retain(|other| *other != task);
        others.push(task);
        others
    }

    /// One holder less; the last one takes the assumption with it. Returns whom that concerns.
    fn let_go(&mut self, ix: ClaimIx) -> Vec<TaskIx> {
        let claim = &mut self.claims[ix.at()];
        claim.holders -= 1;
        match claim.holders {
            0 => self.forget_assumption(ix),
            _ => Vec::new(),
        }
    }

    /// Nothing is assumed about a claim any more. Returns whom that concerns.
    pub(super) fn forget_assumption(&mut self, ix: ClaimIx) -> Vec<TaskIx> {
        let claim = &mut self.claims[ix.at()];
        let users = match claim.assumed {
            Some(_) => claim.users.clone(),
            None => return Vec::new(),
        };
        if let Some(Assumption::Volume(volume)) = claim.assumed.take() {
            self.free_epoch += 1;
            if let Some(pv) = self.pvs.get_mut(&volume) {
                pv.assumed_for = None;
            }
            self.list_if_free(&volume);
        }
        users
    }

    /// Whether [`Volumes::take_stale`] would name anybody.
    pub(crate) fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Pods whose need or burden may have changed with the objects, in order.
    pub(crate) fn take_stale(&mut self) -> Vec<TaskIx> {
        let users = |ix: ClaimIx| {
            let entry = self.claims.get(ix.at());
            entry.map_or(&[][..], |entry| &entry.users[..])
        };
        self.stale.take_users(self.tasks.keys().copied(), users)
    }

    /// Brings what depends on node objects up to date.
    pub(crate) fn seal(&mut self, nodes: &Nodes) {
        if self.reaches.len() > 2 * (self.pvs.len() + self.capacities.len()) + SPARE_REACHES {
            self.forget_unused_reaches();
        }
        self.reaches.refresh(nodes);
    }

    fn forget_unused_reaches(&mut self) {
        self.reaches = Reaches::default();
        self.free.clear();
        self.objects_epoch += 1;
        let names: Vec<String> = self.pvs.keys().cloned().collect();
        for name in names {
            if let Some(pv) = self.pvs.get_mut(&name) {
                let limits = ReachLimits::Terms(pv.object.node_affinity.clone());
                pv.reach = self.reaches.intern(limits);
            }
            self.list_if_free(&name);
        }
        for capacity in self.capacities.values_mut() {
            let limits = ReachLimits::Topology(capacity.object.topology.clone());
            capacity.reach = self.reaches.intern(limits);
        }
    }
}
