//! The choice of cards, one container after the other (spec/04 §23.4).
//!
//! The cards of a container are different ones, but for instances of a card that is split; containers
//! may share a card. The best cards for each in turn are nearly always right; where they are not, the
//! next best are tried, up to a bound of steps. Where they have to be near one NUMA node, each is
//! tried, that of the best card first. Which cards are the best says [`super::order`].

use smallvec::SmallVec;

use crate::facts::ContainerKind;
use crate::ledger::CardSummary;
use crate::part::CardPart;
use crate::settings::Policy;

use super::best_set::STEPS_OF_POD;
use super::check::Taken;
use super::share::{CardMemory, CardNeed};
use super::vendor_cards::PodOnCards;

/// Cards, by need, each as often as it counts.
pub type TakenCards = SmallVec<[Taken; 4]>;

/// Cards of which a container gets some, the best first.
pub type CardOrder = SmallVec<[u16; 16]>;

/// What a pod may still try on a node.
pub struct TriesLeft {
    /// Cards for a container; without any left the node counts as not fitting.
    pub cards: u32,
    /// Steps of the search for cards that are linked well.
    pub links: u32,
}

impl Default for TriesLeft {
    fn default() -> Self {
        Self {
            cards: 2_000,
            links: STEPS_OF_POD,
        }
    }
}

/// Cards of a pod of several containers above which nothing is tried; the depth is bounded by this.
const MAX_CARDS: u64 = 64;

impl PodOnCards<'_> {
    /// Cards for all needs, and the score of the node; `None` if there are not enough.
    pub fn place(&self, needs: &[CardNeed]) -> Option<(TakenCards, f64)> {
        let taken = self.choose(needs, &mut TriesLeft::default())?;
        let vendor =
            self.sgpu_score(needs, &taken) + self.rating(needs) + self.wing_score(needs, &taken);
        let own = match self.limits.preference.node {
            Some(policy) => self.node_score(policy),
            None => self.score(&taken),
        };
        let score = own + vendor as f64;
        Some((taken, score))
    }

    /// Cards for all needs, found in so many steps.
    pub fn choose(&self, needs: &[CardNeed], left: &mut TriesLeft) -> Option<TakenCards> {
        if let [need] = needs {
            return self.best(need, &[], left);
        }
        let cards: u64 = needs.iter().map(|need| u64::from(need.count)).sum();
        let serves = |need: &CardNeed, set: &CardOrder| self.first(need, set, &[]).is_some();
        let mut alone = needs.iter().map(|need| (need, self.sets(need, &[])));
        if cards > MAX_CARDS || !alone.all(|(need, sets)| sets.iter().any(|set| serves(need, set)))
        {
            return None;
        }
        let mut taken = TakenCards::new();
        self.search(needs, &mut taken, left).then_some(taken)
    }

    /// The cards that a need gets beside what containers of the pod have got.
    pub fn best(&self, need: &CardNeed, own: &[Taken], left: &mut TriesLeft) -> Option<TakenCards> {
        if own.is_empty() && self.is_single(need) {
            let single = self.single(need, left)?;
            return Some(TakenCards::from_iter([single]));
        }
        let mut sets = self.sets(need, own).into_iter();
        sets.find_map(|mut set| {
            self.link(need, &mut set, &mut left.links);
            self.first(need, &set, own)
        })
    }

    /// The first cards for a need, of those in an order.
    pub fn first(&self, need: &CardNeed, order: &[u16], own: &[Taken]) -> Option<TakenCards> {
        let count = need.count as usize;
        let (mut found, mut all) = (TakenCards::new(), TakenCards::from_slice(own));
        for at in order {
            let at = usize::from(*at);
            while let Ok(taken) = self.admits(need, at, &all) {
                found.push(taken);
                if found.len() == count {
                    return Some(found);
                }
                all.push(taken);
                if !self.is_split(at) {
                    break;
                }
            }
        }
        None
    }

    /// Cards for each need in turn.
    fn search(&self, needs: &[CardNeed], taken: &mut TakenCards, left: &mut TriesLeft) -> bool {
        let Some((need, rest)) = needs.split_first() else {
            return true;
        };
        let mut sets = self.sets(need, taken).into_iter();
        sets.any(|mut set| {
            self.link(need, &mut set, &mut left.links);
            self.take((need, rest), &set, need.count, taken, left)
        })
    }

    /// So many cards of those in `order` for a need, then the needs after it.
    fn take(
        &self,
        (need, rest): (&CardNeed, &[CardNeed]),
        order: &[u16],
        missing: u32,
        taken: &mut TakenCards,
        left: &mut TriesLeft,
    ) -> bool {
        if missing == 0 {
            return self.search(rest, taken, left);
        }
        for (at, card) in order.iter().enumerate() {
            let is_split = |card: &u16| self.is_split(usize::from(*card));
            let may_do = order.len() - at >= missing as usize || order[at..].iter().any(is_split);
            if !may_do || left.cards == 0 {
                return false;
            }
            left.cards -= 1;
            let Ok(found) = self.admits(need, usize::from(*card), taken) else {
                continue;
            };
            taken.push(found);
            let next = at + usize::from(!is_split(card));
            if self.take((need, rest), &order[next..], missing - 1, taken, left) {
                return true;
            }
            taken.pop();
        }
        false
    }

    /// Sum over the cards, each as it is before the pod's container takes it. Those of init containers
    /// count where no other container has any.
    fn score(&self, taken: &[Taken]) -> f64 {
        let is_init = |one: &&Taken| one.runs == ContainerKind::Init;
        let mut lasting = TakenCards::new();
        if taken.iter().any(|one| is_init(&one)) {
            lasting.extend(taken.iter().filter(|one| !is_init(one)).copied());
        }
        let scored = match lasting.is_empty() {
            true => taken,
            false => &lasting[..],
        };
        let worth = |(at, Taken { card, part, .. }): (usize, &Taken)| {
            let card = usize::from(*card);
            let used = self.used(card, &scored[..at]);
            let all = CardPart::capacity(self.cards, card).memory;
            worth_of(
                self.limits.preference.policy,
                used.memory + part.memory,
                used.sharers,
                all,
            )
        };
        scored.iter().enumerate().map(worth).sum()
    }
}

/// Score of a card of which so much memory counts as used, with so many containers on it.
pub fn worth_of(policy: Policy, memory: i64, sharers: i64, all: i64) -> f64 {
    match policy {
        Policy::None | Policy::Fragmentation => 0.0,
        Policy::Binpack => share(memory, all),
        Policy::Spread if sharers == 0 => 100.0,
        Policy::Spread => 0.0,
    }
}

/// Percent of the memory of a card; cards of some vendors tell none.
fn share(used: i64, all: i64) -> f64 {
    100.0 * used as f64 / all.max(1) as f64
}

/// What [`PodOnCards::place`] says of one card for a container without limits, from summaries: the score
/// of the best card, if there is one. A test holds both together.
pub fn summary(need: &CardNeed, policy: Policy, cards: &[CardSummary]) -> Option<f64> {
    let mut best: Option<(i64, f64)> = None;
    for card in cards {
        let memory = i64::from(card.capacity);
        let part = match need.share.memory {
            CardMemory::Mib(mib) => mib,
            CardMemory::Percent(percent) => memory * percent / 100,
            // No card with profiles is in a summary.
            CardMemory::Profile(_) => return None,
        };
        let cores = need.share.cores.of(100);
        let left = i64::from(card.percent_left);
        let fits = card.usable
            && u16::from(card.variant) == need.kind
            && card.sharers_left > 0
            && memory - i64::from(card.used) >= part
            && left >= cores
            && !(cores == 100 && card.sharers > 0)
            && !(cores == 0 && left == 0);
        if !fits {
            continue;
        }
        let used = i64::from(card.used);
        let (worth, score) = match policy {
            Policy::None | Policy::Fragmentation => return Some(0.0),
            Policy::Binpack => (used, share(used + part, memory)),
            Policy::Spread if card.sharers == 0 => return Some(100.0),
            Policy::Spread => (0, 0.0),
        };
        if best.is_none_or(|(most, _)| worth > most) {
            best = Some((worth, score));
        }
    }
    best.map(|(_, score)| score)
}
