//! Files that are rendered from the chart.
//!
//! Rendering needs helm, which is not everywhere: the files carry a checksum of the chart, and a
//! test compares. With `HELM=<path>` the test renders them anew.

use std::process::Command;

use super::{files, path, read};

pub const CHART: &str = "deploy/helm/pumice";
/// What the objects of [`FILE`] and [`CONFIGURATION`] are rendered from.
const SOURCES: [&str; 4] = ["Chart.yaml", "config", "templates", "values.yaml"];

pub const FILE: &str = "deploy/install.yaml";
pub const CONFIGURATION: &str = "deploy/once/configuration.yaml";
/// What is installed beside [`FILE`] by who wants it.
const QUEUE_USE: &str = "deploy/optional/queue-use.yaml";
const REQUESTER: &str = "deploy/optional/requester.yaml";

/// What of [`FILE`] an existing Volcano lacks, for the image swap.
const ACCESS: &str = "deploy/image-swap/access.yaml";

fn add(entry: &str, sum: &mut crc32fast::Hasher) {
    if path(entry).is_dir() {
        for name in files(entry) {
            add(&format!("{entry}/{name}"), sum);
        }
    } else {
        sum.update(entry.as_bytes());
        sum.update(read(entry).as_bytes());
    }
}

fn header() -> String {
    let mut sum = crc32fast::Hasher::new();
    for source in SOURCES {
        add(&format!("{CHART}/{source}"), &mut sum);
    }
    let sum = sum.finalize();
    format!("# Rendered from {CHART}, checksum {sum:08x}. Change the chart, not this file.\n")
}

pub fn render(helm: &std::ffi::OsStr, version: &str, values: &str) -> String {
    let output = Command::new(helm)
        .args(["template", "volcano", CHART])
        .args(["--namespace", "volcano-system"])
        // What helm assumes of a cluster it does not ask.
        .args(["--kube-version", version, "--set", values])
        .current_dir(path("."))
        .output()
        .expect("helm runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("helm writes UTF-8")
}

/// Writes the rendered objects, the ConfigMap into a file of its own, and who may ask what once more.
fn write(rendered: &str) {
    let is_configuration = |text: &&str| text.contains("\nkind: ConfigMap\n");
    let (configuration, others): (Vec<&str>, Vec<&str>) =
        objects(rendered).into_iter().partition(is_configuration);
    let is_access = |text: &&&str| text.contains("/templates/access.yaml\n");
    write_file(ACCESS, others.iter().filter(is_access).copied().collect());
    write_file(FILE, others);
    write_file(CONFIGURATION, configuration);
}

/// Texts of the objects.
fn objects(rendered: &str) -> Vec<&str> {
    let texts = rendered
        .split("\n---\n")
        .map(|text| text.trim_start_matches("---\n"));
    texts.filter(|text| !text.trim().is_empty()).collect()
}

fn write_file(file: &str, objects: Vec<&str>) {
    let objects = objects
        .iter()
        .map(|text| format!("---\n{}\n", text.trim_end()));
    let text = header() + &objects.collect::<String>();
    std::fs::write(path(file), text).expect(file);
}

#[test]
fn the_manifests_are_rendered_from_the_chart_as_it_is() {
    if let Some(helm) = std::env::var_os("HELM") {
        write(&render(&helm, "1.36.0", ""));
        for (file, values, name) in [
            (QUEUE_USE, "custom.queue_use_enable=true", "queue-use"),
            (REQUESTER, "custom.requester_enable=true", "requester"),
        ] {
            let rendered = render(&helm, "1.36.0", values);
            let mut objects = objects(&rendered);
            objects.retain(|text| text.contains(&format!("\n  name: pumice-{name}")));
            write_file(file, objects);
        }
    }
    for file in [FILE, CONFIGURATION, ACCESS, QUEUE_USE, REQUESTER] {
        assert_eq!(
            read(file).lines().next(),
            header().lines().next(),
            "{file} is stale; write it with HELM=<path of helm> cargo test -p pumice-testkit"
        );
    }
}
