//! How much of what is free on a node is of use to nobody: the measure by which nodes and cards are chosen
//! so that the tasks this cluster gets find room (docs/spec/10-fragmentation.md).
//!
//! ```text
//!  what runs and waits ──► DeviceMix: classes of tasks, each with a weight and the nodes it may use
//!                              │
//!  a node: its cards, its room ┴─► KnownCards: how often each card could serve each class, and the
//!                                    │ waste: free cards that no class can use, weighted
//!  what a task asks ───────────────► │ after each choice of cards
//!                                    ▼
//!                                 the cards that add least waste, and how much that is
//! ```
//!
//! The measure follows Weng et al., "Beware of Fragmentation" (USENIX ATC 2023): what one more task of a
//! class could not use. To that it adds what remains when as many tasks of the class have come as cpu,
//! memory and cards allow. Everything is counted in thousandths of a card, as integers.

mod asks;
mod choices;
mod known;
mod measure;
pub(crate) mod pieces;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::ledger::{LedgerTime, PlainAsk};
use crate::node::NodeDevices;
use crate::request::{DeviceRequest, FamilyRequest};

use asks::{MixAsk, asks};
pub use known::{CardWorth, KnownCards};
pub use pieces::Pieces;
pub use told::CardUses;

/// Sum of the weights of all classes of a mix, but for what rounding takes.
pub const WEIGHTS: i64 = 1 << 16;

/// Thousandths that a whole card is.
pub const WHOLE: i64 = 1000;

/// Number of a pod that nobody is: what is tried is charged to it.
const NOBODY: u32 = u32::MAX;

/// Amounts of resources besides cards that a task asks, each above zero, by position in
/// [`DeviceMix::resources`].
pub type MixNeeds = SmallVec<[(u16, i64); 4]>;

/// Tasks that ask the same.
#[derive(Clone)]
pub struct MixClass {
    weight: i64,
    needs: MixNeeds,
    family: u8,
    request: Arc<dyn FamilyRequest>,
    rules: usize,
    /// What it asks of cards that have summaries, where these tell enough.
    plain: Option<PlainAsk>,
    /// What is asked, for people.
    text: Arc<str>,
}

impl MixClass {
    /// Tasks that ask `needs` of resources and `request` of the cards of a family, and whose rules allow the nodes
    /// at the position `rules` of the list that the mix is made with; `text` says so to people. They have no weight yet.
    pub fn new(
        needs: MixNeeds,
        (family, request): (u8, Arc<dyn FamilyRequest>),
        rules: usize,
        text: &str,
    ) -> Self {
        Self {
            text: text.into(),
            weight: 0,
            needs,
            family,
            plain: request.plain(),
            request,
            rules,
        }
    }

    /// These tasks, where they come so often, of [`WEIGHTS`].
    #[must_use]
    pub fn weighing(self, weight: i64) -> Self {
        Self { weight, ..self }
    }

    /// What one of them asks, for people.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How often such tasks come, of [`WEIGHTS`].
    pub fn weight(&self) -> i64 {
        self.weight
    }
}

/// Nodes, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet(Vec<u64>);

impl NodeSet {
    /// The nodes for which `is_in` holds, of so many.
    pub fn of(nodes: usize, is_in: impl Fn(usize) -> bool) -> Self {
        let mut bits = vec![0; nodes.div_ceil(64)];
        for at in (0..nodes).filter(|at| is_in(*at)) {
            bits[at / 64] |= 1 << (at % 64);
        }
        Self(bits)
    }

    /// No node is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Whether a node is in it; one that came later is not.
    #[inline]
    pub fn has(&self, node: usize) -> bool {
        let word = self.0.get(node / 64);
        word.is_some_and(|word| word >> (node % 64) & 1 == 1)
    }
}

/// What the tasks of a cluster ask, and how often each comes.
#[derive(Clone, Default)]
pub struct DeviceMix {
    resources: Vec<u32>,
    classes: Vec<MixClass>,
    admitting: Vec<NodeSet>,
    chooses_cards: bool,
    /// Families that classes ask cards of, ascending, and whether summaries of cards tell all of these enough.
    families: SmallVec<[(u8, bool); 2]>,
    /// By node, a number for which sets of `admitting` it is in.
    kinds: Vec<u32>,
    /// What classes ask of cards, those of a family together.
    asks: Vec<MixAsk>,
}

impl DeviceMix {
    /// A mix of classes. Each of them asks cards, names resources by position in `resources` (numbers of
    /// their owner), and the nodes it may use by position in `admitting`. With `chooses_cards` cards within
    /// a node are chosen by the measure; otherwise as the families prefer.
    pub fn new(
        resources: Vec<u32>,
        classes: Vec<MixClass>,
        admitting: Vec<NodeSet>,
        chooses_cards: bool,
    ) -> Self {
        let mut families: SmallVec<[(u8, bool); 2]> = SmallVec::new();
        for class in &classes {
            let is_plain = class.plain.is_some();
            match families
                .iter_mut()
                .find(|(family, _)| *family == class.family)
            {
                Some((_, all)) => *all &= is_plain,
                None => families.push((class.family, is_plain)),
            }
        }
        families.sort_unstable();
        let kinds = kinds(&admitting);
        Self {
            asks: asks(&classes),
            resources,
            classes,
            admitting,
            chooses_cards,
            families,
            kinds,
        }
    }

    /// Resources that some class asks besides cards; numbers of their owner.
    pub fn resources(&self) -> &[u32] {
        &self.resources
    }

    /// Classes of tasks that the mix is made of.
    pub fn classes(&self) -> &[MixClass] {
        &self.classes
    }

    /// Families that classes ask cards of.
    pub fn families(&self) -> impl Iterator<Item = u8> {
        self.families.iter().map(|(family, _)| *family)
    }

    /// What classes ask of the cards of a family.
    #[inline]
    fn asks_of(&self, family: u8) -> &[MixAsk] {
        let from = self.asks.partition_point(|ask| ask.family < family);
        let count = self.asks[from..].partition_point(|ask| ask.family == family);
        &self.asks[from..from + count]
    }

    /// A number for a node: the same for those that the same classes may use.
    pub fn kind(&self, node: usize) -> u32 {
        self.kinds.get(node).copied().unwrap_or(0)
    }

    /// Whether summaries of the cards of a family tell all that is to be known.
    pub fn is_plain(&self, family: u8) -> bool {
        let mut known = self.families.iter();
        known.all(|(other, is_plain)| *other != family || *is_plain)
    }
}

/// A node at one moment.
#[derive(Clone, Copy)]
pub struct NodeRoom<'a> {
    /// Index of the node.
    pub node: usize,
    /// Cards of the node, and who holds them.
    pub devices: &'a NodeDevices,
    /// What is free of each of [`DeviceMix::resources`].
    pub free: &'a [i64],
    /// The moment at which it is looked at.
    pub view: LedgerTime,
}

/// What a task asks that is to be placed.
#[derive(Clone, Copy)]
pub struct AskedRoom<'a> {
    /// Cards.
    pub devices: &'a DeviceRequest,
    /// What it takes of each of [`DeviceMix::resources`].
    pub amounts: &'a [i64],
}

/// A number for each node: the same for those that are in the same sets.
fn kinds(sets: &[NodeSet]) -> Vec<u32> {
    let nodes = sets.iter().map(|set| set.0.len() * 64).max().unwrap_or(0);
    let mut kinds = vec![0; nodes];
    let mut last = 0;
    for set in sets {
        // Each kind falls apart into those within the set and those without.
        let mut within = std::collections::BTreeMap::new();
        let nodes = kinds.iter_mut().enumerate();
        for (_, kind) in nodes.filter(|(node, _)| set.has(*node)) {
            *kind = *within.entry(*kind).or_insert_with(|| {
                last += 1;
                last
            });
        }
    }
    kinds
}
