//! Answers out of JSON (spec/02 §23.2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_model::extender::{AboutNode, ExtenderAnswer, ExtenderVerb, NodeWord, ToldPod};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::NodeTexts;

/// Largest score, either way.
const LARGEST_SCORE: f64 = 1e12;
/// How much of a text of the extender is told, in characters.
const SHOWN: usize = 256;

#[derive(Deserialize, Default)]
#[serde(default)]
struct PredicateAnswer {
    status: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PrioritizeAnswer {
    node_score: Option<BTreeMap<String, f64>>,
    error_message: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct VoteAnswer {
    status: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ReadyAnswer {
    status: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OverusedAnswer {
    overused: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct VictimsAnswer {
    status: i64,
    victims: Option<Vec<NamedVictim>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct NamedVictim {
    #[serde(rename = "UID")]
    uid: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct EventAnswer {
    error_message: String,
}

/// What an extender says of a pod on a node.
///
/// # Errors
/// Why that is no answer.
pub(super) fn read_word(answer: &[u8]) -> Result<NodeWord, String> {
    let answer: PredicateAnswer = parsed(answer)?;
    Ok(match answer.status.is_empty() {
        true => NodeWord::Fits,
        false => NodeWord::Refused(shown(&answer.status)),
    })
}

/// What an extender says of a job or queue.
///
/// # Errors
/// Why that is no answer.
pub(super) fn read(verb: ExtenderVerb, answer: &[u8]) -> Result<ExtenderAnswer, String> {
    Ok(match verb {
        ExtenderVerb::QueueOverused => {
            ExtenderAnswer::Flag(parsed::<OverusedAnswer>(answer)?.overused)
        }
        ExtenderVerb::JobEnqueueable => ExtenderAnswer::Vote(parsed::<VoteAnswer>(answer)?.status),
        ExtenderVerb::JobReady => ExtenderAnswer::Flag(parsed::<ReadyAnswer>(answer)?.status),
        _ => return Err("it was asked something else".to_owned()),
    })
}

/// How good it says nodes are; what it says of nodes it was not asked about is nothing.
///
/// # Errors
/// Why that is no answer.
pub(super) fn scores(answer: &[u8], nodes: &NodeTexts) -> Result<ExtenderAnswer, String> {
    let PrioritizeAnswer {
        node_score,
        error_message,
    } = parsed(answer)?;
    let Some(scores) = node_score.filter(|_| error_message.is_empty()) else {
        let why = match error_message.is_empty() {
            true => "it gives no scores".to_owned(),
            false => shown(&error_message),
        };
        return Ok(ExtenderAnswer::Error(why));
    };
    let mut known = Vec::new();
    for (node, _) in nodes.all() {
        let (name, uid) = (node.object.name.clone(), node.object.uid.clone());
        let Some(said) = scores.get(&name).copied() else {
            continue;
        };
        if said.abs() > LARGEST_SCORE {
            return Err(format!("its score of node {name} is {said:e}"));
        }
        let node = name;
        known.push(AboutNode { node, uid, said });
    }
    Ok(ExtenderAnswer::Scores(known))
}

/// Who it says may go of those it was asked about.
///
/// # Errors
/// Why that is no answer.
pub(super) fn victims(
    answer: &[u8],
    candidates: &[Arc<ToldPod>],
) -> Result<ExtenderAnswer, String> {
    let VictimsAnswer { status, victims } = parsed(answer)?;
    let named = match status {
        0 => return Ok(ExtenderAnswer::Victims(None)),
        1.. => victims.unwrap_or_default(),
        _ => Vec::new(),
    };
    let named: BTreeSet<&str> = named.iter().map(|victim| &*victim.uid).collect();
    let told = candidates.iter().map(|pod| &*pod.uid);
    let told: BTreeSet<&str> = told.filter(|uid| named.contains(uid)).collect();
    let told = told.into_iter().map(str::to_owned);
    Ok(ExtenderAnswer::Victims(Some(told.collect())))
}

/// What it has against a decision it was told of, if anything. It was told, whatever it answers.
pub(super) fn complaint(answer: &[u8]) -> Option<String> {
    if answer.trim_ascii().is_empty() {
        return None;
    }
    match parsed(answer) {
        Ok(EventAnswer { error_message }) if error_message.is_empty() => None,
        Ok(EventAnswer { error_message }) => Some(format!("it says {}", shown(&error_message))),
        Err(why) => Some(why),
    }
}

/// Only an object is an answer.
fn parsed<T: DeserializeOwned>(answer: &[u8]) -> Result<T, String> {
    let object = serde_json::from_slice::<Map<String, Value>>(answer);
    let parsed = object.and_then(|object| serde_json::from_value(Value::Object(object)));
    parsed.map_err(|error| format!("its answer cannot be read: {error}"))
}

/// A text of the extender in one line.
fn shown(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(SHOWN).collect()
}
