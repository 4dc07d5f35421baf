//! What annotations of HAMi tell of the devices of a pod on a node: what its families do alike.

use std::rc::Rc;

use crate::facts::PodFacts;
use crate::ledger::{Allocation, Allocations, Card, NodeCards, Portion};

use super::wire::ReadDevice;

/// The devices of a node, to one of which an annotation may point.
#[derive(Clone, Copy)]
pub struct HeldDevices<'a> {
    /// Those of the node.
    pub cards: &'a NodeCards,
    /// What one is called.
    pub noun: &'static str,
}

impl HeldDevices<'_> {
    /// What counts for a device that an annotation tells, and what is wrong with it. `at` is its place
    /// on the node; without a charge it is no device at all.
    pub fn told(
        &self,
        container: u16,
        (device, at): (&ReadDevice, Option<usize>),
        charged: Option<Portion>,
    ) -> (Option<Allocation>, Option<String>) {
        let noun = self.noun;
        let Some(charged) = charged else {
            return (None, Some(format!("is no {noun}")));
        };
        let Some(at) = at else {
            let allocation = Allocation::of_absent(Rc::from(device.id), container, charged);
            return (
                Some(allocation),
                Some(format!(
                    "is no {noun} of the node: it counts on every {noun} it could be"
                )),
            );
        };
        let problem = match device.amounts() {
            Some(_) => None,
            None => Some(format!(
                "has no possible amounts: the whole {noun} counts as used"
            )),
        };
        let allocation = Allocation::of(self.cards, at, container, charged);
        (Some(allocation), problem)
    }

    /// Devices that a container is known to hold, of those it asks. What is not on the node counts.
    pub fn known(
        &self,
        allocations: &Allocations,
        container: u16,
        asks: impl Fn(&Card) -> bool,
    ) -> Vec<Option<u16>> {
        let own = self.certain(allocations, asks);
        let own = own.filter(|one| one.container == container);
        own.map(|one| one.card).collect()
    }

    /// Allocations that are certain, of some devices. What is not on the node may be one of them.
    fn certain<'a>(
        &self,
        allocations: &'a Allocations,
        is_some: impl Fn(&Card) -> bool,
    ) -> impl Iterator<Item = &'a Allocation> {
        let cards = &self.cards.cards;
        allocations.iter().filter(move |one| {
            let card = one.card.and_then(|at| cards.get(usize::from(at)));
            one.certain && card.is_none_or(&is_some)
        })
    }

    /// Whether a pod whose request cannot be read may have more of some devices than it is known to have;
    /// how many it asks says the resource that counts them.
    pub fn may_have_more(
        &self,
        pod: &PodFacts,
        resource: &str,
        allocations: &Allocations,
        is_some: impl Fn(&Card) -> bool,
    ) -> bool {
        let known = self.certain(allocations, is_some);
        pod.units(resource) > known.count() as u64
    }

    /// An annotation tells fewer devices than a container asks.
    pub fn too_few(&self, key: &str, (has, asked): (u32, u32), container: &str) -> String {
        let noun = self.noun;
        format!(
            "annotation {key} tells {has} of {asked} {noun}s of {container}; until the pod ends, every \
             {noun} of the node it could have counts as used"
        )
    }

    /// Neither a request for these nor what the pod has can be read.
    pub fn unreadable(&self, devices: &str) -> String {
        let noun = self.noun;
        format!(
            "what the pod asks of {devices} cannot be read, nor all that it has: until it ends, every \
             {noun} of the node it could have counts as used"
        )
    }
}
