//! Amounts of queues in resources that nothing has: they limit nothing, which is hardly ever meant.
//!
//! A name that no resource can have counts nothing whatever comes. One that no node has just now may be that of
//! nodes that are yet to come, so it is told only where it is nearly that of one which some node has.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::nearest;
use pumice_model::object::QueueObject;
use pumice_model::resource::{ResIx, is_of_device_class};
use pumice_model::{QueueIx, State};

/// So many names are told.
const MAX_NAMES: usize = 8;

/// What is told of each queue with such amounts.
pub(crate) fn misnamed(state: &State) -> BTreeMap<QueueIx, String> {
    let resources = state.resources();
    let (largest, all) = (state.nodes().largest(), &state.nodes().cluster_total);
    let is_had = |ix: ResIx| largest.get(ix) > 0 || all.get(ix) > 0;
    let had = resources.in_order().iter().filter(|ix| is_had(**ix));
    let had: Vec<&str> = had.map(|ix| resources.name(*ix)).collect();
    // Many queues name the same.
    let mut near: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (ix, queue) in state.population().queues().iter() {
        let mut told = Vec::new();
        for (name, may_come) in names(&queue.object) {
            if resources.get(name).is_some_and(is_had) || is_of_device_class(name) {
                continue;
            }
            let known = || nearest(name, had.iter().copied());
            match *near.entry(name).or_insert_with(known) {
                Some(near) => told.push(format!("{name} (did you mean {near:?}?)")),
                None if may_come => {}
                None => told.push(name.to_owned()),
            }
        }
        if !told.is_empty() {
            found.insert(ix, text(told));
        }
    }
    found
}

/// Resources that a queue names, and whether some node may have them one day.
fn names(queue: &QueueObject) -> BTreeSet<(&str, bool)> {
    let lists = [&queue.capability, &queue.deserved, &queue.guarantee];
    let counted = lists.into_iter().flatten();
    let counted = counted.map(|(name, _)| (name.as_str(), true));
    let others = queue.uncounted.iter().map(|name| (name.as_str(), false));
    counted.chain(others).collect()
}

fn text(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    format!(
        "amounts that count nothing, since no node has such a resource: {}; name resources as nodes do, or \
         remove them",
        names.join(", ")
    )
}
