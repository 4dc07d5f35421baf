//! How what was found out about nodes enters the index of a class.

use std::ops::Range;

use pumice_framework::Verdict;
use pumice_model::node::BLOCK;

use super::super::evaluate::Block;
use super::super::ranking::Ranking;
use super::super::wide_max::NOT_A_CANDIDATE;
use super::ClassIndex;

impl ClassIndex {
    /// Takes in the first entries of a block: what was found out about the nodes of `range`.
    pub(super) fn record(&mut self, range: Range<usize>, block: &Block) {
        if range.len() > 1 && self.is_plain() {
            self.record_plain(range, block);
            return;
        }
        for (at, node) in range.enumerate() {
            let (whole, fraction) = block.scores(at);
            self.record_node(node, block.verdict[at], whole, fraction);
        }
    }

    /// Whether keys are nothing but scores.
    pub fn is_plain(&self) -> bool {
        let normalised = &self.evaluator.static_part.normalised;
        self.cells.is_none() && self.parts.is_none() && normalised.is_empty()
    }

    /// [`ClassIndex::record_node`] for neighbours at once.
    fn record_plain(&mut self, range: Range<usize>, block: &Block) {
        let verdicts = &block.verdict[..range.len()];
        if self.verdict[range.clone()] != *verdicts {
            for (node, verdict) in range.clone().zip(verdicts) {
                let old = std::mem::replace(&mut self.verdict[node], *verdict);
                if old != *verdict {
                    self.count(old, -1);
                    self.count(*verdict, 1);
                }
            }
        }
        let mut keys = [NOT_A_CANDIDATE; BLOCK];
        let keys = &mut keys[..range.len()];
        let mut put = |ranking: &mut Ranking, wanted: Verdict| {
            for (at, key) in keys.iter_mut().enumerate() {
                let (whole, fraction) = block.scores(at);
                *key = match verdicts[at] == wanted {
                    true => whole as f64 + fraction,
                    false => NOT_A_CANDIDATE,
                };
            }
            ranking.set_neighbours(range.start, keys);
        };
        put(&mut self.idle, Verdict::IDLE);
        if let Some(future) = &mut self.future {
            put(future, Verdict::FUTURE);
        }
    }

    fn record_node(&mut self, node: usize, verdict: Verdict, whole: i64, fraction: f64) {
        let old = self.verdict[node];
        if old != verdict {
            self.verdict[node] = verdict;
            self.count(old, -1);
            self.count(verdict, 1);
            if !self.evaluator.static_part.normalised.is_empty() {
                self.count_raw(node, old, verdict);
            }
        }
        if let Some(parts) = &mut self.parts {
            parts.int_score[node] = whole;
            parts.frac_score[node] = fraction;
        }
        let layout = self.cells.as_ref().map(|cells| cells.layout.as_ref());
        let put = |ranking: &mut Ranking, member: bool| {
            let key = if member {
                let normalised = &self.evaluator.static_part.normalised;
                let extra: i64 = normalised
                    .iter()
                    .zip(&ranking.raw_max)
                    .map(|(n, max)| n.score(n.raw[node].min(*max), *max))
                    .sum();
                (whole + extra) as f64 + fraction
            } else {
                NOT_A_CANDIDATE
            };
            ranking.set(node, key, layout);
        };
        put(&mut self.idle, verdict == Verdict::IDLE);
        if let Some(future) = &mut self.future {
            // Of nodes that are idle those count where other pods keep it off until they are gone: if
            // they do nowhere, an idle one was found before.
            let waits = self.cells.is_some() && verdict == Verdict::IDLE;
            put(future, waits || verdict == Verdict::FUTURE);
        }
    }

    fn count(&mut self, verdict: Verdict, by: i32) {
        if let Some(set) = verdict.reasons() {
            let at = set.0 as usize;
            if self.counts.len() <= at {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] = self.counts[at].wrapping_add_signed(by);
        }
    }

    fn count_raw(&mut self, node: usize, old: Verdict, new: Verdict) {
        let mut shift = |verdict: Verdict, by: i32| {
            let ranking = match verdict {
                Verdict::IDLE => &mut self.idle,
                Verdict::FUTURE => match &mut self.future {
                    Some(future) => future,
                    None => return,
                },
                _ => return,
            };
            for (counts, normalised) in ranking
                .raw_counts
                .iter_mut()
                .zip(&self.evaluator.static_part.normalised)
            {
                let count = counts.entry(normalised.raw[node]).or_insert(0);
                *count = count.wrapping_add_signed(by);
                if *count == 0 {
                    counts.remove(&normalised.raw[node]);
                }
            }
        };
        shift(old, -1);
        shift(new, 1);
    }
}
