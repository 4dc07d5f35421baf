//! The pages below `/debug`: what the scheduler sees, for people and for `pumice explain`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post, put};
use serde_json::{Value, json};

use super::log_level::{level, set_level};
use super::reply::{SharedEndpoints, json, later};
use super::{DebugPage, DiagAsk, Endpoints, HistoryAsk, JobsQuery, TopologyQuery};

/// The pages, with what each tells.
const PAGES: [(&str, &str); 20] = [
    (
        "/debug/top",
        "the cluster, its queues, nodes with cards, the first waiting jobs",
    ),
    (
        "/debug/explain/{namespace}/{pod}",
        "one pod: why it waits, its place, what would help",
    ),
    (
        "/debug/jobs",
        "jobs by name, and how many wait for which reason; ?search=, queue=, reason=, shown=all|waiting|running, from=",
    ),
    (
        "/debug/jobs/{namespace}/{name}",
        "one PodGroup, or the one of a Job of that name",
    ),
    (
        "/debug/queues",
        "all queues: allocated, deserved, capability, what waits",
    ),
    (
        "/debug/queues/{name}",
        "one queue and the first jobs that wait in it",
    ),
    ("/debug/nodes", "all nodes, each in few words"),
    ("/debug/nodes/{name}", "one node, its cards and its pods"),
    (
        "/debug/topology",
        "domains of the network and what is free in each; ?search=, tier=, from=, and room for pods like those of job=, pods=",
    ),
    (
        "/debug/cards",
        "shared cards of all nodes, and who holds them",
    ),
    ("/debug/cards/{node}", "shared cards of one node"),
    (
        "/debug/mix",
        "what tasks ask of cards, and which free cards are of use to none",
    ),
    (
        "/debug/plan",
        "what would happen if, to a question that is posted; see `pumice plan`",
    ),
    (
        "/debug/history",
        "what became of jobs; ?from=, until= in seconds, namespace=, queue=, user=, name=, shown=, by=queue,user,namespace,day, after=",
    ),
    (
        "/debug/decisions",
        "the last decisions, and the first jobs that wait",
    ),
    (
        "/debug/dump",
        "the state and the configuration in use; `pumice simulate` reads it",
    ),
    (
        "/debug/record",
        "what was decided from what; `pumice replay` decides it again",
    ),
    (
        "/debug/diag",
        "where the time of the deciding thread went; PUT counts anew",
    ),
    ("/debug/diag/text", "the same for people"),
    (
        "/debug/loglevel",
        "the verbosity of the log; PUT ?v=N changes it",
    ),
];

/// Largest question about what would happen if, in bytes: a few thousand pods.
const MAX_QUESTION_BYTES: usize = 16 << 20;

const NO_PROFILE: &str = "this program is not written in Go and has no pprof pages; \
    use /metrics, or `perf` on the process\n";

const HOW_TO_EXPLAIN: &str = "of which pod? /debug/explain/{namespace}/{pod}; of a job: \
    /debug/jobs/{namespace}/{name}; of a queue: /debug/queues/{name}\n";

/// Those that change nothing and are about what pods wait for.
pub(super) fn open() -> Router<Arc<Endpoints>> {
    Router::new()
        .route("/", get(index))
        .route("/explain", get(how_to_explain))
        .route("/explain/{namespace}/{pod}", get(explain))
        .route("/jobs", get(jobs))
        .route("/nodes", get(nodes))
        .route("/nodes/{name}", get(node))
        .route("/topology", get(topology))
        .route("/jobs/{namespace}/{*name}", get(job))
        .route("/queues", get(queues))
        .route("/queues/{name}", get(queue))
        .route("/cards", get(cards))
        .route("/cards/{node}", get(cards_of))
        .route("/mix", get(mix))
        .route("/top", get(top))
        .route("/decisions", get(decisions))
        .route("/history", get(history))
        .route(
            "/plan",
            post(plan).layer(DefaultBodyLimit::max(MAX_QUESTION_BYTES)),
        )
        .route("/diag", get(diag))
        .route("/diag/text", get(diag_text))
        .route("/pprof", any(no_profile))
        .route("/pprof/", any(no_profile))
        .route("/pprof/{*page}", any(no_profile))
}

/// All of them.
pub(super) fn all() -> Router<Arc<Endpoints>> {
    open()
        .route("/dump", get(dump))
        .route("/record", get(record))
        .route("/diag", put(reset_diag))
        .route("/loglevel", get(level).put(set_level))
}

pub(super) async fn index() -> Response {
    let pages = PAGES.map(|(path, about)| json!({ "path": path, "about": about }));
    json(&json!({
        "program": "pumice-scheduler",
        "version": env!("CARGO_PKG_VERSION"),
        "pages": pages,
    }))
}

async fn how_to_explain() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, HOW_TO_EXPLAIN)
}

async fn page(shared: &Endpoints, page: DebugPage) -> Response {
    match shared.answers.page(page).await {
        Ok(Ok(value)) => json(&value),
        Ok(Err(absent)) => (StatusCode::NOT_FOUND, format!("{absent}\n")).into_response(),
        Err(unanswered) => later(&unanswered),
    }
}

async fn explain(
    State(shared): SharedEndpoints,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    page(&shared, DebugPage::Pod { namespace, name }).await
}

async fn job(
    State(shared): SharedEndpoints,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    page(&shared, DebugPage::Job { namespace, name }).await
}

async fn jobs(State(shared): SharedEndpoints, Query(query): Query<JobsQuery>) -> Response {
    page(&shared, DebugPage::Jobs(query)).await
}

async fn nodes(State(shared): SharedEndpoints) -> Response {
    page(&shared, DebugPage::Nodes).await
}

async fn node(State(shared): SharedEndpoints, Path(name): Path<String>) -> Response {
    page(&shared, DebugPage::Node(name)).await
}

async fn topology(State(shared): SharedEndpoints, Query(query): Query<TopologyQuery>) -> Response {
    page(&shared, DebugPage::Topology(query)).await
}

async fn queues(State(shared): SharedEndpoints) -> Response {
    page(&shared, DebugPage::Queues).await
}

async fn queue(State(shared): SharedEndpoints, Path(name): Path<String>) -> Response {
    page(&shared, DebugPage::Queue(name)).await
}

async fn cards(State(shared): SharedEndpoints) -> Response {
    page(&shared, DebugPage::Cards(None)).await
}

async fn cards_of(State(shared): SharedEndpoints, Path(node): Path<String>) -> Response {
    page(&shared, DebugPage::Cards(Some(node))).await
}

async fn mix(State(shared): SharedEndpoints) -> Response {
    page(&shared, DebugPage::Mix).await
}

async fn top(State(shared): SharedEndpoints) -> Response {
    page(&shared, DebugPage::Top).await
}

async fn plan(State(shared): SharedEndpoints, question: Bytes) -> Response {
    match shared.answers.plan(question.to_vec()).await {
        Ok(Ok(value)) => json(&value),
        Ok(Err(wrong)) => (StatusCode::BAD_REQUEST, format!("{wrong}\n")).into_response(),
        Err(unanswered) => later(&unanswered),
    }
}

async fn history(State(shared): SharedEndpoints, Query(asked): Query<HistoryAsk>) -> Response {
    match shared.answers.history(asked).await {
        Ok(Ok(value)) => json(&value),
        Ok(Err(wrong)) => (StatusCode::BAD_REQUEST, format!("{wrong}\n")).into_response(),
        Err(unanswered) => later(&unanswered),
    }
}

async fn decisions(State(shared): SharedEndpoints) -> Response {
    match shared.answers.decisions().await {
        Ok(value) => json(&value),
        Err(unanswered) => later(&unanswered),
    }
}

async fn dump(State(shared): SharedEndpoints) -> Response {
    match shared.answers.dump().await {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(unanswered) => later(&unanswered),
    }
}

async fn record(State(shared): SharedEndpoints) -> Response {
    match shared.answers.record().await {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response(),
        Err(unanswered) => later(&unanswered),
    }
}

async fn told(shared: &Endpoints, ask: DiagAsk) -> Response {
    match shared.answers.diag(ask).await {
        Ok(Value::String(text)) => text.into_response(),
        Ok(value) => json(&value),
        Err(unanswered) => later(&unanswered),
    }
}

async fn diag(State(shared): SharedEndpoints) -> Response {
    told(&shared, DiagAsk::Read).await
}

async fn diag_text(State(shared): SharedEndpoints) -> Response {
    told(&shared, DiagAsk::Text).await
}

async fn reset_diag(State(shared): SharedEndpoints) -> Response {
    told(&shared, DiagAsk::Reset).await
}

async fn no_profile() -> (StatusCode, &'static str) {
    (StatusCode::NOT_IMPLEMENTED, NO_PROFILE)
}
