//! Why a list or watch ended.

use std::time::Duration;

use kube::core::Status;

use super::kinds::WatchedKind;
use crate::client;

/// Why a list or watch ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WatchFailure {
    /// The receiver of the inputs is gone: nobody listens any more.
    Closed,
    /// The API server ended the watch in good order.
    Ended,
    /// The version to go on from is too old: list again.
    Gone,
    /// The API server does not know the kind.
    Absent,
    /// The API server denies it.
    Denied(String),
    /// The API server cannot stream lists.
    NotStreamed,
    /// What came is older than what is known, or no event: list again.
    Untrusted(String),
    /// Anything else: try again.
    Broken {
        error: String,
        /// The API server asks to wait this long.
        retry_after: Option<Duration>,
    },
}

impl WatchFailure {
    pub(super) fn broken(error: impl Into<String>) -> Self {
        Self::Broken {
            error: error.into(),
            retry_after: None,
        }
    }

    /// What the API server's answer to a request means.
    pub(super) fn of(error: &kube::Error, kind: &WatchedKind, verb: &str) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(status, kind, verb),
            error => Self::broken(client::describe(error)),
        }
    }

    /// What a status means, in an answer or on a watch.
    pub(super) fn of_status(status: &Status, kind: &WatchedKind, verb: &str) -> Self {
        match status.code {
            410 => Self::Gone,
            404 => Self::Absent,
            403 => Self::Denied(denial(kind, verb, &status.message)),
            400 | 405 | 422 if verb == STREAM => Self::NotStreamed,
            code => {
                let seconds = status
                    .details
                    .as_ref()
                    .map(|details| details.retry_after_seconds);
                let wait = seconds.filter(|seconds| *seconds > 0);
                Self::Broken {
                    error: format!("the API server answers {code} {}", status.message.trim()),
                    retry_after: wait.map(|seconds| Duration::from_secs(u64::from(seconds))),
                }
            }
        }
    }
}

/// Verb of a list that is streamed; to the API server it is a watch.
pub(super) const STREAM: &str = "stream";

/// What those who rely on objects of a kind do not have while it is denied, where nothing else says so.
fn without(kind: &str) -> &'static str {
    match kind {
        "PodDisruptionBudget" => {
            ", so no budget is known: plugin pdb protects nobody, and with --eviction-method=auto pods are \
             deleted without asking budgets (eviction-api asks them)"
        }
        "PriorityClass" => ", so all PodGroups count as priority 0",
        "ResourceQuota" => ", so plugin resourcequota holds nobody back",
        _ => "",
    }
}

fn denial(kind: &WatchedKind, verb: &str, message: &str) -> String {
    let verb = if verb == STREAM { "watch" } else { verb };
    let (group, plural) = (kind.group, kind.plural);
    let meanwhile = without(kind.name);
    format!(
        "no permission to {verb} {plural}{meanwhile}; add to the ClusterRole of the scheduler: \
         {{apiGroups: [{group:?}], resources: [{plural:?}], verbs: [\"list\", \"watch\"]}} \
         (the API server says: {})",
        message.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::super::{WatchOptions, kinds};
    use super::*;

    fn status(code: u16, message: &str) -> Status {
        Status::failure(message, "").with_code(code)
    }

    #[test]
    fn a_denial_names_the_rule_to_add() {
        let options = WatchOptions::default();
        let kind = kinds::table(&options)
            .find(|kind| kind.name == "ReplicaSet")
            .unwrap();
        for (verb, shown) in [("list", "list"), (STREAM, "watch")] {
            let WatchFailure::Denied(text) =
                WatchFailure::of_status(&status(403, "no"), &kind, verb)
            else {
                panic!("not a denial");
            };
            let rule =
                r#"{apiGroups: ["apps"], resources: ["replicasets"], verbs: ["list", "watch"]}"#;
            assert!(text.contains(rule), "{text}");
            assert!(
                text.starts_with(&format!("no permission to {shown} replicasets")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_denial_of_budgets_says_that_nobody_is_protected() {
        let options = WatchOptions::default();
        let mut kinds = kinds::table(&options);
        let kind = kinds.find(|kind| kind.name == "PodDisruptionBudget");
        let failure = WatchFailure::of_status(&status(403, "no"), &kind.unwrap(), "list");
        let WatchFailure::Denied(text) = failure else {
            panic!("not a denial");
        };
        for part in [
            "no permission to list poddisruptionbudgets, so no budget is known",
            "plugin pdb protects nobody",
            r#"{apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["list", "watch"]}"#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn only_a_streamed_list_can_be_refused_as_such() {
        let options = WatchOptions::default();
        let kind = kinds::table(&options).next().unwrap();
        let refused = status(422, "sendInitialEvents is forbidden for watch");
        assert_eq!(
            WatchFailure::of_status(&refused, &kind, STREAM),
            WatchFailure::NotStreamed
        );
        let broken = WatchFailure::of_status(&refused, &kind, "watch");
        assert!(matches!(broken, WatchFailure::Broken { .. }), "{broken:?}");
    }

    #[test]
    fn the_api_server_may_ask_to_wait() {
        let options = WatchOptions::default();
        let kind = kinds::table(&options).next().unwrap();
        for (seconds, expected) in [(0, None), (7, Some(Duration::from_secs(7)))] {
            let busy = serde_json::json!({"code": 429, "details": {"retryAfterSeconds": seconds}});
            let busy: Status = serde_json::from_value(busy).unwrap();
            let failure = WatchFailure::of_status(&busy, &kind, "list");
            let WatchFailure::Broken { retry_after, .. } = failure else {
                panic!("{failure:?}");
            };
            assert_eq!(retry_after, expected);
        }
    }
}
