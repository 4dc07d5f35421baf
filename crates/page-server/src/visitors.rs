//! Who is let in to the page.

use std::time::Duration;

use axum::http::{HeaderMap, Method};

/// The port that addresses need not name.
const HTTP_PORT: u16 = 80;
/// Whoever is judged elsewhere is judged anew this often, also while they only look.
const JUDGED_AGAIN: Duration = Duration::from_secs(60);

/// Who comes, and who has seen to it that they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageVisitors {
    /// Browsers on this machine: they name it as it is called here, and come from no other site.
    OfThisMachine {
        /// Port of the page.
        port: u16,
    },
    /// Whoever has shown before every request that they may make it, by whatever name they call this machine.
    Judged,
}

impl PageVisitors {
    /// Why a request is not answered; `None` where it is.
    pub(crate) fn refusal(self, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
        let is_welcome = match self {
            Self::OfThisMachine { port } => is_from_here(port, headers),
            Self::Judged => true,
        };
        if !is_welcome {
            return Some("this page answers to 127.0.0.1 and localhost alone\n");
        }
        is_foreign(method, headers).then_some("this page answers to no other site\n")
    }

    /// How long what changes is told without another look at who asks.
    pub(crate) fn patience(self) -> Option<Duration> {
        match self {
            Self::OfThisMachine { .. } => None,
            Self::Judged => Some(JUDGED_AGAIN),
        }
    }
}

fn said<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A page of another site may name this machine by a name of its own.
fn is_from_here(port: u16, headers: &HeaderMap) -> bool {
    let mut own = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if port == HTTP_PORT {
        own.extend(["127.0.0.1".to_owned(), "localhost".to_owned()]);
    }
    let is_own = said(headers, "host").is_some_and(|host| own.iter().any(|own| own == host));
    let has_own_origin = said(headers, "origin")
        .is_none_or(|origin| own.iter().any(|own| origin == format!("http://{own}")));
    is_own && has_own_origin
}

/// Another site asks. A picture or a frame of one has no origin, but browsers say whence it is asked for; a link is
/// followed, a form of another site is not taken.
fn is_foreign(method: &Method, headers: &HeaderMap) -> bool {
    let site = said(headers, "sec-fetch-site").unwrap_or("none");
    let is_followed = method == Method::GET
        && said(headers, "sec-fetch-mode") == Some("navigate")
        && said(headers, "sec-fetch-dest") == Some("document");
    matches!(site, "cross-site" | "same-site") && !is_followed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = axum::http::HeaderName::from_static(name);
            (name, axum::http::HeaderValue::from_static(value))
        });
        pairs.collect()
    }

    const PICTURE: [(&str, &str); 3] = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-dest", "image"),
    ];
    const NAVIGATION: [(&str, &str); 3] = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];

    #[test]
    fn whoever_is_judged_may_come_by_any_name_but_not_from_a_page_of_another_site() {
        let judged = PageVisitors::Judged;
        let named = headers(&[("host", "pumice.example.com")]);
        assert_eq!(judged.refusal(&Method::GET, &named), None);
        assert!(judged.refusal(&Method::GET, &headers(&PICTURE)).is_some());
        let link = headers(&NAVIGATION);
        assert_eq!(judged.refusal(&Method::GET, &link), None);
        assert!(judged.refusal(&Method::POST, &link).is_some());
        let here = PageVisitors::OfThisMachine { port: 8765 };
        assert!(here.refusal(&Method::GET, &named).is_some());
        let own = headers(&[("host", "localhost:8765")]);
        assert_eq!(here.refusal(&Method::GET, &own), None);
    }
}
