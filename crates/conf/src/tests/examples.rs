//! Published examples are accepted as they stand.

use crate::config::Config;
use crate::file::parse;
use crate::{CHART_CONF, DEFAULT_CONF};

use super::{REGISTRY, clean};

fn names(config: &Config) -> Vec<Vec<&str>> {
    config
        .tiers
        .iter()
        .map(|tier| {
            tier.plugins
                .iter()
                .map(|plugin| plugin.name.as_str())
                .collect()
        })
        .collect()
}

#[test]
fn the_built_in_and_the_chart_configuration_are_clean() {
    let default = clean(DEFAULT_CONF);
    assert_eq!(default.actions, ["enqueue", "allocate", "backfill"]);
    let first = vec!["priority", "gang", "conformance"];
    let second = vec!["overcommit", "drf", "predicates", "proportion", "nodeorder"];
    assert_eq!(names(&default), [first.clone(), second.clone()]);
    let chart = clean(CHART_CONF);
    assert_eq!(names(&chart), [first, [second, vec!["binpack"]].concat()]);
    for plugin in chart.tiers.iter().flat_map(|tier| &tier.plugins) {
        let off = matches!(plugin.name.as_str(), "gang" | "drf");
        assert_eq!(plugin.enabled.preemptable, !off, "{}", plugin.name);
    }
}

const VGPU: &str = r#"
kind: ConfigMap
apiVersion: v1
metadata:
  name: volcano-scheduler-configmap
  namespace: volcano-system
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, backfill"
    tiers:
    - plugins:
      - name: predicates
      - name: deviceshare
        arguments:
          deviceshare.VGPUEnable: true   # 启用vgpu插件
          deviceshare.SchedulePolicy: binpack  # scheduling policy. binpack / spread
"#;

const MIND_CLUSTER: &str = r#"kind: ConfigMap
apiVersion: v1
metadata:
  name: volcano-scheduler-configmap
  namespace: volcano-system
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, backfill"
    tiers:
    - plugins:
      - name: predicates
      - name: deviceshare
        arguments:
          deviceshare.AscendMindClusterVNPUEnable: true   # enable ascend vnpu
    configurations:
    - name: init-params
      arguments: {"grace-over-time":"900","presetVirtualDevice":"false"}  # to enable dynamic
"#;

const HAMI: &str = r#"kind: ConfigMap
apiVersion: v1
metadata:
  name: volcano-scheduler-configmap
  namespace: volcano-system
data:
  volcano-scheduler.conf: |
    actions: "enqueue, allocate, backfill"
    tiers:
    - plugins:
      - name: predicates
      - name: deviceshare
        arguments:
          deviceshare.AscendHAMiVNPUEnable: true   # enable ascend vnpu
          deviceshare.SchedulePolicy: binpack  # scheduling policy. binpack / spread
          deviceshare.KnownGeometriesCMNamespace: kube-system
          deviceshare.KnownGeometriesCMName: hami-scheduler-device
"#;

const GPU_SHARING: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: deviceshare
    arguments:
      deviceshare.GPUSharingEnable: "true"
      deviceshare.SchedulePolicy: "binpack" # binpack 或 spread
      deviceshare.ScheduleWeight: "10"
"#;

/// The configuration of a text in which nothing is found but that it has no plugin `gang`, if so.
fn without_gang(text: &str) -> Config {
    let outcome = parse(text, &REGISTRY);
    let others = outcome.diagnostics.iter();
    let others: Vec<_> = others.filter(|d| d.code != "W0111-no-gang").collect();
    assert_eq!(others, [] as [&crate::diagnostic::Diagnostic; 0]);
    let warned = others.len() < outcome.diagnostics.len();
    assert_eq!(warned, !text.contains("name: gang"));
    outcome.config.expect("a configuration")
}

#[test]
fn the_device_examples_of_the_user_documents_are_clean_but_for_their_lack_of_gangs() {
    for (text, key) in [
        (VGPU, "deviceshare.VGPUEnable"),
        (MIND_CLUSTER, "deviceshare.AscendMindClusterVNPUEnable"),
        (HAMI, "deviceshare.AscendHAMiVNPUEnable"),
        (GPU_SHARING, "deviceshare.GPUSharingEnable"),
    ] {
        let config = without_gang(text);
        let arguments = &config.plugin("deviceshare").unwrap().arguments;
        assert_eq!(arguments.bool(key), Some(true), "{key}");
    }
    let weight = clean(GPU_SHARING)
        .plugin("deviceshare")
        .unwrap()
        .arguments
        .clone();
    assert_eq!(weight.int("deviceshare.ScheduleWeight"), Some(10));
    let policy = without_gang(HAMI)
        .plugin("deviceshare")
        .unwrap()
        .arguments
        .clone();
    assert_eq!(policy.str("deviceshare.SchedulePolicy"), Some("binpack"));
    let free = without_gang(MIND_CLUSTER)
        .configuration("init-params")
        .unwrap()
        .clone();
    assert_eq!(free.bool("presetVirtualDevice"), Some(false));
}

#[test]
fn an_example_with_every_section_is_read() {
    let config = clean(
        r#"actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: drf
    enablePreemptable: false
    enableHierarchy: false
  - name: predicates
    arguments:
      predicate.CacheEnable: "true"
  - name: capacity
    enabledAllocatable: true
  - name: binpack
    arguments:
      binpack.weight: 10
configurations:
- name: preempt
  arguments:
    enableTopologyAwarePreemption: true
    minCandidateNodesPercentage: 20
- name: allocate
  arguments:
    predicateErrorCacheEnable: false
metrics:
  type: prometheus
  address: http://prometheus.monitoring:9090
  interval: 30s
  tls.insecureSkipVerify: true
"#,
    );
    assert_eq!(config.actions.len(), 5);
    assert_eq!(
        config
            .tiers
            .iter()
            .map(|tier| tier.plugins.len())
            .collect::<Vec<_>>(),
        [3, 4]
    );
    assert!(!config.plugin("gang").unwrap().enabled.preemptable);
    assert_eq!(config.configurations.len(), 2);
    assert_eq!(config.metrics["tls.insecureSkipVerify"], "true");
}
