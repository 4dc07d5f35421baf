//! Arguments of plugins and actions.

use crate::arg::{Arg, ArgMap, ArgMaps, FormedText, GoDuration, OneOf, Text, TextMaps};
use crate::arguments::{Arguments, Value};
use crate::file::parse;
use crate::registry::PluginSpec;

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
        ("sla", "sla-waiting-time: 1.2.3s", "E0305 6:25"),
        ("sla", "sla-waiting-time: [1h]", "E0301 6:25"),
    ];
    for (plugin, line, expected) in table {
        assert_eq!(codes(&with_arguments(plugin, line)), [expected], "{line}");
    }
}

#[test]
fn a_value_out_of_range_is_warned_about_passed_on_and_read_as_what_the_warning_says() {
    const FACTOR: Arg<f64> = Arg::float("overcommit-factor", 1.2, "").min_or_default(1.0);
    const MEMORY: Arg<i64> = Arg::int("binpack.memory", 1, "").min(0).max(100);
    let read = |plugin: &str, line: &str, code: &str| {
        let text = with_arguments(plugin, line);
        let outcome = parse(&text, &REGISTRY);
        let [found] = &outcome.diagnostics[..] else {
            panic!("{line}: {:?}", outcome.diagnostics);
        };
        assert_eq!(codes(&text), [code], "{line}");
        let arguments = outcome.config.unwrap().tiers.remove(0).plugins.remove(0);
        let used = found.message.split("; ").nth(1).unwrap().to_owned();
        (arguments.arguments, used)
    };
    let (arguments, used) = read("overcommit", "overcommit-factor: 0.5", "W0303 6:26");
    assert_eq!(arguments.float("overcommit-factor"), Some(0.5));
    assert_eq!(FACTOR.read(&arguments), 1.2);
    assert_eq!(used, "the default 1.2 is used");
    for (line, counts) in [("binpack.memory: -1", 0), ("binpack.memory: 101", 100)] {
        let (arguments, used) = read("binpack", line, "W0303 6:23");
        assert_eq!(MEMORY.read(&arguments), counts);
        assert_eq!(used, format!("{counts} is used"));
    }
}

#[test]
fn one_constant_is_listed_in_a_spec_and_read_by() {
    const WEIGHT: Arg<i64> = Arg::int("binpack.weight", 1, "Weight of the score.").min(0);
    const SPEC: PluginSpec = PluginSpec {
        name: "binpack",
        summary: "Prefers nodes that end up fuller.",
        args: &[WEIGHT.spec()],
        ..PluginSpec::PLAIN
    };
    assert_eq!(SPEC.args[0].name, "binpack.weight");
    assert_eq!(WEIGHT.read(&Arguments::default()), 1);
    let negative = [("binpack.weight".to_owned(), Value::Int(-5))];
    assert_eq!(WEIGHT.read(&Arguments::from_iter(negative)), 0);
}

#[test]
fn what_is_read_is_of_its_kind_and_the_default_otherwise() {
    const WEIGHT: Arg<i64> = Arg::int("w", 3, "");
    const LISTED: Arg<i64> = Arg::int("r.*", 4, "").min(0).or_default();
    const SWITCH: Arg<bool> = Arg::switch("s", true, "");
    const NAME: Arg<Text> = Arg::text("n", "none", "");
    const KIND: Arg<OneOf> = Arg::choice("k", &["a", "b"], "a", "a is used", "");
    const TIME: Arg<GoDuration> = Arg::duration("t", "");
    const MAP: Arg<ArgMap> = Arg::map("m", &[], "");
    const RULES: Arg<TextMaps> = Arg::text_maps("l", 2, "", "");
    let pair = |(name, value): (&str, Value)| (name.to_owned(), value);
    let text = |text: &str| Value::Str(text.to_owned());
    let team = Value::Map(vec![pair(("team", text("a")))]);
    let none = Arguments::default();
    let other: Arguments = ["w", "r.x", "s", "n", "k", "t", "m", "l"]
        .map(|name| pair((name, Value::Null)))
        .into_iter()
        .collect();
    for arguments in [&none, &other] {
        assert_eq!(WEIGHT.read(arguments), 3);
        assert_eq!(LISTED.read_for(arguments, "x"), 4);
        assert!(SWITCH.read(arguments));
        assert_eq!(NAME.read(arguments), "none");
        assert_eq!(KIND.read(arguments), "a");
        assert_eq!(TIME.read(arguments), None);
        assert!(MAP.read(arguments).is_empty());
        assert_eq!(RULES.read(arguments), Vec::<Vec<_>>::new());
    }
    let given: Arguments = [
        ("w", Value::Int(i64::MAX)),
        ("r.x", text("7")),
        ("r.y", Value::Int(-7)),
        ("s", text("off")),
        ("n", text(" x ")),
        ("k", text("b")),
        ("t", text("1m")),
        ("m", Value::Map(vec![pair(("w", Value::Int(5)))])),
        (
            "l",
            Value::List(vec![team.clone(), Value::Map(vec![]), team]),
        ),
    ]
    .map(pair)
    .into_iter()
    .collect();
    assert_eq!(WEIGHT.read(&given), i64::MAX);
    assert_eq!(LISTED.read_for(&given, "x"), 7);
    assert_eq!(LISTED.read_for(&given, "y"), 4);
    assert!(!SWITCH.read(&given));
    assert_eq!((NAME.read(&given), KIND.read(&given)), ("x", "b"));
    assert_eq!(TIME.read(&given), Some(60_000_000_000));
    assert_eq!(WEIGHT.read(&MAP.read(&given)), 5);
    assert_eq!(
        RULES.read(&given),
        [[("team".to_owned(), "a".to_owned())]],
        "two entries, of which one is empty"
    );
}

#[test]
fn a_choice_within_a_map_is_checked() {
    for (line, expected) in [
        ("b: {cpu: {type: MostAllocated}}", &[][..]),
        ("b: {cpu: {type: }}", &[]),
        ("b: {cpu: {type: ''}}", &[]),
        ("b: {cpu: {type: MostAlocated}}", &["W0308 6:23"]),
        ("b: {cpu: {tpye: MostAllocated}}", &["W0302 6:17"]),
    ] {
        assert_eq!(codes(&with_arguments("map", line)), expected, "{line}");
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
fn metrics_may_be_written_in_sections() {
    let text = "actions: allocate\n\
                tiers: [{plugins: [{name: gang}]}]\n\
                metrics: {type: elasticsearch, address: http://e:9200, \
                          tls: {insecureSkipVerify: false}, elasticsearch: {index: usage-*, username: me}}\n";
    let metrics = clean(text).metrics;
    let given = |key: &str| metrics.get(key).map(String::as_str);
    assert_eq!(given("tls.insecureSkipVerify"), Some("false"));
    assert_eq!(given("elasticsearch.index"), Some("usage-*"));
    assert_eq!(given("elasticsearch.username"), Some("me"));
    assert_eq!(metrics.len(), 5);
}

#[test]
fn metrics_take_any_scalar_as_its_text() {
    let text = "actions: allocate\n\
                tiers: [{plugins: [{name: gang}]}]\n\
                metrics: {type: prometheus, interval: 30s, \
                          tls.insecureSkipVerify: true, address: http://p:9090, elasticsearch.index: 017}\n";
    let metrics = clean(text).metrics;
    let pairs: Vec<_> = metrics
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    let expected = [
        ("address", "http://p:9090"),
        ("elasticsearch.index", "017"),
        ("interval", "30s"),
        ("tls.insecureSkipVerify", "true"),
        ("type", "prometheus"),
    ];
    assert_eq!(pairs, expected);
}

#[test]
fn a_text_of_a_form_is_refused_where_it_has_another_and_lists_of_maps_are_checked_map_by_map() {
    let file = |arguments: &str| {
        format!(
            "actions: allocate\ntiers:\n- plugins:\n  - name: steps\n    arguments:\n{arguments}"
        )
    };
    let faulty = "      even: three\n      steps:\n      - {name: a, count: many}\n      - b\n      - \
                  {nme: c}\n";
    let told = crate::tests::render(&file(faulty));
    for expected in [
        "error[E0311-malformed-text]: `even`: `three` is odd\n --> conf:6:13",
        "write an even number in words, as in `two`",
        "`count` must be a whole number, not the string \"many\"\n --> conf:8:26",
        "an entry of `steps` must be a map, not the string \"b\"\n --> conf:9:9",
        "`steps` has no argument `nme`; it has no effect\n  --> conf:10:10",
        "did you mean `name`?",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    let sound = "      even: \" four \"\n      steps: [{name: a, count: 2}, {name: b}]\n";
    let config = parse(&file(sound), &REGISTRY).config.expect("valid");
    let arguments = &config.plugin("steps").expect("named").arguments;
    let even: Arg<FormedText> = Arg::formed("even", super::EVEN, "two", "");
    let steps: Arg<ArgMaps> = Arg::maps("steps", &[], "");
    let (name, count) = (Arg::text("name", "", ""), Arg::int("count", 1, ""));
    assert_eq!(even.read(arguments), "four");
    let steps = steps.read(arguments);
    let read: Vec<(&str, i64)> = steps
        .iter()
        .map(|step| (name.read(step), count.read(step)))
        .collect();
    assert_eq!(read, [("a", 2), ("b", 1)]);
    assert_eq!(even.read(&Arguments::default()), "two");
}
