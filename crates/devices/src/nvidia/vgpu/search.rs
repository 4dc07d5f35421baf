//! Exact search for pods with several containers, when taking the best for each in turn fails.
//!
//! The first container may take what only the second could use, or fix a MIG geometry that has
//! nothing for it. The search tries all cards and all groups, in order, up to a bound of steps; of
//! idle cards that are alike it tries one.

use smallvec::SmallVec;

use crate::nvidia::vgpu::check::{Candidates, CardCandidate, Check, PodOnNode};
use crate::nvidia::vgpu::containers::ContainerRequest;
use crate::nvidia::vgpu::partitions::PartitionTable;
use crate::nvidia::vgpu::place::Rank;
use crate::nvidia::vgpu::sharing::{SharingMode, mode};

/// Steps after which a node counts as not fitting.
const STEPS: u32 = 2_000;
/// Devices of a pod above which no search is tried; its depth is bounded by this.
const DEVICES: u64 = 64;

/// Cards for all containers; `None` if there are none, or if the search gave up.
pub fn search(on_node: PodOnNode, needs: &[ContainerRequest]) -> Option<(Candidates, f64)> {
    let devices: u64 = needs.iter().map(|need| u64::from(need.count)).sum();
    if devices > DEVICES || needs.len() < 2 {
        return None;
    }
    // Most nodes that fail do so for one container alone.
    let alone = |need: &ContainerRequest| on_node.place(need, &mut Candidates::new()).is_ok();
    if !needs.iter().all(alone) {
        return None;
    }
    let mut search = Search {
        on_node,
        needs,
        candidates: Candidates::new(),
        steps: 0,
    };
    if !search.container(0) {
        return None;
    }
    let score = search.score();
    Some((search.candidates, score))
}

struct Search<'a> {
    on_node: PodOnNode<'a>,
    needs: &'a [ContainerRequest],
    candidates: Candidates,
    steps: u32,
}

impl Search<'_> {
    fn container(&mut self, at: usize) -> bool {
        let Some(need) = self.needs.get(at) else {
            return true;
        };
        let on_node = self.on_node;
        SharingMode::ALL.into_iter().any(|of| {
            let cards = on_node.cards.cards.iter().enumerate();
            let cards =
                cards.filter(|(at, card)| mode(card) == of && on_node.allows(need, *at).is_ok());
            let mut order: SmallVec<[(Rank, u16); 16]> = cards
                .map(|(card, _)| (on_node.rank(card, &self.candidates), card as u16))
                .collect();
            order.sort_unstable();
            order.len() >= need.count as usize && self.cards(at, &order, need.count)
        })
    }

    /// `left` cards of those in `order` for a container, then the containers after it.
    fn cards(&mut self, container: usize, order: &[(Rank, u16)], left: u32) -> bool {
        if left == 0 {
            return self.container(container + 1);
        }
        let mut tried: SmallVec<[usize; 8]> = SmallVec::new();
        for (at, (_, card)) in order.iter().enumerate() {
            let card = usize::from(*card);
            if order.len() - at < left as usize || self.steps >= STEPS {
                return false;
            }
            if self.is_idle(card) {
                if tried.iter().any(|known| self.alike(*known, card)) {
                    continue;
                }
                tried.push(card);
            }
            let groups = self
                .on_node
                .table(self.on_node.card(card))
                .map(PartitionTable::groups);
            for group in 0..groups.unwrap_or(1) {
                self.steps += 1;
                let only = groups.map(|_| group);
                let Ok(candidate) = self.admits(container, card, only) else {
                    continue;
                };
                self.candidates.push(candidate);
                if self.cards(container, &order[at + 1..], left - 1) {
                    return true;
                }
                self.candidates.pop();
            }
        }
        false
    }

    fn admits(
        &self,
        container: usize,
        card: usize,
        only: Option<u16>,
    ) -> Result<CardCandidate, Check> {
        let need = &self.needs[container];
        self.on_node.admits(need, card, &self.candidates, only)
    }

    fn is_idle(&self, card: usize) -> bool {
        self.on_node.used(card, &self.candidates).sharers == 0
    }

    /// Whether one of two idle cards that passed the lists is as good as the other.
    fn alike(&self, one: usize, other: usize) -> bool {
        let on_node = self.on_node;
        let (variant, others) = (on_node.card(one).variant, on_node.card(other).variant);
        on_node.capacity(one) == on_node.capacity(other) && variant == others
    }

    /// The score of what was found, as if it had been taken in turn.
    fn score(&self) -> f64 {
        let worth = |(at, candidate): (usize, &CardCandidate)| {
            // Cards of one container are different ones, so each counts what is before it.
            self.on_node.worth(candidate, &self.candidates[..at])
        };
        self.candidates.iter().enumerate().map(worth).sum()
    }
}
