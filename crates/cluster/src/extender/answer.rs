//! Answers out of JSON (spec/02 §23.2).

use std::collections::BTreeMap;

use pumice_model::extender::{ExtenderAnswer, ExtenderVerb, NodeWord};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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

/// What an extender says to anything else.
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
        ExtenderVerb::Predicate | ExtenderVerb::Prioritize => scores(parsed(answer)?)?,
    })
}

fn scores(answer: PrioritizeAnswer) -> Result<ExtenderAnswer, String> {
    let PrioritizeAnswer {
        node_score,
        error_message,
    } = answer;
    let Some(scores) = node_score.filter(|_| error_message.is_empty()) else {
        let why = match error_message.is_empty() {
            true => "it gives no scores".to_owned(),
            false => shown(&error_message),
        };
        return Ok(ExtenderAnswer::Error(why));
    };
    let is_odd = |score: &f64| score.abs() > LARGEST_SCORE;
    if let Some((node, score)) = scores.iter().find(|(_, score)| is_odd(score)) {
        let node = shown(node);
        return Err(format!("its score of node {node} is {score:e}"));
    }
    Ok(ExtenderAnswer::Scores(scores.into_iter().collect()))
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
