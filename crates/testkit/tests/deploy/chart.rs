//! Chart: what templates read, `values.yaml` explains, and the other way round.

use std::collections::BTreeSet;

use serde_json::Value;

use super::install::FLAGS;
use super::{documents, files, read};

const TEMPLATES: &str = "deploy/helm/pumice/templates";

fn templates() -> String {
    let names = files(TEMPLATES);
    names
        .iter()
        .map(|name| read(&format!("{TEMPLATES}/{name}")))
        .collect()
}

/// The words (letters, digits, `-`, `_`, `.`) that follow each `prefix`.
fn words_after<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(prefix).map(move |(at, _)| {
        let rest = &text[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        &rest[..end.unwrap_or(rest.len())]
    })
}

fn values() -> Value {
    documents("deploy/helm/pumice/values.yaml").remove(0)
}

#[test]
fn templates_and_values_name_the_same_keys() {
    let text = templates();
    let mut used: BTreeSet<String> = words_after(&text, ".Values.").map(str::to_owned).collect();
    used.remove("custom");
    used.extend(words_after(&text, "$custom.").map(|key| format!("custom.{key}")));
    let mut known = BTreeSet::new();
    for (group, keys) in values().as_object().expect("a map") {
        for key in keys.as_object().expect("a map").keys() {
            known.insert(format!("{group}.{key}"));
        }
    }
    assert_eq!(used, known);
}

#[test]
fn the_keys_volcano_users_set_for_their_scheduler_are_known() {
    let values = values();
    for key in [
        "image_registry",
        "image_tag_version",
        "scheduler_image_name",
        "scheduler_image_tag_version",
        "image_pull_policy",
        "image_pull_secret",
        "scheduler_config_file",
    ] {
        assert!(values["basic"].get(key).is_some(), "basic.{key}");
    }
    // spec/03 F4.
    for key in "enable replicas name config_override schedule_period kube_api_qps kube_api_burst \
        node_worker_threads percentage_nodes_to_find plugins_dir feature_gates metrics_enable \
        pprof_enable sharding_mode sharding_name log_level affinity tolerations sc ns main_csc \
        podLabels labels resources"
        .split(' ')
    {
        assert!(
            values["custom"].get(format!("scheduler_{key}")).is_some(),
            "custom.scheduler_{key}"
        );
    }
    for key in "leader_elect_enable ignored_provisioners default_affinity default_tolerations \
        default_sc default_ns default_csc common_labels"
        .split(' ')
    {
        assert!(values["custom"].get(key).is_some(), "custom.{key}");
    }
}

#[test]
fn templates_use_flags_the_scheduler_has() {
    let text = templates();
    let flags: Vec<&str> = words_after(&text, "- --").collect();
    assert!(flags.len() > 10, "{flags:?}");
    for flag in flags {
        assert!(FLAGS.contains(&flag), "--{flag}");
    }
}

#[test]
fn chart_image_and_workspace_have_one_version() {
    let chart = documents("deploy/helm/pumice/Chart.yaml").remove(0);
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
    let patch = read("deploy/image-swap/patch.yaml");
    assert!(patch.contains(concat!(":", env!("CARGO_PKG_VERSION"), "\n")));
}
