//! Free cards, and those of them that no class of the mix can use, by pool of nodes and type of card: the one
//! figure that pages, metrics and `simulate` tell (docs/spec/10-fragmentation.md §5).
//!
//! Sums are kept from one call to the next, and nodes are looked at again that were touched since; all of them once
//! nodes or the mix are others.

use std::collections::BTreeMap;

use pumice_devices::mix::WHOLE;
use pumice_devices::{DeviceMix, LedgerTime, NodeRoom};
use pumice_framework::Plugins;
use pumice_model::device::free_on;
use pumice_model::{NodeIx, State};
use serde::{Deserialize, Serialize};

/// Most rows that are told; the cards of all others are told together.
pub const MAX_CARD_ROWS: usize = 200;

/// Pool and type of what is told together.
const OTHERS: &str = "others";

/// Free cards of one type in one pool of nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreeCardsView {
    /// Pool of the nodes, as a label of theirs names it; empty where none does.
    pub pool: String,
    /// Family of the cards.
    pub family: String,
    /// Type, as nodes tell it.
    #[serde(rename = "type")]
    pub card_type: String,
    /// Cards that are free, parts of cards counted as such.
    pub free_cards: f64,
    /// Those of them that tasks of no class could use.
    pub useless_cards: f64,
    /// Percent of the free cards that tasks of no class could use.
    pub useless_percent: f64,
    /// The first classes that such cards could serve, of which one more task finds none in the pool now; on pages
    /// only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<String>,
    /// How many such classes there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short_classes: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What rows are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    pub pool: String,
    pub family: u8,
    pub card_type: String,
}

/// Thousandths of cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FreeSums {
    pub free: i64,
    pub useless: i64,
    /// Cards, free or not, so that a row lasts as long as one of them is there.
    cards: i64,
}

impl FreeSums {
    fn add(&mut self, other: Self, sign: i64) {
        self.free += sign * other.free;
        self.useless += sign * other.useless;
        self.cards += sign * other.cards;
    }
}

/// Sums by row, and what each node adds to them.
#[derive(Default)]
pub(crate) struct WasteBook {
    cursor: u64,
    /// Epochs of nodes, families and mix that the sums are of.
    epochs: Option<(u64, u64, u64)>,
    rows: BTreeMap<RowKey, usize>,
    sums: Vec<FreeSums>,
    nodes: Vec<Vec<(usize, FreeSums)>>,
}

impl WasteBook {
    /// Takes in what has changed since the last call. Without a mix there is nothing.
    pub fn catch_up(&mut self, state: &State, plugins: &Plugins) {
        let devices = state.supplies().devices();
        let Some(mix) = devices.mix() else {
            *self = Self::default();
            return;
        };
        let nodes = state.nodes();
        let epochs = (
            nodes.static_epoch(),
            devices.families_epoch(),
            devices.mix_epoch(),
        );
        let is_known = self.epochs == Some(epochs) && self.nodes.len() == nodes.len();
        let touched = nodes.touched_since(self.cursor).filter(|_| is_known);
        let touched: Option<Vec<NodeIx>> = touched.map(Iterator::collect);
        let touched = touched.unwrap_or_else(|| {
            *self = Self::default();
            self.nodes.resize_with(nodes.len(), Vec::new);
            nodes.indices().collect()
        });
        (self.cursor, self.epochs) = (nodes.touch_cursor(), Some(epochs));
        for node in touched {
            self.look_at(state, (mix, plugins), node);
        }
    }

    fn look_at(&mut self, state: &State, (mix, plugins): (&DeviceMix, &Plugins), node: NodeIx) {
        for (row, sums) in std::mem::take(&mut self.nodes[node.at()]) {
            self.sums[row].add(sums, -1);
        }
        let of_node = &state.nodes().devices[node.at()];
        let pool = pool_of(state, plugins, node);
        let mut of_rows: BTreeMap<(u8, &str), FreeSums> = BTreeMap::new();
        each_card(state, mix, node, |(family, at), sums| {
            let cards = of_node.family(family);
            let card_type = cards.map_or("", |cards| &cards.cards[at].kind);
            of_rows.entry((family, card_type)).or_default().add(sums, 1);
        });
        for ((family, card_type), sums) in of_rows {
            let key = RowKey {
                pool: pool.to_owned(),
                family,
                card_type: card_type.to_owned(),
            };
            let next = self.rows.len();
            let row = *self.rows.entry(key).or_insert(next);
            self.sums.resize(self.rows.len(), FreeSums::default());
            self.sums[row].add(sums, 1);
            self.nodes[node.at()].push((row, sums));
        }
    }

    /// Rows by pool, family and type, those with most free cards if there are too many.
    pub fn rows(&self) -> (Vec<(&RowKey, FreeSums)>, Option<FreeSums>) {
        let all = self.rows.iter().map(|(key, at)| (key, self.sums[*at]));
        let mut rows: Vec<_> = all.filter(|(_, sums)| sums.cards > 0).collect();
        if rows.len() <= MAX_CARD_ROWS {
            return (rows, None);
        }
        rows.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.free));
        let mut others = FreeSums::default();
        for (_, sums) in rows.drain(MAX_CARD_ROWS - 1..) {
            others.add(sums, 1);
        }
        rows.sort_by_key(|(key, _)| *key);
        (rows, Some(others))
    }

    /// What is told of them.
    pub fn views(&self, state: &State) -> Vec<FreeCardsView> {
        let families = state.supplies().devices().families();
        let (rows, others) = self.rows();
        let rows = rows.into_iter().map(|(key, sums)| {
            let family = families.name(key.family);
            view((&key.pool, family, &key.card_type), sums)
        });
        let others = others.map(|sums| view((OTHERS, OTHERS, OTHERS), sums));
        rows.chain(others).collect()
    }
}

fn view((pool, family, card_type): (&str, &str, &str), sums: FreeSums) -> FreeCardsView {
    FreeCardsView {
        pool: pool.to_owned(),
        family: family.to_owned(),
        card_type: card_type.to_owned(),
        free_cards: cards(sums.free),
        useless_cards: cards(sums.useless),
        useless_percent: percent(sums.useless, sums.free),
        ..FreeCardsView::default()
    }
}

/// What is free of each card of a node, and of use to no class.
fn each_card(
    state: &State,
    mix: &DeviceMix,
    node: NodeIx,
    mut told: impl FnMut((u8, usize), FreeSums),
) {
    let of_node = &state.nodes().devices[node.at()];
    if of_node.families().next().is_none() {
        return;
    }
    let room = NodeRoom {
        node: node.at(),
        devices: of_node,
        free: &free_on(mix, state.nodes(), node, LedgerTime::Now),
        view: LedgerTime::Now,
    };
    mix.uses(&room, |card, free, serves| {
        let sums = FreeSums {
            free,
            useless: if serves { 0 } else { free },
            cards: 1,
        };
        told(card, sums);
    });
}

/// What is free of the cards of a node, and of use to no class.
pub(crate) fn free_of_node(state: &State, mix: &DeviceMix, node: NodeIx) -> FreeSums {
    let mut sum = FreeSums::default();
    each_card(state, mix, node, |_, sums| sum.add(sums, 1));
    sum
}

/// The pool of a node: the value of the first of the labels that it has.
pub(crate) fn pool_of<'a>(state: &'a State, plugins: &Plugins, node: NodeIx) -> &'a str {
    let labels = &state.nodes().object(node).labels;
    let keys = plugins
        .task_mix()
        .map_or(&[][..], |kept| kept.pool_labels());
    let mut pools = keys.iter().filter_map(|key| {
        let label = labels.iter().find(|(known, _)| known == key)?;
        Some(label.1.as_str())
    });
    pools.find(|pool| !pool.is_empty()).unwrap_or_default()
}

/// A number of cards, to hundredths.
pub(crate) fn cards(thousandths: i64) -> f64 {
    (thousandths as f64 * 100.0 / WHOLE as f64).round() / 100.0
}

/// A part in percent, to tenths.
pub(crate) fn percent(part: i64, all: i64) -> f64 {
    match all {
        0 => 0.0,
        all => (part as f64 * 1000.0 / all as f64).round() / 10.0,
    }
}
