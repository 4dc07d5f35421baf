//! The scheduler under faults: random storms by seed, and the scenarios of spec/06 §3.4 by their
//! number. Without faults: what is decided in the course of time, and what is told.

#![expect(clippy::panic, reason = "helpers of tests fail as tests do")]

mod calm;
mod claims;
mod copies;
mod counted;
mod cpus;
mod evictions;
mod lasting;
mod placing;
mod recorded_worlds;
mod recordings;
mod scenarios;
mod shares;
mod storms;
mod tenants;
mod time_storms;
mod waiting_time;

use pumice_conf::Config;
use pumice_faults::evictions::EVICTING;
use pumice_faults::{CONFIGURATION, limiting_devices};

/// The configuration of simulations.
pub fn config() -> Config {
    parse(CONFIGURATION)
}

/// The one of simulations in which some are evicted for others.
pub fn evicting() -> Config {
    parse(EVICTING)
}

/// One by seed with plugins that want pods gone.
pub fn shuffling(seed: u64) -> Config {
    parse(&pumice_faults::shuffles::configuration(seed))
}

/// One by seed of simulations in which queues limit devices.
pub fn limiting(seed: u64) -> Config {
    let text = if seed.is_multiple_of(2) {
        CONFIGURATION
    } else {
        EVICTING
    };
    parse(&limiting_devices(text))
}

/// Seeds of a test: `PUMICE_SEEDS=from..to` asks for others than the usual ones.
pub fn seeds(from: u64, to: u64) -> std::ops::Range<u64> {
    let text = std::env::var("PUMICE_SEEDS").ok();
    let asked = text.as_deref().and_then(|text| {
        let (from, to) = text.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    asked.unwrap_or(from..to)
}

fn parse(text: &str) -> Config {
    let parsed = pumice_conf::parse(text, &pumice_engine::REGISTRY);
    parsed.config.expect("the configuration is valid")
}
