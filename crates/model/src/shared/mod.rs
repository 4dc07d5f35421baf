//! Tables whose copies share what neither side has changed since: what makes a copy of the whole [`State`](crate::State)
//! cheap, so that questions can be asked of it elsewhere while the original goes on.
//!
//! Reading costs one step more than in a plain table, since values lie in chunks, and writing one comparison more: nothing is
//! counted atomically until somebody has made a copy, and only until each part was written once after that.

mod map;
mod part;
mod table;
#[cfg(test)]
mod tests;
mod vec;

pub(crate) use map::SharedMap;
pub(crate) use table::SharedTable;
pub use vec::SharedVec;

use part::SharedPart;

/// Values of a chunk: a write after a copy was made copies so many.
const CHUNK: usize = 32;
