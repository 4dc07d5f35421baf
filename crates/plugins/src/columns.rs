//! Reading node columns in blocks: scores run as loops over slices of at most [`BLOCK`] nodes.

use std::ops::Range;

use pumice_model::ResIx;
pub(crate) use pumice_model::node::BLOCK;
use pumice_model::node::Columns;

static ZEROS: [i64; BLOCK] = [0; BLOCK];

/// The values of one resource for the nodes of a block; a resource without a column is 0.
pub(crate) fn block(columns: &Columns, ix: ResIx, range: Range<usize>) -> &[i64] {
    match columns.column(ix) {
        Some(column) => &column[range],
        None => &ZEROS[..range.len()],
    }
}

/// The value of one resource of a node; 0 where there is no column.
pub(crate) fn value(columns: &Columns, ix: ResIx, node: usize) -> i64 {
    columns.column(ix).map_or(0, |column| column[node])
}

/// A score of one node of a block. Implementations are `#[inline(always)]` and free of branches, so
/// that [`add_scores`] becomes vector instructions.
pub(crate) trait BlockScore {
    /// Score of the node at a position below [`BLOCK`].
    fn at(&self, at: usize) -> i64;
}

/// Adds the scores of a full block, with the widest vector instructions the processor has.
pub(crate) fn add_scores(score: impl BlockScore, out: &mut [i64; BLOCK]) {
    struct Run<'a, S>(S, &'a mut [i64; BLOCK]);
    impl<S: BlockScore> pulp::NullaryFnOnce for Run<'_, S> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            for at in 0..BLOCK {
                self.1[at] += self.0.at(at);
            }
        }
    }
    pulp::Arch::new().dispatch(Run(score, out));
}

/// Whether a test holds for every node of a block, with the widest vector instructions the processor
/// has: it looks at all values, so it suits tests that mostly hold.
pub(crate) fn all(left: &[i64], right: &[i64], test: impl Fn(i64, i64) -> bool) -> bool {
    struct Run<'a, T>(&'a [i64], &'a [i64], T);
    impl<T: Fn(i64, i64) -> bool> pulp::NullaryFnOnce for Run<'_, T> {
        type Output = bool;

        #[inline(always)]
        fn call(self) -> bool {
            let pairs = self.0.iter().zip(self.1);
            pairs.fold(true, |all, (left, right)| all & (self.2)(*left, *right))
        }
    }
    pulp::Arch::new().dispatch(Run(left, right, test))
}

/// The values of one resource for a full block of nodes.
pub(crate) fn full_block(columns: &Columns, ix: ResIx, range: Range<usize>) -> Option<&Full> {
    block(columns, ix, range).try_into().ok()
}

/// Values of a full block.
pub(crate) type Full = [i64; BLOCK];

/// Cuts the results of consecutive nodes from `start` into blocks.
pub(crate) fn blocks<T>(
    start: usize,
    out: &mut [T],
) -> impl Iterator<Item = (Range<usize>, &mut [T])> {
    out.chunks_mut(BLOCK).enumerate().map(move |(at, out)| {
        let from = start + at * BLOCK;
        (from..from + out.len(), out)
    })
}

/// A whole number between −2^51 and 2^51 as an integer: what is added makes it the low bits of the sum.
/// The conversion `as` is no vector instruction.
#[inline(always)]
pub(crate) fn whole(value: f64) -> i64 {
    const OFFSET: f64 = (3u64 << 51) as f64;
    ((value + OFFSET).to_bits() as i64).wrapping_sub(OFFSET.to_bits() as i64)
}

/// The largest whole number up to `value`, for `0 <= value < 2^51`. Adding and taking away 2^52
/// rounds to a whole number, without the conversion that keeps a loop from being vectorised.
#[inline(always)]
pub(crate) fn floor(value: f64) -> f64 {
    const TO_WHOLE: f64 = (1u64 << 52) as f64;
    let rounded = (value + TO_WHOLE) - TO_WHOLE;
    if rounded > value {
        rounded - 1.0
    } else {
        rounded
    }
}

#[cfg(test)]
mod tests {
    use super::{floor, whole};

    #[test]
    fn whole_numbers_become_integers_and_others_their_floor() {
        for value in (-200..200).chain([1 << 50, -(1 << 50), (1 << 51) - 1, 1 - (1 << 51)]) {
            assert_eq!(whole(value as f64), value);
        }
        for value in 0..1000 {
            let value = f64::from(value) / 7.0;
            assert_eq!(floor(value), value.floor());
            assert_eq!(whole(floor(value)), value as i64);
        }
    }
}
