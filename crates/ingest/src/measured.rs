//! What sources of node usage answer (spec/02 §21.1): JSON of Prometheus, of the custom metrics API and of
//! Elasticsearch.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pumice_model::object::NodeUsage;
use pumice_units::quantity;
use serde::Deserialize;

use crate::meta;

/// All of a node, in per cent.
const WHOLE: f64 = 100.0;
/// Averages of rates come out a little above the whole.
const LARGEST: f64 = 110.0;
/// Thousandths of a per cent in one.
const STORED: f64 = 1000.0;
/// Clocks may differ by so much.
const SKEW_S: i64 = 60;

/// One answer: how much each node used, in per cent, and when that was.
pub type Measured = BTreeMap<String, (f64, i64)>;

/// What was measured of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageNews {
    /// By node.
    pub nodes: Vec<(String, NodeUsage)>,
    /// Nodes of which something else was told than a use of cpu and memory, and why that is none.
    pub refused: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct PrometheusAnswer {
    data: Option<PrometheusData>,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrometheusData {
    result_type: String,
    result: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct PrometheusSample {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

/// The answer of Prometheus to an instant query, by label `instance`.
///
/// # Errors
/// It is not one.
pub fn of_prometheus(body: &[u8]) -> Result<Measured, String> {
    let answer: PrometheusAnswer = read(body)?;
    let Some(data) = answer.data else {
        return Err(format!("an error: {}", answer.error));
    };
    if data.result_type != "vector" {
        return Err(format!("a {} in place of a vector", data.result_type));
    }
    let mut measured = Measured::new();
    for sample in data.result {
        let sample: PrometheusSample = serde_json::from_value(sample)
            .map_err(|error| format!("a sample that cannot be read: {error}"))?;
        let Some(node) = sample.metric.get("instance") else {
            continue;
        };
        let (at_s, value) = sample.value;
        // `NaN` and the infinities are numbers here.
        let value = value.parse().unwrap_or(f64::NAN);
        let entry = measured.entry(node.clone());
        entry.or_insert((value, at_s as i64));
    }
    Ok(measured)
}

#[derive(Deserialize)]
struct MetricValueList {
    items: Vec<MetricValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricValue {
    described_object: DescribedObject,
    timestamp: Time,
    value: String,
}

#[derive(Deserialize)]
struct DescribedObject {
    #[serde(default)]
    name: String,
}

/// A `MetricValueList` of the custom metrics API, whose values are parts of 1.
///
/// # Errors
/// It is not one.
pub fn of_custom_metrics(body: &[u8]) -> Result<Measured, String> {
    let list: MetricValueList = read(body)?;
    let items = list.items.into_iter();
    let measured = items.map(|item| {
        let part = quantity::parse(&item.value);
        let part = part.map_or(f64::NAN, |part| part.milli_ceil() as f64 / 1000.0);
        let at_s = meta::seconds(Some(&item.timestamp));
        (item.described_object.name, (part * WHOLE, at_s))
    });
    Ok(measured.collect())
}

#[derive(Deserialize)]
struct SearchAnswer {
    aggregations: Option<SearchByNode>,
}

#[derive(Deserialize)]
struct SearchByNode {
    nodes: SearchBuckets,
}

#[derive(Deserialize)]
struct SearchBuckets {
    buckets: Vec<SearchBucket>,
}

#[derive(Deserialize)]
struct SearchBucket {
    key: String,
    cpu: SearchAverage,
    memory: SearchAverage,
}

#[derive(Deserialize)]
struct SearchAverage {
    value: Option<f64>,
}

/// The answer of Elasticsearch to a search by node, whose averages of `cpu` and `memory` are parts of 1: of cpu
/// and of memory, as of `now_s`.
///
/// # Errors
/// It is not one.
pub fn of_elasticsearch(body: &[u8], now_s: i64) -> Result<(Measured, Measured), String> {
    let answer: SearchAnswer = read(body)?;
    let found = answer.aggregations.ok_or("no aggregations")?;
    let (mut cpu, mut memory) = (Measured::new(), Measured::new());
    for bucket in found.nodes.buckets {
        for (of, average) in [(&mut cpu, bucket.cpu), (&mut memory, bucket.memory)] {
            if let Some(part) = average.value {
                of.insert(bucket.key.clone(), (part * WHOLE, now_s));
            }
        }
    }
    Ok((cpu, memory))
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("what is not such an answer: {error}"))
}

/// Brings cpu and memory of nodes together, as they were told at `now_s`, seconds since the epoch.
pub fn node_usages(cpu: &Measured, memory: &Measured, now_s: i64) -> UsageNews {
    let mut found = UsageNews::default();
    for (node, (cpu, cpu_s)) in cpu {
        let Some((memory, memory_s)) = memory.get(node) else {
            let why = "nothing is told of its memory".to_owned();
            found.refused.push((node.clone(), why));
            continue;
        };
        match usage(*cpu, *memory, *cpu_s.min(memory_s), now_s) {
            Ok(usage) => found.nodes.push((node.clone(), usage)),
            Err(why) => found.refused.push((node.clone(), why)),
        }
    }
    let only = memory.keys().filter(|node| !cpu.contains_key(*node));
    let only = only.map(|node| (node.clone(), "nothing is told of its cpu".to_owned()));
    found.refused.extend(only);
    found
}

fn usage(cpu: f64, memory: f64, at_s: i64, now_s: i64) -> Result<NodeUsage, String> {
    let stored = |what: &str, percent: f64| match percent {
        percent if (0.0..=LARGEST).contains(&percent) => Ok((percent.min(WHOLE) * STORED) as i64),
        percent => Err(format!("{what} of {percent} % is no use of a node")),
    };
    let usage = NodeUsage {
        cpu: stored("cpu", cpu)?,
        memory: stored("memory", memory)?,
        at_s: at_s.min(now_s),
    };
    if at_s > now_s.saturating_add(SKEW_S) {
        let ahead_s = at_s.saturating_sub(now_s);
        return Err(format!("it is told of a time {ahead_s} s from now"));
    }
    if usage.is_old_from_s() <= now_s {
        let age_s = now_s.saturating_sub(at_s);
        return Err(format!("it was measured {age_s} s ago"));
    }
    Ok(usage)
}
