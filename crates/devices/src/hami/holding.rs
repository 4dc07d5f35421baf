//! What annotations of HAMi tell of the devices of a pod on a node: what its families do alike.

use crate::ledger::{Allocation, Allocations, Card, NodeCards, Partition, share_out};
use crate::text::{Bounded, clip};

use super::wire::ReadDevice;

/// The devices of a node, to one of which an annotation may point.
#[derive(Clone, Copy)]
pub struct HeldDevices<'a> {
    /// Those of the node.
    pub cards: &'a NodeCards,
    /// What one is called.
    pub noun: &'static str,
}

/// What containers of a pod ask of one kind of devices: container and number.
pub type Counts = Vec<(u16, u32)>;

impl HeldDevices<'_> {
    /// Takes the devices that an annotation tells of one kind, each with its container, for what the pod asks. `is_own`
    /// says which devices of the node are of that kind; `take` what counts for a need of a device, that of the
    /// node at a place or one that the node does not have, and what is wrong with it.
    pub fn take(
        &self,
        key: &str,
        told: &[(u16, ReadDevice)],
        counts: &Counts,
        is_own: impl Fn(&Card) -> bool,
        mut take: impl FnMut(usize, u16, &ReadDevice, Option<usize>) -> (Allocation, Option<String>),
        problems: &mut Bounded,
    ) -> Allocations {
        let noun = self.noun;
        let mut say = |piece: &str, why: &str| {
            problems.tell(|| format!("annotation {key}: {:?} {why}", clip(piece)));
        };
        let place = |device: &ReadDevice| {
            let at = self.cards.find(device.id);
            at.filter(|at| is_own(&self.cards.cards[*at]))
        };
        let mut devices = Vec::new();
        for (container, device) in told {
            match place(device) {
                None if device.amounts().is_none() => say(device.piece, &format!("is no {noun}")),
                at => devices.push((*container, device, at)),
            }
        }
        let of: Vec<u16> = devices.iter().map(|(container, ..)| *container).collect();
        let mut taken = Allocations::new();
        let mut beyond = 0;
        for ((container, device, at), share) in devices.iter().zip(share_out(&of, counts)) {
            let Some(need) = share else {
                beyond += 1;
                continue;
            };
            let (one, problem) = take(need, *container, device, *at);
            let is_twice = |known: &Allocation| {
                (known.container, &known.id) == (one.container, &one.id)
                    && known.partition == one.partition
                    && one.partition != Some(Partition::UNKNOWN)
            };
            if taken.iter().any(is_twice) {
                say(device.piece, "is told twice");
                continue;
            }
            if at.is_none() {
                let why =
                    format!("is no {noun} of the node: it counts on every {noun} it could be");
                say(device.piece, &why);
            }
            if let Some(why) = problem {
                say(device.piece, &why);
            }
            taken.push(one);
        }
        if beyond > 0 {
            problems.tell(|| {
                format!(
                    "annotation {key} names {beyond} {noun}s more than the pod asks: they do not count, as whoever \
                     may change the pod may have written them"
                )
            });
        }
        taken
    }

    /// Devices that a container is known to hold, of those it asks. What is not on the node counts.
    pub fn known(
        &self,
        allocations: &Allocations,
        container: u16,
        asks: impl Fn(&Card) -> bool,
    ) -> Vec<Option<u16>> {
        let cards = &self.cards.cards;
        let own = allocations.iter().filter(|one| {
            let card = one.card.and_then(|at| cards.get(usize::from(at)));
            one.certain && one.container == container && card.is_none_or(&asks)
        });
        own.map(|one| one.card).collect()
    }

    /// An annotation tells fewer devices than a container asks.
    pub fn too_few(&self, key: &str, (has, asked): (u32, u32), container: &str) -> String {
        let noun = self.noun;
        format!(
            "annotation {key} tells {has} of {asked} {noun}s of {container}; until the pod ends, every \
             {noun} of the node it could have counts as used"
        )
    }
}
