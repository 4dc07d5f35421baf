//! What handlers of pages share: whom they ask, and how they answer.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::{Endpoints, Unanswered};

/// What a handler of a page is given.
pub(super) type SharedEndpoints = State<Arc<Endpoints>>;

pub(super) fn unavailable(text: impl Into<String>) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, text.into()).into_response()
}

/// JSON for people: with line breaks.
pub(super) fn json(value: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, format!("{value:#}\n")).into_response()
}

pub(super) fn later(unanswered: &Unanswered) -> Response {
    unavailable(format!("{unanswered}\n"))
}
