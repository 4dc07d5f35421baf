//! One request to the API server, with its deadline, and what its answer means for a write.

use std::error::Error;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method};
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;

use crate::client::describe;

/// Media type of an object.
pub const JSON: &str = "application/json";
/// Media type of a list of steps.
pub const JSON_PATCH: &str = "application/json-patch+json";
/// Media type of the fields that change.
pub const MERGE_PATCH: &str = "application/merge-patch+json";
/// Media type of the fields that the caller owns.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";
/// Media type of fields that change, lists by their keys.
pub(crate) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// Longest pause a server may ask for; more would stop all writes.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// A request.
#[derive(Clone, Debug)]
pub struct ApiCall {
    /// Method of the request.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Media type of the body.
    pub media: &'static str,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

impl ApiCall {
    /// Reads the object at a path.
    pub fn get(path: String) -> Self {
        Self {
            method: Method::GET,
            path,
            media: JSON,
            body: Vec::new(),
        }
    }

    /// A request with a body.
    pub fn with(method: Method, path: String, media: &'static str, body: &Value) -> Self {
        Self {
            method,
            path,
            media,
            body: body.to_string().into_bytes(),
        }
    }

    /// Creates an object in the collection at a path.
    pub fn post(path: String, body: &Value) -> Self {
        Self::with(Method::POST, path, JSON, body)
    }

    /// Replaces the object at a path.
    pub fn put(path: String, body: &Value) -> Self {
        Self::with(Method::PUT, path, JSON, body)
    }

    /// Changes the object at a path.
    pub fn patch(path: String, media: &'static str, body: &Value) -> Self {
        Self::with(Method::PATCH, path, media, body)
    }
}

/// What is known after a request.
#[derive(Debug)]
pub enum Reply {
    /// Done. The body may be missing when the connection broke after the status line.
    Ok(Vec<u8>),
    /// The API server answered that it was not done.
    Refused(ApiRefusal),
    /// The request has never left: nothing was done.
    NotSent(String),
    /// The deadline passed or the connection broke: it may have been done, or be done yet.
    Lost(String),
}

/// An answer with an error status.
#[derive(Debug, Default)]
pub struct ApiRefusal {
    /// The HTTP status.
    pub code: u16,
    /// One word, as `AlreadyExists`.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// The API server asks to wait this long.
    pub retry_after: Option<Duration>,
    /// Reasons of `details.causes`.
    pub causes: Vec<String>,
}

/// The part of `meta/v1 Status` that matters.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ApiStatus {
    reason: String,
    message: String,
    details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: Option<u64>,
    causes: Vec<ApiCause>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ApiCause {
    reason: String,
}

impl ApiRefusal {
    /// Whether the refusal is about the caller's role rather than about this object: `… is
    /// forbidden: User "u" cannot patch resource "r" in API group "g"`.
    pub fn is_rbac(&self) -> bool {
        let parts = ["is forbidden: User \"", " cannot ", " resource "];
        self.code == 403 && parts.iter().all(|part| self.message.contains(part))
    }

    /// Whether the object of that name has another UID than the one we meant: a precondition
    /// answers 409, a patch that would change the UID 422.
    pub fn is_replaced(&self) -> bool {
        match self.code {
            409 => ["UID in precondition", "UID in the precondition"]
                .iter()
                .any(|text| self.message.contains(text)),
            422 => self.message.contains("metadata.uid"),
            _ => false,
        }
    }

    /// Whether a PodDisruptionBudget forbids an eviction at this moment.
    pub fn is_of_budget(&self) -> bool {
        self.code == 429 && self.causes.iter().any(|cause| cause == "DisruptionBudget")
    }

    /// Whether a JSON patch asks for what does not hold of the object: the API server says nothing
    /// else than that it was not valid.
    pub fn is_failed_test(&self) -> bool {
        self.code == 422 && self.message.contains("error in our request")
    }

    /// Whether nothing is made in the namespace any more, since it is being deleted.
    pub fn is_of_ending_namespace(&self) -> bool {
        self.code == 403 && self.message.contains("because it is being terminated")
    }

    /// Whether there is nobody left to write for: the object is gone, another one has its name, or
    /// its namespace is being deleted.
    pub fn is_of_something_gone(&self) -> bool {
        self.code == 404 || self.is_replaced() || self.is_of_ending_namespace()
    }
}

impl Reply {
    /// For [`crate::effects::Meter::write`].
    pub fn result(&self) -> &'static str {
        match self {
            Self::Ok(_) => "ok",
            Self::NotSent(_) => "not_sent",
            Self::Lost(_) => "unknown",
            Self::Refused(refusal) => match refusal.code {
                409 => "conflict",
                429 => "throttled",
                401 | 403 => "denied",
                500.. => "server_error",
                _ => "refused",
            },
        }
    }

    /// Whether it shows that the caller may make the request: what was asked for was looked at.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Ok(_) => true,
            Self::Refused(refusal) => !matches!(refusal.code, 401 | 429 | 500..),
            Self::NotSent(_) | Self::Lost(_) => false,
        }
    }

    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::Ok(_) => "done".to_owned(),
            Self::Refused(refusal) => format!("{} ({})", refusal.message, refusal.code),
            Self::NotSent(text) | Self::Lost(text) => text.clone(),
        }
    }
}

/// Sends a request once. Never retries: what a second try means depends on the write.
pub async fn send(client: &kube::Client, call: ApiCall, limit: Duration) -> Reply {
    let request = http::Request::builder()
        .method(call.method)
        .uri(&call.path)
        .header(CONTENT_TYPE, call.media)
        .header(ACCEPT, JSON)
        .body(Body::from(call.body));
    let request = match request {
        Ok(request) => request,
        Err(error) => {
            return Reply::Refused(ApiRefusal {
                code: 400,
                reason: "BadRequest".to_owned(),
                message: format!("{} is no path: {error}", call.path),
                ..ApiRefusal::default()
            });
        }
    };
    match tokio::time::timeout(limit, exchange(client, request)).await {
        Ok(reply) => reply,
        Err(_) => Reply::Lost(format!("no answer within {limit:?}")),
    }
}

async fn exchange(client: &kube::Client, request: http::Request<Body>) -> Reply {
    let response = match client.send(request).await {
        Ok(response) => response,
        Err(error) if never_left(&error) => return Reply::NotSent(describe(&error)),
        Err(error) => return Reply::Lost(describe(&error)),
    };
    let (head, body) = response.into_parts();
    let body = body
        .collect_bytes()
        .await
        .map(Vec::from)
        .unwrap_or_default();
    if head.status.is_success() {
        return Reply::Ok(body);
    }
    let status: ApiStatus = serde_json::from_slice(&body).unwrap_or_default();
    let details = status.details.unwrap_or_default();
    let asked = details.retry_after_seconds;
    let causes = details.causes.into_iter().map(|cause| cause.reason);
    let message = match status.message.is_empty() {
        true => String::from_utf8_lossy(&body).chars().take(200).collect(),
        false => status.message,
    };
    Reply::Refused(ApiRefusal {
        code: head.status.as_u16(),
        reason: status.reason,
        message,
        retry_after: retry_after(&head.headers)
            .or(asked)
            .map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER)),
        causes: causes.collect(),
    })
}

/// Seconds of `Retry-After`; the form with a date is not used by API servers.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// Whether the request failed before a byte of it was sent: no connection, or no credentials.
fn never_left(error: &kube::Error) -> bool {
    if matches!(error, kube::Error::Auth(_)) {
        return true;
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            return error.is_connect();
        }
        cause = error.source();
    }
    false
}
