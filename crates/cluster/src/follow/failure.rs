//! Why a list or watch ended.

use std::time::Duration;

use kube::core::Status;

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
    Denied {
        /// What is denied.
        verb: &'static str,
        /// What the API server says.
        message: String,
    },
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
    pub(super) fn of(error: &kube::Error, verb: &'static str) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(status, verb),
            error => Self::broken(client::describe(error)),
        }
    }

    /// What a status means, in an answer or on a watch.
    pub(super) fn of_status(status: &Status, verb: &'static str) -> Self {
        match status.code {
            410 => Self::Gone,
            404 => Self::Absent,
            403 => Self::Denied {
                // To the API server a streamed list is a watch.
                verb: if verb == STREAM { "watch" } else { verb },
                message: status.message.trim().to_owned(),
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16, message: &str) -> Status {
        Status::failure(message, "").with_code(code)
    }

    #[test]
    fn a_denial_says_what_is_denied() {
        for (verb, shown) in [("list", "list"), (STREAM, "watch")] {
            let denied = WatchFailure::Denied {
                verb: shown,
                message: "no".to_owned(),
            };
            assert_eq!(WatchFailure::of_status(&status(403, "no"), verb), denied);
        }
    }

    #[test]
    fn only_a_streamed_list_can_be_refused_as_such() {
        let refused = status(422, "sendInitialEvents is forbidden for watch");
        assert_eq!(
            WatchFailure::of_status(&refused, STREAM),
            WatchFailure::NotStreamed
        );
        let broken = WatchFailure::of_status(&refused, "watch");
        assert!(matches!(broken, WatchFailure::Broken { .. }), "{broken:?}");
    }

    #[test]
    fn the_api_server_may_ask_to_wait() {
        for (seconds, expected) in [(0, None), (7, Some(Duration::from_secs(7)))] {
            let busy = serde_json::json!({"code": 429, "details": {"retryAfterSeconds": seconds}});
            let busy: Status = serde_json::from_value(busy).unwrap();
            let failure = WatchFailure::of_status(&busy, "list");
            let WatchFailure::Broken { retry_after, .. } = failure else {
                panic!("{failure:?}");
            };
            assert_eq!(retry_after, expected);
        }
    }
}
