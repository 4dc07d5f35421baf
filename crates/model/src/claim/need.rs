//! What a pod asks of its resource claims, resolved: the part of a pod's class that they decide.
//!
//! Two pods with equal needs are treated alike on every node. A claim that is the pod's own and has no
//! devices yet shows what it asks for and not who it is.

use pumice_claims::{ClaimSpec, DeviceCount, MAX_DEVICES_A_CLAIM};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ix::TaskIx;
use crate::named::NamedEntries;
use crate::object::{NodeTerm, PodResourceClaim, ResourceClaimObject};
use crate::resource::ResourceNames;

use super::stock::{DeviceStock, FilterKey};
use super::users::TaskClaims;
use super::{ClaimCharge, ClaimEntry, MAX_RESERVED, ResourceClaimIx, Returning};

/// Bytes that the selectors of a claim may have in all: what they take to be compiled and kept grows with it.
const MAX_SELECTOR_BYTES: usize = 64 * 1024;

/// Said of pods some of whose selectors are not answered for every device.
const UNANSWERED: &str = "device selectors of its claims are still being evaluated, a part in each cycle, so \
                          that other pods need not wait for them";

/// What a pod asks of its resource claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceNeed {
    /// There are claims, even if they ask nothing more of a node.
    pub has_claims: bool,
    /// Why the pod is refused on every node.
    pub refusal: Option<String>,
    /// A claim has devices that are promised only: its pods wait until they are free.
    pub waits: bool,
    /// Nodes of each claim that has devices: any term must match.
    pub pinned: Vec<Vec<NodeTerm>>,
    /// Claims that are to get devices.
    pub open: Vec<OpenResourceClaim>,
    /// What they count for its queue.
    pub charge: ClaimCharge,
}

/// A claim that is to get devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpenResourceClaim {
    /// Which of the pod's claims.
    pub at: usize,
    /// Which claim it is; `None` for one that is the pod's own.
    pub identity: Option<ResourceClaimIx>,
    /// What it asks for.
    pub spec: ClaimSpec,
    /// Number of the selectors of each choice of each request.
    pub filters: Vec<Vec<u32>>,
}

/// Reads the claims of a pod. Only selectors that are new are written down.
pub(super) struct NeedReader<'a> {
    pub(super) pod: &'a TaskClaims,
    pub(super) tasks: &'a FxHashMap<TaskIx, TaskClaims>,
    pub(super) claims: &'a NamedEntries<ClaimEntry>,
    pub(super) stock: &'a mut DeviceStock,
}

impl NeedReader<'_> {
    /// Resolves the claims of the pod as they are now.
    pub(super) fn resolve(&mut self, names: &mut ResourceNames) -> ResourceNeed {
        let mut need = ResourceNeed {
            has_claims: true,
            ..ResourceNeed::default()
        };
        for (at, (ix, entry)) in self.pod.claims.iter().enumerate() {
            if let Some(ix) = ix {
                self.charge(*ix, entry, &mut need.charge, names);
            }
            if let Err(text) = self.add_claim(at, *ix, entry, &mut need) {
                need.refusal.get_or_insert(text);
            }
        }
        if need.refusal.is_some() {
            // What else it asks makes no difference.
            (need.waits, need.pinned, need.open) = Default::default();
        }
        need
    }

    /// What a claim counts does not depend on whether the pod may use it on a node.
    fn charge(
        &self,
        ix: ResourceClaimIx,
        entry: &PodResourceClaim,
        charge: &mut ClaimCharge,
        names: &mut ResourceNames,
    ) {
        let slot = &self.claims[ix.at()];
        let Some(object) = &slot.object else {
            return;
        };
        let claim = match entry.template {
            None => Some(ix),
            Some(_) if object.owner_uid == self.pod.uid => None,
            Some(_) => return,
        };
        charge.add(claim, object, slot.allocation(), self.stock, names);
    }

    fn add_claim(
        &mut self,
        at: usize,
        ix: Option<ResourceClaimIx>,
        entry: &PodResourceClaim,
        need: &mut ResourceNeed,
    ) -> Result<(), String> {
        let waits = || {
            let name = &entry.entry;
            format!("resourceclaim for pod.spec.resourceClaims entry {name:?} is not made yet")
        };
        let ix = ix.ok_or_else(waits)?;
        let slot = &self.claims[ix.at()];
        let name = &slot.key.1;
        let missing = || format!("resourceclaim {name:?} not found");
        let object = slot.object.as_ref().ok_or_else(missing)?;
        if object.deleting {
            return Err(format!("resourceclaim {name:?} is being deleted"));
        }
        if entry.template.is_some() && object.owner_uid != self.pod.uid {
            return Err(format!(
                "resourceclaim {name:?} was not made for this pod: it belongs to another owner"
            ));
        }
        if let Returning::UnderWay(_) = slot.returning {
            return Err(format!(
                "resourceclaim {name:?} gives back devices that keep a pod from other nodes"
            ));
        }
        if let Some(allocation) = slot.allocation() {
            if !self.may_use(ix, object) {
                return Err(format!("resourceclaim {name:?} in use"));
            }
            need.waits |= slot.has_promise();
            need.pinned.extend(allocation.nodes.clone());
            return Ok(());
        }
        let spec = object.spec.clone();
        let filters = self.filters_of(ix, &spec)?;
        need.open.push(OpenResourceClaim {
            at,
            identity: entry.template.is_none().then_some(ix),
            spec,
            filters,
        });
        Ok(())
    }

    /// It is reserved for the pod, or may be.
    fn may_use(&self, ix: ResourceClaimIx, object: &ResourceClaimObject) -> bool {
        if object.reserved_for.contains(&self.pod.uid) || self.pod.holds() {
            return true;
        }
        let users = self.claims[ix.at()].users.iter();
        let holding = users.filter_map(|user| self.tasks.get(user));
        let holding = holding.filter(|user| user.holds()).map(|user| &user.uid);
        let all: FxHashSet<&String> = object.reserved_for.iter().chain(holding).collect();
        all.len() < MAX_RESERVED
    }

    fn filters_of(
        &mut self,
        ix: ResourceClaimIx,
        spec: &ClaimSpec,
    ) -> Result<Vec<Vec<u32>>, String> {
        let (namespace, name) = &self.claims[ix.at()].key;
        let claim = format!("{namespace}/{name}");
        let long = spec.selector_bytes();
        if long > MAX_SELECTOR_BYTES {
            return Err(format!(
                "claim {claim}: its selectors have {long} bytes in all, more than {MAX_SELECTOR_BYTES}: \
                 shorten them, or ask for a DeviceClass that has them"
            ));
        }
        let mut least: u64 = 0;
        let mut all = Vec::new();
        for request in &spec.requests {
            let name = &request.name;
            let of = |text: &str| format!("claim {claim}, request {name}: {text}");
            if request.choices.is_empty() {
                return Err(of("unsupported request type"));
            }
            let mut filters = Vec::new();
            for choice in &request.choices {
                let class = self
                    .stock
                    .class(&choice.class)
                    .ok_or_else(|| of(&format!("device class {} does not exist", choice.class)))?;
                let key = FilterKey {
                    class: choice.class.clone(),
                    of_class: class.selectors.clone(),
                    of_request: choice.selectors.clone(),
                };
                filters.push(self.stock.filter(key, namespace, ix));
            }
            all.push(filters);
            let counts = request.choices.iter().map(|choice| match choice.count {
                DeviceCount::Exactly(count) => count,
                DeviceCount::All => 1,
            });
            // Anybody may write any number.
            least = least.saturating_add(counts.min().unwrap_or(0));
        }
        if least > MAX_DEVICES_A_CLAIM as u64 {
            return Err(format!(
                "claim {claim}: number of requested devices {least} exceeds the claim limit of \
                 {MAX_DEVICES_A_CLAIM}"
            ));
        }
        // One text for all, so that pods alike stay alike.
        let mut filters = all.iter().flatten();
        match filters.all(|filter| self.stock.is_answered(*filter)) {
            true => Ok(all),
            false => Err(UNANSWERED.to_owned()),
        }
    }
}
