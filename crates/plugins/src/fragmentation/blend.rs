//! What is written of the mix and what was seen, side by side: a mix that is wrong must not cost much
//! (docs/spec/10-fragmentation.md §4).

use std::sync::Arc;

use pumice_devices::mix::WEIGHTS;

use super::census::{AskedClass, CountedClass, MASS};

/// What is written counts like so many tasks that were seen.
const WRITTEN_TASKS: i128 = 32;

/// How often tasks of a class come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masses {
    /// By what is written: [`MASS`] is once, in the unit of the writer.
    pub written: u64,
    /// By what was seen, of which [`MASS`] is a task that comes now.
    pub seen: u64,
}

impl Masses {
    /// Another class counts as this one.
    pub fn add(&mut self, other: Self) {
        self.written += other.written;
        self.seen += other.seen;
    }
}

/// A class of the mix.
#[derive(Clone, Debug)]
pub(super) struct MixedClass {
    /// What one of its tasks asks.
    pub asked: Arc<AskedClass>,
    /// How often they come.
    pub masses: Masses,
}

impl MixedClass {
    /// A class that somebody wrote, as often as is said there.
    pub fn written(class: &CountedClass) -> Self {
        let (written, seen) = (class.mass * MASS, 0);
        Self {
            asked: Arc::clone(&class.asked),
            masses: Masses { written, seen },
        }
    }

    /// A class that was counted.
    pub fn seen(class: &CountedClass) -> Self {
        let (written, seen) = (0, class.mass);
        Self {
            asked: Arc::clone(&class.asked),
            masses: Masses { written, seen },
        }
    }
}

/// What a class counts on each side, in any unit.
#[derive(Clone, Copy, Default)]
pub(super) struct Sides {
    /// By what is written.
    pub written: i128,
    /// By what was seen.
    pub seen: i128,
}

impl Sides {
    fn sum(all: &[Self]) -> Self {
        let mut sum = Self::default();
        for sides in all {
            sum.written += sides.written;
            sum.seen += sides.seen;
        }
        sum
    }
}

/// How much of the weight of all classes is shared out by what was seen.
pub(super) fn seen_part(masses: &[Masses]) -> i64 {
    let all = i128::from(WEIGHTS);
    let (mut written, mut seen) = (0, 0);
    for masses in masses {
        written += i128::from(masses.written);
        seen += i128::from(masses.seen);
    }
    let part = match (written, seen) {
        (_, 0) => 0,
        (0, _) => all,
        _ => all * seen / (WRITTEN_TASKS * i128::from(MASS) + seen),
    };
    part as i64
}

/// The weights of classes: a part in proportion to what was seen, the rest to what is written.
pub(super) fn weights(counted: &[Sides], seen_part: i64) -> Vec<i64> {
    let sum = Sides::sum(counted);
    let share = |part: i64, own: i128, sum: i128| (own * i128::from(part) / sum.max(1)) as i64;
    let weight = |own: &Sides| {
        share(WEIGHTS - seen_part, own.written, sum.written) + share(seen_part, own.seen, sum.seen)
    };
    counted.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(written: u64, tasks: u64) -> Masses {
        let seen = tasks * MASS;
        Masses { written, seen }
    }

    #[test]
    fn what_is_written_counts_like_tasks_that_were_seen_and_alone_where_none_were() {
        let part = |tasks| seen_part(&[of(7, 0), of(0, tasks)]) * 100 / WEIGHTS;
        assert_eq!([0, 8, 32, 96, 3_168].map(part), [0, 20, 50, 75, 99]);
        assert_eq!(seen_part(&[of(0, 1)]), WEIGHTS);
        assert_eq!(seen_part(&[of(1, 0)]), 0);
    }

    #[test]
    fn each_side_is_shared_out_by_itself() {
        let sides = |written, seen| Sides { written, seen };
        let counted = [sides(3, 0), sides(1, 1_000), sides(0, 3_000)];
        assert_eq!(weights(&counted, WEIGHTS / 2), [24_576, 16_384, 24_576]);
        assert_eq!(weights(&counted[2..], WEIGHTS), [WEIGHTS]);
        assert!(weights(&[], 0).is_empty());
    }
}
