//! Nodes of other schedulers' shards: never used, or used last (spec/01 §1.9).
//!
//! Whose node it is comes before every plugin: it holds in every configuration.

use pumice_framework::points::StaticPart;
use pumice_framework::{ReasonId, ReasonKind, ReasonTable};
use pumice_model::State;
use pumice_model::object::Shard;

/// Taken from the score of a node that is to be used last: more than all plugins can give, and
/// little enough to leave the order among such nodes to them.
const LAST: i64 = 1 << 36;

/// Interns the reason against a node of another shard.
pub fn reason(table: &mut ReasonTable) -> ReasonId {
    table.intern(
        "node isn't in scheduler node shard",
        ReasonKind::Unresolvable,
    )
}

/// Puts the shards above what plugins say.
pub fn overlay(state: &State, reason: ReasonId, part: &mut StaticPart) {
    for (at, node) in state.nodes().objects().enumerate() {
        match node.shard {
            Shard::Own => {}
            Shard::Later => part.score[at] -= LAST,
            Shard::Never => part.verdict[at] = Some(reason),
        }
    }
}
