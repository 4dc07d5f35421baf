//! Looks at a silent watch from outside: a watch that is open may deliver nothing any more.
//!
//! ```text
//!  silent for 2 s ─► a second watch from the same version, for 1 s, on another connection
//!                      │ nothing new ───────────► it is followed; again 2 s later
//!                      │ something new ─► does the first one bring it within 2 s? ─ no ─► open anew
//!                      └ no answer in 2 s ──────► nobody knows: not followed since the last proof
//! ```
//!
//! So a watch that does not deliver is found out within some 5 s of the first thing it withholds,
//! and an API server that does not answer within 4 s. It costs one short request per kind that
//! protects and three seconds, and nothing while events come.

use std::pin::Pin;
use std::time::Instant;

use kube::Client;
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::WatchTimes;
use super::kind::FollowedKind;
use crate::api::events;

/// What a look found out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GapCheckResult {
    /// There is nothing the watch should have brought.
    Nothing,
    /// Something the watch has not brought though it had the time; seen then.
    Withheld(Instant),
    /// There was no answer. The last proof is that old.
    Unknown(Instant),
}

/// A look under way, or the pause before it. Begun anew with every line of the watch.
pub(super) type GapCheck = Pin<Box<dyn Future<Output = GapCheckResult> + Send>>;

/// A look at the watch of a kind that has come to this version; never ends for one that is not
/// looked at.
pub(super) fn begin(
    client: &Client,
    kind: &FollowedKind,
    version: Option<&str>,
    pace: &WatchTimes,
) -> GapCheck {
    let Some(version) = version.filter(|_| kind.protects) else {
        return Box::pin(std::future::pending());
    };
    let (client, which, version) = (client.clone(), kind.collection(), version.to_owned());
    let (pause, answer) = (pace.look, pace.look_answer);
    let proof = Instant::now();
    Box::pin(async move {
        sleep(pause).await;
        match timeout(answer, events::look(&client, &which, &version)).await {
            // Too old to go on from: whether something was missed shows when it is listed.
            Ok(Err(kube::Error::Api(status))) if status.code == GONE => {
                GapCheckResult::Withheld(Instant::now())
            }
            Ok(Ok(Some(line))) if is_news(&line) => {
                let seen = Instant::now();
                sleep(answer).await;
                GapCheckResult::Withheld(seen)
            }
            Ok(Ok(_)) => GapCheckResult::Nothing,
            Ok(Err(_)) | Err(_) => GapCheckResult::Unknown(proof),
        }
    })
}

/// The answer that a version is too old to go on from.
const GONE: u16 = 410;

/// The part of an event that matters here.
#[derive(Deserialize)]
struct EventType {
    #[serde(rename = "type")]
    kind: String,
}

/// Whether a line of a watch is about an object, or says that the version is too old.
fn is_news(line: &[u8]) -> bool {
    let event = serde_json::from_slice::<EventType>(line);
    event.is_ok_and(|event| event.kind != "BOOKMARK")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_news_and_bookmarks_are_none() {
        let cases = [
            (r#"{"type":"ADDED","object":{"kind":"Node"}}"#, true),
            (r#"{"type":"MODIFIED","object":{}}"#, true),
            (r#"{"object":{},"type":"DELETED"}"#, true),
            (r#"{"type":"BOOKMARK","object":{"kind":"Node"}}"#, false),
            (r#"{"type":"ERROR","object":{}}"#, true),
            ("", false),
        ];
        for (line, wanted) in cases {
            assert_eq!(is_news(line.as_bytes()), wanted, "{line}");
        }
    }
}
