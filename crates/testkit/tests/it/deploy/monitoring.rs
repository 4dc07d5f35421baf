//! Dashboard and alerts ask for metrics and labels that exist.

use std::collections::BTreeSet;

use pumice_admin::metrics::{MetricKind, REFERENCE};
use pumice_devices::FAMILIES;
use serde_json::Value;

use super::{documents, read};

/// Labels Prometheus adds to every series, and the bound of histogram buckets.
const COMMON_LABELS: [&str; 5] = ["instance", "job", "namespace", "pod", "le"];

/// What every process exports.
const PROCESS: [&str; 2] = ["process_resident_memory_bytes", "process_cpu_seconds_total"];

/// The identifiers of an expression, each with the byte after it.
fn identifiers(text: &str) -> Vec<(&str, Option<u8>)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let word = &rest[start..];
        let end = word.find(|c: char| !is_word(c)).unwrap_or(word.len());
        rest = &word[end..];
        found.push((&word[..end], rest.bytes().next()));
    }
    found
}

/// The labels a series of this name has; `None`: there is no such series.
fn labels_of(series: &str) -> Option<&'static [&'static str]> {
    if PROCESS.contains(&series) {
        return Some(&[]);
    }
    let mut cards = FAMILIES.iter().flat_map(|family| family.gauges);
    match cards.find(|gauge| gauge.name == series) {
        Some(gauge) if gauge.by_pod => return Some(&["devID", "NodeName", "podName"]),
        Some(_) => return Some(&["devID", "NodeName"]),
        None => {}
    }
    let parts = ["_bucket", "_sum", "_count"];
    REFERENCE.iter().find_map(|family| {
        let matches = match family.kind {
            MetricKind::Histogram(_) => parts
                .iter()
                .any(|part| series.strip_suffix(part) == Some(family.name)),
            MetricKind::Counter | MetricKind::Gauge => series == family.name,
        };
        matches.then_some(family.labels)
    })
}

/// Texts in `open` … `close` of an expression.
fn between<'a>(text: &'a str, open: &'a str, close: char) -> impl Iterator<Item = &'a str> {
    text.match_indices(open).filter_map(move |(at, _)| {
        let rest = &text[at + open.len()..];
        rest.find(close).map(|end| &rest[..end])
    })
}

/// Checks one expression; the labels its series have.
fn check(expression: &str) -> BTreeSet<&'static str> {
    let mut labels = BTreeSet::from(COMMON_LABELS);
    let mut series = 0;
    for (word, _) in identifiers(expression) {
        if ["volcano_", "pumice_", "process_"]
            .iter()
            .any(|prefix| word.starts_with(prefix))
        {
            let known = labels_of(word);
            assert!(known.is_some(), "no metric {word}: {expression}");
            labels.extend(known.into_iter().flatten());
            series += 1;
        }
    }
    assert!(series > 0, "no metric of ours: {expression}");
    for matchers in between(expression, "{", '}') {
        for matcher in matchers.split(',') {
            let label = matcher
                .trim()
                .split(['=', '!', '~'])
                .next()
                .unwrap_or_default();
            assert!(labels.contains(label), "no label {label:?}: {expression}");
        }
    }
    for list in between(expression, " by (", ')') {
        for label in list.split(',').map(str::trim) {
            assert!(labels.contains(label), "no label {label:?}: {expression}");
        }
    }
    let balance = |open, close| {
        let count = |wanted| expression.chars().filter(|c| *c == wanted).count();
        assert_eq!(count(open), count(close), "{expression}");
    };
    balance('(', ')');
    balance('{', '}');
    balance('[', ']');
    labels
}

/// Checks the `{{label}}` of a legend or `{{ $labels.label }}` of a text.
fn check_placeholders(text: &str, labels: &BTreeSet<&str>) {
    for inside in text.split("{{").skip(1) {
        let name = inside.split("}}").next().unwrap_or_default().trim();
        let name = name.strip_prefix("$labels.").unwrap_or(name);
        if !name.starts_with("$value") {
            assert!(labels.contains(name), "no label {name:?}: {text}");
        }
    }
}

#[test]
fn alerts_ask_for_metrics_that_exist_and_say_what_to_do() {
    let rules = documents("deploy/helm/pumice/monitoring/alerts.yaml").remove(0);
    let mut names = BTreeSet::new();
    for rule in rules["groups"][0]["rules"].as_array().expect("rules") {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let labels = check(&text(&rule["expr"]));
        for annotation in ["summary", "description"] {
            check_placeholders(&text(&rule["annotations"][annotation]), &labels);
        }
        let severity = text(&rule["labels"]["severity"]);
        assert!(["warning", "critical"].contains(&severity.as_str()));
        assert!(names.insert(text(&rule["alert"])), "{}", rule["alert"]);
    }
    assert!(names.len() >= 8, "{names:?}");
}

#[test]
fn the_dashboard_asks_for_metrics_that_exist() {
    let text = read("deploy/helm/pumice/monitoring/dashboard.json");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let mut ids = BTreeSet::new();
    let mut expressions = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        assert!(ids.insert(panel["id"].to_string()), "{}", panel["title"]);
        for target in panel["targets"].as_array().into_iter().flatten() {
            let labels = check(target["expr"].as_str().expect("an expression"));
            check_placeholders(target["legendFormat"].as_str().expect("a legend"), &labels);
            expressions += 1;
        }
    }
    assert!(expressions > 20, "{expressions}");
    for variable in dashboard["templating"]["list"]
        .as_array()
        .expect("variables")
    {
        let Some(query) = variable["definition"].as_str() else {
            continue;
        };
        let (metric, label) = query
            .strip_prefix("label_values(")
            .and_then(|rest| rest.strip_suffix(')')?.split_once(", "))
            .expect("label_values(metric, label)");
        let labels = labels_of(metric).expect(metric);
        assert!(labels.contains(&label) || COMMON_LABELS.contains(&label));
    }
}

#[test]
fn other_resources_are_shown_in_units_although_their_series_count_thousandths() {
    let text = read("deploy/helm/pumice/monitoring/dashboard.json");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let expressions = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| target["expr"].as_str().expect("an expression"));
    let thousandths: Vec<&str> = expressions
        .filter(|expression| expression.contains("_scalar_") || expression.contains("_milli_"))
        .collect();
    assert!(thousandths.len() >= 6, "{thousandths:?}");
    for expression in thousandths {
        assert!(expression.ends_with(") / 1000"), "{expression}");
    }
}

#[test]
fn whoever_is_asked_and_does_not_answer_is_alerted_of() {
    let rules = documents("deploy/helm/pumice/monitoring/alerts.yaml").remove(0);
    let rules = rules["groups"][0]["rules"]
        .as_array()
        .expect("rules")
        .clone();
    for metric in ["pumice_node_usage_source_up", "pumice_extender_up"] {
        let expression = format!("min by (instance) ({metric}) == 0");
        let found = rules.iter().find(|rule| rule["expr"] == *expression);
        assert!(found.is_some(), "no alert on {metric}");
    }
}

#[test]
fn the_dashboard_shows_cards_and_held_back_bindings() {
    let text = read("deploy/helm/pumice/monitoring/dashboard.json");
    let alerts = read("deploy/helm/pumice/monitoring/alerts.yaml");
    for metric in [
        "volcano_vgpu_device_allocated_memory",
        "volcano_vgpu_device_allocated_cores",
        "volcano_vgpu_device_shared_number",
        "pumice_device_binds_waiting",
    ] {
        assert!(text.contains(metric), "{metric}");
    }
    for metric in [
        "pumice_device_binds_waiting",
        "pumice_event_suppressed_total",
    ] {
        assert!(alerts.contains(metric), "{metric}");
    }
}
