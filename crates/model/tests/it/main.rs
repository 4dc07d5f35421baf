//! The state from outside: deltas in, questions answered.

mod amounts;
mod applied;
mod extender;
mod forgetting;
mod looks;
mod network;
mod network_around;
mod sums;
mod usage;
