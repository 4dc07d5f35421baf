//! Device configurations, right and wrong.

use super::*;
use crate::config::{DeviceConfig, SectionSpec};

fn parse(text: &str) -> Result<NvidiaConfig, Vec<String>> {
    let config = DeviceConfig::parse(text, [SectionSpec::of::<NvidiaConfig>()])?;
    Ok(config.section::<NvidiaConfig>().as_ref().clone())
}

/// Problems with their places.
fn located(text: &str) -> Vec<String> {
    parse(text).expect_err(text)
}

/// Problems without their places.
fn problems(text: &str) -> Vec<String> {
    let what = |problem: &String| {
        let (place, what) = problem.split_once(": ").expect(problem);
        assert!(place.starts_with("line "), "{problem}");
        what.to_owned()
    };
    located(text).iter().map(what).collect()
}

#[test]
fn what_the_text_leaves_out_keeps_its_default() {
    let default = NvidiaConfig::default();
    for text in [
        "",
        "# nothing but a comment\n",
        "vnpus: [{chipName: 310P3, whatever: {a: [1]}}]",
        "nvidia:\n",
        "nvidia: {}",
        "nvidia: {resourceCountName: , unheardOf: [1, 2]}",
        "nvidia: {resourcePriorityName: \"\", overwriteEnv: false, deviceSplitCount: 10}",
        "unheardOf: 1\nnvidia: {gpuMemoryFactor: 0}",
    ] {
        assert_eq!(parse(text), Ok(default.clone()), "{text}");
    }
}

#[test]
fn built_in_geometries_are_those_the_plugin_is_installed_with() {
    let nvidia = NvidiaConfig::default();
    for (kind, geometry, profile, memory) in [
        ("NVIDIA-NVIDIA A30", Some(0), "1g.6gb", 6144),
        ("NVIDIA-NVIDIA A100-PCIE-40GB", Some(1), "1g.5gb", 5120),
        ("NVIDIA-NVIDIA A100-SXM4-80GB", Some(2), "1g.10gb", 9728),
        ("NVIDIA-NVIDIA a100-sxm4-80gb", None, "", 0),
        ("NVIDIA-NVIDIA H100 80GB HBM3", None, "", 0),
        ("", None, "", 0),
    ] {
        assert_eq!(nvidia.geometry_for(kind), geometry, "{kind}");
        if let Some(at) = geometry {
            let first = &nvidia.geometries[usize::from(at)].groups[0].instances[0];
            assert_eq!((first.name.as_str(), first.memory_mib), (profile, memory));
        }
    }
    let partitions = |geometry: &ModelGeometry| -> Vec<u16> {
        let of = |group: &Group| group.instances.iter().map(|i| i.count).sum();
        geometry.groups.iter().map(of).collect()
    };
    assert_eq!(partitions(&nvidia.geometries[0]), [4, 2, 1]);
    assert_eq!(partitions(&nvidia.geometries[1]), [7, 4, 2, 1]);
    assert_eq!(partitions(&nvidia.geometries[2]), [7, 4, 2, 1]);
    assert_eq!(nvidia.percentage_name, "volcano.sh/vgpu-memory-percentage");
}

const FULL: &str = r#"
nvidia:
  resourceCountName: example.com/gpus
  resourceMemoryName: example.com/mem
  resourceMemoryPercentageName: ""
  resourceCoreName: example.com/cores
  overwriteEnv: false
  defaultMemory: 0
  defaultCores: 0
  defaultGPUNum: 1
  deviceSplitCount: 10
  deviceMemoryScaling: 1
  deviceCoreScaling: 1.5
  gpuMemoryFactor: "4"
  knownMigGeometries:
  - models: ["H100", "A100-PCIE"]
    allowedGeometries:
    - group: group1
      geometries:
      - {name: 1g.10gb, memory: 10240, count: 7}
    - group: "group_2"
      geometries:
      - {name: 2g.20gb, memory: "20480", count: 3}
      - {name: 1g.10gb, memory: 10240.0, count: 1}
  - models: [A100]
    allowedGeometries:
    - group: group1
      geometries: [{name: 7g.40gb, memory: 40960, count: 1}]
"#;

#[test]
fn every_key_of_the_section_is_read_and_the_first_entry_that_matches_wins() {
    let nvidia = parse(FULL).expect("valid");
    assert_eq!(nvidia.count_name, "example.com/gpus");
    assert_eq!(nvidia.memory_name, "example.com/mem");
    assert_eq!(nvidia.core_name, "example.com/cores");
    assert_eq!(nvidia.percentage_name, "");
    assert_eq!((nvidia.core_scaling, nvidia.memory_factor), (1.5, 4));
    assert_eq!(nvidia.geometry_for("NVIDIA-A100-PCIE-40GB"), Some(0));
    assert_eq!(nvidia.geometry_for("NVIDIA-A100-SXM4-40GB"), Some(1));
    assert_eq!(nvidia.geometry_for("NVIDIA-A30"), None);
    let second = &nvidia.geometries[0].groups[1];
    assert_eq!(
        (second.name.as_str(), second.instances.len()),
        ("group_2", 2)
    );
    assert_eq!(second.instances[0].memory_mib, 20_480);
    assert_eq!(second.instances[1].memory_mib, 10_240);
}

#[test]
fn an_empty_list_of_geometries_switches_the_built_in_ones_off() {
    let config = parse("nvidia: {knownMigGeometries: []}").expect("valid");
    assert_eq!(config.geometries, []);
}

#[test]
fn a_problem_names_its_path_and_what_to_do() {
    for (text, expected) in [
        ("nvidia: [", "no valid YAML:"),
        (
            "nvidia: {a: 1}\nnvidia: {a: 2}",
            "the document: the key `nvidia` stands in line 1 already;",
        ),
        ("a: 1\n---\nb: 2", "no valid YAML:"),
        ("- nvidia", "the document: must be a map, not a list;"),
        ("nvidia: 3", "nvidia: must be a map, not the number 3;"),
        (
            "nvidia: {resourceCountName: \"\"}",
            "nvidia.resourceCountName: is empty; name a resource",
        ),
        (
            "nvidia: {resourceCoreName: 7}",
            "nvidia.resourceCoreName: must be a text",
        ),
        (
            "nvidia: {resourceCoreName: \"a b\"}",
            "nvidia.resourceCoreName: `a b` contains a blank;",
        ),
        (
            "nvidia: {resourceCoreName: volcano.sh/vgpu-number}",
            "nvidia.resourceCoreName: `volcano.sh/vgpu-number` is the name in resourceCountName",
        ),
        (
            "nvidia: {deviceCoreScaling: -1}",
            "nvidia.deviceCoreScaling: the number -1 cannot",
        ),
        (
            "nvidia: {deviceCoreScaling: .nan}",
            "nvidia.deviceCoreScaling: the number .nan",
        ),
        (
            "nvidia: {deviceMemoryScaling: 0}",
            "nvidia.deviceMemoryScaling: the number 0",
        ),
        (
            "nvidia: {gpuMemoryFactor: -2}",
            "nvidia.gpuMemoryFactor: -2 cannot be used;",
        ),
        (
            "nvidia: {gpuMemoryFactor: 1.5}",
            "nvidia.gpuMemoryFactor: must be a whole number",
        ),
        (
            "nvidia: {knownMigGeometries: {}}",
            "nvidia.knownMigGeometries: must be a list, not a map;",
        ),
        (
            "nvidia: {knownMigGeometries: [x]}",
            "nvidia.knownMigGeometries[0]: must be a map",
        ),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn a_problem_names_line_and_column() {
    for (text, place) in [
        ("nvidia:\n  resourceCountName: [\n", "line 2, column 22: "),
        ("nvidia: {a: 1}\nnvidia: {a: 2}", "line 2, column 1: "),
        ("a: 1\n---\nb: 2", "line 3, column 1: "),
        ("nvidia:\n  gpuMemoryFactor: x", "line 2, column 20: "),
        (
            "nvidia:\n  knownMigGeometries:\n  - models: []",
            "line 3, column 13: ",
        ),
        (
            "nvidia:\n  knownMigGeometries:\n  - x: 1",
            "line 3, column 5: ",
        ),
    ] {
        let found = located(text);
        assert!(found[0].starts_with(place), "{text}: {found:?}");
    }
}

#[test]
fn every_wrong_part_of_a_geometry_is_told_in_one_pass() {
    let text = r#"
nvidia:
  knownMigGeometries:
  - models: [A30]
    allowedGeometries:
    - group: group1
      geometries: [{name: a, memory: 1, count: 1}]
  - models: []
    allowedGeometries:
    - group: a-b
      geometries: [{name: a, memory: 0, count: 0}, {name: "", memory: 3Gi, count: 2000}]
    - group: twice
      geometries: [{memory: -5, count: 1}]
    - group: twice
      geometries: []
  - models: [" "]
"#;
    let base = "nvidia.knownMigGeometries[1]";
    let group = format!("{base}.allowedGeometries");
    let expected = [
        format!("{base}.models: is empty;"),
        format!("{group}[0].group: `a-b` contains `-`;"),
        format!("{group}[0].geometries[0].memory: 0 cannot be used;"),
        format!("{group}[0].geometries[0].count: 0 cannot be used;"),
        format!("{group}[0].geometries[1].name: is missing or empty;"),
        format!("{group}[0].geometries[1].memory: must be a whole number"),
        format!("{group}[0].geometries[1].count: 2000 cannot be used;"),
        format!("{group}[1].geometries[0].name: is missing or empty;"),
        format!("{group}[1].geometries[0].memory: -5 cannot be used;"),
        format!("{group}[2].group: `twice` names an earlier group"),
        format!("{group}[2].geometries: is empty;"),
        "nvidia.knownMigGeometries[2].models[0]: is empty and would match".to_owned(),
        "nvidia.knownMigGeometries[2].allowedGeometries: is missing;".to_owned(),
    ];
    let found = problems(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.starts_with(expected), "{found}\nis not\n{expected}");
    }
}

#[test]
fn aliases_that_grow_without_end_are_a_problem_not_a_hang() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = level - 1;
        let list = vec![format!("*a{before}"); 10].join(", ");
        text += &format!("a{level}: &a{level} [{list}]\n");
    }
    assert!(problems(&text)[0].contains("no valid YAML"));
    let deep = "[".repeat(100_000);
    assert!(problems(&deep)[0].contains("no valid YAML"));
}

proptest::proptest! {
    /// Whatever is cut out of a valid text or put into it, the answer is a configuration whose parts
    /// are in range, or problems.
    #[test]
    fn broken_texts_are_read_within_their_ranges_or_refused(
        at in 0..FULL.len(),
        cut in 0..40_usize,
        put in "[-\\[\\]{}:,&*!|>'\"%@0-9a-z \\n\\PC]{0,8}",
    ) {
        let end = (at + cut).min(FULL.len());
        let text = [&FULL[..at], &put, &FULL[end..]].concat();
        match parse(&text) {
            Err(problems) => proptest::prop_assert!(!problems.is_empty()),
            Ok(nvidia) => {
                proptest::prop_assert!(nvidia.memory_factor >= 1);
                proptest::prop_assert!(nvidia.core_scaling > 0.0);
                proptest::prop_assert!(!nvidia.count_name.is_empty());
                for geometry in &nvidia.geometries {
                    proptest::prop_assert!(!geometry.models.is_empty());
                    for group in &geometry.groups {
                        proptest::prop_assert!(!group.name.is_empty());
                        for instance in &group.instances {
                            proptest::prop_assert!(instance.memory_mib >= 1);
                            proptest::prop_assert!(instance.count >= 1);
                        }
                    }
                }
            }
        }
    }
}
