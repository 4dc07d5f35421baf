//! What a pod asks of its resource claims, resolved: the part of a pod's class that they decide.
//!
//! Two pods with equal needs are treated alike on every node. A claim that is the pod's own and has no
//! devices yet shows what it asks for and not who it is.

use std::sync::Arc;

use pumice_claims::{ClaimSpec, DeviceCount, MAX_DEVICES_A_CLAIM};
use rustc_hash::FxHashMap;

use crate::ix::TaskIx;
use crate::named::NamedEntries;
use crate::object::{NodeTerm, ResourceClaimObject};
use crate::resource::ResourceNames;

use super::groups::NamedClaim;
use super::stock::{DeviceStock, FilterKey};
use super::users::TaskClaims;
use super::{ClaimCharge, ClaimEntry, ClaimGroup, MAX_RESERVED, ResourceClaimIx, Returning};

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

/// For whom a claim was made from a template.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MadeFor {
    Pod,
    Group,
}

/// Said of a claim that has no name yet.
fn not_made(named: &NamedClaim) -> String {
    let name = &named.entry.entry;
    let text = format!("resourceclaim for pod.spec.resourceClaims entry {name:?} is not made yet");
    match &named.group {
        None => text,
        Some(group) => format!(
            "{text}: kube-controller-manager makes it for PodGroup {} and then names it in the pod's status; look at \
             the events of the PodGroup",
            group.name
        ),
    }
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
        for (at, named) in self.pod.claims.iter().enumerate() {
            if let Some(ix) = named.ix {
                self.charge(ix, named, &mut need.charge, names);
            }
            if let Err(text) = self.add_claim(at, named, &mut need) {
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
        named: &NamedClaim,
        charge: &mut ClaimCharge,
        names: &mut ResourceNames,
    ) {
        let slot = &self.claims[ix.at()];
        let Some(object) = &slot.object else {
            return;
        };
        let claim = match (&named.entry.template, self.is_made_for(named, object)) {
            (None, _) => Some(ix),
            (Some(_), Some(MadeFor::Pod)) => None,
            (Some(_), Some(MadeFor::Group)) => Some(ix),
            (Some(_), None) => return,
        };
        charge.add(claim, object, slot.allocation(), self.stock, names);
    }

    fn add_claim(
        &mut self,
        at: usize,
        named: &NamedClaim,
        need: &mut ResourceNeed,
    ) -> Result<(), String> {
        let ix = named.ix.ok_or_else(|| not_made(named))?;
        let slot = &self.claims[ix.at()];
        let name = &slot.key.1;
        let missing = || format!("resourceclaim {name:?} not found");
        let object = slot.object.as_ref().ok_or_else(missing)?;
        if object.deleting {
            return Err(format!("resourceclaim {name:?} is being deleted"));
        }
        let made_for = self.is_made_for(named, object);
        if named.entry.template.is_some() && made_for.is_none() {
            let whom = match &named.group {
                None => "this pod".to_owned(),
                Some(group) => format!("PodGroup {}", group.name),
            };
            return Err(format!(
                "resourceclaim {name:?} was not made for {whom}: it belongs to another owner"
            ));
        }
        if let Returning::UnderWay(_) = slot.returning {
            return Err(format!(
                "resourceclaim {name:?} gives back devices that keep a pod from other nodes"
            ));
        }
        if let Some(allocation) = slot.allocation() {
            if !self.may_use(ix, named, object) {
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
            identity: (made_for != Some(MadeFor::Pod)).then_some(ix),
            spec,
            filters,
        });
        Ok(())
    }

    /// It is reserved for the pod, or may be.
    fn may_use(
        &self,
        ix: ResourceClaimIx,
        named: &NamedClaim,
        object: &ResourceClaimObject,
    ) -> bool {
        let entry = &self.claims[ix.at()];
        let consumer = entry.consumer(named, &self.pod.uid);
        let mut reserved = object.reserved_for.iter();
        if self.pod.holds()
            || entry.most_consumers() < MAX_RESERVED
            || reserved.any(|uid| uid == consumer)
        {
            return true;
        }
        let all = entry.consumers(ix, self.tasks);
        all.contains(consumer) || all.len() < MAX_RESERVED
    }

    /// For whom a claim was made from a template, if it was for one of those who may use it so.
    fn is_made_for(&self, named: &NamedClaim, object: &ResourceClaimObject) -> Option<MadeFor> {
        named.entry.template.as_ref()?;
        let is_of_group = |group: &Arc<ClaimGroup>| group.uid == object.owner_uid;
        match &named.group {
            _ if object.owner_uid == self.pod.uid => Some(MadeFor::Pod),
            Some(group) if is_of_group(group) => Some(MadeFor::Group),
            _ => None,
        }
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
