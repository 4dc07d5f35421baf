//! The map `metrics`: who measures what nodes use (spec/02 §21.1).

use std::collections::BTreeMap;
use std::path::PathBuf;

use pumice_units::duration::parse_go_duration;

/// Known keys of `metrics`, with a sentence for the reference page.
pub const METRIC_KEYS: [(&str, &str); 10] = [
    (
        "type",
        "Who measures what nodes use: `prometheus`, `prometheus_adaptor` (custom metrics API), `elasticsearch`. Without it nobody does.",
    ),
    ("address", "URL of Prometheus or Elasticsearch."),
    (
        "interval",
        "How often it is asked, a duration; default `30s`, at least a second.",
    ),
    (
        "tls.insecureSkipVerify",
        "`true`: whoever answers is believed to be the server.",
    ),
    (
        "tls.caFile",
        "File with the certificates of its authorities; default those of the system.",
    ),
    ("tokenFile", "File with a bearer token to show."),
    (
        "elasticsearch.index",
        "Index, or a pattern of indexes; default `metricbeat-*`.",
    ),
    ("elasticsearch.username", "User."),
    ("elasticsearch.password", "Password of the user."),
    (
        "elasticsearch.hostnameFieldName",
        "Field with the name of the node; default `host.hostname`.",
    ),
];

/// The names of [`METRIC_KEYS`].
pub(crate) fn metric_keys() -> impl Iterator<Item = &'static str> + Clone {
    METRIC_KEYS.iter().map(|(key, _)| *key)
}

/// Values of `type`.
pub const METRIC_TYPES: [&str; 3] = ["prometheus", "prometheus_adaptor", "elasticsearch"];

const DEFAULT_INTERVAL_NS: i64 = 30_000_000_000;
const SHORTEST_INTERVAL_NS: i64 = 1_000_000_000;

/// Who measures what nodes use, and how often it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSource {
    /// Who.
    pub kind: UsageSourceKind,
    /// Milliseconds from one question to the next, a second or more.
    pub interval_ms: u64,
}

/// Kinds of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageSourceKind {
    /// Prometheus, which scrapes node exporters under the names of their nodes.
    Prometheus(HttpSource),
    /// The custom metrics API, asked through the API server.
    CustomMetrics,
    /// Elasticsearch, to which metricbeat of each node writes.
    Elasticsearch {
        /// Where.
        server: HttpSource,
        /// Index, or a pattern of indexes.
        index: String,
        /// Field that has the name of the node.
        host_field: String,
    },
}

/// An HTTP server and how to speak to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSource {
    /// URL.
    pub address: String,
    /// Whoever answers is believed to be the server.
    pub insecure: bool,
    /// Certificates of authorities; those of the system where it is not given.
    pub ca_file: Option<PathBuf>,
    /// File with a bearer token.
    pub token_file: Option<PathBuf>,
    /// User and password.
    pub user: Option<(String, String)>,
}

/// The source a checked configuration names; none without `type`.
#[must_use]
pub fn usage_source(metrics: &BTreeMap<String, String>) -> Option<UsageSource> {
    let given = |key: &str| metrics.get(key).filter(|text| !text.is_empty());
    let or = |key: &str, default: &str| given(key).map_or(default, String::as_str).to_owned();
    let server = |user| {
        Some(HttpSource {
            address: given("address")?.trim_end_matches('/').to_owned(),
            insecure: or("tls.insecureSkipVerify", "") == "true",
            ca_file: given("tls.caFile").map(PathBuf::from),
            token_file: given("tokenFile").map(PathBuf::from),
            user,
        })
    };
    let kind = match given("type")?.as_str() {
        "prometheus" => UsageSourceKind::Prometheus(server(None)?),
        "prometheus_adaptor" => UsageSourceKind::CustomMetrics,
        "elasticsearch" => {
            let name = given("elasticsearch.username").cloned();
            let user = name.map(|name| (name, or("elasticsearch.password", "")));
            UsageSourceKind::Elasticsearch {
                server: server(user)?,
                index: or("elasticsearch.index", "metricbeat-*"),
                host_field: or("elasticsearch.hostnameFieldName", "host.hostname"),
            }
        }
        _ => return None,
    };
    let interval_ns = given("interval").and_then(|text| parse_go_duration(text).ok());
    let interval_ns = interval_ns.filter(|nanos| *nanos > 0);
    let interval_ns = interval_ns.unwrap_or(DEFAULT_INTERVAL_NS);
    Some(UsageSource {
        kind,
        interval_ms: interval_ns.max(SHORTEST_INTERVAL_NS).unsigned_abs() / 1_000_000,
    })
}

/// What is wrong with an address, as it follows its quotation.
pub(crate) fn address_fault(address: &str) -> Option<&'static str> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let host = rest.split('/').next().unwrap_or_default();
    if host.contains('@') {
        return Some("has a user in it, which belongs into keys of its own");
    }
    match (scheme, host) {
        ("http" | "https", host) if !host.is_empty() && !host.contains(char::is_whitespace) => None,
        ("http" | "https", _) => Some("names no host"),
        _ => Some("is no URL"),
    }
}
