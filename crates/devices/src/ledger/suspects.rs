//! Cards that may be those a pod has under ids that its node does not tell any more.
//!
//! A device plugin that registers the cards of a node under other ids leaves pods behind whose annotations
//! name none of them. They run all the same: until it is known where, what they have counts on every card
//! that it could be.

use super::{Allocation, Allocations, Card, NodeCards};

impl NodeCards {
    /// Charges what a pod has of cards that the node does not tell to each of its cards that it could be:
    /// `is_own` says which are of the same kind, `guess` what counts there. A container has no card
    /// twice, and none of which there is too little. Of more than `most` there is nothing to suspect: the pod
    /// asks no more.
    pub fn suspect(
        &self,
        allocations: &mut Allocations,
        most: u64,
        is_own: impl Fn(&Allocation, &Card) -> bool,
        guess: impl Fn(&Allocation, usize) -> Allocation,
    ) {
        let is_stray = |one: &&Allocation| one.card.is_none() && one.certain;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let strays = allocations.iter().filter(is_stray).take(most);
        let mut suspects = Vec::new();
        for stray in strays {
            for (at, card) in self.cards.iter().enumerate() {
                let is_known = allocations.iter().any(|one| {
                    one.card == Some(at as u16) && one.certain && one.container == stray.container
                });
                if !is_known && self.could_hold(at, stray) && is_own(stray, card) {
                    suspects.push(Allocation {
                        suspect: true,
                        ..guess(stray, at).guessed()
                    });
                }
            }
        }
        allocations.extend(suspects);
    }

    /// The hardware of a card has as much.
    fn could_hold(&self, card: usize, stray: &Allocation) -> bool {
        let amounts = self.capacity(card).iter().zip(&stray.charged);
        let mut amounts = self.dimensions.iter().zip(amounts);
        amounts.all(|(dimension, (all, charged))| !dimension.is_physical || all >= charged)
    }
}
