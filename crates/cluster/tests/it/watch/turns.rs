//! For every path, one answer after another.
//!
//! A path without script is an empty list, and a watch on which nothing happens. Requests beyond a
//! script hang, as a slow server would.

use std::collections::{BTreeMap, VecDeque};

use pumice_scripted::{Answer, Seen, Then};
use serde_json::Value;

use super::wire::{list, list_end};

/// One answer, and what it answers.
#[derive(Clone, Debug)]
pub enum Turn {
    /// To a list.
    List(Value),
    /// To a watch.
    Watch(Vec<Value>, Then),
    /// To a watch that begins with the list.
    Stream(Vec<Value>, Then),
    /// A failure.
    Status(u16, &'static str),
}

/// The turns to come, by path.
pub struct Turns(BTreeMap<&'static str, VecDeque<Turn>>);

impl Turns {
    pub fn new(scripts: Vec<(&'static str, Vec<Turn>)>) -> Self {
        let scripts = scripts.into_iter();
        Self(scripts.map(|(path, turns)| (path, turns.into())).collect())
    }

    /// The next answer.
    pub fn answer(&mut self, seen: &Seen) -> Answer {
        let (path, query) = seen.split();
        let streams = query.contains("sendInitialEvents=true");
        let watches = query.contains("watch=true");
        // As the watch looks at one that is silent.
        let looks = query.split('&').any(|part| part == "timeoutSeconds=1");
        let then = if looks { Then::End } else { Then::Stay };
        match self.next(path, streams, watches, then) {
            Some(Turn::List(list)) => {
                assert!(!watches, "{} is no list", seen.path);
                Answer::Json(200, list)
            }
            Some(Turn::Watch(events, then)) => {
                assert!(watches && !streams, "{} is no watch", seen.path);
                Answer::Watch(events, then)
            }
            Some(Turn::Stream(events, then)) => {
                assert!(streams, "{} is no streamed list", seen.path);
                Answer::Watch(events, then)
            }
            // The API server answers an unknown path with plain text.
            Some(Turn::Status(404, message)) => Answer::Text(404, message.to_owned()),
            Some(Turn::Status(code, message)) => Answer::refuse(code, message),
            None => Answer::Silence,
        }
    }

    fn next(&mut self, path: &str, streams: bool, watches: bool, then: Then) -> Option<Turn> {
        let Some(script) = self.0.get_mut(path) else {
            return Some(match (streams, watches) {
                (true, _) => Turn::Stream(vec![list_end("1")], Then::Stay),
                (false, true) => Turn::Watch(Vec::new(), then),
                (false, false) => Turn::List(list("1", None, &[])),
            });
        };
        // A server that cannot stream says so once, unless the script is about it.
        match script.front() {
            Some(Turn::List(_) | Turn::Watch(..)) if streams => Some(Turn::Status(
                422,
                "sendInitialEvents is forbidden for watch",
            )),
            _ => script.pop_front(),
        }
    }
}
