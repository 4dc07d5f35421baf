//! All ways in which a node may not fit, in one list (spec/05 §3.4, P-12).

use std::sync::Arc;

use crate::hami::card_check::CardCheck;
use crate::request::Failure;

/// What Volcano says of a node without enough chips.
const NOT_ENOUGH: &str = "no ascend device available";
/// What is wrong, by check; those of cards alone are never asked.
const BY_CHECK: [(CardCheck, &str); 5] = [
    (CardCheck::Kind, "the node has registered none of this type"),
    (CardCheck::Usable, "unhealthy"),
    (CardCheck::Uuid, "UUID lists"),
    (CardCheck::Size, "more memory than a chip has"),
    (CardCheck::Pair, "too few pairs of chips"),
];

/// Index of the failure of a node that has too few chips; those before are by check.
pub const TOO_FEW: u8 = CardCheck::Pair as u8 + 1;
/// Index of the failure that evictions could mend.
pub const LATER: u8 = TOO_FEW + 1;

/// The list of any pod.
pub fn list() -> Arc<[Failure]> {
    let of = |at: u8| {
        let mut known = BY_CHECK.iter();
        let found = known.find(|(check, _)| *check as u8 == at);
        let why = found.map_or("too few chips", |(_, why)| why);
        Failure {
            text: match at {
                LATER => NOT_ENOUGH.to_owned(),
                at if at == CardCheck::Mode as u8 => "node not in hami-core mode".to_owned(),
                _ => format!("{NOT_ENOUGH} ({why})"),
            },
            evictions_help: at == LATER,
        }
    };
    (0..=LATER).map(of).collect()
}
