//! The page `/debug/loglevel`: the verbosity of the log, and how it is changed.

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::access::PageAsker;
use super::reply::{SharedEndpoints, unavailable};

const BAD_LEVEL: &str = "the level must be a whole number from 0 on, as in \
    `curl -X PUT '…/debug/loglevel?v=4'`\n";

pub(super) async fn level(State(shared): SharedEndpoints) -> String {
    format!("{}\n", shared.level.get())
}

pub(super) async fn set_level(
    State(shared): SharedEndpoints,
    Extension(PageAsker(user)): Extension<PageAsker>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
    body: String,
) -> Response {
    let pairs = query.map(|Query(pairs)| pairs).unwrap_or_default();
    let asked = pairs.iter().find(|(key, _)| key == "v");
    let text = asked.map_or(body.trim(), |(_, value)| value.as_str());
    let Ok(verbosity) = text.parse() else {
        return (StatusCode::BAD_REQUEST, BAD_LEVEL).into_response();
    };
    match shared.level.set(verbosity) {
        Ok(()) => {
            tracing::info!("log level {verbosity}, as {user} asks");
            format!("{verbosity}\n").into_response()
        }
        Err(error) => unavailable(format!("{error}\n")),
    }
}
