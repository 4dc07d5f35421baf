//! Stamps: what is known only when a Binding is sent.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use pumice_devices::binding::{Sent, Sequences};
use pumice_devices::{Annotation, AnnotationValue};

/// The last sequence number used on each node.
#[derive(Default)]
pub(crate) struct Stamps {
    last: Mutex<Sequences>,
}

impl Stamps {
    fn last(&self) -> MutexGuard<'_, Sequences> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A pod on the node has this sequence number, whoever gave it.
    pub(crate) fn saw(&self, node: &str, sequence: u64) {
        self.last().saw(node, sequence);
    }

    /// A node is gone.
    pub(crate) fn forget(&self, node: &str) {
        self.last().forget(node);
    }

    /// Writes values in the place of what was not known when it was decided.
    pub(crate) fn stamp(
        &self,
        node: &str,
        written: &[Annotation],
        now: Timestamp,
    ) -> Vec<(Cow<'static, str>, String)> {
        let seconds = now.as_second();
        let nanos = i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX);
        let has = |value| written.iter().any(|annotation| annotation.value == value);
        let sent = Sent {
            seconds,
            nanos,
            sequence: match has(AnnotationValue::Sequence) {
                true => self.last().next(node, seconds),
                false => 0,
            },
            nano_sequence: match has(AnnotationValue::NanoSequence) {
                true => self.last().next_nanos(node, nanos),
                false => 0,
            },
        };
        let pair = |annotation: &Annotation| (annotation.key.clone(), annotation.value.text(sent));
        written.iter().map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCE: Annotation = Annotation {
        key: Cow::Borrowed("sequence"),
        value: AnnotationValue::Sequence,
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 7).expect("a time")
    }

    fn sequence(stamps: &Stamps, node: &str, second: i64) -> String {
        stamps.stamp(node, &[SEQUENCE], at(second)).remove(0).1
    }

    #[test]
    fn sequences_of_a_node_grow_strictly_and_follow_the_clock() {
        let stamps = Stamps::default();
        let asked = [(100, "a"), (100, "a"), (100, "b"), (90, "a"), (200, "a")];
        let given = asked.map(|(second, node)| sequence(&stamps, node, second));
        assert_eq!(given, ["100", "101", "100", "102", "200"]);
    }

    #[test]
    fn a_sequence_that_was_seen_is_not_given_again() {
        let cases = [
            (500, "501"),
            (99, "100"),
            (1_785_000_000_000_000_000, "1785000000000000001"),
            (u64::MAX, "100"),
            (u64::MAX - 1, "100"),
        ];
        for (seen, next) in cases {
            let stamps = Stamps::default();
            stamps.saw("a", seen);
            stamps.saw("a", 7);
            assert_eq!(sequence(&stamps, "a", 100), next, "after {seen}");
            stamps.forget("a");
            assert_eq!(sequence(&stamps, "a", 100), "100");
        }
    }

    #[test]
    fn every_kind_of_value_is_stamped() {
        let annotation = |key: &'static str, value| Annotation::new(key, value);
        let written = [
            annotation(
                "text",
                AnnotationValue::Text("GPU-a,NVIDIA,3000,50:".to_owned()),
            ),
            annotation("seconds", AnnotationValue::Seconds),
            SEQUENCE,
            annotation("nanos", AnnotationValue::Nanos),
        ];
        let stamps = Stamps::default();
        stamps.saw("n", 1_785_000_009);
        let stamped = stamps.stamp("n", &written, at(1_785_000_000));
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
