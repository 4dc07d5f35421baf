//! What cards look like, and what one of each is once a task has what it asks.
//!
//! Nodes have few kinds of cards, and tasks of different classes leave cards alike: what a card is to the mix is found
//! once for all of them.

use pumice_devices::mix::CardWorth;
use pumice_devices::{CardSummary, DeviceMix, PlainAsk};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ix::NodeIx;

/// Cards of which it is remembered what they are to the mix, whether some node has such a card or not.
const MAX_WORTHS: usize = 1 << 17;

/// What decides what a card is to a mix.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct MetCard {
    /// [`DeviceMix::kind`] of its node.
    kind: u32,
    family: u8,
    card: CardSummary,
}

/// Cards of nodes by what they look like to one mix.
#[derive(Default)]
pub(super) struct CardLooks {
    numbers: FxHashMap<MetCard, u32>,
    /// By number, with a node that has such a card.
    looks: Vec<Option<(MetCard, NodeIx)>>,
    unused: Vec<u32>,
    /// Who asked last.
    asked: Option<(u8, PlainAsk)>,
    /// By number, what a card is once that task has it; nothing where it will not do.
    after: Vec<Option<CardWorth>>,
    worths: FxHashMap<MetCard, CardWorth>,
}

impl CardLooks {
    /// A number for a card of a node: the same for all that are alike.
    pub fn number(
        &mut self,
        mix: &DeviceMix,
        (node, family): (NodeIx, u8),
        card: CardSummary,
    ) -> u32 {
        let kind = mix.kind(node.at());
        let look = MetCard { kind, family, card };
        if let Some(known) = self.numbers.get(&look) {
            return *known;
        }
        let number = self.unused.pop().unwrap_or(self.looks.len() as u32);
        match self.looks.get_mut(number as usize) {
            Some(free) => *free = Some((look, node)),
            None => self.looks.push(Some((look, node))),
        }
        self.numbers.insert(look, number);
        let known = self.asked.filter(|_| (number as usize) < self.after.len());
        if let Some((of, ask)) = known {
            let after = self.once_taken(mix, (look, node), (of, &ask));
            self.after[number as usize] = after;
        }
        number
    }

    /// Finds out what cards are once somebody has what is asked of them.
    pub fn ask(&mut self, mix: &DeviceMix, family: u8, ask: &PlainAsk) {
        if self.asked != Some((family, *ask)) {
            self.asked = Some((family, *ask));
            self.after.clear();
        }
        for number in self.after.len()..self.looks.len() {
            let after =
                self.looks[number].and_then(|look| self.once_taken(mix, look, (family, ask)));
            self.after.push(after);
        }
    }

    fn once_taken(
        &mut self,
        mix: &DeviceMix,
        (look, node): (MetCard, NodeIx),
        (family, ask): (u8, &PlainAsk),
    ) -> Option<CardWorth> {
        if look.family != family {
            return None;
        }
        let card = ask.taken_of(&look.card)?;
        let look = MetCard { card, ..look };
        if let Some(known) = self.worths.get(&look) {
            return Some(*known);
        }
        if self.worths.len() >= MAX_WORTHS {
            self.worths.clear();
        }
        let worth = mix.card_worth(node.at(), family, &card);
        self.worths.insert(look, worth);
        Some(worth)
    }

    /// By number, what cards are once a task has what it asks; nothing if it did not ask last.
    #[inline]
    pub fn after(&self, family: u8, ask: &PlainAsk) -> Option<&[Option<CardWorth>]> {
        (self.asked == Some((family, *ask))).then_some(&self.after)
    }

    /// Forgets the cards that nobody has any more.
    pub fn retain(&mut self, in_use: &FxHashSet<u32>) {
        for (number, look) in (0..).zip(&mut self.looks) {
            if !in_use.contains(&number)
                && let Some((look, _)) = look.take()
            {
                self.numbers.remove(&look);
                self.unused.push(number);
            }
        }
    }
}
