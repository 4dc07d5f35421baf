//! What people are told of a node: how much of each card is free, and which classes could use it.

use smallvec::SmallVec;

use crate::ledger::LedgerTime;
use crate::node::NodeDevices;

use super::{DeviceMix, NodeRoom};

/// The cards of one family on a node, to the classes of a mix.
pub struct CardUses {
    /// By card, thousandths that nobody has.
    pub free: SmallVec<[i64; 8]>,
    /// Classes of which one more task finds cards and room on the node, by position in the mix, each with the cards
    /// that could serve it.
    pub serves: Vec<(usize, SmallVec<[bool; 8]>)>,
}

impl CardUses {
    /// Whether a card could serve tasks of some class.
    pub fn serves_some(&self, card: usize) -> bool {
        self.serves.iter().any(|(_, cards)| cards[card])
    }
}

impl DeviceMix {
    /// Looks at the cards of a family on a node.
    pub fn card_uses(&self, room: &NodeRoom, family: u8) -> CardUses {
        let known = self.counted(room, family);
        let cards = &known.cards;
        let mut serves = Vec::new();
        self.served(room, &known, |class, _, pieces| {
            let serving = |kind: &u16| pieces(usize::from(*kind)).count > 0;
            serves.push((class, cards.kind_of.iter().map(serving).collect()));
        });
        serves.sort_by_key(|(class, _)| *class);
        let free = |kind: &u16| cards.kinds[usize::from(*kind)].free;
        CardUses {
            free: cards.kind_of.iter().map(free).collect(),
            serves,
        }
    }

    /// Classes that the cards of a family on a node could serve if nobody had anything of it, by position in the mix,
    /// each with these cards; `totals` are the amounts of the resources of the mix there.
    pub fn serves_idle(
        &self,
        (node, devices): (usize, &NodeDevices),
        totals: &[i64],
        family: u8,
    ) -> Vec<(usize, SmallVec<[bool; 8]>)> {
        let mut serves = Vec::new();
        devices.with_cards(family, |cards| {
            let all = 0..cards.cards.len();
            let alone: Vec<_> = all.map(|at| cards.only(&[at])).collect();
            for (at, class) in self.classes.iter().enumerate() {
                let mut needs = class.needs.iter();
                if class.family != family
                    || !self.admitting[class.rules].has(node)
                    || needs.any(|(resource, amount)| *amount > totals[usize::from(*resource)])
                {
                    continue;
                }
                let gives = |card| class.request.piece(card, 0, LedgerTime::Idle).is_some();
                let serving: SmallVec<[bool; 8]> = alone.iter().map(gives).collect();
                let count = serving.iter().filter(|serves| **serves).count();
                if count as i64 >= class.request.cards_at_once().max(1).into() {
                    serves.push((at, serving));
                }
            }
        });
        serves
    }

    /// The family that a class asks cards of.
    pub fn family_of(&self, class: usize) -> u8 {
        self.classes[class].family
    }
}
