//! What happened to claims before, and that neither their objects nor the places of their pods say: what was given here and
//! is not told yet, who may still write it, and what is being given back.

use serde::{Deserialize, Serialize};

use crate::ix::{NodeIx, TaskIx};
use crate::node::Nodes;

use super::holding::ClaimHold;
use super::{ClaimGrant, ResourceClaimIx, ResourceClaims, Returning};

/// See the module. Pods are named by UID, claims by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimsBefore {
    claims: Vec<ClaimBefore>,
    /// Pods that have what was given to their claims; with the node that a Binding puts them on, of which nothing is known
    /// yet.
    holders: Vec<(String, Option<String>)>,
    /// Pods that are gone from their places and whose Bindings may write these claims.
    adrift: Vec<(String, Vec<(String, String)>)>,
    /// Selectors are still to be asked about devices.
    is_asking: bool,
}

/// What is known of a claim besides its object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ClaimBefore {
    key: (String, String),
    /// The API server tells of its devices.
    is_told: bool,
    grant: ClaimGrant,
    returning: Returning,
}

impl ClaimsBefore {
    /// What is not told with the others: how far selectors were asked that are still to be.
    pub fn is_in_part(&self) -> bool {
        self.is_asking
    }
}

impl ResourceClaims {
    /// What another state has to be told besides [`ResourceClaims::dump`]; places that are not decided are none.
    pub(crate) fn before(
        &self,
        nodes: &Nodes,
        is_decided: impl Fn(TaskIx) -> bool,
    ) -> ClaimsBefore {
        let mut before = ClaimsBefore {
            adrift: self.adrift.all(|ix| self.claims[ix.at()].key.clone()),
            is_asking: self.stock.are_answers_awaited(),
            ..ClaimsBefore::default()
        };
        for task in self.users().into_iter().filter(|task| is_decided(*task)) {
            let pod = &self.tasks[&task];
            let node = match pod.hold {
                ClaimHold::OnItsWay(node) => Some(nodes.object(node).name.clone()),
                ClaimHold::Arrived => None,
                ClaimHold::Nothing | ClaimHold::Replaced { .. } => continue,
            };
            before.holders.push((pod.uid.clone(), node));
        }
        before.holders.sort_unstable();
        for entry in self.claims.iter() {
            let Some(ix) = self.claims.find(&entry.key).map(ResourceClaimIx) else {
                continue;
            };
            let holds = |user: &TaskIx| is_decided(*user) && self.tasks[user].holds();
            let stays = entry.users.iter().any(holds) || self.stays_alone(ix);
            let one = ClaimBefore {
                key: entry.key.clone(),
                is_told: entry.is_told(),
                grant: match stays {
                    true => entry.grant.clone(),
                    false => ClaimGrant::Nothing,
                },
                returning: entry.returning,
            };
            if !one.grant.is_nothing() || one.returning != Returning::No {
                before.claims.push(one);
            }
        }
        before.claims.sort_by(|one, other| one.key.cmp(&other.key));
        before
    }

    /// Goes on where another one was that had the same objects and pods.
    pub(crate) fn go_on(
        &mut self,
        before: ClaimsBefore,
        nodes: &Nodes,
        find_pod: impl Fn(&str) -> Option<TaskIx>,
    ) {
        if !before.is_asking {
            self.devices().ask_all_selectors();
        }
        for pod in self.tasks.values_mut() {
            pod.hold = ClaimHold::Nothing;
        }
        let all = self.claims.iter();
        let all: Vec<u32> = all
            .filter_map(|entry| self.claims.find(&entry.key))
            .collect();
        for at in all {
            self.claims[at as usize].holders = 0;
        }
        for (uid, node) in before.holders {
            if let Some(task) = find_pod(&uid) {
                let node = node.map(|name| nodes.find(&name));
                self.hold_again(task, node);
            }
        }
        for one in before.claims {
            let Some(ix) = self.claims.find(&one.key).map(ResourceClaimIx) else {
                continue;
            };
            self.change_claim(ix, |entry| {
                if let Some(object) = entry.object.as_mut().filter(|_| !one.is_told) {
                    object.allocation = None;
                }
                (entry.grant, entry.returning) = (one.grant, one.returning);
            });
            self.stale.insert(ix);
        }
        for (uid, claims) in before.adrift {
            let known = claims.iter().filter_map(|key| self.claims.find(key));
            for ix in known.map(ResourceClaimIx) {
                self.adrift.insert(&uid, ix);
            }
        }
        self.objects_epoch += 1;
    }

    /// A pod has what was given to its claims; on its way to a node, or there.
    fn hold_again(&mut self, task: TaskIx, to: Option<Option<NodeIx>>) {
        let Some(pod) = self.tasks.get_mut(&task) else {
            return;
        };
        pod.hold = match to {
            Some(Some(node)) => ClaimHold::OnItsWay(node),
            // The node is gone.
            Some(None) => return,
            None => ClaimHold::Arrived,
        };
        for ix in self.claims_of(task) {
            self.claims[ix.at()].holders += 1;
        }
    }
}
