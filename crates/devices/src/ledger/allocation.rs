//! What a pod gets: of which cards, and how much.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{FamilyCode, NodeCards, Portion};

/// A partition of a card: group of the family's table, and position in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Index of the group in the family's table for the card.
    pub group: u16,
    /// Position, counted through the partitions of the group in their listed order.
    pub position: u16,
}

impl Partition {
    /// A partition that cannot be told: the card gives out no other while it is held.
    pub const UNKNOWN: Self = Self {
        group: u16::MAX,
        position: u16::MAX,
    };
}

/// What one container gets of one card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Position of the container in [`crate::PodFacts::containers`].
    pub container: u16,
    /// Position of the card in [`NodeCards::cards`]; `None` when the node has no such card (any more).
    pub card: Option<u16>,
    /// Identity of the card.
    pub id: Arc<str>,
    /// Partition, where the card is partitioned.
    pub partition: Option<Partition>,
    /// What was asked of it: what is written.
    pub asked: Portion,
    /// What is charged for it.
    pub charged: Portion,
    /// How it is shared, to its family: what of the pod decides who may join it on the card.
    pub share: FamilyCode,
    /// It is known that this card is the one. What cannot be read is charged to every card it could
    /// be on, as a guess.
    pub certain: bool,
    /// A guess where one is of another allocation, whose card the node does not tell ([`NodeCards::suspect`]):
    /// what the pod has in all is known without it.
    pub suspect: bool,
}

impl Allocation {
    /// What a container gets of a card of a node: charged as asked, shared as most are.
    pub fn of(cards: &NodeCards, card: usize, container: u16, part: Portion) -> Self {
        Self {
            card: u16::try_from(card).ok(),
            ..Self::of_absent(Arc::clone(&cards.cards[card].id), container, part)
        }
    }

    /// An allocation on a card that the node does not have.
    pub fn of_absent(id: Arc<str>, container: u16, part: Portion) -> Self {
        Self {
            container,
            card: None,
            id,
            partition: None,
            asked: part.clone(),
            charged: part,
            share: FamilyCode::default(),
            certain: true,
            suspect: false,
        }
    }

    /// The allocation as a guess: the card may be another one.
    pub fn guessed(self) -> Self {
        Self {
            certain: false,
            ..self
        }
    }
}

/// What a pod holds of one family on its node.
pub type Allocations = SmallVec<[Allocation; 2]>;
