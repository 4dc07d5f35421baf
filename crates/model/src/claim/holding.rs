//! What pods hold of what was given to their claims, from the placement on until it is certain what the
//! Binding has written (spec/09 §6).

use crate::ix::{NodeIx, TaskIx};
use crate::object::WrittenClaim;

use super::{ClaimGrant, ClaimPlan, ResourceClaimIx, ResourceClaims};

/// What a pod has of what was decided for its claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimHold {
    /// Nothing: it has no place, or one that others chose.
    Nothing,
    /// All of it. A Binding puts it on this node, of which nothing is known yet: it may write still what it
    /// brings.
    OnItsWay(NodeIx),
    /// All of it, and it is on its node.
    Arrived,
    /// It is being replaced by what is told of it, and has it again if that is on the same node. `to` is
    /// where it was on its way to.
    Replaced { to: Option<NodeIx> },
}

/// What becomes of what was decided for a pod that leaves its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimExit {
    /// Nothing of it was written or can be: it is taken back.
    Unwritten,
    /// The pod's Binding may write it still, if one is on its way.
    Open,
}

impl ResourceClaims {
    /// Lets the claims of a pod keep what was granted while the pod leaves its node and comes back,
    /// whatever its status is then.
    pub(crate) fn retain(&mut self, task: TaskIx) -> Vec<ResourceClaimIx> {
        let Some(pod) = self.tasks.get_mut(&task) else {
            return Vec::new();
        };
        let to = match pod.hold {
            ClaimHold::OnItsWay(node) => Some(node),
            ClaimHold::Arrived => None,
            ClaimHold::Nothing | ClaimHold::Replaced { .. } => return Vec::new(),
        };
        pod.hold = ClaimHold::Replaced { to };
        let claims = self.claims_of(task);
        for ix in &claims {
            self.claims[ix.at()].holders += 1;
        }
        claims
    }

    /// Nodes have other indices now.
    pub(crate) fn renumber_nodes(&mut self, moved: &[u32]) {
        for pod in self.tasks.values_mut() {
            if let ClaimHold::OnItsWay(node) = &mut pod.hold {
                *node = NodeIx(moved[node.at()]);
            }
        }
    }

    /// The end of [`ResourceClaims::retain`]. Returns pods whose need may have changed.
    pub(crate) fn release(&mut self, task: TaskIx, claims: Vec<ResourceClaimIx>) -> Vec<TaskIx> {
        let mut adrift = None;
        if let Some(pod) = self.tasks.get_mut(&task)
            && let ClaimHold::Replaced { to } = pod.hold
        {
            pod.hold = ClaimHold::Nothing;
            adrift = to.map(|_| pod.uid.clone());
        }
        let mut others = Vec::new();
        for ix in claims {
            others.extend(self.let_go(ix, adrift.as_deref()));
            self.drop_claim_if_unused(ix);
        }
        others
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
            self.wide_epoch += u64::from(self.stock.is_wide(&granted));
            self.change_claim(ix, |entry| {
                entry.grant = ClaimGrant::new(granted, is_promise);
            });
            others.extend(&self.claims[ix.at()].users);
        }
        let Some(pod) = self.tasks.get_mut(&task) else {
            return others;
        };
        let mut is_bound = false;
        pod.hold = match (pod.hold, decides) {
            (ClaimHold::Replaced { to }, true) => {
                to.map_or(ClaimHold::Arrived, ClaimHold::OnItsWay)
            }
            (ClaimHold::Replaced { to }, false) if to.is_none_or(|to| to == node) => {
                is_bound = to.is_some();
                ClaimHold::Arrived
            }
            // Who was put elsewhere by others does not use what was chosen here.
            (elsewhere @ ClaimHold::Replaced { .. }, false) => elsewhere,
            (_, true) => ClaimHold::OnItsWay(node),
            (_, false) => ClaimHold::Nothing,
        };
        let holds = pod.holds();
        if is_bound {
            claims.iter().for_each(|ix| self.is_on_server(*ix, None));
        }
        if holds {
            for ix in &claims {
                self.claims[ix.at()].holders += 1;
                let entry = &self.claims[ix.at()];
                if entry.may_be_full(*ix, &self.tasks) {
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
        if entry.is_told() && !entry.grant.is_nothing() && !self.may_be_written(ix) {
            self.take_grant(ix);
        }
    }

    /// A pod was bound with what a claim has, which has this version then.
    fn is_on_server(&mut self, ix: ResourceClaimIx, version: Option<u64>) {
        let Some(entry) = self.claims.get_mut(ix.at()) else {
            return;
        };
        let told = entry.object.as_ref().map(|object| object.version);
        entry.grant.write(version, told, entry.is_told());
    }

    /// Binds may be under way that write the grant of a claim: of pods that were placed here and of whose
    /// Bindings nothing is known, or that have left their places meanwhile.
    pub(super) fn may_be_written(&self, ix: ResourceClaimIx) -> bool {
        let entry = &self.claims[ix.at()];
        let mut users = entry.users.iter().filter_map(|user| self.tasks.get(user));
        self.adrift.may_write(ix) || users.any(|pod| matches!(pod.hold, ClaimHold::OnItsWay(_)))
    }

    /// A pod leaves its node. Returns pods whose need may have changed.
    pub(crate) fn leave(&mut self, task: TaskIx, exit: ClaimExit) -> Vec<TaskIx> {
        let Some(pod) = self.tasks.get_mut(&task) else {
            return Vec::new();
        };
        let had = pod.hold;
        let mut adrift = None;
        match had {
            ClaimHold::OnItsWay(_) | ClaimHold::Arrived => pod.hold = ClaimHold::Nothing,
            ClaimHold::Nothing | ClaimHold::Replaced { .. } => {}
        }
        if matches!(had, ClaimHold::OnItsWay(_)) && exit == ClaimExit::Open {
            adrift = Some(pod.uid.clone());
        }
        let mut others = vec![task];
        if had != ClaimHold::Nothing {
            for ix in self.claims_of(task) {
                others.extend(self.let_go(ix, adrift.as_deref()));
            }
        }
        others
    }

    /// One holder less, whose Binding may still write what it got if it has a UID here. Nobody has the grant
    /// any more when there is neither a holder nor such a pod.
    fn let_go(&mut self, ix: ResourceClaimIx, adrift: Option<&str>) -> Vec<TaskIx> {
        let was_full = self.claims[ix.at()].may_be_full(ix, &self.tasks);
        let entry = &mut self.claims[ix.at()];
        entry.holders -= 1;
        let granted = entry.grant.devices().cloned();
        if let (Some(uid), Some(_)) = (adrift, &granted) {
            self.adrift.insert(uid, ix);
        }
        let granted = granted.filter(|_| self.is_given_up(ix));
        let users = match granted.is_some() || was_full {
            true => self.claims[ix.at()].users.clone(),
            false => Vec::new(),
        };
        if let Some(granted) = granted {
            self.wide_epoch += u64::from(self.stock.is_wide(&granted));
            self.take_grant(ix);
        }
        self.settle_grant(ix);
        users
    }

    /// A pod was bound, and these claims were written before. Returns pods whose need may have changed, and
    /// whether devices are free.
    pub(crate) fn are_written(
        &mut self,
        uid: &str,
        task: Option<TaskIx>,
        written: &[WrittenClaim],
    ) -> (Vec<TaskIx>, bool) {
        let mut touched = self.adrift.end(uid);
        if let Some(pod) = task.and_then(|task| self.tasks.get_mut(&task)) {
            if matches!(pod.hold, ClaimHold::OnItsWay(_)) {
                pod.hold = ClaimHold::Arrived;
            }
            touched.extend(pod.claims.iter().filter_map(|named| named.ix));
        }
        touched.iter().for_each(|ix| self.is_on_server(*ix, None));
        touched.extend(self.see_written(written));
        self.settle(touched)
    }

    /// These claims were written. Returns which they are.
    fn see_written(&mut self, written: &[WrittenClaim]) -> Vec<ResourceClaimIx> {
        let mut seen = Vec::new();
        for claim in written {
            let key = (claim.namespace.clone(), claim.claim.clone());
            if let Some(ix) = self.claims.find(&key).map(ResourceClaimIx) {
                self.is_on_server(ix, Some(claim.version));
                seen.push(ix);
            }
        }
        seen
    }

    /// These claims were written for a Binding that has failed, and stay as they are. Returns the same.
    pub(crate) fn are_left(&mut self, written: &[WrittenClaim]) -> (Vec<TaskIx>, bool) {
        let touched = self.see_written(written);
        self.settle(touched)
    }

    /// The Binding of a pod has failed, and nothing is written of its claims. Returns the same.
    pub(crate) fn are_not_written(&mut self, uid: &str) -> (Vec<TaskIx>, bool) {
        let touched = self.adrift.end(uid);
        self.settle(touched)
    }

    /// Looks at claims of which something may be over that was given here. Returns pods whose need may
    /// have changed, and whether devices are free.
    fn settle(&mut self, touched: Vec<ResourceClaimIx>) -> (Vec<TaskIx>, bool) {
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
}
