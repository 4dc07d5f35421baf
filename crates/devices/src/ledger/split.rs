//! What a card can be split into.

/// Parts of a card that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardSplit {
    /// Name, as the maker of the card has it.
    pub name: String,
    /// Memory of a part, in the units its family counts in.
    pub memory: i64,
    /// Cores of a part.
    pub cores: i64,
    /// Where such a part may be, the first that is to be tried first.
    pub places: Vec<SplitPlace>,
}

/// A place on a card, in slices of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPlace {
    /// The first slice.
    pub start: u16,
    /// Number of slices.
    pub size: u16,
}
