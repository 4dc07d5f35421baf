//! Devices that keep a pod which fits nowhere from nodes it might fit on are given back (spec/09 §6).
//!
//! ```text
//!  No ─► UnderWay    nobody uses the claim: a Binding and the write that frees its devices never meet
//!     ◄── a newer version of the claim is told
//!  UnderWay ─► Refused    not again before there is a newer version
//! ```

use crate::ix::TaskIx;
use crate::node::Nodes;
use crate::object::NodeTerm;
use crate::selector::node_term_holds;

use super::users::ClaimPresence;
use super::{ResourceClaimIx, ResourceClaims};

/// A claim whose devices are to be given back, with what it is reserved for, if it still has this version.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClaimReturn {
    /// Namespace of the claim.
    pub namespace: String,
    /// Name of the claim.
    pub claim: String,
    /// UID of the claim.
    pub claim_uid: String,
    /// Resource version of the claim; 0 where it is not known.
    pub version: u64,
}

/// Whether the devices of a claim are being given back; the version of the claim that was decided about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Returning {
    /// They are not.
    #[default]
    No,
    /// A return is decided, and not told yet.
    UnderWay(u64),
    /// It could not be written.
    Refused(u64),
}

impl Returning {
    /// Nothing of it counts once a newer version is told, or one without devices.
    pub(super) fn after(self, version: u64, has_devices: bool) -> Self {
        match self {
            Self::UnderWay(of) | Self::Refused(of) if version <= of && has_devices => self,
            _ => Self::No,
        }
    }
}

impl ResourceClaims {
    /// Gives back the devices of the first claim that keeps a pod which fits nowhere from a node, if
    /// nobody else uses it. From now on nobody does.
    pub(crate) fn return_devices(&mut self, task: TaskIx, nodes: &Nodes) -> Option<ClaimReturn> {
        let need = self.resolved(task)?;
        if need.refusal.is_some() || need.pinned.is_empty() {
            return None;
        }
        let claims = self.claims_of(task);
        let returns =
            |ix: &ResourceClaimIx| matches!(self.claims[ix.at()].returning, Returning::UnderWay(_));
        if claims.iter().any(returns) {
            return None;
        }
        let ix = claims
            .into_iter()
            .find(|ix| self.is_idle(*ix, task, nodes))?;
        let entry = &mut self.claims[ix.at()];
        let object = entry.object.as_ref()?;
        let (version, claim_uid) = (object.version, object.uid.clone());
        entry.returning = Returning::UnderWay(version);
        let (namespace, claim) = entry.key.clone();
        self.stale.insert(ix);
        Some(ClaimReturn {
            namespace,
            claim,
            claim_uid,
            version,
        })
    }

    /// The devices of a claim keep a pod from some node, and neither another pod uses them nor a bind that
    /// is under way.
    fn is_idle(&self, ix: ResourceClaimIx, task: TaskIx, nodes: &Nodes) -> bool {
        let entry = &self.claims[ix.at()];
        let (Some(object), Some(pod)) = (&entry.object, self.tasks.get(&task)) else {
            return false;
        };
        let terms = object
            .allocation
            .as_ref()
            .and_then(|has| has.nodes.as_ref());
        let is_near = |terms: &[NodeTerm], node| {
            let mut terms = terms.iter();
            terms.any(|term| node_term_holds(term, nodes.object(node)))
        };
        let keeps_off = |terms: &Vec<NodeTerm>| nodes.indices().any(|node| !is_near(terms, node));
        let mut users = entry.users.iter().filter_map(|user| self.tasks.get(user));
        let named = pod.claims.iter().filter(|named| named.ix == Some(ix));
        let consumers: Vec<&str> = named.map(|named| entry.consumer(named, &pod.uid)).collect();
        entry.returning == Returning::No
            && entry.grant.is_nothing()
            && entry.holders == 0
            && !self.may_be_written(ix)
            && object
                .reserved_for
                .iter()
                .all(|uid| consumers.contains(&uid.as_str()))
            && users.all(|user| user.presence == ClaimPresence::Waits)
            && terms.is_some_and(keeps_off)
    }

    /// The devices of a claim were not given back, as far as is known; whether that is news.
    pub(crate) fn keep_devices(&mut self, claim: ClaimReturn) -> bool {
        let key = (claim.namespace, claim.claim);
        let Some(ix) = self.claims.find(&key).map(ResourceClaimIx) else {
            return false;
        };
        let entry = &mut self.claims[ix.at()];
        // An earlier write may end late, when another one is under way.
        let is_this = entry.returning == Returning::UnderWay(claim.version);
        let object = entry.object.as_ref();
        if !is_this || object.is_none_or(|object| object.uid != claim.claim_uid) {
            return false;
        }
        entry.returning = Returning::Refused(claim.version);
        self.stale.insert(ix);
        self.objects_epoch += 1;
        true
    }
}
