//! All ways in which a node may not fit, in one list (spec/05 §3.4, P-12).

use std::sync::Arc;

use crate::ledger::{FamilyCode, NodeCards};
use crate::request::Failure;

use super::check::{CHECKS, ChipCheck};

/// What Volcano says of a node without enough chips.
pub const NOT_ENOUGH: &str = "no ascend device available";

/// Why a node has no chips: what [`NodeCards::absent`] means for this family. The first is the
/// default, so that a node without chips stores nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoChips {
    /// Nothing is registered, or nothing of it can be used, which is told as a problem.
    NotRegistered,
    /// The family is off.
    Off,
}

impl NoChips {
    /// As the ledger keeps it.
    pub const fn code(self) -> FamilyCode {
        FamilyCode::new(self as u16)
    }

    /// Why this node has none.
    pub fn of(cards: &NodeCards) -> Self {
        match cards.absent.get() {
            1 => Self::Off,
            _ => Self::NotRegistered,
        }
    }
}

/// Index of the failure that evictions could mend; those before are by check.
pub const LATER: u8 = CHECKS as u8;

/// The list that all pods share.
pub fn list() -> Arc<[Failure]> {
    let mut all: Vec<Failure> = (0..CHECKS).map(fixed).collect();
    all.push(Failure {
        text: NOT_ENOUGH.to_owned(),
        evictions_help: true,
    });
    all.into()
}

fn fixed(check: usize) -> Failure {
    let why = match check {
        check if check == ChipCheck::Type as usize => "the node has registered none of this type",
        check if check == ChipCheck::Mode as usize => {
            return Failure {
                text: "node not in hami-core mode".to_owned(),
                evictions_help: false,
            };
        }
        check if check == ChipCheck::Healthy as usize => "unhealthy",
        check if check == ChipCheck::Uuid as usize => "UUID lists",
        check if check == ChipCheck::Size as usize => "more memory than a chip has",
        check if check == ChipCheck::Pair as usize => "too few pairs of chips",
        _ => "too few chips",
    };
    Failure {
        text: format!("{NOT_ENOUGH} ({why})"),
        evictions_help: false,
    }
}
