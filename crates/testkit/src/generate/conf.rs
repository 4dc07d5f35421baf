//! Random texts of `volcano-scheduler.conf`.

use std::fmt::Write;

use pumice_conf::{CHART_CONF, DEFAULT_CONF};

use super::groups::WAITING_TIMES;
use super::rng::Rng;
use super::vendors;

const ACTIONS: &[&str] = &[
    "enqueue, allocate, backfill",
    "enqueue, allocate, backfill",
    "enqueue, allocate, backfill",
    "enqueue, allocate",
    "enqueue, backfill, allocate",
    "allocate, backfill",
    "allocate",
];

const PLUGINS: &[&str] = &[
    "priority",
    "gang",
    "conformance",
    "overcommit",
    "drf",
    "predicates",
    "proportion",
    "nodeorder",
    "binpack",
    "deviceshare",
];

/// Switches that change what these actions do, with the plugins that answer there.
const SWITCHES: &[(&str, &[&str])] = &[
    ("enableJobOrder", &["priority", "gang", "drf"]),
    ("enableTaskOrder", &["priority"]),
    ("enabledSubJobOrder", &["priority", "gang"]),
    ("enableJobReady", &["gang"]),
    ("enableJobPipelined", &["gang"]),
    ("enabledSubJobReady", &["gang"]),
    ("enabledSubJobPipelined", &["gang"]),
    ("enableJobEnqueued", &["overcommit", "proportion"]),
    ("enableQueueOrder", &["drf", "proportion"]),
    ("enabledOverused", &["proportion"]),
    ("enabledAllocatable", &["proportion", "gang"]),
    ("enablePredicate", &["predicates"]),
    ("enableNodeOrder", &["nodeorder", "binpack", "deviceshare"]),
];

/// A configuration that is accepted: often a shipped one, else a random choice and order of the
/// plugins, their switches and arguments.
#[must_use]
pub fn conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 2);
    match rng.below(6) {
        0 => DEFAULT_CONF.to_owned(),
        1 => CHART_CONF.to_owned(),
        _ => random_conf(&mut rng),
    }
}

/// A plugin that few configurations have.
struct Rare {
    name: &'static str,
    /// One in how many configurations has it.
    odds: usize,
    /// Stream of random numbers that the plugin takes, so that it changes no other choice.
    stream: u64,
    /// Writes its switches and arguments.
    write: fn(&mut Rng, &mut String),
}

const RARE: &[Rare] = &[
    Rare {
        name: "nodegroup",
        odds: 4,
        stream: 14,
        write: node_groups,
    },
    Rare {
        name: "sla",
        odds: 4,
        stream: 16,
        write: waiting_time,
    },
    Rare {
        name: "resource-strategy-fit",
        odds: 4,
        stream: 18,
        write: strategy_fit,
    },
    Rare {
        name: "task-topology",
        odds: 3,
        stream: 38,
        write: task_topology,
    },
    Rare {
        name: "usage",
        odds: 4,
        stream: 39,
        write: usage,
    },
    Rare {
        name: NETWORK,
        odds: 8,
        stream: 41,
        write: network,
    },
];

fn random_conf(rng: &mut Rng) -> String {
    let hierarchy = rng.one_in(4);
    // Sources of their own: everything else is the same with and without these plugins.
    let source = |rare: &'static Rare| (Rng::new(rng.clone().next(), rare.stream), rare);
    let mut rare: Vec<(Rng, &Rare)> = RARE.iter().map(source).collect();
    let mut names: Vec<&str> = PLUGINS
        .iter()
        .copied()
        .filter(|name| match *name {
            // These two exclude each other.
            "proportion" => !hierarchy && !rng.one_in(4),
            "drf" => hierarchy || !rng.one_in(4),
            "deviceshare" => !rng.one_in(4),
            "gang" | "predicates" | "nodeorder" => !rng.one_in(8),
            _ => !rng.one_in(4),
        })
        .collect();
    if rng.one_in(2) {
        rng.shuffle(&mut names);
    }
    for (own, plugin) in &mut rare {
        if own.one_in(plugin.odds) {
            names.insert(own.below(names.len() + 1), plugin.name);
        }
    }
    let mut text = format!("actions: \"{}\"\ntiers:\n", rng.pick(ACTIONS));
    let mut starts_tier = true;
    for name in names {
        if starts_tier {
            text.push_str("- plugins:\n");
        }
        let _ = writeln!(text, "  - name: {name}");
        if name == "drf" && hierarchy {
            text.push_str("    enableHierarchy: true\n");
        }
        if let Some((own, plugin)) = rare.iter_mut().find(|(_, it)| it.name == name) {
            (plugin.write)(own, &mut text);
            if name == "sla" {
                starts_tier = own.one_in(2);
            }
            continue;
        }
        for (key, plugins) in SWITCHES {
            // Without it a queue above its share is only held back by Overused.
            let odds = if *key == "enabledAllocatable" { 5 } else { 16 };
            if plugins.contains(&name) && rng.one_in(odds) {
                let _ = writeln!(text, "    {key}: false");
            }
        }
        arguments(rng, name, &mut text);
        starts_tier = rng.one_in(3);
    }
    if let Some((own, _)) = rare.iter_mut().find(|(_, it)| it.name == "usage") {
        metrics(own, &mut text);
    }
    text
}

/// A configuration that shares NPUs and, sometimes, other devices.
#[must_use]
pub fn npu_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 24);
    let mut text = String::from("actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n");
    for plugin in ["gang", "predicates", "proportion", "nodeorder", "binpack"] {
        if !rng.one_in(3) {
            let _ = writeln!(text, "  - name: {plugin}");
        }
    }
    text.push_str("  - name: deviceshare\n    arguments:\n");
    for (odds, key, values) in DEVICE_ARGUMENTS {
        if key.contains("Enable") && !rng.one_in(16) {
            let _ = writeln!(text, "      {key}: true");
        } else if rng.one_in(*odds) {
            let _ = writeln!(text, "      {key}: {}", rng.pick(values));
        }
    }
    init_params(&mut rng, &mut text);
    text
}

/// A configuration in which cards of HAMi's vendors count for more than anything else.
#[must_use]
pub fn vendor_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 53);
    let mut text = npu_conf_text(seed);
    let own = format!(
        "arguments:\n      deviceshare.HAMiVendors: {}",
        vendors::argument(&mut rng)
    );
    if let Some(at) = text.find("arguments:") {
        text.replace_range(at..at + "arguments:".len(), &own);
    }
    text
}

/// A configuration in which the network counts for more than anything else.
#[must_use]
pub fn network_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 30);
    let actions = match rng.one_in(4) {
        true => rng.pick(ACTIONS),
        false => "enqueue, allocate, backfill",
    };
    let mut text = format!("actions: \"{actions}\"\ntiers:\n- plugins:\n");
    for plugin in [
        "priority",
        "gang",
        "predicates",
        "proportion",
        "nodeorder",
        "binpack",
    ] {
        let odds = if plugin == "gang" { 12 } else { 3 };
        if !rng.one_in(odds) {
            let _ = writeln!(text, "  - name: {plugin}");
        }
    }
    if !rng.one_in(4) {
        let _ = writeln!(text, "  - name: {NETWORK}");
        network(&mut rng, &mut text);
    }
    text
}

const NETWORK: &str = "network-topology-aware";

/// The plugin `network-topology-aware`, to the end of a configuration that evicts.
pub(super) fn network_that_evicts(rng: &mut Rng, text: &mut String) {
    if rng.one_in(4) {
        return;
    }
    let _ = writeln!(text, "  - name: {NETWORK}");
    network_switches(rng, text);
    let mut lines = network_arguments(rng);
    if rng.one_in(2) {
        let most = rng.pick(&["1", "1", "2", "3", "0", "-1"]);
        let _ = write!(
            lines,
            "\n      hypernode.gradient.evict.max-hypernodes: {most}"
        );
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "    arguments:{lines}");
    }
}

/// Switches and arguments of `network-topology-aware`.
fn network(rng: &mut Rng, text: &mut String) {
    network_switches(rng, text);
    let lines = network_arguments(rng);
    if !lines.is_empty() {
        let _ = writeln!(text, "    arguments:{lines}");
    }
}

fn network_switches(rng: &mut Rng, text: &mut String) {
    for key in [
        "enabledHyperNodeOrder",
        "enableNodeOrder",
        "enabledHyperNodeGradient",
    ] {
        if rng.one_in(10) {
            let _ = writeln!(text, "    {key}: false");
        }
    }
}

/// Lines of arguments that count in allocate.
fn network_arguments(rng: &mut Rng) -> String {
    let mut lines = String::new();
    for (odds, key, values) in [
        (3, "weight", &["0", "1", "10", "-3"] as &[&str]),
        (4, "hypernode.binpack.cpu", &["0", "2", "5", "-1"]),
        (4, "hypernode.binpack.memory", &["0", "3", "-1"]),
        (
            4,
            "hypernode.binpack.resources",
            &["nvidia.com/gpu", "'nvidia.com/gpu, pods'", "pods"],
        ),
        (4, "hypernode.binpack.resources.pods", &["0", "2", "-1"]),
        (4, "hypernode.binpack.normal-pod.enable", &["true", "false"]),
        (
            3,
            "hypernode.binpack.normal-pod.fading",
            &["0", "0.5", "1", "2", "-1"],
        ),
    ] {
        if rng.one_in(odds) {
            let _ = write!(lines, "\n      {key}: {}", rng.pick(values));
        }
    }
    lines
}

/// Arguments of `init-params`: one in how many configurations has it, key, values.
const INIT_PARAMS: &[(usize, &str, &[&str])] = &[
    (
        12,
        "presetVirtualDevice",
        &["true", "\"true\"", "\"false\""],
    ),
    (3, "useClusterInfoManager", &["\"false\"", "false", "true"]),
    (
        3,
        "self-maintain-available-card",
        &["\"false\"", "false", "true"],
    ),
    (4, "grace-over-time", &["\"900\"", "2", "1"]),
];

/// What MindCluster reads.
fn init_params(rng: &mut Rng, text: &mut String) {
    let mut lines = String::new();
    for (odds, key, values) in INIT_PARAMS {
        if rng.one_in(*odds) {
            let _ = write!(lines, "\n    {key}: {}", rng.pick(values));
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "configurations:\n- name: init-params\n  arguments:{lines}"
        );
    }
}

/// Switches and arguments of `nodegroup`.
fn node_groups(rng: &mut Rng, text: &mut String) {
    for key in ["enablePredicate", "enableNodeOrder"] {
        if rng.one_in(8) {
            let _ = writeln!(text, "    {key}: false");
        }
    }
    if rng.one_in(2) {
        text.push_str("    enableHierarchy: true\n");
    }
    let (strict, ordered) = (rng.one_in(2), rng.one_in(2));
    let _ = writeln!(text, "    arguments:\n      strict: {strict}");
    let _ = writeln!(text, "      enablePreferredOrder: {ordered}");
}

/// Arguments of `usage`: one in how many configurations has it, key, values.
const USAGE_ARGUMENTS: &[(usize, &str, &[&str])] = &[
    (3, "usage.weight", &["0", "1", "20", "-1"]),
    (4, "cpu.weight", &["0", "3"]),
    (4, "memory.weight", &["0", "2"]),
    (
        6,
        "thresholds",
        &["{cpu: 50}", "{mem: 50, cpu: 101}", "{cpu: 100, mem: 100}"],
    ),
    (
        1,
        "estimator",
        &[
            "{burst_ratio: 1}",
            "{request_ratio: 0.35, risk_threshold: 0.3}",
            "{burst_ratio: 0.3, risk_factor: 2.5}",
            "{request_ratio: 2, risk_threshold: 0, risk_factor: 1, burst_ratio: 1}",
            "{request_ratio: 1, risk_threshold: 1, risk_factor: 0.5}",
            "{request_ratio: 0, burst_ratio: 1}",
        ],
    ),
];

/// Switches and arguments of `usage`.
pub(super) fn usage(rng: &mut Rng, text: &mut String) {
    for key in ["enablePredicate", "enableNodeOrder"] {
        if rng.one_in(8) {
            let _ = writeln!(text, "    {key}: false");
        }
    }
    let mut lines = String::new();
    for (odds, key, values) in USAGE_ARGUMENTS {
        if rng.one_in(*odds) {
            let _ = writeln!(lines, "      {key}: {}", rng.pick(values));
        }
    }
    if !lines.is_empty() {
        let _ = write!(text, "    arguments:\n{lines}");
    }
}

/// How often nodes are measured.
pub(super) fn metrics(rng: &mut Rng, text: &mut String) {
    if rng.one_in(2) {
        let interval = rng.pick(&["10s", "1m", "1500ms"]);
        let _ = writeln!(
            text,
            "metrics: {{type: prometheus_adaptor, interval: {interval}}}"
        );
    }
}

/// Switches and argument of `task-topology`.
fn task_topology(rng: &mut Rng, text: &mut String) {
    for key in ["enableTaskOrder", "enableNodeOrder"] {
        if rng.one_in(8) {
            let _ = writeln!(text, "    {key}: false");
        }
    }
    if rng.one_in(2) {
        let weight = rng.pick(&[0, 1, 3, 10, -2]);
        let _ = writeln!(text, "    arguments:\n      task-topology.weight: {weight}");
    }
}

/// Switches and argument of `sla`.
fn waiting_time(rng: &mut Rng, text: &mut String) {
    for key in ["enableJobOrder", "enableJobPipelined", "enableJobEnqueued"] {
        if rng.one_in(8) {
            let _ = writeln!(text, "    {key}: false");
        }
    }
    if rng.one_in(2) {
        let limit = rng.pick(WAITING_TIMES);
        let _ = writeln!(text, "    arguments:\n      sla-waiting-time: {limit}");
    }
}

/// What `resource-strategy-fit` may be told to score.
const STRATEGIES: &[&str] = &[
    "{cpu: {type: MostAllocated, weight: 3}, memory: {weight: 2}}",
    "{nvidia.com/*: {type: MostAllocated}, cpu: {weight: -1}, pods: {type: Least}}",
    "{'*': {weight: 5}, nvidia*: {weight: 2}, nvidia.com/*: {type: MostAllocated}, memory: {}}",
    "{}",
];

/// Switches and arguments of `resource-strategy-fit`.
fn strategy_fit(rng: &mut Rng, text: &mut String) {
    for key in ["enablePredicate", "enableNodeOrder"] {
        if rng.one_in(8) {
            let _ = writeln!(text, "    {key}: false");
        }
    }
    let mut lines = Vec::new();
    if rng.one_in(2) {
        let weight = rng.pick(&["0", "1", "50", "-1"]);
        lines.push(format!("resourceStrategyFitWeight: {weight}"));
    }
    if !rng.one_in(3) {
        lines.push(format!("resources: {}", rng.pick(STRATEGIES)));
    }
    if !rng.one_in(4) {
        let (enable, weight) = (!rng.one_in(8), rng.pick(&["2", "20", "200", "0"]));
        let listed = rng.pick(&["nvidia.com/gpu", "'nvidia.com/gpu, memory'"]);
        let of_each = rng.pick(&["{}", "{nvidia.com/gpu: 3, memory: 0}"]);
        lines.push(format!(
            "sra: {{enable: {enable}, weight: {weight}, resources: {listed}, resourceWeight: {of_each}}}"
        ));
    }
    if !rng.one_in(4) {
        let enable = !rng.one_in(4);
        let rates = rng.pick(&[
            "{nvidia.com/gpu.cpu: 2, nvidia.com/gpu.memory: 0.5}",
            "{nvidia.com/gpu.cpu: 0.5, nvidia.com/gpu.memory: 2}",
            "{nvidia.com/gpu.cpu: -1}",
        ]);
        lines.push(format!(
            "proportional: {{enable: {enable}, resources: nvidia.com/gpu, resourceProportion: {rates}}}"
        ));
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "    arguments:\n      {}", lines.join("\n      "));
    }
}

/// Arguments of `deviceshare`: one in how many configurations has it, key, values.
const DEVICE_ARGUMENTS: &[(usize, &str, &[&str])] = &[
    (
        1,
        "deviceshare.VGPUEnable",
        &["true", "true", "true", "false"],
    ),
    (
        1,
        "deviceshare.AscendHAMiVNPUEnable",
        &["true", "true", "true", "false"],
    ),
    (
        1,
        "deviceshare.AscendMindClusterVNPUEnable",
        &["true", "true", "true", "false"],
    ),
    (
        2,
        "deviceshare.SchedulePolicy",
        &["binpack", "spread", "\"\""],
    ),
    (3, "deviceshare.ScheduleWeight", &["0", "1", "\"10\""]),
    (
        3,
        "deviceshare.GPUExclusiveRules",
        &["[{app: web}]", "[{app: db}, {app: web, role: worker}]"],
    ),
    (4, "deviceshare.InFlightGuard", &["false", "false", "true"]),
];

/// Factors of `overcommit`.
const FACTORS: &[&str] = &["1.0", "1.5", "2", "0.5", "10"];

fn arguments(rng: &mut Rng, plugin: &str, text: &mut String) {
    let weights = ["0", "1", "2", "5", "10", "-1"];
    let mut lines: Vec<String> = Vec::new();
    let mut maybe = |rng: &mut Rng, odds: usize, key: &str, values: &[&str]| {
        if rng.one_in(odds) {
            lines.push(format!("      {key}: {}", rng.pick(values)));
        }
    };
    match plugin {
        "gang" => maybe(rng, 2, "gang.hold-minimum-seconds", &["0", "1", "60"]),
        "overcommit" => maybe(rng, 2, "overcommit-factor", FACTORS),
        "nodeorder" => {
            for scorer in [
                "leastrequested",
                "mostrequested",
                "balancedresource",
                "nodeaffinity",
                "podaffinity",
                "tainttoleration",
                "podtopologyspread",
                "imagelocality",
            ] {
                maybe(rng, 3, &format!("{scorer}.weight"), &weights);
            }
        }
        "binpack" => {
            for name in ["weight", "cpu", "memory"] {
                maybe(rng, 3, &format!("binpack.{name}"), &weights);
            }
            if rng.one_in(2) {
                maybe(
                    rng,
                    1,
                    "binpack.resources",
                    &["nvidia.com/gpu", "\"nvidia.com/gpu, pods\""],
                );
                maybe(rng, 2, "binpack.resources.nvidia.com/gpu", &["0", "2", "5"]);
            }
        }
        "deviceshare" => {
            // A source of its own: everything else is the same with and without devices.
            let mut own = Rng::new(rng.clone().next(), 13);
            for (odds, key, values) in DEVICE_ARGUMENTS {
                maybe(&mut own, *odds, key, values);
            }
        }
        "predicates" => {
            for filter in [
                "NodeAffinity",
                "NodePorts",
                "TaintToleration",
                "PodAffinity",
                "PodTopologySpread",
            ] {
                let key = format!("predicate.{filter}Enable");
                maybe(rng, 12, &key, &["false", "true"]);
            }
            // A source of its own: everything else is the same with and without storage.
            let mut own = Rng::new(rng.clone().next(), 10);
            for filter in ["NodeVolumeLimits", "VolumeZone", "VolumeBinding"] {
                let key = format!("predicate.{filter}Enable");
                maybe(&mut own, 12, &key, &["false", "true"]);
            }
            let key = "predicate.DynamicResourceAllocationEnable";
            maybe(&mut own, 16, key, &["false", "true"]);
        }
        _ => {}
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "    arguments:\n{}", lines.join("\n"));
    }
}
