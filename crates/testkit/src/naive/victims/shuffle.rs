//! The action `shuffle`: pods go that plugins want gone, for nobody in particular (spec/07 §10).

use std::collections::BTreeSet;

use pumice_conf::PluginConf;
use pumice_units::duration::parse_go_duration;

use super::answers::{evict, protected_from};
use super::candidates;
use crate::naive::cycle::Cycle;
use crate::naive::state::{Eviction, Status};
use crate::naive::{rescheduling, tdm};

/// Plugins that want pods gone: name, argument with its period, and what that is without.
const PLUGINS: &[(&str, &str, i64)] = &[
    ("tdm", "tdm.evict.period", 60),
    ("rescheduling", "interval", 300),
];

const SECOND_NS: i128 = 1_000_000_000;

/// Notes which plugins are due in the cycle that begins.
pub fn begin(cycle: &mut Cycle) {
    let now_s = cycle.now_s;
    for (name, argument, usual_s) in PLUGINS {
        let Some(plugin) = cycle.plugin(name) else {
            continue;
        };
        let text = plugin.arguments.str(argument);
        let written_ns = text.and_then(|text| parse_go_duration(text).ok());
        let period_ns = written_ns.map_or(i128::from(*usual_s) * SECOND_NS, i128::from);
        let last_s = cycle.world.due_s.get(*name);
        let is_over = |last_s: &i64| i128::from(now_s - last_s) * SECOND_NS >= period_ns;
        if last_s.is_none_or(is_over) {
            cycle.world.due_s.insert((*name).to_owned(), now_s);
            cycle.due.insert((*name).to_owned());
        }
    }
}

/// Notes that pods went in a cycle in which measurements were looked at.
pub fn end(cycle: &mut Cycle) {
    let mut evictions = cycle.world.evictions.iter();
    let goes = evictions.any(|eviction| eviction.cycle == cycle.number);
    if goes && cycle.due.contains("rescheduling") {
        cycle.world.relieved_s = Some(cycle.now_s);
    }
}

/// The action.
pub fn shuffle(cycle: &mut Cycle) {
    let offered = offered(cycle);
    let named = named(cycle, &offered);
    let mut going = offered;
    going.retain(|uid| named.contains(uid));
    for uid in unprotected(cycle, going) {
        let task = &cycle.world.tasks[&uid];
        let eviction = Eviction {
            pod: task.name(),
            uid: uid.clone(),
            object: task.pod.clone(),
            reason: "shuffle".to_owned(),
            by: String::new(),
            cycle: cycle.number,
            at_s: cycle.now_s,
        };
        cycle.world.evictions.push(eviction);
        evict(&mut cycle.world, &uid);
    }
}

/// Who may be named, cheapest first.
fn offered(cycle: &Cycle) -> Vec<String> {
    let world = &cycle.world;
    let mut tasks: Vec<_> = world
        .tasks
        .values()
        .filter(|task| task.status == Status::Running)
        .filter(|task| candidates::could_go(world, task) && !candidates::is_served(cycle, task))
        .filter(|task| !unprotected(cycle, vec![task.pod.uid.clone()]).is_empty())
        .collect();
    tasks.sort_by_key(|task| {
        let price = candidates::own_price(world, task);
        (price, candidates::name_order(task))
    });
    let uids = tasks.into_iter().map(|task| task.pod.uid.clone());
    uids.collect()
}

/// Whom the first tier wants gone that wants anybody gone.
fn named(cycle: &Cycle, offered: &[String]) -> BTreeSet<String> {
    let of_plugin = |plugin: &PluginConf| match plugin.name.as_str() {
        name if !plugin.enabled.victim || !cycle.due.contains(name) => Vec::new(),
        "tdm" => tdm::unwanted(cycle, plugin, offered),
        "rescheduling" => rescheduling::unwanted(cycle, plugin, offered),
        _ => Vec::new(),
    };
    let tiers = cycle.config.tiers.iter();
    let mut unions = tiers.map(|tier| tier.plugins.iter().flat_map(of_plugin).collect());
    unions
        .find(|union: &BTreeSet<String>| !union.is_empty())
        .unwrap_or_default()
}

/// Those that no protection keeps, of these together.
fn unprotected(cycle: &Cycle, uids: Vec<String>) -> Vec<String> {
    let mut left = uids;
    for plugin in cycle.plugins().filter(|plugin| plugin.enabled.preemptable) {
        left = protected_from(cycle, plugin, &left).unwrap_or(left);
    }
    left
}
