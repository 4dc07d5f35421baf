//! What a page needs besides its text, in the program itself.

/// What a browser may do with a page: read what comes from the same place, and nothing else. No script and no style
/// stands within a page, so none that somebody writes into a name is ever run.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Type of its content.
    pub content_type: &'static str,
    /// Content.
    pub text: &'static str,
}

/// The look of the page.
pub(crate) const STYLE: &str = include_str!("../assets/page.css");

/// Each at a name that changes with its version, so that browsers may keep it.
pub(crate) const HTMX: &str = "/assets/htmx-2.0.11.min.js";
pub(crate) const EVENTS: &str = "/assets/htmx-ext-sse-2.2.4.min.js";
pub(crate) const ICON: &str = concat!("/assets/icon-", env!("CARGO_PKG_VERSION"), ".svg");
pub(crate) const STYLE_PATH: &str = concat!("/assets/page-", env!("CARGO_PKG_VERSION"), ".css");

/// A card, and who shares it.
const ICON_TEXT: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2f6fb3"/><circle cx="5" cy="6" r="2" fill="#fff"/><circle cx="11" cy="5" r="1.3" fill="#fff"/><circle cx="10" cy="11" r="2.3" fill="#fff"/></svg>"##;

/// The file at a path below `/assets/`.
pub fn asset(path: &str) -> Option<Asset> {
    const SCRIPT: &str = "text/javascript; charset=utf-8";
    let (content_type, text) = match path {
        HTMX => (SCRIPT, include_str!("../assets/htmx-2.0.11.min.js")),
        EVENTS => (SCRIPT, include_str!("../assets/htmx-ext-sse-2.2.4.min.js")),
        ICON => ("image/svg+xml", ICON_TEXT),
        STYLE_PATH => ("text/css; charset=utf-8", STYLE),
        _ => return None,
    };
    Some(Asset { content_type, text })
}
