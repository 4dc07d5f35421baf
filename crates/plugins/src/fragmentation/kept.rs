//! What was counted, as a text: for the plugin of the next configuration, for copies of the engine, and for the process that
//! comes after this one.
//!
//! ```text
//!  {"format":1,"asOf":…,"newest":…}      when masses were as they stand, and when the last task that counts was made
//!  {"mass":…,"asked":{…}}                a class a line, the heaviest first
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::asked_class::{AskedClass, CountedClass, MASS, MAX_COUNTED};
use crate::kept_lines::{MAX_KEPT_BYTES, line, other_format};

/// Longest class in such a text. Whoever makes pods with long affinities does not crowd out others.
const MAX_CLASS_BYTES: usize = 4 << 10;
/// Most tasks that a class of a text may count for.
const MAX_TASKS: u64 = 1 << 20;
/// Largest amount, as everywhere.
const MAX_AMOUNT: i64 = pumice_model::MAX_AMOUNT;
/// How the text is written.
const FORMAT: u32 = 1;

/// A census, to be written.
pub(super) struct KeptCensus<'a> {
    pub as_of_s: i64,
    pub newest_s: i64,
    pub classes: &'a [CountedClass],
}

/// A census, as it was read.
#[derive(Debug, PartialEq)]
pub(super) struct ReadCensus {
    pub as_of_s: i64,
    pub newest_s: i64,
    pub classes: Vec<CountedClass>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CensusLine {
    format: u32,
    as_of: i64,
    newest: i64,
}

#[derive(Serialize, Deserialize)]
struct ClassLine<A> {
    mass: u64,
    asked: A,
}

impl KeptCensus<'_> {
    /// All of it.
    pub fn text(&self) -> String {
        self.lines(usize::MAX, usize::MAX)
    }

    /// The heaviest classes, so many that the text is not too long.
    pub fn short_text(&self) -> String {
        self.lines(MAX_KEPT_BYTES, MAX_CLASS_BYTES)
    }

    fn lines(&self, most_bytes: usize, most_of_class: usize) -> String {
        let head = CensusLine {
            format: FORMAT,
            as_of: self.as_of_s,
            newest: self.newest_s,
        };
        let mut text = line(&head);
        let mut classes: Vec<&CountedClass> = self.classes.iter().collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.mass));
        for class in classes {
            let line = line(&ClassLine {
                mass: class.mass,
                asked: &*class.asked,
            });
            if line.len() <= most_of_class && text.len() + line.len() <= most_bytes {
                text.push_str(&line);
            }
        }
        text
    }
}

/// What a text says, as of a moment: times that are still to come count as now. Classes that cannot be are passed over.
///
/// # Errors
/// The text is none of ours.
pub(super) fn read(text: &str, now_s: i64) -> Result<ReadCensus, String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let head: CensusLine = serde_json::from_str(head)
        .map_err(|error| format!("the first line does not say when tasks were counted: {error}"))?;
    if head.format != FORMAT {
        return Err(other_format(head.format, FORMAT));
    }
    let classes = lines.filter_map(|line| serde_json::from_str::<ClassLine<AskedClass>>(line).ok());
    let classes = classes.filter(|class| class.asked.can_be());
    let classes = classes.map(|class| CountedClass {
        asked: Arc::new(class.asked),
        mass: class.mass.min(MAX_TASKS * MASS),
    });
    Ok(ReadCensus {
        as_of_s: head.as_of.min(now_s),
        newest_s: head.newest.min(now_s),
        classes: classes.take(2 * MAX_COUNTED).collect(),
    })
}

/// Why a text that is not empty says nothing.
pub fn kept_mix_fault(text: &str) -> Option<String> {
    read(text, i64::MAX).err()
}

impl AskedClass {
    /// Amounts are such as objects have.
    fn can_be(&self) -> bool {
        let containers = self.facts.containers.iter();
        let of_devices = containers.flat_map(|container| &container.amounts);
        let mut amounts = self.amounts.iter().chain(of_devices);
        amounts.all(|(_, amount)| (0..=MAX_AMOUNT).contains(amount))
    }
}

#[cfg(test)]
mod tests {
    use pumice_model::object::{NodeOp, NodeRequirement, NodeTerm, Toleration, TolerationOp};

    use super::super::written;
    use super::*;

    fn class(mass: u64, memory: usize) -> CountedClass {
        let text = format!("1 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory={memory}");
        let asked = written::read(&text).expect("a class").asked;
        CountedClass { asked, mass }
    }

    /// A class that a line of the mix has no words for.
    fn picky(mass: u64, zone: &str) -> CountedClass {
        let requirement = NodeRequirement {
            key: "zone".to_owned(),
            op: NodeOp::In(vec![zone.to_owned()]),
        };
        let term = NodeTerm {
            expressions: vec![requirement],
            ..NodeTerm::default()
        };
        let toleration = Toleration {
            key: "gpu".to_owned(),
            operator: TolerationOp::Exists,
            value: String::new(),
            effect: None,
        };
        let mut asked = (*class(0, 100).asked).clone();
        asked.node_affinity = Some(vec![term]);
        asked.tolerations = vec![toleration];
        asked.facts.annotations = vec![("a.b/c".to_owned(), "d\ne".to_owned())];
        let asked = Arc::new(asked);
        CountedClass { asked, mass }
    }

    fn kept(classes: &[CountedClass]) -> KeptCensus<'_> {
        KeptCensus {
            as_of_s: 1_000,
            newest_s: 990,
            classes,
        }
    }

    #[test]
    fn a_class_is_read_as_it_was_counted_with_affinities_tolerations_and_annotations() {
        let classes = [class(7, 1), picky(9, "a"), class(MASS, 2)];
        let read = read(&kept(&classes).text(), 2_000).expect("a census");
        let [one, two, three] = classes;
        let expected = ReadCensus {
            as_of_s: 1_000,
            newest_s: 990,
            classes: vec![three, two, one],
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn the_text_for_outside_is_bounded_and_has_the_heaviest_classes() {
        let mut classes: Vec<CountedClass> = (0..2_000).map(|at| class(at, at as usize)).collect();
        classes.push(picky(1 << 30, &"z".repeat(MAX_CLASS_BYTES)));
        let kept = kept(&classes);
        let text = kept.short_text();
        assert!(text.len() <= MAX_KEPT_BYTES && text.len() > MAX_KEPT_BYTES / 2);
        let read = read(&text, 1_000).expect("a census").classes;
        assert_eq!(read[0].mass, 1_999, "the long one is left out");
        assert!(read.len() > 500);
        assert!(kept.text().lines().count() == 2_002);
    }

    #[test]
    fn of_a_text_that_somebody_wrote_nothing_counts_without_bound() {
        let of = |text: &str| read(text, 1_000);
        for text in [
            "",
            "nonsense",
            "{}",
            "{\"format\":2,\"asOf\":1,\"newest\":1}",
        ] {
            assert!(of(text).is_err(), "{text}");
            assert!(kept_mix_fault(text).is_some(), "{text}");
        }
        let head = format!(
            "{{\"format\":1,\"asOf\":{},\"newest\":{}}}",
            i64::MAX,
            i64::MAX
        );
        let line = line(&ClassLine {
            mass: u64::MAX,
            asked: &*class(0, 1).asked,
        });
        let negative = line.replace("1000", "-1000");
        let text = format!("{head}\nnonsense\n{negative}{line}");
        let read = of(&text).expect("a census");
        assert_eq!((read.as_of_s, read.newest_s), (1_000, 1_000));
        assert_eq!(read.classes, [class(MAX_TASKS * MASS, 1)]);
        let many = format!("{head}\n{}", line.repeat(10_000));
        assert_eq!(of(&many).expect("a census").classes.len(), 2 * MAX_COUNTED);
    }
}
