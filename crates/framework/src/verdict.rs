//! What a node is to a class of tasks, in two bytes.

use crate::reason::SetId;

/// Whether tasks of a class fit a node, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(u16);

impl Verdict {
    /// Fits now.
    pub const IDLE: Self = Self(0);
    /// Fits once resources are released.
    pub const FUTURE: Self = Self(1);
    /// Not looked at yet.
    pub const UNKNOWN: Self = Self(u16::MAX);

    /// Does not fit.
    pub fn unfit(set: SetId) -> Self {
        Self(set.0 + 2)
    }

    /// Whether it fits, now or later.
    pub fn fits(self) -> bool {
        self.0 < 2
    }

    /// The reasons against it.
    pub fn reasons(self) -> Option<SetId> {
        (!self.fits() && self != Self::UNKNOWN).then(|| SetId(self.0 - 2))
    }
}
