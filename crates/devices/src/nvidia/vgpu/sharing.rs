//! How a card is shared.

use crate::ledger::{Card, FamilyCode};

/// How pods share cards, in the words of node and pod annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SharingMode {
    /// By HAMi-core.
    HamiCore,
    /// By NVIDIA MPS.
    Mps,
    /// Split by MIG.
    Mig,
}

/// Number of modes.
pub const MODES: usize = 3;

impl SharingMode {
    /// All of them.
    pub const ALL: [Self; MODES] = [Self::HamiCore, Self::Mps, Self::Mig];

    /// Word that stands for the mode in annotations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HamiCore => "hami-core",
            Self::Mps => "mps",
            Self::Mig => "mig",
        }
    }

    /// The mode with a word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Index of the mode in lists by mode.
    #[inline]
    pub const fn at(self) -> usize {
        self as usize
    }
}

/// How one card is shared: its mode, and with MIG the table of its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// By HAMi-core.
    HamiCore,
    /// By NVIDIA MPS.
    Mps,
    /// Split by MIG, by the table at this place of [`super::config::VgpuConfig::tables`] where there
    /// is one for the model.
    Mig(Option<u16>),
}

/// Code of a MIG card without table; those with the first table and so on follow.
const MIG: u16 = 2;

impl Sharing {
    /// How a card of this family is shared.
    #[inline]
    pub fn of(card: &Card) -> Self {
        match card.variant.get() {
            0 => Self::HamiCore,
            1 => Self::Mps,
            code => Self::Mig(code.checked_sub(MIG + 1)),
        }
    }

    /// Mode in which the card is shared this way.
    #[inline]
    pub fn mode(self) -> SharingMode {
        match self {
            Self::HamiCore => SharingMode::HamiCore,
            Self::Mps => SharingMode::Mps,
            Self::Mig(_) => SharingMode::Mig,
        }
    }

    /// As the ledger keeps it.
    pub fn code(self) -> FamilyCode {
        FamilyCode::new(match self {
            Self::HamiCore => 0,
            Self::Mps => 1,
            Self::Mig(None) => MIG,
            Self::Mig(Some(table)) => (MIG + 1).saturating_add(table),
        })
    }
}

/// The mode of a card.
#[inline]
pub fn mode(card: &Card) -> SharingMode {
    Sharing::of(card).mode()
}
