//! What the tasks of the cluster ask of cards, and what of the free cards is of use to none of them.

use std::collections::{BTreeMap, BTreeSet};

use pumice_devices::mix::WEIGHTS;
use pumice_devices::{DeviceMix, LedgerTime, NodeDevices, NodeRoom};
use pumice_framework::points::LeftOutTasks;
use pumice_model::NodeIx;
use pumice_model::device::free_on;
use serde::{Deserialize, Serialize};

use crate::view::pages::Pages;
use crate::wasted::{FreeCardsView, WasteBook, cards, percent, pool_of};

/// Most classes that are named as left out, and as short in one pool.
const MAX_NAMED: usize = 20;
/// Most kinds of nodes that are looked at as if they were idle.
const MAX_IDLE_LOOKS: usize = 256;

/// The mix of tasks that a plugin keeps, as of now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MixView {
    /// Why there is no mix, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// Where the mix comes from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// It is what somebody wrote, not what tasks were seen to ask.
    #[serde(default)]
    pub written: bool,
    /// Why what somebody wrote does not count, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Classes of tasks, the one with the largest weight first.
    pub classes: Vec<MixClassView>,
    /// Free cards by pool of nodes and type.
    pub cards: Vec<FreeCardsView>,
    /// The first classes that do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutView>,
    /// How many classes do not count.
    #[serde(default)]
    pub left_out_classes: usize,
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
    /// Set where no node has cards and room for one more of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_room: Option<NoRoom>,
}

/// How long there is no room for one more task of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoRoom {
    /// As things stand.
    Now,
    /// However few tasks there were.
    Ever,
}

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Now => "no node has cards and room for one more now",
            Self::Ever => "no node could serve one, were it idle",
        })
    }
}

/// Tasks that do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutView {
    /// What one of them asks.
    pub asks: String,
    /// Why they do not count.
    pub why: String,
}

/// What stands where no plugin keeps a mix.
const NO_MIX: &str = "the plugin fragmentation, which keeps the mix of tasks, is not configured";
/// By pool, family and type of cards and then by class, whether such a card serves it.
type Serving = BTreeMap<(String, u8, String), Vec<bool>>;

/// What all nodes are to the classes.
struct SeenCards {
    usable: Vec<i64>,
    free: Vec<i64>,
    now: Serving,
    idle: Serving,
    /// So many kinds of nodes are there that not all were looked at as if they were idle.
    is_cut: bool,
}

impl Pages<'_> {
    pub(crate) fn mix_view(&self) -> MixView {
        let devices = self.state.supplies().devices();
        let Some(mix) = devices.mix() else {
            return MixView {
                absent: Some(NO_MIX.to_owned()),
                ..MixView::default()
            };
        };
        let seen = self.see_all(mix);
        let classes = mix.classes().iter().enumerate();
        let mut classes: Vec<MixClassView> = classes
            .map(|(at, class)| MixClassView {
                asks: class.text().to_owned(),
                weight_percent: percent(class.weight(), WEIGHTS),
                usable_cards: cards(seen.usable[at]),
                useless_percent: percent(seen.free[at] - seen.usable[at], seen.free[at]),
                no_room: seen.no_room(at),
            })
            .collect();
        classes.sort_by(|l, r| r.weight_percent.total_cmp(&l.weight_percent));
        let kept = self.plugins.task_mix();
        let left_out = kept.map_or(&[][..], |kept| kept.left_out());
        MixView {
            absent: None,
            from: kept.map_or_else(String::new, |kept| kept.origin().to_owned()),
            written: kept.is_some_and(|kept| kept.is_written()),
            doubt: kept.and_then(|kept| kept.doubt()).map(str::to_owned),
            classes,
            cards: self.card_rows(mix, &seen),
            left_out: left_out
                .iter()
                .take(MAX_NAMED)
                .map(LeftOutView::of)
                .collect(),
            left_out_classes: left_out.len(),
        }
    }

    /// The rows that metrics have too, and which classes are short in each.
    fn card_rows(&self, mix: &DeviceMix, seen: &SeenCards) -> Vec<FreeCardsView> {
        let families = self.state.supplies().devices().families();
        let mut book = WasteBook::default();
        book.catch_up(self.state, self.plugins);
        let mut rows = book.views(self.state);
        let mut heaviest: Vec<usize> = (0..mix.classes().len()).collect();
        heaviest.sort_by_key(|at| std::cmp::Reverse(mix.classes()[*at].weight()));
        for ((pool, family, card_type), idle) in &seen.idle {
            let family_name = families.name(*family);
            let row = rows.iter_mut().find(|row| {
                row.pool == *pool && row.card_type == *card_type && row.family == family_name
            });
            let Some(row) = row.filter(|row| row.free_cards > 0.0) else {
                continue;
            };
            let now = seen.now.get(&(pool.clone(), *family, card_type.clone()));
            let serves_now = |at: usize| now.is_some_and(|now| now[at]);
            let short = heaviest.iter().filter(|at| idle[**at] && !serves_now(**at));
            let short: Vec<&str> = short.map(|at| mix.classes()[*at].text()).collect();
            row.short_classes = short.len();
            let named = short.into_iter().take(MAX_NAMED);
            row.short = named.map(str::to_owned).collect();
        }
        rows
    }

    fn see_all(&self, mix: &DeviceMix) -> SeenCards {
        let nodes = self.state.nodes();
        let count = mix.classes().len();
        let mut seen = SeenCards {
            usable: vec![0; count],
            free: vec![0; count],
            now: Serving::new(),
            idle: Serving::new(),
            is_cut: false,
        };
        let mut looks = BTreeSet::new();
        for node in nodes.indices() {
            if nodes.devices[node.at()].families().next().is_none() {
                continue;
            }
            let pool = pool_of(self.state, self.plugins, node);
            for family in mix.families() {
                self.see_now(mix, (node, family), pool, &mut seen);
                self.see_idle(mix, (node, family), pool, (&mut looks, &mut seen));
            }
        }
        seen
    }

    fn see_now(
        &self,
        mix: &DeviceMix,
        (node, family): (NodeIx, u8),
        pool: &str,
        seen: &mut SeenCards,
    ) {
        let nodes = self.state.nodes();
        let of_node = &nodes.devices[node.at()];
        let room = NodeRoom {
            node: node.at(),
            devices: of_node,
            free: &free_on(mix, nodes, node, LedgerTime::Now),
            view: LedgerTime::Now,
        };
        let uses = mix.card_uses(&room, family);
        let free: i64 = uses.free.iter().sum();
        for (class, sum) in seen.free.iter_mut().enumerate() {
            *sum += if mix.family_of(class) == family {
                free
            } else {
                0
            };
        }
        for (class, serving) in &uses.serves {
            let usable = uses.free.iter().zip(serving);
            let usable = usable.filter(|(_, serves)| **serves).map(|(free, _)| free);
            seen.usable[*class] += usable.sum::<i64>();
        }
        let count = mix.classes().len();
        note_serving(&mut seen.now, (pool, family, count), of_node, &uses.serves);
    }

    /// Nodes that are alike are looked at once.
    fn see_idle(
        &self,
        mix: &DeviceMix,
        (node, family): (NodeIx, u8),
        pool: &str,
        (looks, seen): (&mut BTreeSet<IdleLook>, &mut SeenCards),
    ) {
        let nodes = self.state.nodes();
        let of_node = &nodes.devices[node.at()];
        let Some(cards) = of_node.family(family) else {
            return;
        };
        let totals = free_on(mix, nodes, node, LedgerTime::Idle);
        let of_card = |at: usize| {
            let card = &cards.cards[at];
            let kind = (card.kind.to_string(), card.is_usable());
            (kind, cards.capacity(at).to_vec())
        };
        let look = IdleLook {
            pool: pool.to_owned(),
            kind: mix.kind(node.at()),
            family,
            totals: totals.to_vec(),
            cards: (0..cards.cards.len()).map(of_card).collect(),
        };
        if looks.contains(&look) {
            return;
        }
        if looks.len() >= MAX_IDLE_LOOKS {
            seen.is_cut = true;
            return;
        }
        looks.insert(look);
        let serves = mix.serves_idle((node.at(), of_node), &totals, family);
        let count = mix.classes().len();
        note_serving(&mut seen.idle, (pool, family, count), of_node, &serves);
    }
}

/// What decides which classes a node could serve if it were idle.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct IdleLook {
    pool: String,
    kind: u32,
    family: u8,
    totals: Vec<i64>,
    cards: Vec<((String, bool), Vec<i64>)>,
}

impl SeenCards {
    /// Whether one more task of a class finds nothing.
    fn no_room(&self, class: usize) -> Option<NoRoom> {
        if self.usable[class] > 0 {
            return None;
        }
        let is_served = self.is_cut || self.idle.values().any(|classes| classes[class]);
        Some(if is_served { NoRoom::Now } else { NoRoom::Ever })
    }
}

/// Notes which classes the cards of a node serve.
fn note_serving(
    all: &mut Serving,
    (pool, family, count): (&str, u8, usize),
    devices: &NodeDevices,
    serves: &[(usize, impl AsRef<[bool]>)],
) {
    let Some(cards) = devices.family(family) else {
        return;
    };
    let mut types: Vec<&str> = cards.cards.iter().map(|card| &*card.kind).collect();
    types.sort_unstable();
    types.dedup();
    for card_type in types {
        let key = (pool.to_owned(), family, card_type.to_owned());
        let classes = all.entry(key).or_insert_with(|| vec![false; count]);
        for (class, serving) in serves {
            let mut serving = serving.as_ref().iter().zip(&cards.cards);
            classes[*class] |= serving.any(|(serves, card)| *serves && *card.kind == *card_type);
        }
    }
}

impl LeftOutView {
    fn of(tasks: &LeftOutTasks) -> Self {
        Self {
            asks: tasks.asks.clone(),
            why: tasks.why.clone(),
        }
    }
}
