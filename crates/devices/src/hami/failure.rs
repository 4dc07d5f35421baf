//! In which of the ways that a family knows a node does not fit.

use crate::ledger::LedgerTime;

use super::card_check::CardCheck;
use super::own::{HamiFamily, NeedOf, PodOnDevices};

impl<F: HamiFamily> PodOnDevices<'_, F> {
    /// Index of the failure on a node where the pod does not fit.
    #[cold]
    pub fn failure(&self, needs: &[NeedOf<F>]) -> u8 {
        let idle = self.at(LedgerTime::Idle);
        if F::place(&idle, needs).is_some() {
            return F::LATER;
        }
        let alone = |need: &&NeedOf<F>| F::best(&idle, need, &[]).is_none();
        let Some(need) = needs.iter().find(alone).or(needs.last()) else {
            return F::LATER;
        };
        let mut last = CardCheck::default();
        let mut has_some = false;
        for at in 0..self.cards.cards.len() {
            match idle.allows(need, at) {
                Ok(()) => has_some = true,
                Err(check) => last = last.max(check),
            }
        }
        F::failure_of(&idle, need, alone(&need), (!has_some).then_some(last))
    }
}
