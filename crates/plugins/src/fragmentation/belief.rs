//! Whether what somebody wrote that tasks ask is believed: until so many came that ask something else.
//!
//! A wrong mix must not cost more than what it takes to notice. Who wrote a coarse one is not wrong: what comes may
//! differ somewhat, and in what the text has no words for.

use super::asked_class::{AskedClass, CountedClass, MASS};
use super::census::ClassDistance;

/// Tasks that may come unforetold in any case.
const MAX_SURPRISES: u64 = 32;
/// Part of the tasks that came which may be unforetold.
const SURPRISING_PART: u64 = 4;

/// What a task that was foretold asks of cards is at most a fourth of a doubling apart from what is written, and all
/// amounts together at most a doubling.
const FORETOLD: ClassDistance = ClassDistance {
    other_nodes: false,
    other_resources: false,
    cards: 4,
    amounts: 16,
};

/// Tasks that came, and those among them that are more than was written, in whole tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Surprises {
    pub came: u64,
    pub unforetold: u64,
}

impl Surprises {
    /// Compares tasks that were seen with what is written.
    pub fn of(written: &[CountedClass], seen: &[CountedClass]) -> Self {
        let came: u64 = seen.iter().map(|class| class.mass).sum();
        let all: u128 = written.iter().map(|class| u128::from(class.mass)).sum();
        let mut met = vec![0u64; written.len()];
        for class in seen {
            let distances = written
                .iter()
                .map(|known| known.asked.distance_of_words(&class.asked))
                .enumerate();
            let nearest = distances.min_by_key(|(_, distance)| *distance);
            if let Some((at, _)) = nearest.filter(|(_, distance)| distance.is_within(FORETOLD)) {
                met[at] += class.mass;
            }
        }
        let foretold = written.iter().zip(met).map(|(class, met)| {
            let expected = u128::from(came) * u128::from(class.mass) / all.max(1);
            u128::from(met).min(expected) as u64
        });
        let foretold: u64 = foretold.sum();
        Self {
            came: came / MASS,
            unforetold: came.saturating_sub(foretold) / MASS,
        }
    }

    /// What is written is not what comes.
    pub fn are_too_many(self) -> bool {
        self.unforetold >= MAX_SURPRISES && self.unforetold * SURPRISING_PART >= self.came
    }
}

impl AskedClass {
    /// How unlike a task that was seen is to this class as it is written, in all that the text has words for: not
    /// required affinities, tolerations, annotations and labels. Amounts that only one of them names do not count.
    fn distance_of_words(&self, seen: &Self) -> ClassDistance {
        let is_elsewhere = self.node_selector != seen.node_selector && seen.node_affinity.is_none();
        ClassDistance {
            other_nodes: is_elsewhere,
            other_resources: !self.names_the_cards_of(seen),
            ..self.distance(seen)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::written::read;
    use super::*;

    /// Written classes, by lines; the same as seen, with a task each for every one of what they begin with.
    fn classes(lines: &[&str], unit: u64) -> Vec<CountedClass> {
        let read = lines.iter().map(|line| read(line).expect("a class"));
        read.map(|class| CountedClass {
            mass: class.mass * unit,
            ..class
        })
        .collect()
    }

    fn surprises(written: &[&str], seen: &[&str]) -> (u64, u64, bool) {
        let surprises = Surprises::of(&classes(written, 1), &classes(seen, MASS));
        (
            surprises.came,
            surprises.unforetold,
            surprises.are_too_many(),
        )
    }

    const HALF: &str = "cpu=8 memory=32Gi volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=40000";
    const WHOLE: &str = "cpu=8 memory=64Gi volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=80000";

    #[test]
    fn what_comes_as_it_was_written_surprises_nobody_whatever_the_unit() {
        let (halves, wholes) = (format!("30 {HALF}"), format!("10 {WHOLE}"));
        let thousands = (format!("3000 {HALF}"), format!("1000 {WHOLE}"));
        assert_eq!(
            surprises(&[&thousands.0, &thousands.1], &[&wholes, &halves]),
            (40, 0, false)
        );
        // Somewhat more memory, some other cpu, and an amount that only one of them names.
        let near = "40 cpu=10 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=41000";
        assert_eq!(surprises(&[&halves], &[near]), (40, 0, false));
    }

    #[test]
    fn tasks_of_other_kinds_and_too_many_of_one_surprise() {
        let half = format!("1 {HALF}");
        let wholes = |count: u64| format!("{count} {WHOLE}");
        assert_eq!(surprises(&[&half], &[&wholes(31)]), (31, 31, false));
        assert_eq!(surprises(&[&half], &[&wholes(32)]), (32, 32, true));
        let more = format!("200 {HALF}");
        assert_eq!(surprises(&[&half], &[&wholes(40), &more]), (240, 40, false));
        let even = [half.as_str(), &wholes(1)];
        assert_eq!(surprises(&even, &[&wholes(100)]), (100, 50, true));
        let elsewhere = format!("40 {HALF} on gpu=A100");
        assert_eq!(surprises(&[&half], &[&elsewhere]), (40, 40, true));
        let sixty_four = format!("40 {}", HALF.replace("cpu=8", "cpu=64"));
        assert_eq!(surprises(&[&half], &[&sixty_four]), (40, 40, true));
        assert_eq!(surprises(&[&half], &[]), (0, 0, false));
    }
}
