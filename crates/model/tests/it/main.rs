//! The state from outside: deltas in, questions answered.

mod amounts;
mod applied;
mod counters;
mod extender;
mod forgetting;
mod looks;
mod network;
mod network_around;
mod sums;
mod usage;
