//! What is known of nodes ahead of any question: nodes that look alike to a mix share a number, and what their cards
//! are to its classes is found once.
//!
//! ```text
//!  a step touches a node ─► its revision moves ─► `renew`: its look ─► number, and what its cards are to the mix
//!                                                                         │ many idle nodes have one number
//!  a question: points of a number that was seen before, or what the cards are to the mix, ready made
//! ```

use std::sync::Arc;

use pumice_devices::mix::{CardWorth, KnownCards};
use pumice_devices::{CardSummary, DeviceMix, LedgerTime, NodeRoom, PlainAsk};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::card_looks::CardLooks;
use super::mix::{MixAmounts, free_on};
use crate::ix::NodeIx;
use crate::node::Nodes;

/// Looks beyond the number of nodes that are kept although no node has them any more.
const MAX_SPARE_LOOKS: usize = 1024;

/// Bytes that may be spent on what cards are to classes; of further nodes that is found when they are asked about.
const MAX_KNOWN_BYTES: usize = 64 << 20;

/// What decides the waste of a node.
#[derive(PartialEq, Eq, Hash)]
struct NodeLook {
    /// [`DeviceMix::kind`].
    kind: u32,
    family: u8,
    free: MixAmounts,
    cards: SmallVec<[CardSummary; 8]>,
}

/// A look that some node has, or had not long ago.
pub struct KnownLook {
    /// No other look has it while the mix is the same one.
    pub number: u64,
    /// What its cards are to the classes of the mix; nothing where there is no room for it.
    pub cards: Option<KnownCards>,
    /// Numbers of its kinds of cards, the same for all cards that are alike.
    pub kinds: SmallVec<[u32; 8]>,
}

impl KnownLook {
    fn bytes(&self) -> usize {
        self.cards.as_ref().map_or(0, KnownCards::bytes)
    }
}

/// A node as it was looked at last.
#[derive(Clone)]
struct LookedAt {
    /// [`Nodes::revision`] then.
    revision: u64,
    /// Nothing if summaries do not tell all of it.
    look: Option<Arc<KnownLook>>,
}

/// The looks of nodes to one mix.
#[derive(Default)]
pub(super) struct NodeLooks {
    nodes: Vec<LookedAt>,
    looks: FxHashMap<NodeLook, Arc<KnownLook>>,
    cursor: Option<u64>,
    next_number: u64,
    known_bytes: usize,
    cards: CardLooks,
}

/// A copy looks for itself.
impl Clone for NodeLooks {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl NodeLooks {
    /// The look of a node, if nothing on it has changed since it was looked at.
    #[inline]
    pub fn of(&self, nodes: &Nodes, node: NodeIx) -> Option<&KnownLook> {
        let known = self.nodes.get(node.at())?;
        let is_current = known.revision == nodes.revision(node);
        known.look.as_deref().filter(|_| is_current)
    }

    /// Finds out what cards are once somebody has what is asked of them.
    pub fn ask(&mut self, mix: &DeviceMix, family: u8, ask: &PlainAsk) {
        self.cards.ask(mix, family, ask);
    }

    /// By number of kinds of cards, what they are once a task has what it asks; nothing if it did not ask last.
    #[inline]
    pub fn after(&self, family: u8, ask: &PlainAsk) -> Option<&[Option<CardWorth>]> {
        self.cards.after(family, ask)
    }

    /// Looks at the nodes that have changed.
    pub fn renew(&mut self, mix: &DeviceMix, nodes: &Nodes) {
        let cursor = self.cursor.replace(nodes.touch_cursor());
        if cursor == self.cursor && self.nodes.len() == nodes.len() {
            return;
        }
        let touched = cursor.filter(|_| self.nodes.len() == nodes.len());
        match touched.and_then(|cursor| nodes.touched_since(cursor)) {
            Some(touched) => {
                for node in touched {
                    self.look_at(mix, nodes, node);
                }
            }
            None => {
                let unknown = LookedAt {
                    revision: 0,
                    look: None,
                };
                self.nodes.resize(nodes.len(), unknown);
                for node in nodes.indices() {
                    self.look_at(mix, nodes, node);
                }
            }
        }
    }

    fn look_at(&mut self, mix: &DeviceMix, nodes: &Nodes, node: NodeIx) {
        let revision = nodes.revision(node);
        if self.nodes[node.at()].revision == revision {
            return;
        }
        let look = look_of(mix, nodes, node).map(|look| {
            if let Some(known) = self.looks.get(&look) {
                return Arc::clone(known);
            }
            let room = NodeRoom {
                node: node.at(),
                devices: &nodes.devices[node.at()],
                free: &look.free,
                view: LedgerTime::Now,
            };
            let known = Arc::new(self.known(mix, &room));
            self.looks.insert(look, Arc::clone(&known));
            known
        });
        self.nodes[node.at()] = LookedAt { revision, look };
        if self.looks.len() > 2 * self.nodes.len() + MAX_SPARE_LOOKS {
            self.forget_old_looks();
        }
    }

    fn known(&mut self, mix: &DeviceMix, room: &NodeRoom) -> KnownLook {
        let number = self.next_number;
        self.next_number += 1;
        let has_room = self.known_bytes < MAX_KNOWN_BYTES;
        let cards = has_room.then(|| mix.known_of(room)).flatten();
        let mut kinds = SmallVec::new();
        if let Some(cards) = &cards {
            let of = (NodeIx(room.node as u32), cards.family());
            kinds.extend((cards.summaries()).map(|card| self.cards.number(mix, of, card)));
        }
        let known = KnownLook {
            number,
            cards,
            kinds,
        };
        self.known_bytes += known.bytes();
        known
    }

    /// Forgets the looks that no node has any more.
    fn forget_old_looks(&mut self) {
        let looks = self.nodes.iter().filter_map(|node| node.look.as_ref());
        let in_use: FxHashSet<u64> = looks.map(|look| look.number).collect();
        self.looks.retain(|_, look| in_use.contains(&look.number));
        self.known_bytes = self.looks.values().map(|look| look.bytes()).sum();
        let kinds = self.looks.values().flat_map(|look| &look.kinds);
        self.cards.retain(&kinds.copied().collect());
    }
}

/// How a node looks to a mix; nothing if summaries of its cards do not tell all of it.
fn look_of(mix: &DeviceMix, nodes: &Nodes, node: NodeIx) -> Option<NodeLook> {
    let look = nodes.devices[node.at()].look();
    let (family, cards) = look.filter(|(family, _)| mix.is_plain(*family))?;
    Some(NodeLook {
        kind: mix.kind(node.at()),
        family,
        free: free_on(mix, nodes, node, LedgerTime::Now),
        cards: cards.into(),
    })
}
