//! Tests of the crate, against a registry made for them.

mod arguments;
mod diagnostics;
mod durations;
mod embedded;
mod examples;
mod fuzz;
mod part_diagnostics;
mod rules;
mod switches;

use crate::{ActionSpec, ArgKind, ArgSpec, Config, PluginSpec, Registry, parse};

const fn arg(name: &'static str, kind: ArgKind, default: &'static str) -> ArgSpec {
    ArgSpec {
        name,
        kind,
        default,
        min: None,
        max: None,
        doc: "",
    }
}

const fn plugin(name: &'static str, args: &'static [ArgSpec]) -> PluginSpec {
    PluginSpec {
        name,
        summary: "",
        args,
        rules: &[],
        built: true,
    }
}

const fn action(name: &'static str, args: &'static [ArgSpec]) -> ActionSpec {
    ActionSpec {
        name,
        summary: "",
        args,
        built: true,
    }
}

const OVERCOMMIT: &[ArgSpec] = &[ArgSpec {
    name: "overcommit-factor",
    kind: ArgKind::Float,
    default: "1.2",
    min: Some(1.0),
    max: Some(100.0),
    doc: "",
}];
const BINPACK: &[ArgSpec] = &[
    arg("binpack.weight", ArgKind::Int, "1"),
    arg("binpack.cpu", ArgKind::Int, "1"),
    arg("binpack.resources", ArgKind::Str, ""),
    arg("binpack.resources.*", ArgKind::Int, "1"),
];
const PREDICATES: &[ArgSpec] = &[arg("predicate.CacheEnable", ArgKind::Bool, "true")];
const SLA: &[ArgSpec] = &[arg("sla-waiting-time", ArgKind::Duration, "")];
const STRATEGY: &[ArgSpec] = &[arg("resources", ArgKind::Any, "")];
const MAP: &[ArgSpec] = &[arg("a", ArgKind::Map(&[arg("*", ArgKind::Int, "1")]), "")];
const DEVICESHARE: &[ArgSpec] = &[
    arg("deviceshare.GPUSharingEnable", ArgKind::Bool, "false"),
    arg("deviceshare.VGPUEnable", ArgKind::Bool, "false"),
    arg(
        "deviceshare.AscendMindClusterVNPUEnable",
        ArgKind::Bool,
        "false",
    ),
    arg("deviceshare.AscendHAMiVNPUEnable", ArgKind::Bool, "false"),
    arg("deviceshare.SchedulePolicy", ArgKind::Str, ""),
    arg("deviceshare.ScheduleWeight", ArgKind::Int, "10"),
    arg(
        "deviceshare.KnownGeometriesCMNamespace",
        ArgKind::Str,
        "kube-system",
    ),
    arg(
        "deviceshare.KnownGeometriesCMName",
        ArgKind::Str,
        "volcano-vgpu-device-config",
    ),
];
const CACHE: &[ArgSpec] = &[arg("predicateErrorCacheEnable", ArgKind::Bool, "true")];
const PREEMPT: &[ArgSpec] = &[
    arg("enableTopologyAwarePreemption", ArgKind::Bool, "false"),
    arg("minCandidateNodesPercentage", ArgKind::Int, "10"),
];

const REGISTRY: Registry = Registry {
    plugins: &[
        plugin("priority", &[]),
        plugin("gang", &[]),
        plugin("conformance", &[]),
        plugin("overcommit", OVERCOMMIT),
        plugin("drf", &[]),
        plugin("predicates", PREDICATES),
        plugin("proportion", &[]),
        plugin("nodeorder", &[]),
        plugin("binpack", BINPACK),
        plugin("capacity", &[]),
        plugin("sla", SLA),
        plugin("map", MAP),
        plugin("resource-strategy-fit", STRATEGY),
        plugin("deviceshare", DEVICESHARE),
        PluginSpec {
            name: "extender",
            summary: "",
            args: &[],
            rules: &[],
            built: false,
        },
    ],
    actions: &[
        action("enqueue", &[]),
        action("allocate", CACHE),
        action("backfill", CACHE),
        action("preempt", PREEMPT),
        action("reclaim", CACHE),
        ActionSpec {
            name: "shuffle",
            summary: "",
            args: &[],
            built: false,
        },
    ],
};

/// All findings as shown to the user.
fn render(text: &str) -> String {
    let outcome = parse(text, &REGISTRY);
    outcome
        .diagnostics
        .iter()
        .map(|found| found.render("conf"))
        .collect()
}

/// Severity letter and number of each finding with its place: `E0101 3:11`.
fn codes(text: &str) -> Vec<String> {
    let outcome = parse(text, &REGISTRY);
    let short = |code: &'static str| code.split('-').next().unwrap_or(code);
    let place = |found: &crate::Diagnostic| {
        format!("{} {}:{}", short(found.code), found.line, found.column)
    };
    outcome.diagnostics.iter().map(place).collect()
}

/// The configuration of a text without findings.
fn clean(text: &str) -> Config {
    let outcome = parse(text, &REGISTRY);
    assert_eq!(outcome.diagnostics, [], "{}", render(text));
    outcome.config.unwrap()
}

/// A configuration with one plugin and the given lines as its arguments.
fn with_arguments(plugin: &str, lines: &str) -> String {
    let indented: String = lines
        .lines()
        .map(|line| format!("      {line}\n"))
        .collect();
    format!("actions: allocate\ntiers:\n- plugins:\n  - name: {plugin}\n    arguments:\n{indented}")
}
