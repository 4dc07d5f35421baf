//! The scheduler under faults: random storms by seed, and the scenarios of spec/06 §3.4 by their
//! number.

#![expect(clippy::panic, reason = "helpers of tests fail as tests do")]

mod scenarios;
mod storms;

use pumice_conf::Config;
use pumice_sim::faults::CONFIGURATION;

/// The configuration of simulations.
pub fn config() -> Config {
    let parsed = pumice_conf::parse(CONFIGURATION, &pumice_engine::REGISTRY);
    parsed.config.expect("the configuration is valid")
}
