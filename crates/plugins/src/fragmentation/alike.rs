//! Which classes of tasks count as one: those that are nearly the same, and rare ones with what is most like them
//! (docs/spec/10-fragmentation.md §4).

use super::blend::MixedClass;
use super::census::AskedClass;

/// How unlike two classes are; amounts in sixteenths of a doubling, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClassDistance {
    other_nodes: bool,
    other_resources: bool,
    cards: u64,
    amounts: u64,
}

impl ClassDistance {
    fn is_within(self, most: Self) -> bool {
        self.other_nodes <= most.other_nodes
            && self.other_resources <= most.other_resources
            && self.cards <= most.cards
            && self.amounts <= most.amounts
    }
}

/// What is asked of cards is at most a sixteenth of a doubling apart, and all amounts together at most a fourth.
const NEARLY_THE_SAME: ClassDistance = ClassDistance {
    other_nodes: false,
    other_resources: false,
    cards: 1,
    amounts: 4,
};

/// Puts classes, the heaviest first, with those of `kept` that are nearly the same, and all with the one that is most
/// alike once `most` are kept.
pub(super) fn together(
    mut kept: Vec<MixedClass>,
    classes: Vec<MixedClass>,
    most: usize,
) -> Vec<MixedClass> {
    for class in classes {
        let distances = kept
            .iter()
            .map(|known| known.asked.distance(&class.asked))
            .enumerate();
        match distances.min_by_key(|(_, distance)| *distance) {
            Some((at, distance)) if distance.is_within(NEARLY_THE_SAME) || kept.len() >= most => {
                kept[at].masses.add(class.masses);
            }
            _ => kept.push(class),
        }
    }
    kept
}

impl AskedClass {
    /// Extended resources that containers ask.
    fn extended(&self) -> impl Iterator<Item = (&str, i64)> {
        let containers = self.facts.containers.iter();
        let amounts = containers.flat_map(|container| container.amounts.iter());
        amounts.map(|(name, amount)| (name.as_str(), *amount))
    }

    fn requested(&self) -> impl Iterator<Item = (&str, i64)> {
        self.amounts
            .iter()
            .map(|(name, amount)| (name.as_str(), *amount))
    }

    fn distance(&self, other: &Self) -> ClassDistance {
        let is_of_other_nodes = self.node_selector != other.node_selector
            || self.node_affinity != other.node_affinity
            || self.tolerations != other.tolerations;
        let asks_alike = same_names(self.extended(), other.extended())
            && same_names(self.requested(), other.requested())
            && self.facts.annotations == other.facts.annotations
            && self.facts.labels == other.facts.labels;
        ClassDistance {
            other_nodes: is_of_other_nodes,
            other_resources: !asks_alike,
            cards: apart(self.extended(), || other.extended()),
            amounts: apart(self.requested(), || other.requested()),
        }
    }
}

fn same_names<'a>(
    own: impl Iterator<Item = (&'a str, i64)>,
    others: impl Iterator<Item = (&'a str, i64)>,
) -> bool {
    own.map(|(name, _)| name).eq(others.map(|(name, _)| name))
}

/// How far amounts of the same name are apart.
fn apart<'a, Others: Iterator<Item = (&'a str, i64)>>(
    own: impl Iterator<Item = (&'a str, i64)>,
    others: impl Fn() -> Others,
) -> u64 {
    let pairs = own.filter_map(|(name, amount)| {
        let (_, same) = others().find(|(known, _)| *known == name)?;
        Some(doublings(amount).abs_diff(doublings(same)))
    });
    pairs.sum()
}

/// The logarithm of an amount to the base of 2, in sixteenths, on straight lines between whole ones.
fn doublings(amount: i64) -> u64 {
    let amount = amount.max(1) as u64;
    let whole = u64::from(amount.ilog2());
    let rest = match whole {
        0..4 => (amount << (4 - whole)) & 15,
        _ => (amount >> (whole - 4)) & 15,
    };
    16 * whole + rest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fragmentation::blend::Masses;

    fn class(written: u64, cpu_milli: i64, memory: i64, zone: &str) -> MixedClass {
        let amounts = vec![("cpu".to_owned(), cpu_milli), ("memory".to_owned(), memory)];
        let node_selector = vec![("zone".to_owned(), zone.to_owned())];
        let asked = AskedClass {
            amounts,
            node_selector,
            ..AskedClass::default()
        };
        MixedClass {
            asked: Arc::new(asked),
            masses: Masses { written, seen: 0 },
        }
    }

    #[test]
    fn rare_classes_count_as_the_kept_one_that_is_most_alike() {
        let all = vec![
            class(100, 1_000, 1_000, "a"),
            class(90, 4_000, 1_000, "a"),
            class(80, 64_000, 1_000, "b"),
            class(7, 1_000, 1_000, "b"),
            class(5, 3_000, 1_000, "a"),
        ];
        let kept = together(Vec::new(), all, 3).into_iter();
        let masses: Vec<u64> = kept.map(|class| class.masses.written).collect();
        assert_eq!(masses, [100, 95, 87]);
    }

    #[test]
    fn what_was_seen_counts_as_the_written_class_that_is_nearly_the_same() {
        let seen = |mass, cpu_milli| {
            let mut class = class(0, cpu_milli, 1_000, "a");
            class.masses.seen = mass;
            class
        };
        let written = vec![class(3, 1_000, 1_000, "a")];
        let all = together(written, vec![seen(9, 2_000), seen(8, 1_100)], 9);
        let masses: Vec<Masses> = all.iter().map(|class| class.masses).collect();
        let of = |written, seen| Masses { written, seen };
        assert_eq!(masses, [of(3, 8), of(0, 9)]);
    }

    #[test]
    fn amounts_are_as_far_apart_as_they_are_doublings() {
        let all = [0, 1, 2, 3, 4, 6, 16, 24, 1 << 40].map(doublings);
        assert_eq!(all, [0, 0, 16, 24, 32, 40, 64, 72, 640]);
    }
}
