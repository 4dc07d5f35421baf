//! Cards that may be those a pod has under ids that its node does not tell any more.
//!
//! A device plugin that registers the cards of a node under other ids leaves pods behind whose annotations
//! name none of them. They run all the same: until it is known where, what they have counts on every card
//! that it could be.

use super::{Allocation, Allocations, NodeCards};

impl NodeCards {
    /// Charges what a pod has of cards that the node does not tell to each of its cards that it could be:
    /// `guess` says what counts there, and of cards of another kind nothing. A container has no card
    /// twice, and none of which there is too little.
    pub fn suspect(
        &self,
        allocations: &mut Allocations,
        guess: impl Fn(&Allocation, usize) -> Option<Allocation>,
    ) {
        let is_stray = |one: &&Allocation| one.card.is_none() && one.certain;
        let strays = allocations.iter().filter(is_stray);
        let mut suspects = Vec::new();
        for stray in strays {
            for at in 0..self.cards.len() {
                let is_known = allocations.iter().any(|one| {
                    one.card == Some(at as u16) && one.certain && one.container == stray.container
                });
                let guess = guess(stray, at).filter(|_| !is_known);
                let guess = guess.filter(|guess| self.could_hold(at, guess));
                suspects.extend(guess.map(|guess| Allocation {
                    suspect: true,
                    ..guess.guessed()
                }));
            }
        }
        allocations.extend(suspects);
    }

    /// The hardware of a card has as much.
    fn could_hold(&self, card: usize, guess: &Allocation) -> bool {
        let amounts = self.capacity(card).iter().zip(&guess.charged);
        let mut amounts = self.dimensions.iter().zip(amounts);
        amounts.all(|(dimension, (all, charged))| !dimension.is_physical || all >= charged)
    }
}
