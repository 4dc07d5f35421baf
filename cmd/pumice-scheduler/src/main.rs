//! The scheduler daemon.

fn main() {}
