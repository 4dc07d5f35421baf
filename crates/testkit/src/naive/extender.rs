//! Plugin `extender` (spec/02 §23): what it says counts, and who has no answer waits. Its answers come to
//! everybody at once here, so nothing is said of which questions stand.

use pumice_conf::{PluginConf, Value};
use pumice_model::extender::{ExtenderAnswer, ExtenderQuestion, ExtenderVerb, NodeWord};
use pumice_model::object::NodeObject;

use super::cycle::Cycle;
use super::state::{Task, World, get, to_res};

/// The plugin, where it is there and asked this.
fn asked<'a>(cycle: &Cycle<'a>, verb: ExtenderVerb) -> Option<&'a PluginConf> {
    let plugin = cycle.plugin("extender")?;
    let argument = format!("extender.{}Verb", verb.name());
    let is_set = plugin
        .arguments
        .str(&argument)
        .is_some_and(|verb| !verb.is_empty());
    (is_set && is_on(plugin, verb)).then_some(plugin)
}

/// The point of the verb is not switched off.
fn is_on(plugin: &PluginConf, verb: ExtenderVerb) -> bool {
    match verb {
        ExtenderVerb::Predicate => plugin.enabled.predicate,
        ExtenderVerb::Prioritize => plugin.enabled.node_order,
        _ => true,
    }
}

fn is_ignorable(plugin: &PluginConf) -> bool {
    plugin.arguments.bool("extender.ignorable") == Some(true)
}

/// What it said to a question, if that counts.
fn said<'a>(
    world: &'a World,
    verb: ExtenderVerb,
    subject: &str,
    uid: &str,
) -> Option<&'a ExtenderAnswer> {
    world.answers.get(&ExtenderQuestion {
        verb,
        subject: subject.to_owned(),
        uid: uid.to_owned(),
    })
}

/// It said this word of a job or queue; a failure counts as the word only where it is ignorable.
fn says(
    cycle: &Cycle,
    plugin: &PluginConf,
    (verb, word): (ExtenderVerb, bool),
    (subject, uid): (&str, &str),
) -> bool {
    match said(&cycle.world, verb, subject, uid) {
        Some(ExtenderAnswer::Flag(flag)) => *flag == word,
        Some(ExtenderAnswer::Failed(_)) => is_ignorable(plugin),
        _ => false,
    }
}

/// The job may have turns.
pub fn lets_have_turns(cycle: &Cycle, job: &str) -> bool {
    let verb = ExtenderVerb::JobReady;
    asked(cycle, verb).is_none_or(|plugin| {
        let uid = &cycle.world.jobs[job].group.uid;
        says(cycle, plugin, (verb, true), (job, uid))
    })
}

/// Jobs of the queue have to wait.
pub fn holds_back(cycle: &Cycle, queue: &str) -> bool {
    let verb = ExtenderVerb::QueueOverused;
    asked(cycle, verb).is_some_and(|plugin| {
        let uid = &cycle.world.queues[queue].uid;
        !says(cycle, plugin, (verb, false), (queue, uid))
    })
}

/// Whether it admits a job; none: no opinion.
pub fn vote(cycle: &Cycle, job: &str) -> Option<bool> {
    let verb = ExtenderVerb::JobEnqueueable;
    let plugin = asked(cycle, verb)?;
    match said(&cycle.world, verb, job, &cycle.world.jobs[job].group.uid) {
        Some(ExtenderAnswer::Vote(0)) => None,
        Some(ExtenderAnswer::Vote(vote)) => Some(*vote > 0),
        Some(ExtenderAnswer::Failed(_)) => Some(is_ignorable(plugin)),
        _ => Some(false),
    }
}

/// It is asked about pods that ask for what it manages.
fn is_of_interest(plugin: &PluginConf, task: &Task) -> bool {
    let request = to_res(&task.pod.request);
    match plugin.arguments.get("extender.managedResources") {
        Some(Value::List(managed)) => managed
            .iter()
            .filter_map(Value::str)
            .any(|name| get(&request, name) > 0),
        _ => true,
    }
}

/// The pod may run on the node as far as the extender goes.
pub fn pass(cycle: &Cycle, task: &Task, node: &NodeObject) -> bool {
    let verbs = [ExtenderVerb::Predicate, ExtenderVerb::Prioritize];
    verbs.into_iter().all(|verb| {
        let Some(plugin) = asked(cycle, verb).filter(|plugin| is_of_interest(plugin, task)) else {
            return true;
        };
        match said(&cycle.world, verb, &task.pod.uid, "") {
            Some(ExtenderAnswer::Nodes(nodes)) => {
                let of_node = nodes
                    .iter()
                    .find(|about| about.node == node.name && about.uid == node.uid);
                match of_node.map(|about| &about.said) {
                    Some(NodeWord::Fits) => true,
                    Some(NodeWord::Failed(_)) => is_ignorable(plugin),
                    Some(NodeWord::Refused(_)) | None => false,
                }
            }
            Some(ExtenderAnswer::Scores(_)) => true,
            Some(ExtenderAnswer::Failed(_)) => is_ignorable(plugin),
            _ => false,
        }
    })
}

/// What it adds to the score of a node.
pub fn score(cycle: &Cycle, task: &Task, node: &NodeObject) -> f64 {
    let verb = ExtenderVerb::Prioritize;
    let is_asked = asked(cycle, verb).is_some_and(|plugin| is_of_interest(plugin, task));
    match said(&cycle.world, verb, &task.pod.uid, "") {
        Some(ExtenderAnswer::Scores(scores)) if is_asked => scores
            .iter()
            .find(|about| about.node == node.name && about.uid == node.uid)
            .map_or(0.0, |about| about.said),
        _ => 0.0,
    }
}
