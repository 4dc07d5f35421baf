//! What a card is, packed into the code that the ledger keeps.

use crate::ledger::{Card, FamilyCode};

/// How a card is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardMode {
    /// By limits in software.
    #[default]
    HamiCore,
    /// By NVIDIA's MPS.
    Mps,
    /// Split by NVIDIA's MIG.
    Mig,
    /// Split by the templates of Ascend.
    Template,
    /// Given out in slices by the profiles of Enflame.
    Slices,
}

impl CardMode {
    /// As a register tells it.
    pub fn named(name: &str) -> Self {
        match name {
            "mps" => Self::Mps,
            "mig" => Self::Mig,
            "template" => Self::Template,
            "slices" => Self::Slices,
            _ => Self::HamiCore,
        }
    }

    /// In the words of a register.
    pub fn name(self) -> &'static str {
        match self {
            Self::HamiCore => "hami-core",
            Self::Mps => "mps",
            Self::Mig => "mig",
            Self::Template => "template",
            Self::Slices => "slices",
        }
    }
}

/// Kind and mode of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardVariant {
    /// Place of its kind among those that are on.
    pub kind: u16,
    /// How it is shared.
    pub mode: CardMode,
}

impl CardVariant {
    /// What the ledger keeps of a card, unpacked.
    pub fn of(card: &Card) -> Self {
        let code = card.variant.get();
        Self {
            kind: code & 0xff,
            mode: match code >> 8 {
                1 => CardMode::Mps,
                2 => CardMode::Mig,
                3 => CardMode::Template,
                4 => CardMode::Slices,
                _ => CardMode::HamiCore,
            },
        }
    }

    /// As the ledger keeps it. Those of software limits are the kind alone, which fits a summary.
    pub fn code(self) -> FamilyCode {
        FamilyCode::new((self.mode as u16) << 8 | self.kind)
    }
}
