//! An extender that answers everybody, in its own way: configurations that ask it, and its answers.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pumice_model::delta::Delta;
use pumice_model::extender::{AboutNode, ExtenderAnswer, ExtenderQuestion, ExtenderVerb, NodeWord};
use pumice_model::object::NodeObject;

use super::conf_text;
use super::rng::Rng;
use crate::naive::{Moment, seconds};

/// Cycles after which it has changed its mind.
const LASTING: u64 = 2;

/// A configuration that asks an extender; otherwise as [`conf_text`].
#[must_use]
pub fn extender_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 50);
    let text = conf_text(seed);
    let verbs = [
        ExtenderVerb::QueueOverused,
        ExtenderVerb::JobEnqueueable,
        ExtenderVerb::JobReady,
        ExtenderVerb::Predicate,
        ExtenderVerb::Prioritize,
    ];
    let mut lines = String::from("  - name: extender\n    arguments:\n");
    lines.push_str("      extender.urlPrefix: http://ext\n");
    for verb in verbs {
        if rng.one_in(2) {
            let name = verb.name();
            lines.push_str(&format!("      extender.{name}Verb: {name}\n"));
        }
    }
    if rng.one_in(2) {
        lines.push_str("      extender.ignorable: true\n");
    }
    if rng.one_in(4) {
        lines.push_str("      extender.managedResources: [nvidia.com/gpu, pods]\n");
    } else if rng.one_in(3) {
        lines.push_str("      extender.managedResources: [nvidia.com/gpu]\n");
    }
    let switches = ["enablePredicate", "enableNodeOrder"];
    if rng.one_in(4) {
        let switch = rng.pick(&switches);
        lines.push_str(&format!("    {switch}: false\n"));
    }
    let places: Vec<usize> = text.match_indices("  - name: ").map(|(at, _)| at).collect();
    let mut text = text;
    text.insert_str(rng.pick(&places), &lines);
    text
}

/// So many cycles, one a second, before each of which it has answered everything.
#[must_use]
pub fn extender_moments(seed: u64, objects: &[Delta], cycles: u32) -> Vec<Moment> {
    let moments = seconds(cycles).into_iter().zip(0..);
    let with_news = moments.map(|(moment, step)| Moment {
        news: extender_answers(seed, step, objects),
        ..moment
    });
    with_news.collect()
}

/// What it says of these objects in the cycle of that number. Pods of a job are alike to it.
#[must_use]
pub fn extender_answers(seed: u64, step: u64, objects: &[Delta]) -> Vec<Delta> {
    let mut nodes: Vec<&NodeObject> = Vec::new();
    for object in objects {
        if let Delta::NodeApply(node) = object {
            nodes.push(node);
        }
    }
    nodes.sort_by(|left, right| left.name.cmp(&right.name));
    let extender = Extender { seed, step, nodes };
    let mut answers = Vec::new();
    for name in ["default", "root"] {
        answers.extend(extender.of_queue(name, ""));
    }
    for object in objects {
        match object {
            Delta::QueueApply(queue) => answers.extend(extender.of_queue(&queue.name, &queue.uid)),
            Delta::GroupApply(group) => {
                let key = format!("{}/{}", group.namespace, group.name);
                answers.extend(extender.of_job(&key, &group.uid));
            }
            Delta::PodApply(pod) => {
                let alone = format!("podgroup-{}", pod.uid);
                let name = pod.group.as_ref().unwrap_or(&alone);
                let key = format!("{}/{name}", pod.namespace);
                if pod.group.is_none() {
                    answers.extend(extender.of_job(&key, &alone));
                }
                answers.extend(extender.of_pod(&pod.uid, &key));
            }
            _ => {}
        }
    }
    answers
}

struct Extender<'a> {
    seed: u64,
    step: u64,
    nodes: Vec<&'a NodeObject>,
}

impl Extender<'_> {
    fn of_queue(&self, name: &str, uid: &str) -> Option<Delta> {
        let verb = ExtenderVerb::QueueOverused;
        self.answer((verb, name, uid), name, |rng| {
            ExtenderAnswer::Flag(rng.one_in(4))
        })
    }

    fn of_job(&self, key: &str, uid: &str) -> Vec<Delta> {
        let ready = ExtenderVerb::JobReady;
        let ready = self.answer((ready, key, uid), key, |rng| {
            ExtenderAnswer::Flag(!rng.one_in(4))
        });
        let vote = ExtenderVerb::JobEnqueueable;
        let vote = self.answer((vote, key, uid), key, |rng| {
            ExtenderAnswer::Vote(rng.pick(&[-1, 0, 0, 1, 1, 7]))
        });
        ready.into_iter().chain(vote).collect()
    }

    fn of_pod(&self, uid: &str, job: &str) -> Vec<Delta> {
        let filter = ExtenderVerb::Predicate;
        let filter = self.answer((filter, uid, ""), job, |rng| {
            let word = |rng: &mut Rng| match rng.below(8) {
                0 | 1 => NodeWord::Refused("too old".to_owned()),
                2 => NodeWord::Failed("no answer".to_owned()),
                _ => NodeWord::Fits,
            };
            ExtenderAnswer::Nodes(self.about_nodes(rng, word))
        });
        let scores = ExtenderVerb::Prioritize;
        let scores = self.answer((scores, uid, ""), job, |rng| {
            let score = |rng: &mut Rng| rng.pick(&[0.0, 0.0, 0.25, 10.0, -20.0, 1000.0]);
            ExtenderAnswer::Scores(self.about_nodes(rng, score))
        });
        filter.into_iter().chain(scores).collect()
    }

    /// What is said about nodes; about some nothing, or what was said of one of that name before.
    fn about_nodes<T>(&self, rng: &mut Rng, say: impl Fn(&mut Rng) -> T) -> Vec<AboutNode<T>> {
        let mut all = Vec::new();
        for node in &self.nodes {
            let (kind, said) = (rng.below(10), say(rng));
            let uid = match kind {
                0 => continue,
                1 => "older".to_owned(),
                _ => node.uid.clone(),
            };
            let node = node.name.clone();
            all.push(AboutNode { node, uid, said });
        }
        all
    }

    /// An answer, equal for questions of one `topic` for a while. To some topics there is never one.
    fn answer(
        &self,
        (verb, subject, uid): (ExtenderVerb, &str, &str),
        topic: &str,
        say: impl Fn(&mut Rng) -> ExtenderAnswer,
    ) -> Option<Delta> {
        let mut hasher = DefaultHasher::new();
        (self.seed, verb, topic).hash(&mut hasher);
        if Rng::new(hasher.finish(), 51).one_in(12) {
            return None;
        }
        (self.step / LASTING).hash(&mut hasher);
        let mut rng = Rng::new(hasher.finish(), 52);
        let answer = match rng.below(12) {
            0 => ExtenderAnswer::Failed("no answer".to_owned()),
            1 => ExtenderAnswer::Error("it does not know".to_owned()),
            _ => say(&mut rng),
        };
        Some(Delta::ExtenderAnswer {
            question: ExtenderQuestion {
                verb,
                subject: subject.to_owned(),
                uid: uid.to_owned(),
            },
            answer: Box::new(answer),
        })
    }
}
