//! Chart: what templates read, `values.yaml` explains, and the other way round.

use std::collections::BTreeSet;

use serde_json::Value;

use super::install::{CONTROLLERS, FLAGS, OURS};
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
    for group in ["custom", "monitoring"] {
        used.remove(group);
        let variable = format!("${group}.");
        let keys = words_after(&text, &variable);
        used.extend(keys.map(|key| format!("{group}.{key}")));
    }
    assert_eq!(used, keys(&values(), |group| group));
}

/// Every `group.key`; `inside` finds the keys of a group.
fn keys(groups: &Value, inside: impl Fn(&Value) -> &Value) -> BTreeSet<String> {
    let groups = groups.as_object().expect("a map").iter();
    let keys = groups.flat_map(|(group, value)| {
        let keys = inside(value).as_object().into_iter().flatten();
        keys.map(move |(key, _)| format!("{group}.{key}"))
    });
    keys.collect()
}

fn schema() -> Value {
    serde_json::from_str(&read("deploy/helm/pumice/values.schema.json")).expect("JSON")
}

#[test]
fn the_schema_knows_every_key_and_refuses_misspelt_ones() {
    let schema = schema();
    let known = keys(&schema["properties"], |group| &group["properties"]);
    assert_eq!(known, keys(&values(), |group| group));
    assert_eq!(schema["additionalProperties"], false);
    for group in values().as_object().expect("a map").keys() {
        let additional = &schema["properties"][group]["additionalProperties"];
        assert_eq!(*additional, false, "{group}");
    }
}

#[test]
fn the_schema_accepts_keys_of_volcano_s_other_components_and_of_no_part_of_ours() {
    let schema = schema();
    let patterns = &schema["properties"]["custom"]["patternProperties"];
    let patterns = patterns.as_object().expect("patterns");
    let prefixes: Vec<&str> = patterns
        .keys()
        .find_map(|pattern| pattern.strip_prefix("^(")?.strip_suffix(")_"))
        .expect("a list of prefixes")
        .split('|')
        .collect();
    let is_of_others = |key: &str| {
        let mut rests = prefixes
            .iter()
            .filter_map(|prefix| key.strip_prefix(prefix));
        rests.any(|rest| rest.starts_with('_'))
    };
    for key in "admission_enable agent_scheduler_name aggregationRule_labels colocation_enable \
        enabled_admissions go_memlimit_enable hypernode_controller_mode \
        kube_state_metrics_ns metrics_enable sharding_configmap_data \
        webhooks_namespace_selector_expressions"
        .split(' ')
    {
        assert!(is_of_others(key), "{key}");
    }
    for key in ["scheduler_replica", "leader_elect_enabled", "default_ac"] {
        assert!(!is_of_others(key), "{key}");
    }
}

/// Helm is not there in every test, so what it would render is held by its text.
#[test]
fn values_of_volcano_s_other_components_are_told_to_have_no_effect_after_an_installation() {
    let schema = schema();
    let patterns = &schema["properties"]["custom"]["patternProperties"];
    let patterns = patterns.as_object().expect("patterns");
    let others = patterns.keys().find(|pattern| pattern.ends_with(")_"));
    let notes = read(&format!("{TEMPLATES}/NOTES.txt"));
    let looked_for = format!("$others := {:?}", others.expect("a pattern"));
    assert!(notes.contains(&looked_for), "{looked_for}");
    assert!(notes.contains("These values have no effect"), "{notes}");
}

#[test]
fn the_keys_volcano_users_set_for_their_scheduler_are_known() {
    let values = values();
    for key in [
        "image_registry",
        "image_tag_version",
        "scheduler_image_name",
        "controller_image_name",
        "controller_image_tag_version",
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
    for key in "enable replicas enabled_controllers config_override kube_api_qps kube_api_burst \
        worker_threads worker_threads_for_gc worker_threads_for_podgroup metrics_enable log_level \
        affinity tolerations sc ns main_csc podLabels labels resources"
        .split(' ')
    {
        assert!(
            values["custom"].get(format!("controller_{key}")).is_some(),
            "custom.controller_{key}"
        );
    }
    for key in "leader_elect_enable vap_enable map_enable ignored_provisioners default_affinity default_tolerations \
        default_sc default_ns default_csc common_labels"
        .split(' ')
    {
        assert!(values["custom"].get(key).is_some(), "custom.{key}");
    }
}

#[test]
fn templates_use_flags_the_programs_have() {
    let text = read(&format!("{TEMPLATES}/_names.tpl"));
    let (scheduler, controllers) = text
        .split_once("{{- define \"pumice.controllers.args\" -}}")
        .expect("it is there");
    for (text, known) in [(scheduler, &FLAGS[..]), (controllers, &CONTROLLERS[..])] {
        let flags: Vec<&str> = words_after(text, "- --").collect();
        assert!(flags.len() > 8, "{flags:?}");
        for flag in flags {
            assert!(OURS.contains(&flag) || known.contains(&flag), "--{flag}");
        }
    }
}

#[test]
fn chart_image_and_workspace_have_one_version() {
    let chart = documents("deploy/helm/pumice/Chart.yaml").remove(0);
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
    for patch in ["patch.yaml", "controllers.yaml"] {
        let patch = read(&format!("deploy/image-swap/{patch}"));
        assert!(patch.contains(concat!(":", env!("CARGO_PKG_VERSION"), "\n")));
    }
}
