//! Arguments of deviceshare, in a whole configuration file.

mod examples;

use pumice_conf::{CheckOutcome, Severity, parse};

use super::*;
use crate::device_settings as settings;
use crate::testing::REGISTRY;

/// A configuration with these lines below the entry of deviceshare.
fn file(entry: &str) -> CheckOutcome {
    let lines = entry.lines().map(|line| format!("    {line}\n"));
    let entry: String = lines.collect();
    let text = format!(
        "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: gang\n  \
         - name: deviceshare\n{entry}"
    );
    parse(&text, &REGISTRY)
}

fn arguments(lines: &[&str]) -> CheckOutcome {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    file(&format!("arguments:\n{lines}"))
}

fn accepted(outcome: &CheckOutcome) -> Settings {
    assert_eq!(outcome.diagnostics, []);
    settings(outcome.config.as_ref().expect("no errors"))
}

/// Severity, number of the code and message of each finding.
fn findings(outcome: &CheckOutcome) -> Vec<(Severity, &str, &str)> {
    let of = |found: &'static str| found.split('-').next().unwrap_or_default();
    let found = outcome.diagnostics.iter();
    found
        .map(|found| (found.severity, of(found.code), found.message.as_str()))
        .collect()
}

#[test]
fn a_configuration_without_the_plugin_has_no_devices() {
    let outcome = parse(pumice_conf::CHART_CONF, &REGISTRY);
    let config = outcome.config.expect("valid");
    assert_eq!(settings(&config), Settings::default());
    assert!(!settings(&config).configured);
}

#[test]
fn scores_are_rounded_half_up_whatever_their_sign() {
    let scores = [28.87, 0.5, 0.49, 0.0, -0.5, -0.51, -1.5, -240_000.0, 12.0];
    let points = scores.map(check::rounded);
    assert_eq!(points, [29, 1, 0, 0, 0, -1, -1, -240_000, 12]);
}

#[test]
fn the_plugin_without_arguments_has_defaults() {
    let expected = Settings {
        configured: true,
        ..Settings::default()
    };
    assert_eq!(accepted(&file("")), expected);
    assert_eq!(accepted(&file("arguments:")), expected);
    assert_eq!(expected.config_map.1, "volcano-vgpu-device-config");
    assert!(expected.in_flight_guard);
}

#[test]
fn every_argument_is_read_plain_and_quoted() {
    let plain = arguments(&[
        "deviceshare.VGPUEnable: true",
        "deviceshare.GPUSharingEnable: false",
        "deviceshare.GPUNumberEnable: off",
        "deviceshare.NodeLockEnable: yes",
        "deviceshare.InFlightGuard: false",
        "deviceshare.SchedulePolicy: spread",
        "deviceshare.ScheduleWeight: 7",
        "deviceshare.KnownGeometriesCMName: devices",
        "deviceshare.KnownGeometriesCMNamespace: gpu-system",
        "deviceshare.GPUExclusiveRules:",
        "- team: research",
        "  tier: \"1\"",
        "- {app: trainer}",
    ]);
    let quoted = arguments(&[
        "deviceshare.VGPUEnable: \"true\"",
        "deviceshare.GPUSharingEnable: \"False\"",
        "deviceshare.GPUNumberEnable: \"0\"",
        "deviceshare.NodeLockEnable: \"1\"",
        "deviceshare.InFlightGuard: \"f\"",
        "deviceshare.SchedulePolicy: \"spread\"",
        "deviceshare.ScheduleWeight: \"7\"",
        "deviceshare.KnownGeometriesCMName: \"devices\"",
        "deviceshare.KnownGeometriesCMNamespace: 'gpu-system'",
        "deviceshare.GPUExclusiveRules: [{team: research, tier: \"1\"}, {app: trainer}]",
    ]);
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let expected = Settings {
        configured: true,
        gpu_memory: false,
        gpu_number: false,
        vgpu: true,
        mind_cluster: MindCluster::default(),
        ascend_hami: false,
        hami_vendors: Vec::new(),
        node_lock: true,
        in_flight_guard: false,
        policy: Policy::Spread,
        weight: 7,
        config_map: ("gpu-system".to_owned(), "devices".to_owned()),
        exclusive_rules: vec![
            vec![label("team", "research"), label("tier", "1")],
            vec![label("app", "trainer")],
        ],
    };
    assert_eq!(accepted(&plain), expected);
    assert_eq!(accepted(&quoted), expected);
}

#[test]
fn the_weight_counts_only_with_a_policy_unless_it_is_given() {
    for (lines, policy, weight) in [
        (
            &["deviceshare.SchedulePolicy: binpack"][..],
            Policy::Binpack,
            10,
        ),
        (&["deviceshare.SchedulePolicy: spread"], Policy::Spread, 10),
        (&["deviceshare.SchedulePolicy: \"\""], Policy::None, 0),
        (&[], Policy::None, 0),
        (
            &[
                "deviceshare.SchedulePolicy: binpack",
                "deviceshare.ScheduleWeight: 0",
            ],
            Policy::Binpack,
            0,
        ),
        (
            &[
                "deviceshare.SchedulePolicy: binpack",
                "deviceshare.ScheduleWeight: 3.0",
            ],
            Policy::Binpack,
            3,
        ),
        (&["deviceshare.ScheduleWeight: 5"], Policy::None, 5),
    ] {
        let settings = accepted(&arguments(lines));
        assert_eq!(
            (settings.policy, settings.weight),
            (policy, weight),
            "{lines:?}"
        );
    }
}

#[test]
fn the_policy_fragmentation_weighs_as_much_as_the_others() {
    let outcome = arguments(&["deviceshare.SchedulePolicy: fragmentation"]);
    // That nobody keeps a mix there is a warning.
    let settings = settings(outcome.config.as_ref().expect("no errors"));
    assert_eq!(
        (settings.policy, settings.weight),
        (Policy::Fragmentation, 10)
    );
}

#[test]
fn node_order_switched_off_switches_the_score_off() {
    for (switch, weight) in [("true", 10), ("\"false\"", 0)] {
        let outcome = file(&format!(
            "enableNodeOrder: {switch}\nenablePredicate: false\narguments:\n  \
             deviceshare.VGPUEnable: true\n  deviceshare.SchedulePolicy: binpack"
        ));
        let settings = accepted(&outcome);
        assert_eq!((settings.vgpu, settings.weight), (true, weight));
    }
}

#[test]
fn modes_that_would_manage_the_same_gpus_are_rejected_with_both_places() {
    for (one, other) in [
        (GPU_MEMORY, GPU_NUMBER),
        (GPU_MEMORY, VGPU),
        (GPU_NUMBER, VGPU),
    ] {
        let outcome = arguments(&[&format!("{other}: \"true\""), &format!("{one}: true")]);
        let message = format!("`{one}` and `{other}` exclude each other");
        let expected = [(Severity::Error, "E0306", message.as_str())];
        assert_eq!(findings(&outcome), expected);
        assert_eq!(outcome.config, None);
        let found = &outcome.diagnostics[0];
        assert_eq!((found.line, found.column), (8, 7));
        let help = found.help.as_deref().unwrap_or_default();
        assert!(
            help.starts_with("the other one is on at line 7; "),
            "{help}"
        );
    }
}

#[test]
fn vendors_are_named_in_any_case_and_an_unknown_one_is_an_error_that_names_them_all() {
    let outcome = arguments(&["deviceshare.HAMiVendors: [NVIDIA, hygon]"]);
    assert_eq!(accepted(&outcome).hami_vendors, ["NVIDIA", "hygon"]);
    assert!(accepted(&outcome).reads_config_map());
    assert!(accepted(&file("")).hami_vendors.is_empty());
    let outcome = arguments(&["deviceshare.HAMiVendors: [NVIDIA, DCUU]"]);
    let [(Severity::Error, "E0311", message)] = findings(&outcome)[..] else {
        panic!("{:?}", outcome.diagnostics);
    };
    assert_eq!(
        message,
        "`deviceshare.HAMiVendors`: `DCUU` is no vendor; there are NVIDIA, Hygon, Cambricon, \
         Iluvatar, Mthreads, MetaX, Kunlun, AWSNeuron, Enflame, Vastai, Biren, AMD"
    );
    assert_eq!((outcome.diagnostics[0].line, outcome.config), (7, None));
}

#[test]
fn what_means_nothing_is_told() {
    for (line, code, severity) in [
        (
            "deviceshare.SchedulePolicy: Binpack",
            "W0308",
            Severity::Warning,
        ),
        ("deviceshare.ScheduleWeight: -1", "W0303", Severity::Warning),
        (
            "deviceshare.GPUExclusiveRules: [{}]",
            "W0310",
            Severity::Warning,
        ),
        ("deviceshare.VGPUEnabled: true", "W0302", Severity::Warning),
        (
            "deviceshare.GPUExclusiveRules: team",
            "E0301",
            Severity::Error,
        ),
        (
            "deviceshare.GPUExclusiveRules: [{team: 1}]",
            "E0301",
            Severity::Error,
        ),
        (
            "deviceshare.ScheduleWeight: heavy",
            "E0301",
            Severity::Error,
        ),
        ("deviceshare.VGPUEnable: maybe", "E0301", Severity::Error),
    ] {
        let outcome = arguments(&[line]);
        let [(found, number, _)] = findings(&outcome)[..] else {
            panic!("{line}: {:?}", outcome.diagnostics);
        };
        assert_eq!((number, found), (code, severity), "{line}");
        assert_eq!(outcome.config.is_some(), severity == Severity::Warning);
        if let Some(config) = outcome.config {
            let expected = Settings {
                configured: true,
                ..Settings::default()
            };
            assert_eq!(settings(&config), expected, "{line}");
        }
    }
    let many = vec!["{a: b}"; 65].join(", ");
    let outcome = arguments(&[&format!("deviceshare.GPUExclusiveRules: [{many}]")]);
    assert_eq!(findings(&outcome)[0].1, "E0309");
}

#[test]
fn init_params_are_read_quoted_and_not_and_nonsense_leaves_the_defaults() {
    let read = |params: &str| {
        let switch = MIND_CLUSTER.name();
        let text = format!(
            "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: deviceshare\n    \
             arguments: {{{switch}: true}}\nconfigurations:\n- name: init-params\n  \
             arguments: {params}\n"
        );
        let settings = accepted(&parse(&text, &REGISTRY));
        assert_eq!(settings.weight, 10);
        settings.mind_cluster
    };
    let default = MindCluster {
        enabled: true,
        ..MindCluster::default()
    };
    let changed = MindCluster {
        preset_virtual_device: true,
        use_cluster_info_manager: false,
        self_maintain_available_card: false,
        grace_over_time_s: 60,
        ..default.clone()
    };
    for params in [
        "{\"presetVirtualDevice\":\"true\",\"useClusterInfoManager\":\"false\",\
         \"self-maintain-available-card\":\"false\",\"grace-over-time\":\"60\"}",
        "{presetVirtualDevice: true, useClusterInfoManager: false, \
         self-maintain-available-card: no, grace-over-time: 60}",
        "{presetVirtualDevice: true, useClusterInfoManager: sometimes, \
         self-maintain-available-card: \"\", grace-over-time: 60, super-pod-size: 48}",
    ] {
        assert_eq!(read(params), changed, "{params}");
    }
    for params in [
        "{}",
        "{\"grace-over-time\":\"900\",\"presetVirtualDevice\":\"false\"}",
        "{grace-over-time: 1, presetVirtualDevice: \"\"}",
        "{grace-over-time: 3601}",
        "{grace-over-time: soon, reserve-nodes: 2, nslb-version: \"1.0\", forceEnqueue: true}",
        "{presetVirtualDevice: true, useClusterInfoManager: false, nested: [1]}",
    ] {
        assert_eq!(read(params), default, "{params}");
    }
}
