//! The talk with the API server from outside.

// Lints take what the tests share for a part of them.
#[cfg(test)]
mod watch;
