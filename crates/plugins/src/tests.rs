//! The static list, and configurations built from it.

use pumice_conf::{
    ArgDefault, ArgKind, ArgSpec, CHART_CONF, Config, DEFAULT_CONF, ENABLE_KEYS, PluginConf,
};
use pumice_framework::points::MovedQueues;
use pumice_framework::{Observer, ReasonTable, Stage};
use pumice_model::State;
use rustc_hash::FxHashSet;

use crate::testing::REGISTRY;
use crate::{build, make, registry};

#[test]
fn what_is_listed_can_be_made() {
    for spec in REGISTRY.plugins {
        let conf = PluginConf {
            name: spec.name.to_owned(),
            ..PluginConf::default()
        };
        let made = make(&Config::default(), &conf, &mut ReasonTable::default());
        assert_eq!(made.map(|plugin| plugin.name()), Some(spec.name));
    }
}

#[test]
fn every_name_is_listed_once_and_documented() {
    let mut names = FxHashSet::default();
    for spec in REGISTRY.plugins {
        assert!(names.insert(spec.name), "{} twice", spec.name);
        assert!(spec.summary.ends_with('.'), "{}", spec.name);
        let mut arguments = FxHashSet::default();
        for argument in spec.args {
            assert!(arguments.insert(argument.name), "{} twice", argument.name);
            assert!(argument.doc.ends_with('.'), "{}", argument.name);
        }
    }
}

#[test]
fn the_configurations_of_volcano_are_accepted_without_a_finding() {
    for text in [DEFAULT_CONF, CHART_CONF] {
        let outcome = pumice_conf::parse(text, &REGISTRY);
        assert_eq!(outcome.diagnostics, []);
        let plugins = build(
            &outcome.config.expect("a configuration"),
            &mut ReasonTable::default(),
        );
        assert!(plugins.writes_conditions());
    }
}

/// What Volcano's pages show of plugins that its default leaves out, as entries of a tier: the arguments in the
/// forms they are written in there.
const SHOWN: &[&str] = &[
    "{name: network-topology-aware, arguments: {weight: 10, hypernode.binpack.cpu: 5, \
     hypernode.binpack.memory: 1, hypernode.binpack.resources: 'nvidia.com/gpu, example.com/foo', \
     hypernode.binpack.resources.nvidia.com/gpu: 2, hypernode.binpack.normal-pod.enable: true, \
     hypernode.binpack.normal-pod.fading: 0.8}}",
    "{name: numa-aware, arguments: {weight: 10}}",
    "{name: usage, enablePredicate: false, arguments: {usage.weight: 5, cpu.weight: 1, \
     memory.weight: 1, thresholds: {cpu: 80, mem: 80}}}",
    "{name: rescheduling, arguments: {interval: 5m, strategies: [{name: lowNodeUtilization, \
     params: {thresholds: {cpu: 20, memory: 20, pods: 20}, \
     targetThresholds: {cpu: 50, memory: 50, pods: 50}}}]}}",
    "{name: tdm, arguments: {tdm.revocable-zone.rz1: '10:00-21:00', \
     tdm.revocable-zone.rz2: '12:00-14:00', tdm.evict.period: 1m}}",
    "{name: nodegroup, enablePredicate: true, enableNodeOrder: true, arguments: {strict: false}}",
    "{name: task-topology, arguments: {task-topology.weight: 10}}",
    "{name: resource-strategy-fit, arguments: {resourceStrategyFitWeight: 10, \
     resources: {nvidia.com/gpu: {type: MostAllocated, weight: 2}, \
     cpu: {type: LeastAllocated, weight: 1}}, \
     sra: {enable: true, resources: nvidia.com/gpu, weight: 10, resourceWeight: {nvidia.com/gpu: 1}}, \
     proportional: {enable: false, resources: nvidia.com/gpu, \
     resourceProportion: {nvidia.com/gpu.cpu: 4, nvidia.com/gpu.memory: 8}}}}",
    "{name: capacity, enableHierarchy: true}",
    "{name: cdp}",
    "{name: pdb}",
    "{name: resourcequota}",
    "{name: sla, arguments: {sla-waiting-time: 1h2m3s4ms}}",
    "{name: extender, arguments: {extender.urlPrefix: 'http://127.0.0.1:8713', \
     extender.httpTimeout: 100ms, extender.predicateVerb: predicate, \
     extender.prioritizeVerb: prioritize, extender.queueOverusedVerb: queueOverused, \
     extender.jobEnqueueableVerb: jobEnqueueable, extender.ignorable: true}}",
];

#[test]
fn what_volcano_shows_of_further_plugins_is_accepted_without_a_finding() {
    for entry in SHOWN {
        let text = format!(
            "actions: \"enqueue, allocate, backfill\"\ntiers:\n\
             - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n\
             - plugins: [{{name: overcommit}}, {{name: predicates}}, {{name: nodeorder}}, {entry}]\n\
             metrics: {{type: prometheus, address: 'http://192.168.0.10:9090', interval: 30s}}\n"
        );
        let outcome = pumice_conf::parse(&text, &REGISTRY);
        assert_eq!(outcome.diagnostics, [], "{entry}");
        let config = outcome.config.expect("a configuration");
        build(&config, &mut ReasonTable::default());
    }
}

#[test]
fn every_argument_of_the_core_plugins_is_accepted() {
    let text = r#"
actions: "allocate"
configurations:
- name: allocate
  arguments: {predicateErrorCacheEnable: false}
tiers:
- plugins:
  - name: overcommit
    arguments: {overcommit-factor: "1.5"}
  - name: predicates
    arguments:
      predicate.NodeAffinityEnable: true
      predicate.NodePortsEnable: true
      predicate.TaintTolerationEnable: true
      predicate.PodAffinityEnable: false
      predicate.NodeVolumeLimitsEnable: true
      predicate.VolumeZoneEnable: true
      predicate.PodTopologySpreadEnable: "false"
      predicate.VolumeBindingEnable: true
      predicate.DynamicResourceAllocationEnable: true
      predicate.CacheEnable: true
      volumebinding.bindTimeoutSeconds: 60
      volumebinding.weight: 2
      volumebinding.shape: [{utilization: 0, score: 0}]
      dynamicresources.filterTimeoutSeconds: 5
  - name: nodeorder
    arguments:
      leastrequested.weight: 0
      mostrequested.weight: "1"
      balancedresource.weight: 2
      nodeaffinity.weight: 3
      podaffinity.weight: 4
      tainttoleration.weight: 5
      podtopologyspread.weight: 6
      imagelocality.weight: -7
  - name: binpack
    arguments:
      binpack.weight: 10
      binpack.cpu: 5
      binpack.memory: 1
      binpack.resources: nvidia.com/gpu, example.com/foo
      binpack.resources.nvidia.com/gpu: 2
      binpack.resources.example.com/foo: 3
"#;
    let outcome = pumice_conf::parse(text, &REGISTRY);
    let codes: Vec<&str> = outcome.diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["W0111-no-gang"]);
    let plugins = build(
        &outcome.config.expect("a configuration"),
        &mut ReasonTable::default(),
    );
    assert!(!plugins.writes_conditions(), "no gang");
}

#[test]
fn enable_hierarchy_makes_drf_order_queues() {
    for (switch, any) in [("false", false), ("true", true)] {
        let text = format!(
            "actions: allocate\ntiers:\n- plugins:\n  - name: drf\n    enableHierarchy: {switch}\n"
        );
        let outcome = pumice_conf::parse(&text, &REGISTRY);
        let config = outcome.config.expect("a configuration");
        let plugins = build(&config, &mut ReasonTable::default());
        let moved = plugins.moved_by_placement();
        assert_eq!(matches!(moved, MovedQueues::Any), any, "{switch}");
    }
}

/// The findings on a configuration with these entries of plugins.
fn briefs(entries: &str) -> Vec<String> {
    let text = format!("actions: allocate\ntiers:\n- plugins: [{entries}]\n");
    let outcome = pumice_conf::parse(&text, &REGISTRY);
    outcome
        .diagnostics
        .iter()
        .map(|found| {
            let brief = found.brief();
            let (_, said) = brief.split_once(": ").expect("a place");
            said.to_owned()
        })
        .collect()
}

#[test]
fn what_a_plugin_takes_for_what_is_written_is_told() {
    for (entry, expected) in [
        (
            "{name: resource-strategy-fit, arguments: {resources: {cpu: {type: MostAlocated}}}}",
            "warning: `type`: `MostAlocated` is unknown; LeastAllocated is used (did you mean \
             `MostAllocated`?)",
        ),
        (
            "{name: resource-strategy-fit, arguments: {resources: {cpu: {type: binpack}}}}",
            "warning: `type`: `binpack` is unknown; LeastAllocated is used (write one of \
             `LeastAllocated`, `MostAllocated`)",
        ),
        (
            "{name: binpack, arguments: {binpack.cpu: -3}}",
            "warning: `binpack.cpu`: -3 is below 0; the default 1 is used (write 0 or more)",
        ),
        (
            "{name: nodeorder, arguments: {imagelocality.weight: 2000000000000}}",
            "warning: `imagelocality.weight`: 2000000000000 is above 1099511627776; 1099511627776 is \
             used (write 1099511627776 or less)",
        ),
        (
            "{name: network-topology-aware, arguments: {hypernode.labels: \"rack,, bad key!,rack\"}}",
            "`hypernode.labels`: `rack,, bad key!,rack` has `bad key!`, which no label can have as its key \
             (write keys of labels, separated by commas, as in \
             `example.com/rack,topology.kubernetes.io/zone`)",
        ),
        (
            "{name: sla, arguments: {sla-waiting-time: tomorrow}}",
            "`sla-waiting-time`: `tomorrow` is no duration: there is no number where one must stand \
             (write a number with its unit, as in `30s`, `5m` or `1h30m`)",
        ),
        (
            "{name: drf, enableHierarchy: true}, {name: proportion}",
            "drf with `enableHierarchy` and proportion exclude each other (the other one is listed at \
             line 3; both order queues by what they deserve: remove proportion, or `enableHierarchy` \
             of drf)",
        ),
    ] {
        assert_eq!(briefs(entry), [expected], "{entry}");
    }
}

/// Names of the configured plugins that open with a cycle.
#[derive(Default)]
struct OpenedPlugins(Vec<String>);

impl Observer for OpenedPlugins {
    fn begin(&mut self, stage: Stage<'_>) {
        if let Stage::PluginOpen(name) = stage {
            self.0.push(name.to_owned());
        }
    }

    fn end(&mut self, _: Stage<'_>) {}
}

#[test]
fn capacity_decides_where_proportion_is_configured_too() {
    for both in [
        "{name: proportion}, {name: capacity}",
        "{name: capacity}, {name: proportion}",
    ] {
        let said = briefs(both);
        let [said] = &said[..] else {
            panic!("{said:?}")
        };
        assert!(
            said.starts_with("warning: capacity and proportion decide the same"),
            "{said}"
        );
    }
    let text = "actions: allocate\ntiers:\n- plugins:\n  - name: proportion\n- plugins:\n  - name: \
                capacity\n";
    let conf = pumice_conf::parse(text, &REGISTRY).config.expect("valid");
    let mut opened = OpenedPlugins::default();
    let mut plugins = build(&conf, &mut ReasonTable::default());
    plugins.open(&mut State::new("default"), 0, &mut opened);
    assert_eq!(opened.0, ["capacity"]);
}

#[test]
fn proportion_is_there_for_points_that_capacity_has_switched_off() {
    let text = "actions: allocate\ntiers:\n- plugins:\n  - name: proportion\n- plugins:\n  - name: \
                capacity\n    enabledAllocatable: false\n";
    let conf = pumice_conf::parse(text, &REGISTRY).config.expect("valid");
    let proportion = conf.plugin("proportion").expect("it is listed");
    let (asked, _) = registry::asked_at(proportion, &conf).expect("it is asked");
    assert!(asked.allocatable);
    assert!(!asked.overused && !asked.job_enqueued && !asked.reclaimable && !asked.queue_order);
    let mut opened = OpenedPlugins::default();
    let mut plugins = build(&conf, &mut ReasonTable::default());
    plugins.open(&mut State::new("default"), 0, &mut opened);
    assert_eq!(opened.0, ["proportion", "capacity"]);
}

/// The arguments of a list and of the maps in it.
fn all(args: &'static [ArgSpec]) -> Vec<&'static ArgSpec> {
    let below = |arg: &'static ArgSpec| match arg.kind {
        ArgKind::Map(keys) | ArgKind::Maps(keys) => all(keys),
        _ => Vec::new(),
    };
    args.iter()
        .flat_map(|arg| [vec![arg], below(arg)].concat())
        .collect()
}

#[test]
fn defaults_are_what_may_be_written_and_rules_name_what_there_is() {
    for spec in REGISTRY.plugins {
        for arg in all(spec.args) {
            let default = match arg.default {
                ArgDefault::Int(number) => Some(number as f64),
                ArgDefault::Float(number) => Some(number),
                _ => None,
            };
            let is_within = |number: f64| {
                arg.min.is_none_or(|min| min <= number) && arg.max.is_none_or(|max| number <= max)
            };
            assert!(default.is_none_or(is_within), "{}", arg.name);
            if let ArgKind::Formed(form) = arg.kind {
                let default = Some(arg.default.to_string()).filter(|text| !text.is_empty());
                let texts = default.iter().map(String::as_str).chain([form.example]);
                let mut faults = texts.filter_map(form.fault);
                assert_eq!(faults.next(), None, "{}", arg.name);
            }
            if let ArgKind::Choice { values, .. } = arg.kind {
                let default = arg.default.to_string();
                let known = default.is_empty() || values.contains(&default.as_str());
                assert!(known, "{}: {default}", arg.name);
            }
        }
        let names: Vec<&str> = spec.args.iter().map(|arg| arg.name).collect();
        for pair in spec.exclusive {
            let named = [pair.one, pair.other];
            assert!(named.iter().all(|name| names.contains(name)), "{pair:?}");
        }
        for conflict in spec.conflicts {
            assert!(REGISTRY.plugin(conflict.with).is_some(), "{conflict:?}");
            let is_switch = |key| ENABLE_KEYS.iter().any(|switch| switch.name == key);
            assert!(conflict.when_on.is_none_or(is_switch), "{conflict:?}");
        }
    }
}
