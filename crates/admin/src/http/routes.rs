//! Which pages each server has.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio::time::timeout;

use super::access::{Gate, guard};
use super::reply::{SharedEndpoints, json, unavailable};
use super::{Answers, Endpoints, Gatekeeper, OwnPages, debug};

/// The answer of a healthy process.
pub(super) const OK: &str = "ok";

/// Largest body of a request in bytes where nothing else is said: a number.
const MAX_BODY_BYTES: usize = 1024;

/// Time to read a request and to find its answer (spec/01 §1.6).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The text format of Prometheus.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const INDEX: &str = "pages: /metrics /healthz /livez /readyz; with a token, on the port of \
    --secure-address: /configz /debug\n";

const SECURE_INDEX: &str =
    "pages: /metrics /configz /debug; of a scheduler with --enable-ui: /ui\n";

const ELSEWHERE: &str = "/configz and /debug show what is of all namespaces, so they are answered on the \
    port of --secure-address, to whom the API server lets ask: use `pumice explain`, `top`, `queues`, \
    `cards` or `dump`; --debug-open lets everybody read them here, for trying out\n";

const NO_METRICS: &str = "metrics are off; start with --enable-metrics=true to have them here\n";

/// Those of `--listen-address`.
pub(super) fn plain(endpoints: Endpoints) -> Router {
    let pages = Router::new()
        .route("/", get(INDEX))
        .route("/metrics", get(metrics))
        .fallback(|| async { no_page(INDEX) });
    let pages = match endpoints.debug_open {
        true => pages
            .route("/configz", get(config))
            .route("/debug/", get(debug::index))
            .nest("/debug", debug::open()),
        false => pages
            .route("/configz", any(elsewhere))
            .route("/debug", any(elsewhere))
            .route("/debug/", any(elsewhere))
            .route("/debug/{*page}", any(elsewhere)),
    };
    let answers = Arc::clone(&endpoints.answers);
    bounded(endpoints, pages.merge(probes(answers)))
}

/// Those of `--healthz-address`, also to be had at `--listen-address`.
pub(super) fn probes<S>(answers: Arc<dyn Answers>) -> Router<S> {
    Router::new()
        .route("/healthz", get(OK))
        .route("/healthz/ping", get(OK))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .with_state(answers)
}

/// Those of `--secure-address`: nothing, not even that a page does not exist, is told to whom the
/// gatekeeper does not let ask.
pub(super) fn secure(endpoints: Endpoints, gatekeeper: Arc<dyn Gatekeeper>) -> Router {
    let mut pages = Router::new()
        .route("/", get(SECURE_INDEX))
        .route("/metrics", get(metrics))
        .route("/configz", get(config))
        .route("/debug/", get(debug::index))
        .nest("/debug", debug::all())
        .fallback(|| async { no_page(SECURE_INDEX) });
    if let Some(OwnPages { path, pages: own }) = endpoints.own.clone() {
        pages = pages.nest_service(path, own);
    }
    let pages = pages.layer(middleware::from_fn_with_state(Gate::new(gatekeeper), guard));
    bounded(endpoints, pages)
}

/// With what holds for all pages.
fn bounded(endpoints: Endpoints, pages: Router<Arc<Endpoints>>) -> Router {
    let program = HeaderValue::from_static(endpoints.program);
    pages
        .layer(middleware::from_fn(in_time))
        .layer(middleware::map_response_with_state(program, named))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(Arc::new(endpoints))
}

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

fn no_page(index: &str) -> Response {
    (StatusCode::NOT_FOUND, format!("no such page; {index}")).into_response()
}

async fn elsewhere() -> Response {
    (StatusCode::FORBIDDEN, ELSEWHERE).into_response()
}

async fn metrics(State(shared): SharedEndpoints) -> Response {
    let Some(metrics) = &shared.metrics else {
        return (StatusCode::NOT_FOUND, NO_METRICS).into_response();
    };
    match metrics.text().await {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => {
            let text = format!("the metrics cannot be written: {error}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

async fn live(State(answers): State<Arc<dyn Answers>>) -> Response {
    match answers.live() {
        Ok(()) => OK.into_response(),
        Err(reason) => unavailable(format!("{reason}\n")),
    }
}

async fn ready(State(answers): State<Arc<dyn Answers>>) -> Response {
    match answers.ready() {
        Ok(()) => OK.into_response(),
        Err(reasons) => unavailable(reasons.join("\n") + "\n"),
    }
}

async fn config(State(shared): SharedEndpoints) -> Response {
    json(&shared.answers.config())
}
