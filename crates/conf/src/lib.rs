//! Text of `volcano-scheduler.conf` to a checked configuration, with diagnostics.
//!
//! ```text
//! bytes ─► text ─► yaml (located nodes) ─► file (plain conf, or found inside a ConfigMap)
//!                                                 │
//!                         registry (what exists) ─┴─► check ─► Config
//!                                                       └────► Diagnostics (file line and column)
//! ```
//!
//! Every problem of a file
//! is reported in one pass; only a YAML syntax error ends the search. A configuration comes out
//! if and only if no diagnostic is an error. The crate knows no plugin: names, arguments and
//! defaults come from the [`Registry`] the caller passes.

mod arg;
mod arguments;
mod check;
mod config;
mod diagnostic;
mod file;
mod metrics;
mod nearest;
mod registry;
pub mod reload;
mod secrets;

pub use arg::{
    AnyValue, Arg, ArgMap, ArgMaps, FormedText, GoDuration, OneOf, ReadArg, Text, TextMaps, Texts,
};
pub use arguments::{Arguments, Value};
pub use config::{Config, ENABLE_KEYS, EnableKey, Enabled, NamedArguments, PluginConf, Tier};
pub use diagnostic::{CheckOutcome, Diagnostic, Severity};
pub use file::{CONF_KEY, MAX_BYTES, parse, parse_bytes, parse_node};
pub use metrics::{
    HttpSource, METRIC_KEYS, METRIC_TYPES, UsageSource, UsageSourceKind, usage_source,
};
pub use nearest::{did_you_mean, nearest};
pub use registry::{
    ActionSpec, ArgDefault, ArgKind, ArgSpec, ExclusiveSwitches, ListedArguments, NeededArgument,
    OutOfRange, PluginConflict, PluginMissed, PluginNeeded, PluginSpec, Registry, TextForm,
    Wildcard,
};
pub use secrets::{HIDDEN, text_without_secrets};

/// The configuration used when no file is given (spec/01 §2.4).
pub const DEFAULT_CONF: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// The configuration that Volcano's chart installs (spec/03 §F2).
pub const CHART_CONF: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"#;

#[cfg(test)]
mod tests;
