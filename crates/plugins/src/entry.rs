//! What a plugin hands to the list of plugins: its spec, and how it is made.
//!
//! Plugins import these types from here, so that the list (`registry.rs`) imports plugins and no plugin
//! imports the list.

use pumice_conf::{PluginConf, PluginSpec};
use pumice_framework::{Plugin, ReasonTable};

/// Makes a plugin from its checked configuration; its filter reasons go into the table.
pub type Build = fn(&PluginConf, &mut ReasonTable) -> Box<dyn Plugin>;

/// One plugin of the list [`crate::PLUGINS`].
#[derive(Clone, Copy)]
pub struct PluginEntry {
    /// Name, summary and arguments: what a configuration is checked against.
    pub spec: PluginSpec,
    /// Makes it.
    pub build: Build,
    /// Annotations of pods and PodGroups it asks for by key; no others are kept.
    pub annotations: &'static [&'static str],
    /// The entry of `configurations` whose arguments it gets beside its own.
    pub configuration: Option<&'static str>,
}

impl PluginEntry {
    /// A plugin.
    pub(crate) const fn new(spec: PluginSpec, build: Build) -> Self {
        Self {
            spec,
            build,
            annotations: &[],
            configuration: None,
        }
    }

    /// The plugin reads these annotations of pods or PodGroups: `Task::annotation`,
    /// `GroupObject::annotation`.
    pub(crate) const fn reading(self, annotations: &'static [&'static str]) -> Self {
        Self {
            annotations,
            ..self
        }
    }

    /// The plugin gets the arguments of an entry of `configurations` beside its own.
    pub(crate) const fn with_configuration(self, name: &'static str) -> Self {
        Self {
            configuration: Some(name),
            ..self
        }
    }
}

/// A plugin that is there in every configuration.
pub struct Mandatory {
    /// Name of the plugin.
    pub name: &'static str,
    /// Makes it where the configuration does not name it.
    pub make: fn() -> Box<dyn Plugin>,
}
