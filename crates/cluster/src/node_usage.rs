//! What nodes use, asked of whoever measures it (spec/02 §21.1).
//!
//! ```text
//!  UsageSource ─► UsageClient::read ─┬ Prometheus           two instant queries
//!                                    ├ custom metrics API   two lists, of the API server
//!                                    └ Elasticsearch        one search
//!                          pumice_ingest reads the answers ─► UsageNews
//! ```
//!
//! A question has a deadline, an answer a largest size; nothing is repeated here.

use std::time::Duration;

use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use kube::Client;
use pumice_conf::{UsageSource, UsageSourceKind};
use pumice_ingest::{UsageNews, node_usages, of_custom_metrics, of_elasticsearch, of_prometheus};
use serde_json::json;

use crate::client::describe;
use crate::outside::connect;

/// Longest time for all questions of one reading.
const LONGEST: Duration = Duration::from_secs(10);
/// Largest answer, in bytes.
const LARGEST: usize = 32 << 20;
/// How much of an answer is repeated in an error, in characters.
const SHOWN: usize = 200;

/// cpu of all nodes: of ten minutes, in steps of half a minute, what was not idle.
const PROMETHEUS_CPU: &str = "avg_over_time(clamp_min(100 - 100 * \
    avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"}[5m])), 0)[10m:30s])";
/// Memory of all nodes, likewise.
const PROMETHEUS_MEMORY: &str = "100 * avg_over_time((1 - \
    avg by (instance) (node_memory_MemAvailable_bytes) / \
    avg by (instance) (node_memory_MemTotal_bytes))[10m:30s])";

const CUSTOM_METRICS: &str = "/apis/custom.metrics.k8s.io";
/// Versions of the custom metrics API, the newest first.
const CUSTOM_VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];
const CUSTOM_CPU: &str = "node_cpu_usage_avg";
const CUSTOM_MEMORY: &str = "node_memory_usage_avg";

/// Nodes in one answer of Elasticsearch.
const MAX_NODES: u32 = 10_000;

/// Asks one source.
pub struct UsageClient {
    client: Client,
    kind: UsageSourceKind,
    deadline: Duration,
}

impl UsageClient {
    /// Nothing is sent yet. `api` is the way to the API server.
    ///
    /// # Errors
    /// One sentence on what of address or files cannot be used.
    pub fn new(source: &UsageSource, api: &Client, user_agent: &str) -> Result<Self, String> {
        let client = match &source.kind {
            UsageSourceKind::CustomMetrics => api.clone(),
            UsageSourceKind::Prometheus(server) | UsageSourceKind::Elasticsearch { server, .. } => {
                connect(server, user_agent)?
            }
        };
        Ok(Self {
            client,
            kind: source.kind.clone(),
            deadline: LONGEST.min(Duration::from_millis(source.interval_ms)),
        })
    }

    /// What was measured, as known at `now_s`, seconds since the epoch.
    ///
    /// # Errors
    /// One sentence on why nothing is known: no answer in time, a refusal, an answer that is none.
    pub async fn read(&self, now_s: i64) -> Result<UsageNews, String> {
        let answer = tokio::time::timeout(self.deadline, self.ask(now_s)).await;
        let news = answer.map_err(|_| format!("no answer within {:?}", self.deadline))??;
        match news.nodes.is_empty() && news.refused.is_empty() {
            true => Err("the answer tells of no node".to_owned()),
            false => Ok(news),
        }
    }

    async fn ask(&self, now_s: i64) -> Result<UsageNews, String> {
        let (cpu, memory) = match &self.kind {
            UsageSourceKind::Prometheus(_) => (
                of_prometheus(&self.query(PROMETHEUS_CPU).await?)?,
                of_prometheus(&self.query(PROMETHEUS_MEMORY).await?)?,
            ),
            UsageSourceKind::CustomMetrics => (
                of_custom_metrics(&self.custom_metric(CUSTOM_CPU).await?)?,
                of_custom_metrics(&self.custom_metric(CUSTOM_MEMORY).await?)?,
            ),
            UsageSourceKind::Elasticsearch {
                index, host_field, ..
            } => of_elasticsearch(&self.search(index, host_field).await?, now_s)?,
        };
        Ok(node_usages(&cpu, &memory, now_s))
    }

    async fn query(&self, query: &str) -> Result<Bytes, String> {
        let path = format!("/api/v1/query?query={}", percent_encoded(query));
        self.fetch(&path, None).await
    }

    async fn custom_metric(&self, metric: &str) -> Result<Bytes, String> {
        let mut last = String::new();
        for version in CUSTOM_VERSIONS {
            let path = format!("{CUSTOM_METRICS}/{version}/nodes/*/{metric}");
            let (status, body) = self.send(&path, None).await?;
            match status {
                StatusCode::NOT_FOUND => last = refusal(status, &body),
                _ => return accepted(status, body),
            }
        }
        Err(last)
    }

    async fn search(&self, index: &str, host_field: &str) -> Result<Bytes, String> {
        let average = |field: &str| json!({"avg": {"field": field}});
        let search = json!({
            "size": 0,
            "query": {"bool": {"must": [
                {"range": {"@timestamp": {"gte": "now-10m", "lt": "now"}}},
            ]}},
            "aggs": {"nodes": {
                "terms": {"field": host_field, "size": MAX_NODES},
                "aggs": {
                    "cpu": average("host.cpu.usage"),
                    "memory": average("system.memory.actual.used.pct"),
                },
            }},
        });
        let path = format!("/{}/_search", percent_encoded(index));
        self.fetch(&path, Some(search.to_string())).await
    }

    async fn fetch(&self, path: &str, body: Option<String>) -> Result<Bytes, String> {
        let (status, body) = self.send(path, body).await?;
        accepted(status, body)
    }

    /// GET, or POST of JSON.
    async fn send(&self, path: &str, body: Option<String>) -> Result<(StatusCode, Bytes), String> {
        let method = if body.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let request = Request::builder().method(method).uri(path);
        let request = match &body {
            Some(_) => request.header(http::header::CONTENT_TYPE, "application/json"),
            None => request,
        };
        let body = body.unwrap_or_default().into_bytes();
        let request = request.body(kube::client::Body::from(body));
        let request = request.map_err(|error| describe(&error))?;
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| describe(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| describe(error.as_ref()))?;
        Ok((status, body.to_bytes()))
    }
}

fn accepted(status: StatusCode, body: Bytes) -> Result<Bytes, String> {
    match status.is_success() {
        true => Ok(body),
        false => Err(refusal(status, &body)),
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.is_empty() {
        true => format!("HTTP {status}"),
        false => format!("HTTP {status}: {text}"),
    }
}

/// All but letters, digits, `-`, `.` and `_` as `%` and two digits.
fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' => out.push(byte.into()),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests;
