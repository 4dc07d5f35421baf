//! The one way in which both processes ask the API server: requests with their deadline, answers and what they
//! mean for a write, events of watches, and the pauses between tries.
//!
//! Invariant: nothing here tries a request twice; what a second try means, whoever asks knows.

pub mod backoff;
pub mod call;
pub mod events;
pub mod raw;
