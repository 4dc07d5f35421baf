//! The choice of chips, one container after the other (spec/05 §3.5, §3.7, P-14).
//!
//! A chip serves at most one container of a pod at a time. The best chip for each in turn is nearly always
//! right; where it is not, each gets the best one that leaves enough to those after it, which a
//! matching of containers and chips tells exactly.

use std::cmp::Reverse;

use smallvec::SmallVec;

use crate::facts::ContainerKind;
use crate::hami::links;
use crate::hami::order::RankedCard;
use crate::hami::place::worth_of;
use crate::hami::variant::CardVariant;
use crate::ledger::Card;
use crate::part::CardPart;
use crate::settings::Policy;

use super::PodOnChips;
use super::share::ChipNeed;

/// Positions of chips, by request, each as often as it counts.
pub type ChipPicks = SmallVec<[u16; 8]>;

/// Chips of a pod above which no matching is tried.
const MAX_MATCHED: usize = 64;

/// Points for chips that are all in one group with fast links.
const RING_POINTS: f64 = 10.0;

/// Chips that would serve a request, with their scores.
type ScoredChips = SmallVec<[(f64, u16); 16]>;

impl PodOnChips<'_> {
    /// Chips for all requests, and the score of the node; `None` if there are not enough. Those of init
    /// containers are free again when the others start, and score where no other container has any.
    pub fn place(&self, needs: &[ChipNeed]) -> Option<(ChipPicks, f64)> {
        let is_init = |need: &&ChipNeed| need.runs == ContainerKind::Init;
        if !needs.iter().any(|need| is_init(&need)) {
            return self.place_lasting(needs);
        }
        let lasting: Vec<ChipNeed> = needs
            .iter()
            .filter(|need| !is_init(need))
            .copied()
            .collect();
        let (found, score) = self.place_lasting(&lasting)?;
        let mut rest = &found[..];
        let mut picks = ChipPicks::new();
        for (at, need) in needs.iter().enumerate() {
            let own = match need.runs {
                ContainerKind::Init => {
                    let taken = beside(need, (&needs[..at], &picks), (&lasting, &found));
                    self.best(need, &taken)?
                }
                ContainerKind::Sidecar | ContainerKind::Regular => {
                    let (own, others) = rest.split_at(need.count as usize);
                    rest = others;
                    ChipPicks::from_slice(own)
                }
            };
            picks.extend(own);
        }
        let score = match lasting.is_empty() {
            true => self.score(needs, &picks),
            false => score,
        };
        Some((picks, score))
    }

    /// Chips for the requests of containers that run at the same time, and the score of the node.
    fn place_lasting(&self, needs: &[ChipNeed]) -> Option<(ChipPicks, f64)> {
        let mut picks = ChipPicks::new();
        for need in needs {
            let Some(found) = self.best(need, &picks) else {
                picks = self.careful(needs)?;
                break;
            };
            picks.extend(found);
        }
        let score = self.score(needs, &picks);
        Some((picks, score))
    }

    /// The chips that a request gets, of those that are not taken.
    pub fn best(&self, need: &ChipNeed, taken: &[u16]) -> Option<ChipPicks> {
        let count = need.count as usize;
        if self.cards.cards.len() < count {
            return None;
        }
        let mut order = self.order(need, taken);
        if order.len() < count {
            return None;
        }
        order.truncate(count);
        Some(order)
    }

    /// All chips that a request may get, of those that are not taken, the best first.
    fn order(&self, need: &ChipNeed, taken: &[u16]) -> ChipPicks {
        let mut fitting = self.candidates(need, taken);
        if self.limits.preference.is_by_policy() {
            // Chips stand in the order of their indices, which breaks ties.
            fitting.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        } else {
            self.by_preference(need, &mut fitting);
        }
        if self.chip(need).pairs {
            self.by_pairs(&mut fitting);
        } else if need.count > 1 && self.has_rings(need) {
            self.by_rings(&mut fitting);
        }
        fitting.iter().map(|(_, at)| *at).collect()
    }

    fn candidates(&self, need: &ChipNeed, taken: &[u16]) -> ScoredChips {
        let all = 0..self.cards.cards.len() as u16;
        let free = all.filter(|at| !taken.contains(at));
        let fitting = free.filter(|at| self.admits(need, usize::from(*at)).is_ok());
        fitting.map(|at| (self.place_in_order(at), at)).collect()
    }

    fn card(&self, at: u16) -> &Card {
        &self.cards.cards[usize::from(at)]
    }

    /// Score of a chip as it is before the pod.
    fn worth(&self, at: u16) -> f64 {
        self.worth_by(self.limits.preference.policy, at)
    }

    /// How early a chip comes, the largest first: cards that leave as little useless are taken as with binpack.
    fn place_in_order(&self, at: u16) -> f64 {
        match self.limits.preference.policy {
            Policy::Fragmentation => self.worth_by(Policy::Binpack, at),
            policy => self.worth_by(policy, at),
        }
    }

    fn worth_by(&self, policy: Policy, at: u16) -> f64 {
        let used = CardPart::used(self.cards, usize::from(at), self.view);
        let all = CardPart::capacity(self.cards, usize::from(at)).memory;
        worth_of(policy, used.memory, used.sharers, all)
    }

    /// All chips of the type have a group with fast links.
    fn has_rings(&self, need: &ChipNeed) -> bool {
        let of_type = |card: &&Card| CardVariant::of(card).kind == need.kind;
        let mut own = self.cards.cards.iter().filter(of_type);
        self.chip(need).word.starts_with("Ascend910") && own.all(|card| ring(card) != 0)
    }

    /// As the annotations of the pod say.
    fn by_preference(&self, need: &ChipNeed, fitting: &mut ScoredChips) {
        let ranked = fitting.iter().map(|(_, at)| {
            let card = usize::from(*at);
            self.ranked(need, card, CardPart::used(self.cards, card, self.view))
        });
        let mut ranked: SmallVec<[RankedCard; 16]> = ranked.collect();
        self.limits.preference.sort(&mut ranked);
        let scored = ranked.iter().map(|card| (self.worth(card.at), card.at));
        *fitting = scored.collect();
    }

    /// Larger groups first, the one with the first chip among equals.
    fn by_rings(&self, fitting: &mut ScoredChips) {
        let ring = |at: &u16| ring(self.card(*at));
        let sizes = links::zones(fitting.iter().map(|(_, at)| ring(at)));
        fitting.sort_by_key(|(_, at)| {
            let own = sizes.iter().find(|(known, _)| *known == ring(at));
            (Reverse(own.map_or(0, |(_, size)| *size)), ring(at))
        });
    }

    /// Pairs of chips that both fit, in the order of their better chips.
    fn by_pairs(&self, fitting: &mut ScoredChips) {
        let pair = |at: u16| self.card(at).index / 2;
        let mut pairs: SmallVec<[(u32, u32); 16]> = SmallVec::new();
        for (_, at) in fitting.iter() {
            match pairs.iter_mut().find(|(known, _)| *known == pair(*at)) {
                Some((_, count)) => *count += 1,
                None => pairs.push((pair(*at), 1)),
            }
        }
        let place = |at: u16| pairs.iter().position(|known| *known == (pair(at), 2));
        fitting.retain(|(_, at)| place(*at).is_some());
        fitting.sort_by_key(|(_, at)| place(*at));
    }

    /// Chips for all requests, if greed has found none: the best for each in turn that leave enough
    /// to those after it.
    fn careful(&self, needs: &[ChipNeed]) -> Option<ChipPicks> {
        let pairs = |need: &ChipNeed| self.chip(need).pairs;
        let total: u64 = needs.iter().map(|need| u64::from(need.count)).sum();
        let impossible = total > self.cards.cards.len().min(MAX_MATCHED) as u64;
        if needs.len() < 2 || impossible || needs.iter().any(pairs) {
            return None;
        }
        let mut picks = ChipPicks::new();
        if !self.can_go_on(needs, &picks) {
            return None;
        }
        let mut end = 0;
        for need in needs {
            end += need.count as usize;
            for at in self.order(need, &picks) {
                if picks.len() == end {
                    break;
                }
                picks.push(at);
                if !self.can_go_on(needs, &picks) {
                    picks.pop();
                }
            }
        }
        (picks.len() == end).then_some(picks)
    }

    /// Whether some chips can be found for what the picks leave to be served, by matching.
    fn can_go_on(&self, needs: &[ChipNeed], picks: &[u16]) -> bool {
        let mut matching = ChipMatching {
            on_node: *self,
            needs,
            holder: vec![None; self.cards.cards.len()],
        };
        let mut served = picks.len();
        needs.iter().enumerate().all(|(at, need)| {
            let has = served.min(need.count as usize);
            served -= has;
            (has..need.count as usize).all(|_| {
                let mut seen = vec![false; matching.holder.len()];
                picks
                    .iter()
                    .for_each(|pick| seen[usize::from(*pick)] = true);
                matching.serve(at, &mut seen)
            })
        })
    }

    /// Score of a node: of each request that of its first chip, unless the pod orders nodes; and how close its
    /// chips are.
    fn score(&self, needs: &[ChipNeed], picks: &[u16]) -> f64 {
        let of_node = self.limits.preference.node;
        let mut sum = of_node.map_or(0.0, |policy| self.node_score(policy));
        let mut rest = picks;
        for need in needs {
            let (own, others) = rest.split_at(need.count as usize);
            rest = others;
            if of_node.is_none() {
                sum += own.first().map_or(0.0, |at| self.worth(*at));
            }
            let word = &self.chip(need).word;
            if word.starts_with("Ascend910") {
                sum += self.closeness(own);
            }
        }
        sum
    }

    fn closeness(&self, picks: &[u16]) -> f64 {
        let rings = || picks.iter().map(|at| ring(self.card(*at)));
        let sizes = links::zones(rings());
        let most = sizes.iter().map(|(_, size)| *size).max();
        match rings().all(|ring| ring != 0) {
            true => RING_POINTS * most.unwrap_or(0) as f64 / picks.len().max(1) as f64,
            false => 0.0,
        }
    }
}

/// The group of chips with fast links that a chip is in, counted from 1; 0 for none.
fn ring(card: &Card) -> u16 {
    card.details.get()
}

/// Chips that an init container cannot have: those of sidecars before it, and those that other containers
/// have otherwise, since the container runtime is told one share of a chip for each pod. `before` are those
/// before it, and what they have; `lasting` likewise those that last.
fn beside(
    init: &ChipNeed,
    before: (&[ChipNeed], &[u16]),
    lasting: (&[ChipNeed], &[u16]),
) -> ChipPicks {
    let mut taken = ChipPicks::new();
    for (needs, picks) in [before, lasting] {
        let mut rest = picks;
        for need in needs {
            let (own, others) = rest.split_at(need.count as usize);
            rest = others;
            let is_sidecar = need.runs.runs_beside_init(need.container, init.container);
            if is_sidecar || need.share != init.share {
                taken.extend_from_slice(own);
            }
        }
    }
    taken
}

/// Who gets which chip (Kuhn's algorithm).
struct ChipMatching<'a> {
    on_node: PodOnChips<'a>,
    needs: &'a [ChipNeed],
    /// By chip, the request that has it.
    holder: Vec<Option<usize>>,
}

impl ChipMatching<'_> {
    /// Finds one more chip for a request, moving others if need be.
    fn serve(&mut self, need: usize, seen: &mut Vec<bool>) -> bool {
        for card in 0..self.holder.len() {
            let admitted = self.on_node.admits(&self.needs[need], card).is_ok();
            if seen[card] || !admitted || self.holder[card] == Some(need) {
                continue;
            }
            seen[card] = true;
            let free = match self.holder[card] {
                None => true,
                Some(other) => self.serve(other, seen),
            };
            if free {
                self.holder[card] = Some(need);
                return true;
            }
        }
        false
    }
}
