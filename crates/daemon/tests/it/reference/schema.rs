//! `config/schema.json`: a JSON schema of `volcano-scheduler.conf`, for editors.

use boon::{Compiler, SchemaIndex, Schemas};
use pumice_conf::{ArgDefault, ArgKind, ArgSpec, ENABLE_KEYS, ExclusiveSwitches, METRIC_KEYS};
use pumice_engine::REGISTRY;
use serde_json::{Map, Value, json};

use super::{hold, path};

/// Words that YAML 1.1 or Go read as booleans, for editors that read YAML 1.2.
const BOOLEAN: &str = "^(true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF\
                       |y|Y|n|N|t|T|f|F|1|0)$";

fn boolean() -> Value {
    json!({"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": BOOLEAN}]})
}

fn argument(spec: &ArgSpec) -> Value {
    let mut schema = match spec.kind {
        ArgKind::Int => json!({"anyOf": [
            {"type": "integer"}, {"type": "string", "pattern": "^[-+]?[0-9][0-9_]*$"},
        ]}),
        ArgKind::Float => json!({"anyOf": [
            {"type": "number"},
            {"type": "string", "pattern": "^[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?$"},
        ]}),
        ArgKind::Bool => boolean(),
        ArgKind::Str => json!({"type": ["string", "number", "boolean"]}),
        ArgKind::Choice { values, .. } => {
            let values = values.iter().copied().chain([""]);
            json!({"enum": values.collect::<Vec<_>>()})
        }
        ArgKind::Duration | ArgKind::Formed(_) => json!({"type": "string"}),
        ArgKind::Map(below) => arguments(below, &[]),
        ArgKind::Maps(below) => json!({"type": "array", "items": arguments(below, &[])}),
        ArgKind::TextMaps { most, .. } => {
            json!({"type": "array", "maxItems": most, "items": {
                "type": "object", "additionalProperties": {"type": "string"},
            }})
        }
        ArgKind::Texts(_) => json!({"type": "array", "items": {"type": "string"}}),
        ArgKind::Any => json!({}),
    };
    if let Some(min) = spec.min {
        schema["minimum"] = json!(min);
    }
    if let Some(max) = spec.max {
        schema["maximum"] = json!(max);
    }
    match spec.default {
        ArgDefault::Int(number) => schema["default"] = json!(number),
        ArgDefault::Float(number) => schema["default"] = json!(number),
        ArgDefault::Bool(value) => schema["default"] = json!(value),
        ArgDefault::Str(text) if !text.is_empty() => schema["default"] = json!(text),
        ArgDefault::Str(_) | ArgDefault::None => {}
    }
    schema["description"] = json!(spec.doc);
    schema
}

fn arguments(specs: &[ArgSpec], exclusive: &[ExclusiveSwitches]) -> Value {
    let mut exact = Map::new();
    let mut patterns = Map::new();
    for spec in specs {
        let schema = argument(spec);
        match spec.prefix() {
            Some(prefix) => patterns.insert(format!("^{}.", prefix.replace('.', "\\.")), schema),
            None => exact.insert(spec.name.to_owned(), schema),
        };
    }
    let both_on = |pair: &ExclusiveSwitches| {
        let on = json!({"enum": [true, "true"]});
        json!({"not": {
            "required": [pair.one, pair.other],
            "properties": {pair.one: on, pair.other: on},
        }})
    };
    let mut schema = json!({
        "type": ["object", "null"],
        "properties": exact,
        "patternProperties": patterns,
        "additionalProperties": false,
    });
    let excluded: Vec<Value> = exclusive.iter().map(both_on).collect();
    if !excluded.is_empty() {
        schema["allOf"] = json!(excluded);
    }
    schema
}

/// For each name: with this name, these arguments.
fn by_name<'a>(specs: impl Iterator<Item = (&'a str, Value)>) -> Vec<Value> {
    let rule = |(name, arguments): (&str, Value)| {
        json!({
            "if": {"properties": {"name": {"const": name}}},
            "then": {"properties": {"arguments": arguments}},
        })
    };
    specs.map(rule).collect()
}

fn schema() -> Value {
    let plugins = || REGISTRY.plugins.iter();
    let actions = || REGISTRY.actions.iter();
    let summaries =
        plugins().map(|plugin| json!({"const": plugin.name, "description": plugin.summary}));
    let mut plugin = Map::new();
    plugin.insert(
        "name".into(),
        json!({"oneOf": summaries.collect::<Vec<_>>()}),
    );
    plugin.insert("arguments".into(), json!({"type": ["object", "null"]}));
    for key in ENABLE_KEYS {
        let mut switch = boolean();
        switch["default"] = json!(key.default);
        plugin.insert(key.name.into(), switch);
    }
    let names: Vec<&str> = actions().map(|action| action.name).collect();
    let names = names.join("|");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "volcano-scheduler.conf, as Pumice reads it",
        "type": "object",
        "required": ["actions", "tiers"],
        "additionalProperties": false,
        "properties": {
            "actions": {
                "type": "string",
                "pattern": format!("^\\s*({names})\\s*(,\\s*({names})\\s*)*$"),
                "description": "Actions, separated by commas, in the order in which they run.",
            },
            "tiers": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"plugins": {"type": "array", "items": {
                        "type": "object",
                        "required": ["name"],
                        "additionalProperties": false,
                        "properties": plugin,
                        "allOf": by_name(plugins().map(|plugin| {
                            (plugin.name, arguments(plugin.args, plugin.exclusive))
                        })),
                    }}},
                },
            },
            "configurations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "additionalProperties": false,
                    "properties": {"name": {"type": "string"}, "arguments": {"type": ["object", "null"]}},
                    "allOf": by_name(actions().map(|action| (action.name, arguments(action.args, &[])))),
                },
            },
            "metrics": {"type": "object", "additionalProperties": false, "properties": metrics()},
        },
    })
}

/// The keys of `metrics`; what stands before a dot may be a map of what stands behind it.
fn metrics() -> Map<String, Value> {
    let text = || json!({"type": ["string", "number", "boolean"]});
    let mut metrics: Map<String, Value> = Map::new();
    for (key, _) in METRIC_KEYS {
        metrics.insert(key.to_owned(), text());
        if let Some((section, rest)) = key.split_once('.') {
            let section = metrics.entry(section).or_insert_with(
                || json!({"type": "object", "additionalProperties": false, "properties": {}}),
            );
            section["properties"][rest] = text();
        }
    }
    metrics
}

#[test]
fn the_schema_is_what_the_lists_say() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    hold("config/schema.json", &text);
}

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new() -> Self {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler
            .add_resource("schema.json", schema())
            .expect("a resource");
        let index = compiler
            .compile("schema.json", &mut schemas)
            .expect("a schema");
        Self { schemas, index }
    }

    fn check(&self, text: &str) -> Result<(), String> {
        let value: Value = serde_yaml::from_str(text).expect(text);
        let result = self.schemas.validate(&value, self.index);
        result.map_err(|error| format!("{error:#}"))
    }
}

#[test]
fn every_configuration_that_is_shipped_fits_the_schema() {
    let validator = Validator::new();
    let mut texts = vec![
        pumice_conf::DEFAULT_CONF.to_owned(),
        pumice_conf::CHART_CONF.to_owned(),
        std::fs::read_to_string(path("config/volcano-scheduler.conf")).expect("the chart's"),
    ];
    for sample in std::fs::read_dir(path("config/samples")).expect("samples") {
        let conf = sample
            .expect("a sample")
            .path()
            .join("volcano-scheduler.conf");
        texts.extend(std::fs::read_to_string(conf));
    }
    assert!(texts.len() > 6, "{}", texts.len());
    for text in texts {
        assert_eq!(validator.check(&text), Ok(()), "{text}");
    }
}

/// Texts with one thing wrong each, or none: the schema says what `pumice check --strict` says.
#[test]
fn the_schema_accepts_what_a_strict_check_accepts() {
    let validator = Validator::new();
    let with = |plugin: &str| {
        format!("actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - {plugin}\n")
    };
    let texts = [
        with(
            "name: binpack\n    arguments: {binpack.weight: 5, binpack.resources: nvidia.com/gpu, binpack.resources.nvidia.com/gpu: '2'}",
        ),
        with("name: drf\n    enableHierarchy: 'true'"),
        with("name: predicates\n    arguments:"),
        with("name: nodeorder\n    arguments: {leastrequested.weight: \"3\"}"),
        with("name: overcommit\n    arguments: {overcommit-factor: '1.5'}"),
        with(
            "name: deviceshare\n    arguments: {deviceshare.VGPUEnable: true, deviceshare.SchedulePolicy: spread}",
        ),
        with(
            "name: deviceshare\n    arguments:\n      deviceshare.GPUExclusiveRules: [{app: train}]",
        ),
        with("name: proportion")
            + "configurations:\n- name: allocate\n  arguments: {predicateErrorCacheEnable: false}\n",
        with("name: proportion")
            + "configurations:\n- name: init-params\n  arguments: {anything: [1]}\n",
        with("name: proportion")
            + "metrics: {type: prometheus, address: http://p:9090, interval: 30s, tls.insecureSkipVerify: true}\n",
        with("name: binpakc"),
        with("name: capacity"),
        with("names: binpack"),
        with("name: binpack\n    arguments: {binpack.weight: five}"),
        with("name: binpack\n    arguments: {binpack.wieght: 5}"),
        with("name: binpack\n    arguments: [5]"),
        with("name: binpack\n    enableNodeOrders: true"),
        with("name: binpack\n    enableNodeOrder: perhaps"),
        with("name: overcommit\n    arguments: {overcommit-factor: 0.5}"),
        with("name: deviceshare\n    arguments: {deviceshare.SchedulePolicy: fullest}"),
        with("name: deviceshare\n    arguments: {deviceshare.GPUExclusiveRules: train}"),
        with(
            "name: resource-strategy-fit\n    arguments: {resources: {cpu: {type: MostAllocated}}}",
        ),
        with(
            "name: resource-strategy-fit\n    arguments: {resources: {cpu: {type: MostAlocated}}}",
        ),
        with("name: resource-strategy-fit\n    arguments: {resources: {cpu: {weight: 0}}}"),
        with(
            "name: deviceshare\n    arguments: {deviceshare.GPUSharingEnable: true, deviceshare.VGPUEnable: true}",
        ),
        with("name: drf").replace("allocate", "alocate"),
        with("name: drf").replace("allocate", "allocate,"),
        with("name: drf").replace("allocate", "[allocate]"),
        with("name: drf").replace("actions", "action"),
        with("name: drf").replace("tiers", "tier"),
        with("name: drf").replace("- plugins", "- plugin"),
        with("name: drf")
            + "configurations:\n- name: allocate\n  arguments: {predicateErrorCacheEnable: maybe}\n",
        with("name: drf") + "metrics: {kind: prometheus}\n",
        "actions: allocate\ntiers: 5\n".to_owned(),
        "- actions\n".to_owned(),
    ];
    for text in texts {
        let strict = pumice_conf::parse(&text, &REGISTRY).diagnostics;
        let schema = validator.check(&text);
        let strict: Vec<String> = strict.iter().map(pumice_conf::Diagnostic::brief).collect();
        assert_eq!(
            schema.is_ok(),
            strict.is_empty(),
            "{text}\n{schema:?}\n{strict:#?}"
        );
    }
}
