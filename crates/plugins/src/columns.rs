//! Reading node columns in blocks: scores run as loops over slices of at most [`BLOCK`] nodes.

use std::ops::Range;

use pumice_model::ResIx;
use pumice_model::node::Columns;

/// Most nodes of a block.
pub(crate) const BLOCK: usize = 64;

static ZEROS: [i64; BLOCK] = [0; BLOCK];

/// The values of one resource for the nodes of a block; a resource without a column is 0.
pub(crate) fn block(columns: &Columns, ix: ResIx, range: Range<usize>) -> &[i64] {
    match columns.column(ix) {
        Some(column) => &column[range],
        None => &ZEROS[..range.len()],
    }
}

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
