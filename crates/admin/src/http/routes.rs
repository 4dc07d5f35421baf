//! The pages of `--listen-address`.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use tokio::time::timeout;

use super::{Endpoints, Unanswered, debug};

/// The answer of a healthy process.
pub(super) const OK: &str = "ok";

/// Largest body of a request in bytes; the only one taken is a number.
const MAX_BODY_BYTES: usize = 1024;

/// Time to read a request and to find its answer (spec/01 §1.6).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const INDEX: &str = "pages: /metrics /healthz /livez /readyz /configz /debug\n";

const NO_METRICS: &str = "metrics are off; start with --enable-metrics=true to have them here\n";

const BAD_LEVEL: &str = "the level must be a whole number from 0 on, as in \
    `curl -X PUT '…/debug/loglevel?v=4'`\n";

/// All pages.
pub(super) fn router(endpoints: Endpoints) -> Router {
    let program = HeaderValue::from_static(endpoints.program);
    Router::new()
        .route("/", get(INDEX))
        .route("/metrics", get(metrics))
        .route("/healthz", get(OK))
        .route("/healthz/ping", get(OK))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/configz", get(config))
        .route("/debug/", get(debug::index))
        .nest("/debug", debug::router(endpoints.debug_open))
        .fallback(no_page)
        .layer(middleware::from_fn(in_time))
        .layer(middleware::map_response_with_state(program, named))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(Arc::new(endpoints))
}

pub(super) type SharedEndpoints = State<Arc<Endpoints>>;

async fn in_time(request: Request, next: Next) -> Response {
    match timeout(REQUEST_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => unavailable("no answer within 30 seconds\n"),
    }
}

/// By this clients know which program answers.
async fn named(State(program): State<HeaderValue>, mut response: Response) -> Response {
    response.headers_mut().insert(header::SERVER, program);
    response
}

async fn no_page() -> Response {
    (StatusCode::NOT_FOUND, format!("no such page; {INDEX}")).into_response()
}

fn unavailable(text: impl Into<String>) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, text.into()).into_response()
}

/// JSON for people: with line breaks.
pub(super) fn json(value: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (headers, format!("{value:#}\n")).into_response()
}

async fn metrics(State(shared): SharedEndpoints) -> Response {
    let Some(metrics) = shared.metrics.clone() else {
        return (StatusCode::NOT_FOUND, NO_METRICS).into_response();
    };
    // Tens of thousands of series take a while to write, which other requests need not wait for.
    match tokio::task::spawn_blocking(move || metrics.text()).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Ok(Err(error)) => failed(&error.to_string()),
        Err(error) => failed(&error.to_string()),
    }
}

fn failed(error: &str) -> Response {
    let text = format!("the metrics cannot be written: {error}\n");
    (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
}

async fn live(State(shared): SharedEndpoints) -> Response {
    match shared.answers.live() {
        Ok(()) => OK.into_response(),
        Err(reason) => unavailable(format!("{reason}\n")),
    }
}

async fn ready(State(shared): SharedEndpoints) -> Response {
    match shared.answers.ready() {
        Ok(()) => OK.into_response(),
        Err(reasons) => unavailable(reasons.join("\n") + "\n"),
    }
}

async fn config(State(shared): SharedEndpoints) -> Response {
    json(&shared.answers.config())
}

pub(super) fn later(unanswered: &Unanswered) -> Response {
    unavailable(format!("{unanswered}\n"))
}

pub(super) async fn level(State(shared): SharedEndpoints) -> String {
    format!("{}\n", shared.level.get())
}

pub(super) async fn set_level(
    State(shared): SharedEndpoints,
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
        Ok(()) => format!("{verbosity}\n").into_response(),
        Err(error) => unavailable(format!("{error}\n")),
    }
}
