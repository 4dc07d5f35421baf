//! What one container asks of one kind of cards, whichever family they are of.

use crate::facts::ContainerKind;

/// What one container asks of one kind of cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNeed<Share> {
    /// Position in [`crate::facts::PodFacts::containers`].
    pub container: u16,
    /// Place of the kind among those that are on.
    pub kind: u16,
    /// When it runs.
    pub runs: ContainerKind,
    /// Different cards, at least 1.
    pub count: u32,
    /// How much of each card.
    pub share: Share,
}
