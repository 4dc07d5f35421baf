//! How much each class counts (spec/10 §4).

use std::collections::BTreeSet;

use pumice_conf::PluginConf;
use pumice_units::duration::parse_go_duration;

use super::classes::{AlikeTasks, merged, surprises};
use super::measure::value;
use super::{WHOLE, WeighedMix, written};
use crate::naive::cycle::Cycle;
use crate::naive::devices::{self, View};
use crate::naive::state::{Status, Task, World};

/// A task that comes now.
const TASK: i128 = 1 << 20;

const WEEK_NS: i128 = 7 * 24 * 3600 * 1_000_000_000;

fn is_scarce(plugin: &PluginConf) -> bool {
    let asked = plugin.arguments.bool("fragmentation.scarcity");
    asked.unwrap_or(true)
}

/// UIDs of the tasks of which this holds.
fn uids(world: &World, holds: impl Fn(&Task) -> bool) -> BTreeSet<String> {
    let tasks = world.tasks.values().filter(|task| holds(task));
    tasks.map(|task| task.pod.uid.clone()).collect()
}

fn counted(world: &World) -> BTreeSet<String> {
    uids(world, |task| {
        is_counted(world, task) && AlikeTasks::of(task).is_some()
    })
}

/// One of another scheduler that had ended when it was first seen never came.
fn is_counted(world: &World, task: &Task) -> bool {
    let is_over = [Status::Succeeded, Status::Failed].contains(&task.status);
    let known = world.mix.as_ref().map(|mix| &mix.counted);
    task.job.is_some() || !is_over || known.is_some_and(|known| known.contains(&task.pod.uid))
}

fn holders(world: &World) -> BTreeSet<String> {
    uids(world, |task| {
        task.held.is_some() && task.node.as_ref().is_some_and(|node| task.is_on(node))
    })
}

/// Whether so much has happened since that they are to be weighed.
pub fn are_due(cycle: &Cycle, plugin: &PluginConf) -> bool {
    let world = &cycle.world;
    let Some(mix) = &world.mix else {
        return true;
    };
    let all = counted(world);
    let came = all.difference(&mix.counted).count();
    let placed = holders(world).difference(&mix.holders).count();
    let cards: usize = devices::FAMILIES
        .iter()
        .flat_map(|family| world.nodes.values().map(|node| (*family, node)))
        .map(|(family, node)| family.shelf(world, node, View::Now).uses().len())
        .sum();
    came >= 32.max(all.len() / 16) || (is_scarce(plugin) && placed >= 16.max(cards / 16))
}

/// How often classes come.
fn census(cycle: &Cycle, plugin: &PluginConf) -> Vec<(AlikeTasks, i128)> {
    let half_life = plugin.arguments.str("fragmentation.halfLife");
    let half_life = half_life.and_then(|text| parse_go_duration(text).ok());
    let half_life = half_life.map_or(WEEK_NS, i128::from).max(1);
    let mut classes: Vec<(AlikeTasks, i128)> = Vec::new();
    let mut tasks: Vec<&Task> = cycle.world.tasks.values().collect();
    tasks.sort_by_key(|task| task.came);
    for task in tasks
        .into_iter()
        .filter(|task| is_counted(&cycle.world, task))
    {
        let Some(class) = AlikeTasks::of(task) else {
            continue;
        };
        let ago = i128::from((cycle.now_s - task.pod.created_s).max(0)) * 1_000_000_000;
        let often = match ago / half_life {
            lives @ 0..=62 => {
                let rest = ago % half_life;
                (TASK >> lives) * (2 * half_life - rest) / (2 * half_life)
            }
            _ => 0,
        };
        match classes.iter_mut().find(|(known, _)| known.is_like(&class)) {
            Some((_, sum)) => *sum += often,
            None => classes.push((class, often)),
        }
    }
    classes.retain(|(_, often)| *often >= TASK / 1024);
    classes
}

/// What is written, unless something else comes; else what was seen.
fn believed(cycle: &Cycle, plugin: &PluginConf, most: usize) -> Vec<(AlikeTasks, i128)> {
    let seen = merged(census(cycle, plugin), most);
    let Some(lines) = written::mix(plugin) else {
        return seen;
    };
    let mut classes = written::classes(&cycle.world, &lines);
    if classes.len() > most {
        classes = merged(classes, most);
    }
    let stands = plugin.arguments.bool("fragmentation.mixStands");
    let (came, unforetold) = surprises(&classes, &seen);
    match unforetold >= 32 && 4 * unforetold >= came && !stands.unwrap_or(false) {
        true => seen,
        false => classes,
    }
}

/// Weighs all classes as everything is now.
pub fn weigh(cycle: &Cycle, plugin: &PluginConf) -> WeighedMix {
    let world = &cycle.world;
    let most = plugin.arguments.int("fragmentation.maxClasses");
    let most = most.unwrap_or(128) as usize;
    let mut classes = believed(cycle, plugin, most);
    classes.retain(|(class, _)| {
        let mut nodes = world.nodes.values();
        nodes.any(|node| class.is_admitted(node)) && class.is_offered(world)
    });
    if is_scarce(plugin) {
        for (class, often) in &mut classes {
            let (mut usable, mut free) = (0, 0);
            for node in world.nodes.values() {
                let shelf = class.family.shelf(world, node, View::Now);
                let idle = world.idle(node);
                let value = value(cycle, class, (node, &*shelf), &idle);
                free += value.free;
                usable += value.usable;
            }
            *often = *often * 50 * (free + 1) / (50 * usable + free + 50);
        }
    }
    let sum: i128 = classes.iter().map(|(_, often)| often).sum();
    for (_, often) in &mut classes {
        *often = (WHOLE * *often).checked_div(sum).unwrap_or(0);
    }
    WeighedMix {
        classes,
        counted: counted(world),
        holders: holders(world),
    }
}
