//! (tests) An HTTP server on loopback that answers as a test tells it: an API server for clients of
//! Kubernetes, and whatever else is asked by HTTP.
//!
//! ```text
//! let server = Server::start(|seen| match seen.path.as_str() {
//!     "/version" => Answer::Json(200, json!({"major": "1"})),
//!     _ => Answer::refuse(404, "not found"),
//! }).await;
//! …
//! assert_eq!(server.lines(), ["GET /version"]);
//! ```
//!
//! A script sees every request and says what is done with it. The server keeps all requests, runs on the
//! test's runtime ([`Server::start`]) or on a thread of its own ([`Server::apart`]), and ends with it.
// Who cannot start a server in a test has nothing to test.
#![allow(clippy::panic)]

mod answer;
mod server;
pub mod watch;

pub use answer::{Answer, Then};
pub use server::{Door, Seen, Server, client, config, nobody};
