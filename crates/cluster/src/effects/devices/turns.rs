//! Stamps: what is known only when a Binding is sent.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use pumice_devices::{Mark, MarkValue};
use rustc_hash::FxHashMap;

/// Beyond this a number is no turn: plugins write 2⁶⁴ − 1 when they are done with a pod, and the
/// next number must exist.
const LARGEST: u64 = i64::MAX as u64;

/// A turn this much older than the clock is not kept: the clock alone gives a larger one. The rest
/// is for a clock that is set back.
const KEPT_S: u64 = 3600;

/// Nodes before the old ones are first forgotten.
const FIRST_SWEEP: usize = 1024;

/// The last turn used on each node.
#[derive(Default)]
pub(in crate::effects) struct Turns {
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    of: FxHashMap<String, u64>,
    /// Forget old ones when there are more nodes than this.
    sweep_at: usize,
}

impl Turns {
    /// The next turn of a node: `now_s`, or more where that was used.
    fn next(&self, node: &str, now_s: u64) -> u64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = match last.of.get(node) {
            Some(used) => now_s.max(used + 1),
            None => now_s,
        };
        last.keep(node, turn, now_s);
        turn
    }

    /// A pod on the node has this turn, whoever gave it.
    pub(in crate::effects) fn saw(&self, node: &str, turn: u64, now_s: u64) {
        if turn > LARGEST || turn + KEPT_S < now_s {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.of.get(node).is_none_or(|used| *used < turn) {
            last.keep(node, turn, now_s);
        }
    }

    /// Writes values in the place of what was not known when it was decided.
    pub(in crate::effects) fn stamp(
        &self,
        node: &str,
        marks: &[Mark],
        now: Timestamp,
    ) -> Vec<(&'static str, String)> {
        let seconds = seconds(now);
        let value = |mark: &Mark| match &mark.value {
            MarkValue::Text(text) => text.clone(),
            MarkValue::Seconds => seconds.to_string(),
            MarkValue::Turn => self.next(node, seconds).to_string(),
            MarkValue::Nanos => now.as_nanosecond().to_string(),
        };
        marks.iter().map(|mark| (mark.key, value(mark))).collect()
    }
}

/// Unix seconds.
pub(in crate::effects) fn seconds(now: Timestamp) -> u64 {
    u64::try_from(now.as_second()).unwrap_or(0)
}

impl Last {
    fn keep(&mut self, node: &str, turn: u64, now_s: u64) {
        match self.of.get_mut(node) {
            Some(last) => *last = turn,
            None => {
                self.of.insert(node.to_owned(), turn);
            }
        }
        if self.of.len() > self.sweep_at.max(FIRST_SWEEP) {
            self.of.retain(|_, turn| *turn + KEPT_S >= now_s);
            self.sweep_at = 2 * self.of.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_a_node_grow_strictly_and_follow_the_clock() {
        let turns = Turns::default();
        let asked = [(100, "a"), (100, "a"), (100, "b"), (90, "a"), (200, "a")];
        let given = asked.map(|(now, node)| turns.next(node, now));
        assert_eq!(given, [100, 101, 100, 102, 200]);
    }

    #[test]
    fn a_turn_that_was_seen_is_not_given_again() {
        let cases = [
            (500, 501),
            (99, 100),
            (5, 100),
            (1_785_000_000_000_000_000, 1_785_000_000_000_000_001),
            (u64::MAX, 100),
            (LARGEST + 1, 100),
        ];
        for (seen, next) in cases {
            let turns = Turns::default();
            turns.saw("a", seen, 100);
            turns.saw("a", 7, 100);
            assert_eq!(turns.next("a", 100), next, "after {seen}");
        }
    }

    #[test]
    fn memory_does_not_grow_with_nodes_that_are_gone() {
        let turns = Turns::default();
        for at in 0..20_000 {
            turns.next(&format!("n{at}"), 10 * at);
        }
        let kept = turns.last.lock().unwrap().of.len();
        assert!(kept <= 2 * FIRST_SWEEP, "{kept}");
    }

    #[test]
    fn every_kind_of_value_is_stamped() {
        let now = Timestamp::new(1_785_000_000, 7).expect("a time");
        let mark = |key, value| Mark { key, value };
        let marks = [
            mark("text", MarkValue::Text("GPU-a,NVIDIA,3000,50:".to_owned())),
            mark("seconds", MarkValue::Seconds),
            mark("turn", MarkValue::Turn),
            mark("nanos", MarkValue::Nanos),
        ];
        let turns = Turns::default();
        turns.saw("n", 1_785_000_009, 1_785_000_000);
        let stamped = turns.stamp("n", &marks, now);
        let values: Vec<&str> = stamped.iter().map(|(_, value)| value.as_str()).collect();
        let wanted = [
            "GPU-a,NVIDIA,3000,50:",
            "1785000000",
            "1785000010",
            "1785000000000000007",
        ];
        assert_eq!(values, wanted);
    }
}
