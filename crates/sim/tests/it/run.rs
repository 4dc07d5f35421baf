//! Simulations of one text of manifests.

use pumice_conf::{Config, parse};
use pumice_ingest::Options;
use pumice_sim::reader::{InputObjects, InputSource};
use pumice_sim::{InputProblem, Mode, Report, SimulationSettings, simulate};

/// A configuration that is valid.
pub fn config(text: &str) -> Config {
    let config = parse(text, &pumice_engine::REGISTRY).config;
    config.expect("a valid configuration")
}

/// As the daemon runs by default, from the beginning of time.
pub fn settings(mode: Mode) -> SimulationSettings {
    SimulationSettings {
        mode,
        now_s: 0,
        default_queue: "default".to_owned(),
        options: Options {
            scheduler_names: vec!["volcano".to_owned()],
            annotations: pumice_engine::annotations_read(),
        },
        ignored_provisioners: Vec::new(),
        node_selector: Vec::new(),
        shard: None,
    }
}

/// What becomes of manifests, and what is told of them.
pub fn run(conf: &str, text: &str, settings: &SimulationSettings) -> (Report, Vec<InputProblem>) {
    let source = InputSource {
        name: "f".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let mut input = InputObjects::default();
    input.read(&source).expect("text");
    simulate(&config(conf), input, &[source], settings, |_, _| {})
}
