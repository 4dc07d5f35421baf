//! The pages by their paths.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::get;
use pumice_page::{CONTENT_SECURITY_POLICY, PageAddress, asset, seen};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::desk::{NoViews, PageDesk};
use crate::source::PlanForm;
use crate::stream::{WatchedPage, changes};
use crate::visitors::PageVisitors;

/// Largest form, in bytes: a few thousand pods.
const MAX_FORM_BYTES: usize = 32 << 20;

/// By this proxies let through at once what is sent piece by piece.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What every page is made with.
#[derive(Clone)]
struct ServedPage {
    desk: PageDesk,
    visitors: PageVisitors,
    /// Path below which the pages lie, as browsers name it; empty for none.
    base: &'static str,
}

/// The pages that this desk answers. Paths begin behind `base`, which is what browsers say before them; empty for
/// nothing.
pub fn router(base: &'static str, visitors: PageVisitors, desk: PageDesk) -> Router {
    Router::new()
        .route("/assets/{*file}", get(file))
        .route("/json/", get(json))
        .route("/json/{*page}", get(json))
        .route("/live/", get(live))
        .route("/live/{*page}", get(live))
        .route(
            "/what-if",
            get(page)
                .post(plan)
                .layer(DefaultBodyLimit::max(MAX_FORM_BYTES)),
        )
        .fallback(get(page))
        .layer(middleware::from_fn_with_state(visitors, guarded))
        .with_state(ServedPage {
            desk,
            visitors,
            base,
        })
}

/// Answers until the process ends.
///
/// # Errors
/// No connection can be taken any more.
pub async fn serve(listener: TcpListener, router: Router) -> std::io::Result<()> {
    axum::serve(listener, router).await
}

/// Whoever is not to be answered gets nothing, and what is answered may load nothing from elsewhere.
async fn guarded(State(visitors): State<PageVisitors>, request: Request, next: Next) -> Response {
    if let Some(why) = visitors.refusal(request.method(), request.headers()) {
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        fixed(CONTENT_SECURITY_POLICY),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(header::REFERRER_POLICY, fixed("same-origin"));
    if visitors == PageVisitors::Judged {
        // What lies between keeps nothing that another one may not see.
        headers
            .entry(header::CACHE_CONTROL)
            .or_insert(fixed("no-store"));
    }
    response
}

impl ServedPage {
    fn address_of(&self, uri: &Uri, below: &str, headers: &HeaderMap) -> Option<PageAddress> {
        let accepted = headers
            .get(header::ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        let path = uri.path().strip_prefix(below).unwrap_or(uri.path());
        let read = PageAddress::read(
            path,
            uri.query().unwrap_or_default(),
            accepted.unwrap_or_default(),
        );
        read.map(|address| address.below(self.base))
    }
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or_default()
}

fn nothing() -> Response {
    (
        StatusCode::NOT_FOUND,
        "there is no such page; begin at the overview\n",
    )
        .into_response()
}

fn ended() -> Response {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "the page has ended: see what its process says\n",
    )
        .into_response()
}

async fn page(State(served): State<ServedPage>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(address) = served.address_of(&uri, "", &headers) else {
        return nothing();
    };
    match served.desk.page(address).await {
        Some(answer) => (status_of(answer.status), Html(answer.html)).into_response(),
        None => ended(),
    }
}

async fn json(State(served): State<ServedPage>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(address) = served.address_of(&uri, "/json", &headers) else {
        return nothing();
    };
    match served.desk.views(address).await {
        Some(Ok(views)) => Json(views).into_response(),
        Some(Err(NoViews { status, why })) => (status_of(status), why + "\n").into_response(),
        None => ended(),
    }
}

async fn file(uri: Uri) -> Response {
    match asset(uri.path()) {
        Some(asset) => {
            let kept = (header::CACHE_CONTROL, "max-age=31536000, immutable");
            (
                [(header::CONTENT_TYPE, asset.content_type), kept],
                asset.text,
            )
                .into_response()
        }
        None => nothing(),
    }
}

async fn plan(
    State(served): State<ServedPage>,
    uri: Uri,
    headers: HeaderMap,
    Form(form): Form<PlanForm>,
) -> Response {
    let Some(address) = served.address_of(&uri, "", &headers) else {
        return nothing();
    };
    match served.desk.plan(address, form).await {
        Some(part) => Html(part).into_response(),
        None => ended(),
    }
}

async fn live(State(served): State<ServedPage>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(address) = served.address_of(&uri, "/live", &headers) else {
        return nothing();
    };
    // A stream that broke goes on from what was sent last.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let seen = match last {
        Some(id) => u64::from_str_radix(id, 16).ok(),
        None => seen(uri.query().unwrap_or_default()),
    };
    let watched = WatchedPage {
        desk: served.desk,
        address,
        seen,
        until: served
            .visitors
            .patience()
            .map(|patience| Instant::now() + patience),
    };
    let stream = Sse::new(changes(watched)).keep_alive(KeepAlive::default());
    ([(BUFFERING, "no")], stream).into_response()
}
