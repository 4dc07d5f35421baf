//! Which PersistentVolumes the open claims of a pod would get on a node, and what is provisioned.
//!
//! Claims are served by size, each with the smallest volume that fits and is not chosen yet; what
//! finds none is provisioned (spec/02 §6.8, VolumeBinding).

use smallvec::SmallVec;

use crate::ix::NodeIx;
use crate::node::Nodes;
use crate::object::{PvObject, StorageClassObject};
use crate::selector::{pair, selects_pairs};

use super::reach::Reach;
use super::{OpenClaim, VolumeNeed, Volumes};

/// What speaks against a node, as bits: several may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conflicts(pub u8);

impl Conflicts {
    /// A bound volume cannot be used there.
    pub const AFFINITY: Self = Self(1);
    /// Some claim can neither be bound nor provisioned there.
    pub const BINDING: Self = Self(2);
    /// There is too little storage left.
    pub const SPACE: Self = Self(4);
    /// A claim is bound to a volume that does not exist.
    pub const GONE: Self = Self(8);

    /// Whether nothing speaks against it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is one of them.
    pub fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }

    fn add(&mut self, one: Self) {
        self.0 |= one.0;
    }
}

/// What becomes of one open claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate<'a> {
    /// Gets this volume.
    Bind(&'a str),
    /// Is provisioned.
    Provision,
}

/// Fate of every open claim, by place among the claims.
pub(super) type Fates<'a> = SmallVec<[(usize, Fate<'a>); 4]>;

/// The smallest fitting volumes with one reach: (capacity, name), as many as the pod has claims.
struct Fits<'a> {
    reach: &'a Reach,
    volumes: SmallVec<[(i64, &'a str); 2]>,
}

/// One open claim with everything that does not depend on the node.
struct Wish<'a> {
    /// Place among the claims of the need.
    at: usize,
    claim: &'a OpenClaim,
    fits: Vec<Fits<'a>>,
    class: Option<&'a StorageClassObject>,
    /// Where a capacity is large enough; `None` when nobody asks.
    room: Option<Vec<&'a Reach>>,
}

/// All open claims of a need, in the order they are served.
pub(super) struct Matcher<'a> {
    wishes: Vec<Wish<'a>>,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(volumes: &'a Volumes, need: &'a VolumeNeed) -> Self {
        let count = need.open().count();
        let mut wishes: Vec<Wish> = need
            .open()
            .map(|(at, claim)| Wish {
                at,
                claim,
                fits: Self::fits(volumes, claim, count),
                class: volumes.classes.get(&claim.class),
                room: Self::room(volumes, claim),
            })
            .collect();
        // The annotated ones are provisioned first, as the peer has it.
        wishes.sort_by_key(|wish| (wish.claim.selected_node.is_none(), wish.claim.request));
        Self { wishes }
    }

    /// Volumes a claim could get, by reach: of each the `count` smallest.
    fn fits(volumes: &'a Volumes, claim: &OpenClaim, count: usize) -> Vec<Fits<'a>> {
        if claim.selected_node.is_some() {
            return Vec::new();
        }
        if let Some(reserved) = &claim.reserved {
            let pv = volumes.pvs.get_key_value(reserved);
            let fits = pv.map(|(name, pv)| Fits {
                reach: volumes.reaches.get(pv.reach),
                volumes: SmallVec::from_iter([(pv.object.capacity, name.as_str())]),
            });
            return fits.into_iter().collect();
        }
        let Some(groups) = volumes.free.get(&claim.class) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (reach, free) in groups {
            let large_enough = free.range((claim.request, String::new())..);
            let fitting = large_enough.filter(|(_, pv)| suits(pv, claim));
            let fitting: SmallVec<[(i64, &str); 2]> = fitting
                .take(count)
                .map(|((capacity, name), _)| (*capacity, name.as_str()))
                .collect();
            if !fitting.is_empty() {
                let reach = volumes.reaches.get(*reach);
                all.push(Fits {
                    reach,
                    volumes: fitting,
                });
            }
        }
        all
    }

    /// Where capacities have room for a claim; `None` when its driver does not publish any.
    fn room(volumes: &'a Volumes, claim: &OpenClaim) -> Option<Vec<&'a Reach>> {
        let class = volumes.classes.get(&claim.class)?;
        let driver = volumes.csi.drivers.get(&class.provisioner)?;
        if !driver.storage_capacity || claim.request == 0 {
            return None;
        }
        let of_class = volumes
            .capacities
            .values()
            .filter(|c| c.object.class == claim.class);
        let large = of_class.filter(|c| c.object.largest.is_some_and(|most| most >= claim.request));
        Some(large.map(|c| volumes.reaches.get(c.reach)).collect())
    }

    /// What becomes of every open claim on a node, as (place among the claims, fate). `fits` names
    /// the groups of a wish that can be used there.
    fn on_node<'f>(
        &self,
        name: &str,
        nodes: &Nodes,
        node: NodeIx,
        fits: impl Fn(usize) -> SmallVec<[&'f Fits<'a>; 4]>,
        has_room: impl Fn(usize) -> bool,
    ) -> Result<Fates<'a>, Conflicts>
    where
        'a: 'f,
    {
        let elsewhere = |wish: &Wish| wish.claim.selected_node.as_ref().is_some_and(|n| n != name);
        if self.wishes.iter().any(elsewhere) {
            return Err(Conflicts::BINDING);
        }
        let mut chosen: SmallVec<[&str; 4]> = SmallVec::new();
        let mut fates = Fates::new();
        for (at, wish) in self.wishes.iter().enumerate() {
            let found = match wish.claim.selected_node {
                Some(_) => None,
                None => {
                    let groups = fits(at);
                    let free = groups.iter().filter_map(|group| {
                        let mut all = group.volumes.iter();
                        all.find(|(_, volume)| !chosen.contains(volume)).copied()
                    });
                    free.min()
                }
            };
            match found {
                Some((_, volume)) => {
                    chosen.push(volume);
                    fates.push((wish.at, Fate::Bind(volume)));
                }
                // Its volume is elsewhere; another one would never be bound.
                None if wish.claim.reserved.is_some() => return Err(Conflicts::BINDING),
                None => fates.push((wish.at, Fate::Provision)),
            }
        }
        for (at, wish) in self.wishes.iter().enumerate() {
            if fates[at].1 == Fate::Provision {
                wish.check_provisioning(nodes, node)?;
                if !has_room(at) {
                    return Err(Conflicts::SPACE);
                }
            }
        }
        Ok(fates)
    }

    /// What becomes of the open claims on one node.
    pub(super) fn plan(&self, nodes: &Nodes, node: NodeIx) -> Result<Fates<'a>, Conflicts> {
        let name = &nodes.object(node).name;
        let fits = |at: usize| {
            let fits = self.wishes[at].fits.iter();
            fits.filter(|fits| fits.reach.contains(node)).collect()
        };
        let has_room = |at: usize| match &self.wishes[at].room {
            Some(room) => room.iter().any(|reach| reach.contains(node)),
            None => true,
        };
        self.on_node(name, nodes, node, fits, has_room)
    }

    /// Adds what speaks against every node.
    fn add_conflicts(&self, nodes: &Nodes, out: &mut [Conflicts]) {
        // Per wish and node: the groups that can be used there.
        let mut local: Vec<Vec<SmallVec<[u32; 2]>>> = Vec::with_capacity(self.wishes.len());
        for wish in &self.wishes {
            let mut by_node = vec![SmallVec::new(); nodes.len()];
            for (at, fits) in wish.fits.iter().enumerate() {
                fits.reach
                    .for_each(nodes, |node| by_node[node].push(at as u32));
            }
            local.push(by_node);
        }
        let roomy: Vec<Option<Vec<bool>>> = self
            .wishes
            .iter()
            .map(|wish| Some(roomy(wish.room.as_ref()?, nodes)))
            .collect();
        for (node, out) in nodes.indices().zip(out) {
            let fits = |at: usize| {
                let groups = local[at][node.at()].iter();
                groups
                    .map(|group| &self.wishes[at].fits[*group as usize])
                    .collect()
            };
            let has_room = |at: usize| roomy[at].as_ref().is_none_or(|roomy| roomy[node.at()]);
            let name = &nodes.object(node).name;
            if let Err(conflict) = self.on_node(name, nodes, node, fits, has_room) {
                out.add(conflict);
            }
        }
    }
}

impl Wish<'_> {
    fn check_provisioning(&self, nodes: &Nodes, node: NodeIx) -> Result<(), Conflicts> {
        const NONE: &str = "kubernetes.io/no-provisioner";
        let Some(class) = self.class else {
            return Err(Conflicts::BINDING);
        };
        if class.provisioner.is_empty() || class.provisioner == NONE {
            return Err(Conflicts::BINDING);
        }
        match allows(class, nodes, node) {
            true => Ok(()),
            false => Err(Conflicts::BINDING),
        }
    }
}

/// The nodes some capacity reaches.
fn roomy(room: &[&Reach], nodes: &Nodes) -> Vec<bool> {
    let mut roomy = vec![false; nodes.len()];
    for reach in room {
        reach.for_each(nodes, |node| roomy[node] = true);
    }
    roomy
}

/// `allowedTopologies` of a class admit a node. A term without expressions matches nothing.
fn allows(class: &StorageClassObject, nodes: &Nodes, node: NodeIx) -> bool {
    let labels = &nodes.object(node).labels;
    let has = |(key, values): &(String, Vec<String>)| {
        pair(labels, key).is_some_and(|value| values.iter().any(|wanted| wanted == value))
    };
    class.topologies.is_empty()
        || class
            .topologies
            .iter()
            .any(|term| !term.is_empty() && term.iter().all(has))
}

impl Volumes {
    /// What VolumeBinding has against every node, in node order.
    pub fn conflicts(&self, need: &VolumeNeed, nodes: &Nodes) -> Vec<Conflicts> {
        let mut out = vec![Conflicts::default(); nodes.len()];
        if need.bound().any(|volume| !self.pvs.contains_key(volume)) {
            out.fill(Conflicts::GONE);
            return out;
        }
        for volume in need.bound() {
            let Some(pv) = self.pvs.get(volume) else {
                continue;
            };
            let mut there = vec![false; nodes.len()];
            let reach = self.reaches.get(pv.reach);
            reach.for_each(nodes, |node| there[node] = true);
            for (out, there) in out.iter_mut().zip(there) {
                if !there {
                    out.add(Conflicts::AFFINITY);
                }
            }
        }
        let matcher = Matcher::new(self, need);
        if !matcher.wishes.is_empty() {
            matcher.add_conflicts(nodes, &mut out);
        }
        out
    }
}

/// Everything but size, class and place.
fn suits(pv: &PvObject, claim: &OpenClaim) -> bool {
    pv.block == claim.block
        && pv.attributes_class == claim.attributes_class
        && pv.modes.contains(claim.modes)
        && claim
            .selector
            .as_ref()
            .is_none_or(|selector| selects_pairs(selector, &pv.labels))
}
