//! Which domains contain all nodes of which.
//!
//! Nodes in the same domains are one kind, so a tree has about as many kinds as its lowest tier has domains.
//! The domains around one are those that all of its kinds have in common. The search begins with the kind in
//! the fewest domains; where even those are many, it goes through bits instead, 64 domains at a time. That
//! takes about as long as all domains have nodes, times the depth.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::NetworkDomain;
use crate::ix::DomainIx;

/// Domains in order.
pub(super) type DomainList = SmallVec<[DomainIx; 4]>;

/// What nodes in the same domains have in common.
struct NodeKind<'a> {
    domains: &'a [DomainIx],
    /// Domains around the nodes as bits, where those take no more memory than a list; otherwise none.
    bits: Vec<u64>,
}

impl<'a> NodeKind<'a> {
    fn new(domains: &'a [DomainIx], of: usize) -> Self {
        let mut bits = Vec::new();
        if domains.len() >= of.div_ceil(32) {
            bits.resize(of.div_ceil(64), 0);
            for domain in domains {
                bits[domain.at() / 64] |= 1 << (domain.at() % 64);
            }
        }
        Self { domains, bits }
    }

    fn is_in(&self, domain: DomainIx) -> bool {
        match self.bits.get(domain.at() / 64) {
            Some(word) => word >> (domain.at() % 64) & 1 == 1,
            None => self.domains.binary_search(&domain).is_ok(),
        }
    }
}

/// Domains that contain all nodes of each domain, in order: itself, and the cluster, which is the last.
/// Around a domain without nodes there is nothing else.
pub(super) fn around(domains: &[NetworkDomain], of_node: &[DomainList]) -> Vec<DomainList> {
    let mut kinds: Vec<NodeKind<'_>> = Vec::new();
    let mut by_domains: FxHashMap<&[DomainIx], usize> = FxHashMap::default();
    let kind_of = of_node.iter().map(|list| {
        *by_domains.entry(list).or_insert_with(|| {
            kinds.push(NodeKind::new(list, domains.len()));
            kinds.len() - 1
        })
    });
    let kind_of: Vec<usize> = kind_of.collect();
    // Of each kind the domain that had it last.
    let mut seen = vec![usize::MAX; kinds.len()];
    let of_domain = domains.iter().enumerate().map(|(at, domain)| {
        let mut own: Vec<&NodeKind<'_>> = Vec::new();
        for node in domain.nodes.iter() {
            let kind = kind_of[node.at()];
            if std::mem::replace(&mut seen[kind], at) != at {
                own.push(&kinds[kind]);
            }
        }
        match own.is_empty() {
            true => [at, domains.len() - 1]
                .map(|at| DomainIx(at as u32))
                .into_iter()
                .collect(),
            false => in_common(&own),
        }
    });
    of_domain.collect()
}

/// The domains that all of some kinds are in; there is a kind.
fn in_common(kinds: &[&NodeKind<'_>]) -> DomainList {
    let Some(rarest) = kinds.iter().min_by_key(|kind| kind.domains.len()) else {
        return DomainList::new();
    };
    if rarest.bits.is_empty() {
        let all = rarest.domains.iter().copied();
        return all
            .filter(|domain| kinds.iter().all(|kind| kind.is_in(*domain)))
            .collect();
    }
    // The others are in no fewer domains, so they have bits, too.
    let mut common = rarest.bits.clone();
    for kind in kinds {
        common
            .iter_mut()
            .zip(&kind.bits)
            .for_each(|(word, other)| *word &= other);
    }
    let is_common = |domain: &&DomainIx| common[domain.at() / 64] >> (domain.at() % 64) & 1 == 1;
    rarest.domains.iter().filter(is_common).copied().collect()
}
