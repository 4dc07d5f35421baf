//! What the tasks of the cluster ask of cards, and what of the free cards is of use to none of them.

use std::collections::BTreeMap;

use pumice_devices::mix::{WEIGHTS, WHOLE};
use pumice_devices::{LedgerTime, NodeRoom};
use pumice_model::device::free_on;
use serde::{Deserialize, Serialize};

use crate::view::pages::Pages;

/// The mix of tasks that a plugin keeps, as of now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MixView {
    /// Why there is no mix, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// Classes of tasks, the one with the largest weight first.
    pub classes: Vec<MixClassView>,
    /// Free cards by their type.
    pub cards: Vec<FreeCardsView>,
}

/// Tasks that ask the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MixClassView {
    /// What one of them asks, in the words of `fragmentation.mix`.
    pub asks: String,
    /// Percent of all classes that it counts.
    pub weight_percent: f64,
    /// Cards that are free and that one more of its tasks could use.
    pub usable_cards: f64,
    /// Percent of the free cards of its family that one more of its tasks could not use.
    pub useless_percent: f64,
}

/// Cards of one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreeCardsView {
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
}

/// What stands where no plugin keeps a mix.
const NO_MIX: &str = "the plugin fragmentation, which keeps the mix of tasks, is not configured";

impl Pages<'_> {
    pub(super) fn mix_view(&self) -> MixView {
        let devices = self.state.supplies().devices();
        let Some(mix) = devices.mix() else {
            return MixView {
                absent: Some(NO_MIX.to_owned()),
                ..MixView::default()
            };
        };
        let nodes = self.state.nodes();
        let count = mix.classes().len();
        let (mut usable, mut free) = (vec![0; count], vec![0; count]);
        let mut by_type: BTreeMap<(u8, String), (i64, i64)> = BTreeMap::new();
        for node in nodes.indices() {
            let of_node = &nodes.devices[node.at()];
            let room = NodeRoom {
                node: node.at(),
                devices: of_node,
                free: &free_on(mix, nodes, node, LedgerTime::Now),
                view: LedgerTime::Now,
            };
            mix.add_usable(&room, &mut usable, &mut free);
            mix.uses(&room, |(family, at), free, serves| {
                let cards = of_node.family(family);
                let kind = cards.map_or("", |cards| &cards.cards[at].kind);
                let sums = by_type.entry((family, kind.to_owned())).or_default();
                sums.0 += free;
                sums.1 += if serves { 0 } else { free };
            });
        }
        let classes = mix
            .classes()
            .iter()
            .enumerate()
            .map(|(at, class)| MixClassView {
                asks: class.text().to_owned(),
                weight_percent: percent(class.weight(), WEIGHTS),
                usable_cards: cards(usable[at]),
                useless_percent: percent(free[at] - usable[at], free[at]),
            });
        let mut classes: Vec<MixClassView> = classes.collect();
        classes.sort_by(|l, r| r.weight_percent.total_cmp(&l.weight_percent));
        let of_types = by_type
            .into_iter()
            .map(|((family, kind), (free, useless))| FreeCardsView {
                family: devices.families().name(family).to_owned(),
                card_type: kind,
                free_cards: cards(free),
                useless_cards: cards(useless),
                useless_percent: percent(useless, free),
            });
        MixView {
            absent: None,
            classes,
            cards: of_types.collect(),
        }
    }
}

/// A number of cards, to tenths.
fn cards(thousandths: i64) -> f64 {
    (thousandths as f64 * 10.0 / WHOLE as f64).round() / 10.0
}

/// A part in percent, to tenths.
fn percent(part: i64, all: i64) -> f64 {
    match all {
        0 => 0.0,
        all => (part as f64 * 1000.0 / all as f64).round() / 10.0,
    }
}
