//! Arguments of plugins and actions.

use crate::{Arguments, Value, parse};

use super::{REGISTRY, clean, codes, with_arguments};

fn arguments(plugin: &str, lines: &str) -> Arguments {
    clean(&with_arguments(plugin, lines)).tiers[0].plugins[0]
        .arguments
        .clone()
}

#[test]
fn values_are_normalised_to_the_kind_of_their_spec() {
    let table = [
        ("binpack", "binpack.weight: 10", Value::Int(10)),
        ("binpack", "binpack.weight: \"10\"", Value::Int(10)),
        ("binpack", "binpack.weight: '0x10'", Value::Int(16)),
        ("binpack", "binpack.weight: 1_0", Value::Int(10)),
        ("binpack", "binpack.weight: 10.0", Value::Int(10)),
        ("binpack", "binpack.weight: \"1e3\"", Value::Int(1000)),
        (
            "binpack",
            "binpack.resources.nvidia.com/gpu: \"2\"",
            Value::Int(2),
        ),
        ("binpack", "binpack.resources: 5", Value::Str("5".into())),
        ("binpack", "binpack.resources: on", Value::Str("on".into())),
        ("overcommit", "overcommit-factor: 2", Value::Float(2.0)),
        ("overcommit", "overcommit-factor: 1.5", Value::Float(1.5)),
        (
            "overcommit",
            "overcommit-factor: \"1.5\"",
            Value::Float(1.5),
        ),
        ("overcommit", "overcommit-factor: 1e1", Value::Float(10.0)),
        (
            "predicates",
            "predicate.CacheEnable: off",
            Value::Bool(false),
        ),
        (
            "predicates",
            "predicate.CacheEnable: \"false\"",
            Value::Bool(false),
        ),
        (
            "predicates",
            "predicate.CacheEnable: \"0\"",
            Value::Bool(false),
        ),
        (
            "predicates",
            "predicate.CacheEnable: \"no\"",
            Value::Bool(false),
        ),
        ("sla", "sla-waiting-time: 1h2m", Value::Str("1h2m".into())),
        (
            "map",
            "a: {b: \"2\"}",
            Value::Map(vec![("b".into(), Value::Int(2))]),
        ),
        ("sla", "sla-waiting-time: 0", Value::Str("0".into())),
    ];
    for (plugin, line, expected) in table {
        let read = arguments(plugin, line);
        let values: Vec<_> = read.iter().map(|(_, value)| value.clone()).collect();
        assert_eq!(values, [expected], "{line}");
    }
}

#[test]
fn values_of_another_kind_are_errors_at_the_value() {
    let table = [
        ("binpack", "binpack.weight: 10.5", "E0301 6:23"),
        ("binpack", "binpack.weight: 1e15", "E0301 6:23"),
        ("binpack", "binpack.weight: \".inf\"", "E0301 6:23"),
        ("binpack", "binpack.weight: heavy", "E0301 6:23"),
        ("binpack", "binpack.weight: true", "E0301 6:23"),
        ("binpack", "binpack.weight: [1]", "E0301 6:23"),
        (
            "binpack",
            "binpack.weight: 9223372036854775808",
            "E0304 6:23",
        ),
        ("binpack", "binpack.resources: {a: 1}", "E0301 6:26"),
        ("binpack", "binpack.weight: !!int x", "E0014 6:29"),
        ("overcommit", "overcommit-factor: .nan", "E0304 6:26"),
        ("overcommit", "overcommit-factor: \".inf\"", "E0304 6:26"),
        ("overcommit", "overcommit-factor: lots", "E0301 6:26"),
        ("predicates", "predicate.CacheEnable: 1", "E0301 6:30"),
        (
            "predicates",
            "predicate.CacheEnable: \"maybe\"",
            "E0301 6:30",
        ),
        ("map", "a: [1]", "E0301 6:10"),
        ("map", "a: {b: lots}", "E0301 6:14"),
        ("sla", "sla-waiting-time: 30", "E0305 6:25"),
        ("sla", "sla-waiting-time: soon", "E0305 6:25"),
        ("sla", "sla-waiting-time: [1h]", "E0301 6:25"),
    ];
    for (plugin, line, expected) in table {
        assert_eq!(codes(&with_arguments(plugin, line)), [expected], "{line}");
    }
}

#[test]
fn a_value_outside_the_sensible_range_is_warned_about_and_passed_on() {
    for (line, expected) in [
        ("overcommit-factor: 0.5", 0.5),
        ("overcommit-factor: 101", 101.0),
    ] {
        let text = with_arguments("overcommit", line);
        assert_eq!(codes(&text), ["W0303 6:26"]);
        let config = parse(&text, &REGISTRY).config.unwrap();
        let read = config
            .plugin("overcommit")
            .unwrap()
            .arguments
            .float("overcommit-factor");
        assert_eq!(read, Some(expected));
    }
}

#[test]
fn an_argument_without_a_value_leaves_the_default() {
    assert!(arguments("binpack", "binpack.weight:").is_empty());
    assert!(
        clean("actions: allocate\ntiers: [{plugins: [{name: gang, arguments: ~}]}]\n").tiers[0]
            .plugins[0]
            .arguments
            .is_empty()
    );
}

#[test]
fn any_values_keep_their_shape() {
    let lines = "resources:\n  nvidia.com/gpu: {type: MostAllocated, weight: 2}\n  5: [on, ~, 1.5]";
    let read = arguments("resource-strategy-fit", lines);
    let pair = |name: &str, value| (name.to_owned(), value);
    let gpu = vec![
        pair("type", Value::Str("MostAllocated".into())),
        pair("weight", Value::Int(2)),
    ];
    let list = vec![Value::Bool(true), Value::Null, Value::Float(1.5)];
    let expected = Value::Map(vec![
        pair("nvidia.com/gpu", Value::Map(gpu)),
        pair("5", Value::List(list)),
    ]);
    assert_eq!(read.get("resources"), Some(&expected));
}

#[test]
fn of_a_key_given_twice_the_last_value_counts() {
    let text = with_arguments(
        "binpack",
        "binpack.weight: 1\nbinpack.cpu: 5\nbinpack.weight: 3",
    );
    assert_eq!(codes(&text), ["W0011 8:7"]);
    let config = parse(&text, &REGISTRY).config.unwrap();
    let read = &config.tiers[0].plugins[0].arguments;
    let pairs: Vec<_> = read.iter().collect();
    assert_eq!(
        pairs,
        [
            ("binpack.weight", &Value::Int(3)),
            ("binpack.cpu", &Value::Int(5))
        ]
    );
}

#[test]
fn merge_keys_fill_in_what_the_map_does_not_give() {
    let text = "actions: allocate\n\
                defaults: &d {binpack.weight: 1, binpack.cpu: 2}\n\
                tiers:\n\
                - plugins:\n  \
                  - name: binpack\n    \
                    arguments:\n      \
                      binpack.weight: 7\n      \
                      <<: *d\n";
    assert_eq!(codes(text), ["W0012 2:1"]);
    let config = parse(text, &REGISTRY).config.unwrap();
    let read = &config.tiers[0].plugins[0].arguments;
    assert_eq!(
        (read.int("binpack.weight"), read.int("binpack.cpu")),
        (Some(7), Some(2))
    );
}

#[test]
fn arguments_of_actions_are_checked_and_free_entries_are_not() {
    let text = "actions: allocate, preempt\n\
                tiers: [{plugins: [{name: gang}]}]\n\
                configurations:\n\
                - name: preempt\n  \
                  arguments: {enableTopologyAwarePreemption: \"true\", \
                              minCandidateNodesPercentage: 20}\n\
                - name: init-params\n  \
                  arguments: {\"grace-over-time\":\"900\",\"presetVirtualDevice\":\"false\"}\n";
    let config = clean(text);
    let preempt = config.configuration("preempt").unwrap();
    assert_eq!(preempt.bool("enableTopologyAwarePreemption"), Some(true));
    assert_eq!(preempt.int("minCandidateNodesPercentage"), Some(20));
    let free = config.configuration("init-params").unwrap();
    assert_eq!(free.get("grace-over-time"), Some(&Value::Str("900".into())));
    assert_eq!(free.int("grace-over-time"), Some(900));
    assert_eq!(free.bool("presetVirtualDevice"), Some(false));
}

#[test]
fn the_first_configuration_with_a_name_wins() {
    let text = "actions: allocate\n\
                tiers: [{plugins: [{name: gang}]}]\n\
                configurations:\n\
                - {name: allocate, arguments: {predicateErrorCacheEnable: false}}\n\
                - {name: allocate, arguments: {predicateErrorCacheEnable: true}}\n";
    assert_eq!(codes(text), ["W0401 5:10"]);
    let config = parse(text, &REGISTRY).config.unwrap();
    let read = config
        .configuration("allocate")
        .unwrap()
        .bool("predicateErrorCacheEnable");
    assert_eq!((config.configurations.len(), read), (1, Some(false)));
}

#[test]
fn metrics_take_any_scalar_as_its_text() {
    let text = "actions: allocate\n\
                tiers: [{plugins: [{name: gang}]}]\n\
                metrics: {type: prometheus, interval: 30s, \
                          tls.insecureSkipVerify: true, address: 017}\n";
    let metrics = clean(text).metrics;
    let pairs: Vec<_> = metrics
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let expected = [
        ("address", "017"),
        ("interval", "30s"),
        ("tls.insecureSkipVerify", "true"),
        ("type", "prometheus"),
    ];
    assert_eq!(pairs, expected);
}
