//! The page on this machine: HTTP for browsers that run here.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::get;
use futures::Stream;
use futures::stream::unfold;
use pumice_page::{CONTENT_SECURITY_POLICY, PageAddress, asset, fingerprint, seen};
use tokio::net::TcpListener;

use super::desk::PageDesk;
use super::questions::PlanForm;

/// The port that addresses need not name.
const HTTP_PORT: u16 = 80;
/// Largest form, in bytes: a few thousand pods.
const MAX_FORM_BYTES: usize = 32 << 20;
/// A page that is looked at is looked at anew this often.
const PERIOD: Duration = Duration::from_secs(1);

/// Answers until the process ends.
pub async fn serve(listener: TcpListener, desk: PageDesk) -> anyhow::Result<()> {
    let port = listener.local_addr()?.port();
    let router = Router::new()
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
        .layer(middleware::from_fn(move |request, next| {
            guarded(port, request, next)
        }))
        .with_state(desk);
    Ok(axum::serve(listener, router).await?)
}

/// A page of another site that names this machine by a name of its own gets nothing, and what is answered may load
/// nothing from elsewhere.
async fn guarded(port: u16, request: Request, next: Next) -> Response {
    if !is_from_here(port, request.headers()) {
        let text = "this page answers to 127.0.0.1 and localhost alone\n";
        return (StatusCode::FORBIDDEN, text).into_response();
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
    response
}

fn is_from_here(port: u16, headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut own = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if port == HTTP_PORT {
        own.extend(["127.0.0.1".to_owned(), "localhost".to_owned()]);
    }
    let is_own = said("host").is_some_and(|host| own.iter().any(|own| own == host));
    let origin = said("origin");
    let has_own_origin =
        origin.is_none_or(|origin| own.iter().any(|own| origin == format!("http://{own}")));
    // A picture or a frame of another site has no origin, but browsers say whence it is asked for; a link is followed.
    let site = said("sec-fetch-site").unwrap_or("none");
    let is_followed =
        said("sec-fetch-mode") == Some("navigate") && said("sec-fetch-dest") == Some("document");
    let is_foreign = matches!(site, "cross-site" | "same-site") && !is_followed;
    is_own && has_own_origin && !is_foreign
}

fn address_of(uri: &Uri, below: &str, headers: &HeaderMap) -> Option<PageAddress> {
    let accepted = headers
        .get(header::ACCEPT_LANGUAGE)
        .and_then(|value| value.to_str().ok());
    let path = uri.path().strip_prefix(below).unwrap_or(uri.path());
    PageAddress::read(
        path,
        uri.query().unwrap_or_default(),
        accepted.unwrap_or_default(),
    )
}

fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is no such page; begin at /\n").into_response()
}

fn ended() -> Response {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "the page has ended: see where pumice runs\n",
    )
        .into_response()
}

async fn page(State(desk): State<PageDesk>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(address) = address_of(&uri, "", &headers) else {
        return nothing();
    };
    match desk.page(address).await {
        Some(answer) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or_default();
            (status, Html(answer.html)).into_response()
        }
        None => ended(),
    }
}

async fn json(State(desk): State<PageDesk>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(address) = address_of(&uri, "/json", &headers) else {
        return nothing();
    };
    match desk.views(address).await {
        Some(Ok(views)) => Json(views).into_response(),
        Some(Err(why)) => (StatusCode::NOT_FOUND, why + "\n").into_response(),
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
    State(desk): State<PageDesk>,
    uri: Uri,
    headers: HeaderMap,
    Form(form): Form<PlanForm>,
) -> Response {
    let Some(address) = address_of(&uri, "", &headers) else {
        return nothing();
    };
    match desk.plan(address, form).await {
        Some(part) => Html(part).into_response(),
        None => ended(),
    }
}

async fn live(State(desk): State<PageDesk>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(address) = address_of(&uri, "/live", &headers) else {
        return nothing();
    };
    // A stream that broke goes on from what was sent last.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let seen = match last {
        Some(id) => u64::from_str_radix(id, 16).ok(),
        None => seen(uri.query().unwrap_or_default()),
    };
    Sse::new(changes(desk, address, seen))
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// The part of a page that changes, whenever it is another than the one that is looked at.
fn changes(
    desk: PageDesk,
    address: PageAddress,
    seen: Option<u64>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(
        (desk, address, seen),
        |(desk, address, mut seen)| async move {
            loop {
                let part = desk.live(address.clone()).await?;
                let print = fingerprint(&part);
                if seen.replace(print) != Some(print) {
                    let event = Event::default()
                        .event("page")
                        .id(format!("{print:x}"))
                        .data(part.replace('\r', " "));
                    return Some((Ok(event), (desk, address, seen)));
                }
                tokio::time::sleep(PERIOD).await;
            }
        },
    )
}
