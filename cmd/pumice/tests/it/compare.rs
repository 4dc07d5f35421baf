//! `pumice compare` as its users call it: exit codes, the two ways of comparing, and what it says of bad input.

use std::path::Path;
use std::process::{Command, Output};

const SPREAD: &str = "config/samples/vgpu-spread";
const BINPACK: &str = "config/samples/vgpu-modes/volcano-scheduler.conf";
const OWN: &str = "config/samples/vgpu-spread/volcano-scheduler.conf";

fn pumice(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pumice"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn the_exit_code_says_whether_something_differs_where_it_is_asked_for() {
    let over = ["--over", SPREAD];
    let run = |rest: &[&str]| pumice(&[&["compare"], rest, &over].concat());
    assert_eq!(code(&run(&[BINPACK, OWN])), Some(0));
    assert_eq!(code(&run(&[BINPACK, OWN, "--exit-code"])), Some(3));
    assert_eq!(code(&run(&[OWN, OWN, "--exit-code"])), Some(0));
}

#[test]
fn results_that_were_kept_differ_as_the_configurations_do() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let simulated = |config: &str, name: &str| {
        let path = folder.join(format!("compared-{name}"));
        let output = pumice(&["simulate", SPREAD, "--config", config, "--output", "json"]);
        std::fs::write(&path, output.stdout).expect("written");
        path.display().to_string()
    };
    let (a, b) = (simulated(BINPACK, "a.json"), simulated(OWN, "b.json"));
    let json = |arguments: &[&str]| {
        let output = pumice(&[&["compare", "--output", "json"], arguments].concat());
        let mut value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let settings = value.as_object_mut().expect("an object").remove("settings");
        (value, settings.is_some())
    };
    let (of_results, has_settings) = json(&[&a, &b]);
    assert!(!has_settings);
    let (of_configurations, has_settings) = json(&[BINPACK, OWN, "--over", SPREAD]);
    assert!(has_settings);
    assert_eq!(of_results, of_configurations);
    assert_eq!(of_results["pods"][0]["a"], "on gpu-1, card 0 (GPU-a1)");
}

#[test]
fn what_cannot_be_compared_is_said_with_what_to_do() {
    for (arguments, said) in [
        (&["no-such.json", OWN][..], "no-such.json"),
        (&[BINPACK, OWN], "named with --over"),
        (&[BINPACK, OWN, "--over", "no-such"], "no-such"),
        (&[SPREAD, OWN, "--over", SPREAD], SPREAD),
        (&[BINPACK, OWN, "--over", OWN], "no object could be read"),
        (
            &[BINPACK, OWN, "--over", SPREAD, "--pod", "p"],
            "--pod names a scheduler",
        ),
        (
            &[BINPACK, OWN, "--over", SPREAD, "--server", "http://h"],
            "--server names a scheduler",
        ),
        (
            &[BINPACK, OWN, "--over", SPREAD, "--lease-name", "l"],
            "--lease-name names a scheduler",
        ),
    ] {
        let output = pumice(&[&["compare"], arguments].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(said) && text.contains("help:"), "{text}");
    }
}
