//! What of the free cards is of use to nobody, and nodes and cards that leave least of that, by the rules alone
//! (spec/10).
//!
//! ```text
//!  pods there are │ fragmentation.mix ─► classes ─► weights, when a cycle opens
//!                                                     │
//!                     waste of a node, before and after ┴─► points of the node, cards of a set
//! ```

mod choice;
mod classes;
mod measure;
mod weights;
mod written;

use std::collections::BTreeSet;
use std::sync::Arc;

use pumice_conf::PluginConf;
use pumice_model::object::NodeObject;

use super::cycle::Cycle;
use super::devices::{self, CardFamily, View};
use super::network::DomainNodes;
use super::state::{Task, sub};
pub use choice::choose;
use classes::AlikeTasks;
use measure::waste;

/// Stands for 1 in weights.
const WHOLE: i128 = 65_536;

/// What tasks ask of cards, and how often.
#[derive(Clone, Debug, Default)]
pub struct WeighedMix {
    /// With the weight of each.
    classes: Vec<(AlikeTasks, i128)>,
    /// UIDs of the tasks that were counted.
    counted: BTreeSet<String>,
    /// UIDs of the tasks that had cards.
    holders: BTreeSet<String>,
}

impl WeighedMix {
    fn of(&self, family: CardFamily) -> impl Iterator<Item = &(AlikeTasks, i128)> {
        let all = self.classes.iter();
        all.filter(move |(class, _)| class.family == family)
    }
}

/// Weighs what tasks ask, where it is time for that.
pub fn begin(cycle: &mut Cycle) {
    let Some(plugin) = cycle.plugin("fragmentation") else {
        return;
    };
    if weights::are_due(cycle, plugin) {
        let mix = weights::weigh(cycle, plugin);
        cycle.world.mix = Some(Arc::new(mix));
    }
}

/// Points for what is left of a domain, in 65536ths; `None`: domains are not compared by it (§3).
pub fn left_of(cycle: &Cycle, domain: &DomainNodes) -> Option<i128> {
    let plugin = cycle.plugin("fragmentation")?;
    let weight = plugin.arguments.int("fragmentation.weight").unwrap_or(1);
    if weight == 0 || !plugin.enabled.hyper_node_order {
        return None;
    }
    let mut wasted = 0;
    for node in domain.nodes.iter().map(|name| &cycle.world.nodes[name]) {
        let idle = View::Now.idle(&cycle.world, node);
        for family in devices::FAMILIES {
            let shelf = family.shelf(&cycle.world, node, View::Now);
            wasted += waste(cycle, family, (node, &*shelf), &idle);
        }
    }
    Some(-i128::from(weight) * wasted)
}

/// Points of a node for what the task makes useless there (§3).
pub fn score(
    cycle: &Cycle,
    plugin: &PluginConf,
    task: &Task,
    (node, view): (&NodeObject, View),
) -> f64 {
    let weight = plugin.arguments.int("fragmentation.weight").unwrap_or(1);
    let families = match devices::families(task) {
        none if none.is_empty() => devices::FAMILIES.to_vec(),
        one if one.len() == 1 => one,
        _ => return 0.0,
    };
    let held = devices::choose(cycle, task, node, view).map(|(held, _)| held);
    let placed = task.having(held.unwrap_or_default());
    let mut added = 0;
    for family in families {
        let shelf = family.shelf(&cycle.world, node, view);
        let mut idle = view.idle(&cycle.world, node);
        added -= waste(cycle, family, (node, &*shelf), &idle);
        sub(&mut idle, &task.request());
        added += waste(cycle, family, (node, &*shelf.with(&placed)), &idle);
    }
    -(i128::from(weight) * added) as f64 / WHOLE as f64
}
