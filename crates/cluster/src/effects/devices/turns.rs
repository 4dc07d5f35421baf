//! Stamps: what is known only when a Binding is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use pumice_devices::marks::{self, Sent};
use pumice_devices::{Mark, MarkValue};

/// The last turn used on each node.
#[derive(Default)]
pub(crate) struct Turns {
    last: Mutex<marks::Turns>,
}

impl Turns {
    fn last(&self) -> MutexGuard<'_, marks::Turns> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A pod on the node has this turn, whoever gave it.
    pub(crate) fn saw(&self, node: &str, turn: u64) {
        self.last().saw(node, turn);
    }

    /// A node is gone.
    pub(crate) fn forget(&self, node: &str) {
        self.last().forget(node);
    }

    /// Writes values in the place of what was not known when it was decided.
    pub(crate) fn stamp(
        &self,
        node: &str,
        marks: &[Mark],
        now: Timestamp,
    ) -> Vec<(&'static str, String)> {
        let seconds = now.as_second();
        let takes_turn = marks.iter().any(|mark| mark.value == MarkValue::Turn);
        let sent = Sent {
            seconds,
            nanos: i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX),
            turn: match takes_turn {
                true => self.last().next(node, seconds),
                false => 0,
            },
        };
        let pair = |mark: &Mark| (mark.key, mark.value.text(sent));
        marks.iter().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Mark = Mark {
        key: "turn",
        value: MarkValue::Turn,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 7).expect("a time")
    }

    fn turn(turns: &Turns, node: &str, second: i64) -> String {
        turns.stamp(node, &[TURN], at(second)).remove(0).1
    }

    #[test]
    fn turns_of_a_node_grow_strictly_and_follow_the_clock() {
        let turns = Turns::default();
        let asked = [(100, "a"), (100, "a"), (100, "b"), (90, "a"), (200, "a")];
        let given = asked.map(|(second, node)| turn(&turns, node, second));
        assert_eq!(given, ["100", "101", "100", "102", "200"]);
    }

    #[test]
    fn a_turn_that_was_seen_is_not_given_again() {
        let cases = [
            (500, "501"),
            (99, "100"),
            (1_785_000_000_000_000_000, "1785000000000000001"),
            (u64::MAX, "100"),
            (u64::MAX - 1, "100"),
        ];
        for (seen, next) in cases {
            let turns = Turns::default();
            turns.saw("a", seen);
            turns.saw("a", 7);
            assert_eq!(turn(&turns, "a", 100), next, "after {seen}");
            turns.forget("a");
            assert_eq!(turn(&turns, "a", 100), "100");
        }
    }

    #[test]
    fn every_kind_of_value_is_stamped() {
        let mark = |key, value| Mark { key, value };
        let marks = [
            mark("text", MarkValue::Text("GPU-a,NVIDIA,3000,50:".to_owned())),
            mark("seconds", MarkValue::Seconds),
            TURN,
            mark("nanos", MarkValue::Nanos),
        ];
        let turns = Turns::default();
        turns.saw("n", 1_785_000_009);
        let stamped = turns.stamp("n", &marks, at(1_785_000_000));
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
