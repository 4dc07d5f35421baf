//! What a PodGroup was admitted with, as a condition of its status says it to the scheduler that leads next.
//!
//! A condition, since every PodGroup has conditions, also one whose definition is Volcano's, and since it goes out
//! with the status that says `Inqueue`. Schedulers write statuses, users don't (`docs/guide/trust.md`).

use super::{Amounts, GroupCondition, GroupObject, GroupStatus};
use crate::resource::{display_amount, read_amount};

/// Type of the condition.
pub const ADMITTED: &str = "Admitted";
/// Message of a group that was admitted without `minResources`, or with an empty list.
const NOTHING: &str = "nothing";

impl GroupObject {
    /// What it asks at least now, as the message of the condition: `cpu=4, memory=8Gi`.
    pub fn admission_text(&self) -> String {
        let amounts = self.min_resources.iter().flatten();
        let amounts: Vec<String> = amounts
            .map(|(name, amount)| format!("{name}={}", display_amount(name, *amount)))
            .collect();
        match amounts.is_empty() {
            true => NOTHING.to_owned(),
            false => amounts.join(", "),
        }
    }
}

impl GroupStatus {
    /// What it was admitted with. `None` where that is not written, or so that it cannot be read: by Volcano, or by a
    /// version that did not write it.
    pub fn admitted_with(&self) -> Option<Amounts> {
        let says_so =
            |condition: &&GroupCondition| condition.kind == ADMITTED && condition.status == "True";
        let message = &self.conditions.iter().find(says_so)?.message;
        if message == NOTHING {
            return Some(Amounts::new());
        }
        let one = |text: &str| {
            let (name, amount) = text.split_once('=')?;
            Some((name.to_owned(), read_amount(name, amount)?))
        };
        message.split(", ").map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str) -> GroupStatus {
        let condition = GroupCondition {
            kind: ADMITTED.to_owned(),
            status: "True".to_owned(),
            message: message.to_owned(),
            ..GroupCondition::default()
        };
        GroupStatus {
            conditions: vec![condition],
            ..GroupStatus::default()
        }
    }

    #[test]
    fn what_is_written_is_read_back_exactly() {
        let amounts = [
            ("cpu", 1),
            ("cpu", 4000),
            ("memory", (8 << 30) + 1),
            ("memory", 3 << 50),
            ("nvidia.com/gpu", 1500),
            ("pods", 2048),
            ("deviceclass/gpu", 1024),
            ("hugepages-2Mi", 0),
        ];
        for (name, amount) in amounts {
            let least = vec![(name.to_owned(), amount), ("cpu".to_owned(), 12)];
            let group = GroupObject {
                min_resources: Some(least.clone()),
                ..GroupObject::default()
            };
            let text = group.admission_text();
            assert_eq!(told(&text).admitted_with(), Some(least), "{text}");
        }
        for nothing in [None, Some(Amounts::new())] {
            let group = GroupObject {
                min_resources: nothing,
                ..GroupObject::default()
            };
            let text = group.admission_text();
            assert_eq!(told(&text).admitted_with(), Some(Amounts::new()));
        }
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        for text in [
            "",
            "cpu",
            "cpu=",
            "cpu=-1",
            "cpu=4x",
            "cpu=4,memory=8Gi",
            "cpu=99999999999999999999",
            "memory=9000Pi",
            "cpu=4, ",
            "ü=4",
            "cpu=9223372036854775807",
        ] {
            assert_eq!(told(text).admitted_with(), None, "{text}");
        }
    }
}
