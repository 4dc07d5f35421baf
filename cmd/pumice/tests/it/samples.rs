//! Every folder of `config/samples` through the real binary, its whole output compared.
//!
//! A sample is a folder of manifests, with a `volcano-scheduler.conf` (which `simulate` finds) and a
//! line of `flags` where it needs them. `expected.txt` is what the table shows, `expected-json.txt` what `--output json`
//! prints. `UPDATE_EXPECT=1 cargo test -p pumice --test it samples::` writes both anew: read the
//! difference before you believe it.

use std::path::{Path, PathBuf};
use std::process::Command;

const LEAST_SAMPLES: usize = 40;

pub fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
    let entries = std::fs::read_dir(&root).expect("config/samples is there");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// Standard output of a run; standard error must stay empty.
fn simulate(sample: &Path, format: &str) -> String {
    let flags = std::fs::read_to_string(sample.join("flags")).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // As a reader of the README names it.
    let name = sample.file_name().expect("a folder's name");
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .current_dir(root)
        .arg("simulate")
        .args(flags.split_whitespace())
        .args(["--output", format])
        .arg(Path::new("config/samples").join(name))
        .output()
        .expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", sample.display());
    assert_eq!(errors, "", "{}", sample.display());
    String::from_utf8(output.stdout).expect("output is text")
}

pub fn differs(sample: &Path, file: &str, actual: &str) -> bool {
    let path = sample.join(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).expect("the sample can be written");
        return false;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != actual {
        eprintln!(
            "{}\n--- expected\n{expected}\n--- actual\n{actual}",
            path.display()
        );
    }
    expected != actual
}

#[test]
fn every_sample_prints_what_stands_beside_it() {
    let samples = samples();
    assert!(
        samples.len() >= LEAST_SAMPLES,
        "only {} samples",
        samples.len()
    );
    let mut different = Vec::new();
    for sample in &samples {
        let table = differs(sample, "expected.txt", &simulate(sample, "table"));
        let json = differs(sample, "expected-json.txt", &simulate(sample, "json"));
        if table || json {
            different.push(sample.display().to_string());
        }
    }
    assert!(different.is_empty(), "output differs: {different:?}");
}

#[test]
fn a_configuration_beside_the_manifests_is_used_and_named() {
    for name in [
        "gpu-number",
        "gpu-sharing",
        "gpu-sharing-spread",
        "vgpu-card-selection",
        "vgpu-modes",
        "vgpu-spread",
    ] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
        let table = simulate(&root.join(name), "table");
        let line = format!("Configuration: config/samples/{name}/volcano-scheduler.conf\n");
        assert!(table.contains(&line), "{table}");
        assert!(!table.contains("\n0 bound"), "{table}");
    }
}

#[test]
fn yaml_output_says_the_same_as_json_output() {
    for sample in samples() {
        // JSON is YAML, and one reader rounds numbers in one way.
        let read = |format| {
            serde_yaml::from_str::<serde_yaml::Value>(&simulate(&sample, format)).expect("YAML")
        };
        let (json, yaml) = (read("json"), read("yaml"));
        assert_eq!(json, yaml, "{}", sample.display());
    }
}

#[test]
fn every_sample_says_in_its_first_line_what_it_shows() {
    for sample in samples() {
        for file in ["cluster.yaml", "workload.yaml"] {
            let Ok(text) = std::fs::read_to_string(sample.join(file)) else {
                continue;
            };
            assert!(text.starts_with("# "), "{}/{file}", sample.display());
        }
    }
}

#[test]
fn the_shipped_configuration_is_the_one_of_the_chart_and_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/volcano-scheduler.conf");
    let text = std::fs::read_to_string(&path).expect("it is there");
    let (_, conf) = text.split_once('\n').expect("a comment line first");
    assert_eq!(conf, pumice_conf::CHART_CONF);
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .args(["check", "--strict"])
        .arg(&path)
        .output()
        .expect("the binary runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
