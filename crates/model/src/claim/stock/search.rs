//! Whether a node can serve the claims of a pod, with what, and if not why.

use std::collections::BTreeMap;

use pumice_claims::{
    Books, ClaimWish, Counters, DeviceAllocation, GivenDevice, Match, Misfit, PoolOffer, Quantity,
    allocate,
};

use crate::claim::{OpenResourceClaim, ResourceNeed};
use crate::ix::NodeIx;
use crate::node::{LoadMoment, Nodes};
use crate::object::{ClaimAllocation, NodeTerm};
use crate::selector::node_term_holds;

use super::DeviceStock;
use super::filters::DeviceFilters;
use super::inventory::DeviceTerms;
use super::ledger::DeviceLedger;

/// Why a node cannot serve the claims of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimMisfit {
    /// A claim has devices that the node does not reach.
    Elsewhere,
    /// Not all claims can get devices there.
    Devices(Misfit),
}

/// What the search sees of the books.
struct BooksView<'a> {
    filters: &'a DeviceFilters,
    ledger: &'a DeviceLedger,
    /// Counters in use, by pool of the offer.
    counters: Vec<BTreeMap<String, Counters>>,
}

impl Books for BooksView<'_> {
    fn is_taken(&self, device: u32) -> bool {
        self.ledger.holder(device).is_some()
    }

    fn consumed(&self, device: u32) -> Option<&BTreeMap<String, Quantity>> {
        self.ledger.consumed(device)
    }

    fn used_counters(&self, pool: u32, set: &str) -> Option<&Counters> {
        self.counters.get(pool as usize)?.get(set)
    }

    fn matches(&self, filter: u32, device: u32) -> Match {
        self.filters.matches(filter, device)
    }
}

impl DeviceStock {
    /// Whether a node can serve a need at a moment.
    ///
    /// # Errors
    /// Why not.
    pub fn fits(
        &self,
        need: &ResourceNeed,
        nodes: &Nodes,
        node: NodeIx,
        moment: LoadMoment,
    ) -> Result<(), ClaimMisfit> {
        let object = nodes.object(node);
        for terms in &need.pinned {
            if !terms.iter().any(|term| node_term_holds(term, object)) {
                return Err(ClaimMisfit::Elsewhere);
            }
        }
        if need.waits && moment == LoadMoment::Now {
            return Err(ClaimMisfit::Devices(Misfit::NotEnough));
        }
        match self.search(need, nodes, node, moment) {
            Ok(_) => Ok(()),
            Err(misfit) => Err(ClaimMisfit::Devices(misfit)),
        }
    }

    /// Devices for the open claims of a need on a node.
    pub(in crate::claim) fn search(
        &self,
        need: &ResourceNeed,
        nodes: &Nodes,
        node: NodeIx,
        moment: LoadMoment,
    ) -> Result<Vec<Vec<GivenDevice>>, Misfit> {
        if need.open.is_empty() {
            return Ok(Vec::new());
        }
        let ledger = match moment {
            LoadMoment::Now => &self.ledger,
            LoadMoment::Released => &self.released,
        };
        let offers = self.inventory.offers(nodes, node, &self.reaches);
        let counters = offers.iter().map(|(key, offer)| match offer.counters {
            [] => BTreeMap::new(),
            _ => {
                let devices = self.inventory.devices_of(key);
                ledger.used_counters(devices, &self.inventory)
            }
        });
        let books = BooksView {
            filters: &self.filters,
            ledger,
            counters: counters.collect(),
        };
        let pools: Vec<PoolOffer<'_>> = offers.into_iter().map(|(_, offer)| offer).collect();
        let wishes: Vec<ClaimWish<'_>> = need.open.iter().map(wish).collect();
        allocate(&wishes, &pools, &books)
    }

    /// What a claim gets, as it is written.
    pub(in crate::claim) fn allocation(
        &self,
        open: &OpenResourceClaim,
        given: &[GivenDevice],
        claim_uid: &str,
        nodes: &Nodes,
        node: NodeIx,
    ) -> ClaimAllocation {
        let config = |class: &str| {
            let class = self.classes.get(class);
            class.map_or(&[][..], |class| class.config.as_slice())
        };
        let key = |device: u32| self.inventory.key(device).clone();
        let share = |at: usize| share_id(claim_uid, at);
        let devices = DeviceAllocation::new(&wish(open), given, key, config, share);
        let nodes = self.nodes_of(given, &nodes.object(node).name);
        ClaimAllocation { devices, nodes }
    }

    /// From where all devices can be reached: the node alone if one of them is on it, otherwise what their
    /// selectors say together.
    fn nodes_of(&self, given: &[GivenDevice], node: &str) -> Option<Vec<NodeTerm>> {
        let mut all = NodeTerm::default();
        for given in given {
            match self.inventory.terms(given.device) {
                Some(DeviceTerms::Node) => {
                    return Some(vec![NodeTerm {
                        fields: vec![(true, node.to_owned())],
                        ..NodeTerm::default()
                    }]);
                }
                Some(DeviceTerms::Selected(terms)) => {
                    // The API allows one term.
                    for term in terms.iter().take(1) {
                        let new = term.expressions.iter();
                        let new = new.filter(|e| !all.expressions.contains(e)).cloned();
                        let new: Vec<_> = new.collect();
                        all.expressions.extend(new);
                        let new = term.fields.iter().filter(|e| !all.fields.contains(e));
                        let new: Vec<_> = new.cloned().collect();
                        all.fields.extend(new);
                    }
                }
                None => {}
            }
        }
        let limits = !all.expressions.is_empty() || !all.fields.is_empty();
        limits.then(|| vec![all])
    }
}

fn wish(open: &OpenResourceClaim) -> ClaimWish<'_> {
    ClaimWish {
        spec: &open.spec,
        filters: &open.filters,
    }
}

/// The id of a part of a shared device: a UUID that the claim and the number of the part decide. UIDs of
/// claims are random, and the 128-bit FNV-1a of two of them differs as surely as they do.
fn share_id(claim_uid: &str, at: usize) -> String {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let number = (at as u64).to_le_bytes();
    let bytes = claim_uid.bytes().chain(number);
    let hash = bytes.fold(BASIS, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    });
    // Version 8 of RFC 9562: everything but version and variant is the maker's.
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        hash >> 96,
        (hash >> 80) & 0xffff,
        (hash >> 64) & 0xfff,
        0x8000 | ((hash >> 48) & 0x3fff),
        hash & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::share_id;

    #[test]
    fn no_two_parts_have_the_same_id() {
        let mut all = BTreeSet::new();
        for claim in 0..2_000u32 {
            // UIDs that differ in few places.
            let uid = format!("6f1c2a30-0000-4000-8000-{claim:012x}");
            for at in 0..32 {
                let id = share_id(&uid, at);
                assert_eq!(id.len(), 36, "{id}");
                assert!(all.insert(id), "{uid} {at}");
            }
        }
        assert_eq!(
            share_id("uid-a", 0),
            share_id("uid-a", 0),
            "it does not change between two looks"
        );
    }
}
