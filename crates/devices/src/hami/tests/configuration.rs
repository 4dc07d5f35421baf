//! The device configuration of HAMi, as its users have it.

use super::{configured, pod, request, settings};
use crate::families::read_config;
use crate::ledger::Tags;
use crate::settings::{Policy, Settings};

/// As HAMi's chart writes it, but for other names.
const CHART: &str = "\
nvidia:
  resourceCountName: my.io/gpu
  resourceMemoryName: my.io/gpumem
  resourceMemoryPercentageName: my.io/gpumem-percentage
  resourceCoreName: my.io/gpucores
  resourcePriorityName: my.io/priority
  overwriteEnv: false
  defaultMemory: 1000
  defaultCores: 7
  defaultGPUNum: 1
  deviceSplitCount: 10
  deviceMemoryScaling: 1
  deviceCoreScaling: 1
  gpuCorePolicy: default
  libCudaLogLevel: 1
  runtimeClassName: \"\"
  knownMigGeometries:
  - models: [A30]
    allowedGeometries:
    -
      - {name: 1g.6gb, core: 25, memory: 6144, count: 4}
    -
      - {name: 4g.24gb, core: 100, memory: 24576, count: 1}
cambricon:
  resourceCountName: my.io/mlu
hygon:
  resourceCountName: my.io/dcu
  resourceMemoryName: my.io/dcumem
  resourceCoreName: my.io/dcucores
  memoryFactor: 1024
metax:
  resourceCountName: my.io/mx
  resourceVCountName: my.io/mxs
  resourceVMemoryName: my.io/mxmem
  resourceVCoreName: my.io/mxcore
  sgpuTopologyAware: false
mthreads:
  resourceCountName: my.io/mt
  resourceMemoryName: my.io/mtmem
  resourceCoreName: my.io/mtcore
iluvatars:
- chipName: MR-V100
  commonWord: MR-V100
  resourceCountName: my.io/MR-V100
  resourceMemoryName: my.io/MR-V100.vMem
  resourceCoreName: my.io/MR-V100.vCore
amd: {resourceCountName: my.io/amd}
kunlun: {resourceCountName: kunlunxin.com/xpu}
";

#[test]
fn the_sections_of_hamis_configuration_are_read_as_its_users_have_them() {
    let family = configured(CHART);
    for name in [
        "my.io/gpu",
        "my.io/mlu",
        "my.io/dcu",
        "my.io/mx",
        "my.io/mxs",
        "my.io/mt",
        "my.io/MR-V100",
        "my.io/amd",
    ] {
        let asks = pod(&[&[(name, 1)]], &[]);
        assert!(family.request(&asks, Tags::default()).is_some(), "{name}");
    }
    for name in [
        "nvidia.com/gpu",
        "hygon.com/dcunum",
        "iluvatar.ai/BI-V150-vgpu",
    ] {
        let asks = pod(&[&[(name, 1)]], &[]);
        assert!(family.request(&asks, Tags::default()).is_none(), "{name}");
    }
    let charge = |limits: &[(&str, i64)]| {
        let request = request(&*family, &pod(&[limits], &[]));
        let charge = request.charge(None);
        charge
            .iter()
            .map(|(name, milli)| format!("{name} {}", milli / 1000))
            .collect::<Vec<_>>()
    };
    // The defaults of the section, and its factor: two units are 2048 MiB.
    assert_eq!(
        charge(&[("my.io/gpu", 1)]),
        ["my.io/gpucores 7", "my.io/gpumem 1000"]
    );
    assert_eq!(
        charge(&[("my.io/dcu", 1), ("my.io/dcumem", 2)]),
        ["my.io/dcucores 100", "my.io/dcumem 2"]
    );
}

#[test]
fn names_of_volcanos_plugin_leave_hamis_their_defaults() {
    let family = configured("nvidia: {resourceCountName: volcano.sh/vgpu-number}");
    let asks = pod(&[&[("nvidia.com/gpu", 1)]], &[]);
    assert!(family.request(&asks, Tags::default()).is_some());
}

#[test]
fn one_resource_is_not_handed_out_by_two_families() {
    let settings = Settings {
        vgpu: true,
        ..settings(Policy::None)
    };
    let config = read_config("nvidia: {resourceCountName: nvidia.com/gpu}").expect("valid");
    let family = (super::SPEC.make)(&settings, &config);
    let asks = pod(&[&[("nvidia.com/gpu", 1)]], &[]);
    let why = super::refusal(&*family, &asks);
    assert!(why.contains("hand out the same resource"), "{why}");
}

#[test]
fn every_problem_of_a_section_has_its_place() {
    for (text, place) in [
        (
            "hygon: {resourceCountName: \"a b\"}",
            "hygon.resourceCountName",
        ),
        ("hygon: {memoryFactor: 0}", "hygon.memoryFactor"),
        ("hygon: 3", "hygon"),
        (
            "cambricon: {resourceMemoryName: [1]}",
            "cambricon.resourceMemoryName",
        ),
        ("nvidia: {defaultMemory: -1}", "nvidia.defaultMemory"),
        ("mthreads: []", "mthreads"),
        ("amd: {resourceCoreName: \"x y\"}", "amd.resourceCoreName"),
        (
            "metax: {resourceVCountName: \"x;\"}",
            "metax.resourceVCountName",
        ),
        ("iluvatars: {}", "iluvatars"),
        ("iluvatars: [{chipName: x}]", "iluvatars[0]"),
        (
            "iluvatars: [{commonWord: A}, {commonWord: A}]",
            "iluvatars[1]",
        ),
    ] {
        let problems = read_config(text).expect_err(text);
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert!(
            problems[0].contains(&format!(": {place}: ")),
            "{problems:?}"
        );
    }
}

#[test]
fn a_resource_is_of_one_vendor() {
    assert!(read_config(CHART).is_ok());
    let clash = CHART.replace("my.io/dcu\n", "my.io/gpu\n");
    let problems = read_config(&clash).map(|_| ()).expect_err("two vendors");
    assert_eq!(
        problems,
        ["my.io/gpu is a resource of NVIDIA and of DCU: give each a name of its own"]
    );
}
