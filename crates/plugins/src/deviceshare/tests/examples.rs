//! The configurations of the user documents, as they stand there.

use super::*;

/// A ConfigMap with these lines at the place of the arguments of deviceshare, and what follows.
fn config_map(arguments: &str, rest: &str) -> String {
    format!(
        r#"kind: ConfigMap
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
{arguments}{rest}"#
    )
}

/// The tiers of the document on GPU sharing, with these lines at the end.
fn tiers(end: &str) -> String {
    format!(
        r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
{end}"#
    )
}

const VGPU: &str = "          deviceshare.VGPUEnable: true   # enable vgpu plugin
          deviceshare.SchedulePolicy: binpack  # scheduling policy. binpack / spread
";

const VGPU_IN_CHINESE: &str = "          deviceshare.VGPUEnable: true   # 启用vgpu插件
          deviceshare.SchedulePolicy: binpack  # 调度策略：binpack / spread
";

const MIND_CLUSTER_ON: &str =
    "          deviceshare.AscendMindClusterVNPUEnable: true   # enable ascend vnpu
";

const INIT_PARAMS: &str = r#"    configurations:
    - name: init-params
      arguments: {"grace-over-time":"900","presetVirtualDevice":"false"}
"#;

const ASCEND_HAMI_ON: &str =
    "          deviceshare.AscendHAMiVNPUEnable: true   # enable ascend vnpu
          deviceshare.SchedulePolicy: binpack  # scheduling policy. binpack / spread
          deviceshare.KnownGeometriesCMNamespace: kube-system
          deviceshare.KnownGeometriesCMName: hami-scheduler-device
";

const SHARING: &str = r#"  - name: binpack
  - name: deviceshare
    arguments:
      deviceshare.GPUSharingEnable: "true"
      deviceshare.SchedulePolicy: "binpack" # binpack 或 spread
      deviceshare.ScheduleWeight: "10"
"#;

const SPREADING: &str = r#"  - name: deviceshare
    arguments:
      deviceshare.GPUSharingEnable: "true"
      deviceshare.SchedulePolicy: "spread"
      deviceshare.ScheduleWeight: "10"
"#;

const NUMBER: &str = r#"  - name: deviceshare
    arguments:
      deviceshare.GPUNumberEnable: "true"
"#;

const QUOTED_VGPU: &str = r#"  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: "true"
      deviceshare.SchedulePolicy: "binpack"
"#;

const WITH_BINPACK: &str = r#"  - name: binpack
    arguments:
      binpack.weight: "5"
      binpack.resources: "nvidia.com/gpu"
      binpack.resources.nvidia.com/gpu: "10" # GPU 打包权重最高
  - name: deviceshare
    arguments:
      deviceshare.GPUSharingEnable: "true"
      deviceshare.SchedulePolicy: "binpack"
"#;

/// The examples are read without a finding, but that they have no plugin `gang`.
fn read(text: &str) -> CheckOutcome {
    let mut outcome = parse(text, &REGISTRY);
    outcome
        .diagnostics
        .retain(|found| found.code != "W0111-no-gang");
    outcome
}

#[test]
fn the_nvidia_examples_are_accepted_without_a_finding() {
    let base = Settings {
        configured: true,
        policy: Policy::Binpack,
        weight: 10,
        ..Settings::default()
    };
    let vgpu = Settings {
        vgpu: true,
        ..base.clone()
    };
    let sharing = Settings {
        gpu_memory: true,
        ..base.clone()
    };
    let spreading = Settings {
        policy: Policy::Spread,
        ..sharing.clone()
    };
    let number = Settings {
        gpu_number: true,
        policy: Policy::None,
        weight: 0,
        ..base
    };
    for (text, expected) in [
        (config_map(VGPU, ""), &vgpu),
        (config_map(VGPU_IN_CHINESE, ""), &vgpu),
        (tiers(QUOTED_VGPU), &vgpu),
        (tiers(SHARING), &sharing),
        (tiers(SPREADING), &spreading),
        (tiers(NUMBER), &number),
        (tiers(WITH_BINPACK), &sharing),
    ] {
        assert_eq!(accepted(&read(&text)), *expected, "{text}");
    }
}

#[test]
fn the_example_of_mind_cluster_is_accepted_without_a_finding() {
    let outcome = read(&config_map(MIND_CLUSTER_ON, INIT_PARAMS));
    let expected = Settings {
        configured: true,
        mind_cluster: MindCluster {
            enabled: true,
            ..MindCluster::default()
        },
        weight: 10,
        ..Settings::default()
    };
    assert_eq!(accepted(&outcome), expected);
    assert!(!expected.reads_config_map());
}

#[test]
fn the_example_of_ascend_in_hami_is_accepted_without_a_finding() {
    let outcome = read(&config_map(ASCEND_HAMI_ON, ""));
    let expected = Settings {
        configured: true,
        ascend_hami: true,
        policy: Policy::Binpack,
        weight: 10,
        config_map: ("kube-system".to_owned(), "hami-scheduler-device".to_owned()),
        ..Settings::default()
    };
    assert_eq!(accepted(&outcome), expected);
    assert!(expected.reads_config_map());
}
