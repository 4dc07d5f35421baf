//! What operators see: HTTP endpoints, metrics, logging, the watch on the configuration file.
//!
//! ```text
//!  daemon ──sets──► metrics ──text──┐
//!  daemon ──implements──► Answers ──┼──► http (/metrics, /readyz, /debug/…)  ◄── operators
//!  log::Level ◄──reads, sets────────┘
//!  the file's folder ──► conf_watch ──bytes──► daemon
//! ```
//!
//! The crate knows no scheduling: numbers come in as numbers, answers as JSON. It reads clocks,
//! files and sockets, and starts no work before it is asked to.

pub mod conf_watch;
pub mod http;
pub mod level_socket;
pub mod log;
pub mod metrics;
