//! Tests of the crate, against a registry made for them.

mod arguments;
mod diagnostics;
mod embedded;
mod examples;
mod fuzz;
mod part_diagnostics;
mod reload;
mod rules;
mod secrets;
mod switches;

use crate::arg::Arg;
use crate::config::Config;
use crate::file::parse;
use crate::registry::{
    ActionSpec, ArgSpec, PluginConflict, PluginMissed, PluginNeeded, PluginSpec, Registry, TextForm,
};

const fn plugin(name: &'static str, args: &'static [ArgSpec]) -> PluginSpec {
    PluginSpec {
        name,
        args,
        ..PluginSpec::PLAIN
    }
}

const fn action(name: &'static str, args: &'static [ArgSpec]) -> ActionSpec {
    ActionSpec {
        name,
        summary: "",
        args,
    }
}

const fn int(name: &'static str, default: i64) -> ArgSpec {
    Arg::int(name, default, "").spec()
}

const fn switch(name: &'static str, default: bool) -> ArgSpec {
    Arg::switch(name, default, "").spec()
}

const fn text(name: &'static str, default: &'static str) -> ArgSpec {
    Arg::text(name, default, "").spec()
}

const OVERCOMMIT: &[ArgSpec] = &[Arg::float("overcommit-factor", 1.2, "")
    .min_or_default(1.0)
    .spec()];
const BINPACK: &[ArgSpec] = &[
    int("binpack.weight", 1),
    int("binpack.cpu", 1),
    Arg::int("binpack.memory", 1, "").min(0).max(100).spec(),
    text("binpack.resources", ""),
    int("binpack.resources.*", 1),
];
const PREDICATES: &[ArgSpec] = &[switch("predicate.CacheEnable", true)];
const SLA: &[ArgSpec] = &[Arg::duration("sla-waiting-time", "").spec()];
const STRATEGY: &[ArgSpec] = &[Arg::any("resources", "").spec()];
const KIND: ArgSpec = Arg::choice(
    "type",
    &["LeastAllocated", "MostAllocated"],
    "LeastAllocated",
    "LeastAllocated is used",
    "",
)
.spec();
const EVEN: TextForm = TextForm {
    phrase: "an even number in words",
    example: "two",
    fault: |text| (text == "three").then(|| "is odd".to_owned()),
};
const STEPS: &[ArgSpec] = &[
    Arg::formed("even", EVEN, "two", "").spec(),
    Arg::maps("steps", &[text("name", ""), int("count", 1)], "").spec(),
];
const MAP: &[ArgSpec] = &[
    Arg::map("a", &[int("*", 1)], "").spec(),
    Arg::map("b", &[Arg::map("*", &[KIND], "").spec()], "").spec(),
];
const DEVICESHARE: &[ArgSpec] = &[
    switch("deviceshare.GPUSharingEnable", false),
    switch("deviceshare.VGPUEnable", false),
    switch("deviceshare.AscendMindClusterVNPUEnable", false),
    switch("deviceshare.AscendHAMiVNPUEnable", false),
    text("deviceshare.SchedulePolicy", ""),
    int("deviceshare.ScheduleWeight", 10),
    text("deviceshare.KnownGeometriesCMNamespace", "kube-system"),
    text(
        "deviceshare.KnownGeometriesCMName",
        "volcano-vgpu-device-config",
    ),
];
const CACHE: &[ArgSpec] = &[switch("predicateErrorCacheEnable", true)];
const PREEMPT: &[ArgSpec] = &[
    switch("enableTopologyAwarePreemption", false),
    int("minCandidateNodesPercentage", 10),
];
const GANG: PluginSpec = PluginSpec {
    name: "gang",
    missed: Some(PluginMissed {
        beside: "predicates",
        code: "W0111-no-gang",
        message: "without plugin `gang` pods are placed one by one",
        help: "add `- name: gang` to the first tier",
    }),
    ..PluginSpec::PLAIN
};
const DRF: PluginSpec = PluginSpec {
    name: "drf",
    conflicts: &[PluginConflict {
        with: "proportion",
        when_on: Some("enableHierarchy"),
        code: "E0109-drf-hierarchy-and-proportion",
        overrules: false,
        help: "remove proportion, or `enableHierarchy` of drf",
    }],
    ..PluginSpec::PLAIN
};
const SHARE: PluginSpec = PluginSpec {
    needs_plugins: &[PluginNeeded {
        argument: "deviceshare.SchedulePolicy",
        value: "fragmentation",
        plugin: "fragmentation",
        code: "W0113-no-mix",
        message: "nobody knows what tasks ask",
        help: "add `- name: fragmentation`",
    }],
    ..plugin("deviceshare", DEVICESHARE)
};
const CAPACITY: PluginSpec = PluginSpec {
    name: "capacity",
    conflicts: &[PluginConflict {
        with: "proportion",
        when_on: None,
        code: "W0110-capacity-and-proportion",
        overrules: true,
        help: "both decide what a queue deserves: keep one of them",
    }],
    ..PluginSpec::PLAIN
};

const REGISTRY: Registry = Registry {
    plugins: &[
        plugin("priority", &[]),
        GANG,
        plugin("conformance", &[]),
        plugin("overcommit", OVERCOMMIT),
        DRF,
        plugin("predicates", PREDICATES),
        plugin("proportion", &[]),
        plugin("nodeorder", &[]),
        plugin("binpack", BINPACK),
        CAPACITY,
        plugin("sla", SLA),
        plugin("map", MAP),
        plugin("steps", STEPS),
        plugin("resource-strategy-fit", STRATEGY),
        SHARE,
        plugin("fragmentation", &[]),
    ],
    actions: &[
        action("enqueue", &[]),
        action("allocate", CACHE),
        action("backfill", CACHE),
        action("preempt", PREEMPT),
        action("reclaim", CACHE),
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
    let place = |found: &crate::diagnostic::Diagnostic| {
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
