//! What our long-running processes share: the flags that all of them have, the clock, its ports,
//! who a process is, how it is doing, and its life from the start to the release of the lease.

mod app;
mod clock;
pub mod flags;
pub mod identity;
mod ports;
mod signals;
mod status;

pub use app::{App, NUMBERS, Running, Shell, ShellSettings, run};
pub use clock::{MonotonicClock, rfc3339};
pub use signals::EndSignals;
pub use status::DaemonStatus;
