//! The ConfigMap with the mix of tasks: where it is, and what is said of what it has.

use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_model::{Delta, NoteAbout};

use crate::effect::{LogLevel, LogLine};
use crate::notes::noted;

/// Namespace and name of the ConfigMap with the mix of tasks; `None` where none is named.
pub type MixPlace = Option<(String, String)>;

/// Where a configuration has the mix of tasks.
pub fn mix_place(config: &Config) -> MixPlace {
    pumice_engine::mix_place(config)
}

/// The ConfigMap that a change is of, if it is one of the mix.
pub(crate) fn about(delta: &Delta) -> Option<NoteAbout> {
    match delta {
        Delta::TaskMix {
            namespace, name, ..
        } => Some(NoteAbout::ConfigMap(namespace.clone(), name.clone())),
        _ => None,
    }
}

/// What is said of it once it is applied.
pub(crate) fn told(engine: &Engine, about: &NoteAbout) -> LogLine {
    let whose = match about {
        NoteAbout::ConfigMap(namespace, name) => format!("ConfigMap {namespace}/{name}"),
        NoteAbout::Node(_) | NoteAbout::Pod { .. } => String::new(),
    };
    let (level, text) = match noted(engine, about).as_slice() {
        [] => (LogLevel::Info, format!("mix of tasks in use: {whose}")),
        problems => {
            let problems = problems.join("; ");
            (
                LogLevel::Warning,
                format!("mix of tasks in {whose}: {problems}"),
            )
        }
    };
    LogLine {
        level,
        text,
        flood: None,
    }
}
