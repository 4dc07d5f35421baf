//! A mix as it is written (spec/10 §4): how often, what is asked, and after `on` labels of nodes.

use std::sync::Arc;

use pumice_conf::{PluginConf, Value};
use pumice_model::object::{Amounts, ContainerFacts, ContainerKind, Pairs, PodObject};

use super::classes::AlikeTasks;
use crate::naive::state::{Status, SubJob, Task, World};

/// What is written.
pub fn mix(plugin: &PluginConf) -> Option<Vec<String>> {
    let Value::List(lines) = plugin.arguments.get("fragmentation.mix")? else {
        return None;
    };
    let lines = lines.iter().filter_map(Value::str).map(str::to_owned);
    Some(lines.collect())
}

/// The classes of these lines.
pub fn classes(world: &World, lines: &[String]) -> Vec<(AlikeTasks, i128)> {
    lines.iter().filter_map(|line| class(world, line)).collect()
}

/// An amount as nodes count it: cpu and extended resources by thousandths, memory by bytes.
fn amount(name: &str, text: &str) -> i64 {
    let units = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
    let unit = units
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, size) = unit.unwrap_or((text, 1));
    match (name, number.strip_suffix('m')) {
        (_, Some(milli)) => milli.parse().expect("a number"),
        ("memory", None) => number.parse::<i64>().expect("a number") * size,
        (_, None) => number.parse::<i64>().expect("a number") * size * 1000,
    }
}

fn class(world: &World, line: &str) -> Option<(AlikeTasks, i128)> {
    let mut words = line.split_whitespace();
    let often: i128 = words.next()?.parse().ok()?;
    let (mut request, mut asked) = (Amounts::new(), Amounts::new());
    let (mut node_selector, mut is_on) = (Pairs::new(), false);
    for word in words {
        match word.split_once('=') {
            None => is_on = true,
            Some((key, value)) if is_on => node_selector.push((key.to_owned(), value.to_owned())),
            Some((name, text)) => {
                let one = (name.to_owned(), amount(name, text));
                asked.extend(Some(one.clone()).filter(|_| name.contains('/')));
                request.push(one);
            }
        }
    }
    request.push(("pods".to_owned(), 1));
    request.sort();
    asked.sort();
    let mut pod = PodObject {
        request,
        node_selector,
        ..PodObject::default()
    };
    pod.facts.containers = vec![ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: asked,
    }];
    let task = Task {
        pod: Arc::new(pod),
        job: None,
        sub_job: SubJob::default(),
        status: Status::Pending,
        node: None,
        held: None,
        cpus: Default::default(),
        on: world.on,
        placed: 0,
        came: 0,
        promise: None,
    };
    Some((AlikeTasks::of(&task)?, often))
}
