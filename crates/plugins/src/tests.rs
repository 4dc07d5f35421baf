//! The static list, and configurations built from it.

use pumice_conf::{CHART_CONF, Config, DEFAULT_CONF, PluginConf};
use pumice_framework::ReasonTable;
use rustc_hash::FxHashSet;

use crate::testing::REGISTRY;
use crate::{build, make};

#[test]
fn what_is_listed_as_built_is_what_can_be_made() {
    for spec in REGISTRY.plugins {
        let conf = PluginConf {
            name: spec.name.to_owned(),
            ..PluginConf::default()
        };
        let made = make(&Config::default(), &conf, &mut ReasonTable::default());
        assert_eq!(
            made.map(|plugin| plugin.name()),
            spec.built.then_some(spec.name)
        );
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
    for (switch, entangled) in [("false", false), ("true", true)] {
        let text = format!(
            "actions: allocate\ntiers:\n- plugins:\n  - name: drf\n    enableHierarchy: {switch}\n"
        );
        let outcome = pumice_conf::parse(&text, &REGISTRY);
        let config = outcome.config.expect("a configuration");
        let plugins = build(&config, &mut ReasonTable::default());
        assert_eq!(plugins.queue_order_is_entangled(), entangled, "{switch}");
    }
}
