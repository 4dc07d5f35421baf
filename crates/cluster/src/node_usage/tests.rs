//! Sources as they are, and as they should not be, on loopback.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pumice_conf::usage_source;
use pumice_scripted::{Answer, Door, Seen, Server};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::*;

const NOW_S: i64 = 1_000_000;

/// The map `metrics` of a configuration.
fn source(pairs: &[(&str, &str)]) -> UsageSource {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    usage_source(&pairs.collect::<BTreeMap<_, _>>()).expect("a source")
}

/// What a client of the source reads. The API server is nobody.
async fn read(pairs: &[(&str, &str)]) -> Result<UsageNews, String> {
    let api = pumice_scripted::client(pumice_scripted::nobody());
    UsageClient::new(&source(pairs), &api, "tests")?
        .read(NOW_S)
        .await
}

/// The nodes and, after `!`, those that were refused.
fn shown(news: Result<UsageNews, String>) -> String {
    let news = news.unwrap_or_else(|why| panic!("{why}"));
    let nodes = news.nodes.iter().map(|(name, usage)| {
        format!(
            "{name} {} {} {}",
            usage.cpu,
            usage.memory,
            usage.at_s - NOW_S
        )
    });
    let refused = news
        .refused
        .iter()
        .map(|(name, why)| format!("! {name}: {why}"));
    nodes.chain(refused).collect::<Vec<_>>().join("\n")
}

/// An answer of Prometheus with these samples: instance, seconds from now, value.
fn vector(samples: &[(&str, i64, &str)]) -> Answer {
    let samples = samples.iter().map(|(instance, at, value)| {
        json!({"metric": {"instance": instance}, "value": [(NOW_S + at) as f64 + 0.25, value]})
    });
    let samples: Vec<_> = samples.collect();
    let answer = json!({"status": "success", "data": {"resultType": "vector", "result": samples}});
    Answer::Text(200, answer.to_string())
}

fn asks_for_memory(seen: &Seen) -> bool {
    seen.path.contains("MemAvailable")
}

#[tokio::test]
async fn prometheus_tells_of_all_nodes_in_two_answers() {
    let server = Server::start(|heard| match asks_for_memory(heard) {
        false => vector(&[("n1", 0, "12.5"), ("n2", -1, "100.4"), ("n1", 0, "90")]),
        true => vector(&[("n1", 0, "40"), ("n2", 0, "0")]),
    })
    .await;
    let address = format!("http://{}/prom/", server.address());
    let news = read(&[("type", "prometheus"), ("address", &address)]).await;
    assert_eq!(shown(news), "n1 12500 40000 0\nn2 100000 0 -1");
    let lines: Vec<String> = server.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let query =
        "GET /prom/api/v1/query?query=avg_over_time%28clamp_min%28100%20-%20100%20%2A%20avg%20by";
    assert!(lines[0].starts_with(query), "{lines:?}");
}

#[tokio::test]
async fn numbers_that_are_no_use_of_a_node_are_refused_node_by_node() {
    let server = Server::start(|heard| match asks_for_memory(heard) {
        false => vector(&[
            ("good", 0, "10"),
            ("nan", 0, "NaN"),
            ("infinite", 0, "+Inf"),
            ("negative", 0, "-3"),
            ("huge", 0, "1e9"),
            ("text", 0, "much"),
            ("old", -301, "10"),
            ("ahead", 3600, "10"),
            ("half", 0, "10"),
        ]),
        true => vector(&[
            ("good", 0, "10"),
            ("nan", 0, "10"),
            ("infinite", 0, "10"),
            ("negative", 0, "10"),
            ("huge", 0, "10"),
            ("text", 0, "10"),
            ("old", 0, "10"),
            ("ahead", 3600, "10"),
            ("other half", 0, "10"),
        ]),
    })
    .await;
    let address = format!("http://{}", server.address());
    let news = read(&[("type", "prometheus"), ("address", &address)]).await;
    let expected = "good 10000 10000 0
! ahead: it is told of a time 3600 s from now
! half: nothing is told of its memory
! huge: cpu of 1000000000 % is no use of a node
! infinite: cpu of inf % is no use of a node
! nan: cpu of NaN % is no use of a node
! negative: cpu of -3 % is no use of a node
! old: it was measured 301 s ago
! text: cpu of NaN % is no use of a node
! other half: nothing is told of its cpu";
    assert_eq!(shown(news), expected);
}

#[tokio::test]
async fn a_source_that_is_down_silent_or_answers_something_else_is_an_error_in_words() {
    let text = |status: u16, text: &str| Answer::Text(status, text.to_owned());
    let cases: [(Answer, &str); 8] = [
        (
            text(503, "no\n leader"),
            "HTTP 503 Service Unavailable: no leader",
        ),
        (text(500, ""), "HTTP 500 Internal Server Error"),
        (
            text(200, "<html>"),
            "what is not such an answer: expected value",
        ),
        (text(200, "{}"), "an error: "),
        (
            text(200, r#"{"status":"error","error":"too many samples"}"#),
            "an error: too many samples",
        ),
        (
            text(200, r#"{"data":{"resultType":"matrix","result":[]}}"#),
            "a matrix in place of a vector",
        ),
        (vector(&[]), "the answer tells of no node"),
        (Answer::Silence, "no answer within 1s"),
    ];
    for (reply, expected) in cases {
        let server = Server::start(move |_| reply.clone()).await;
        let address = format!("http://{}", server.address());
        let pairs = [
            ("type", "prometheus"),
            ("address", &*address),
            ("interval", "1s"),
        ];
        let why = read(&pairs).await.expect_err("an error");
        assert!(why.starts_with(expected), "{why} {expected}");
    }
    let address = format!("http://{}", pumice_scripted::nobody());
    let why = read(&[("type", "prometheus"), ("address", &address)]).await;
    let why = why.expect_err("nobody is there");
    assert!(why.to_lowercase().contains("connect"), "{why}");
}

/// A certificate for the loopback address: an acceptor with it, and a file that has it.
fn certificate(folder: &std::path::Path) -> (TlsAcceptor, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a key");
    let file = folder.join("ca.pem");
    std::fs::write(&file, made.cert.pem()).expect("a file");
    let key = made.signing_key.serialize_der().try_into().expect("a key");
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("a certificate");
    (TlsAcceptor::from(Arc::new(config)), file)
}

#[tokio::test]
async fn a_server_with_tls_is_believed_by_its_authority_and_is_shown_the_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tls, ca) = certificate(folder.path());
    let door = Door {
        tls: Some(tls),
        ..Door::default()
    };
    let server = Server::behind(door, |_| vector(&[("n1", 0, "10")])).await;
    let (address, ca) = (
        format!("https://{}", server.address()),
        ca.display().to_string(),
    );
    let token = folder.path().join("token");
    std::fs::write(&token, "secret\n").expect("a file");
    let token = token.display().to_string();
    let base = [
        ("type", "prometheus"),
        ("address", &*address),
        ("tokenFile", &*token),
    ];
    let with = |key: &'static str, value: &str| {
        let mut pairs: Vec<(String, String)> =
            base.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec();
        pairs.push((key.to_owned(), value.to_owned()));
        pairs
    };
    for pairs in [
        with("tls.caFile", &ca),
        with("tls.insecureSkipVerify", "true"),
    ] {
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(shown(read(&pairs).await), "n1 10000 10000 0");
    }
    let heard = server.log();
    assert!(
        heard
            .iter()
            .all(|heard| heard.header("authorization") == "Bearer secret"),
        "{heard:?}"
    );
    let (_, other) = certificate(tempfile::tempdir().expect("a folder").path());
    let missing = other.display().to_string();
    let pairs = with("tls.caFile", &missing);
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, &**v)).collect();
    read(&pairs).await.expect_err("the file is gone");
    let stranger = tempfile::tempdir().expect("a folder");
    let (_, other) = certificate(stranger.path());
    let pairs = with("tls.caFile", &other.display().to_string());
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, &**v)).collect();
    let why = read(&pairs).await.expect_err("it is not believed");
    assert!(why.contains("certificate"), "{why}");
}

#[tokio::test]
async fn elasticsearch_tells_of_all_nodes_in_one_answer() {
    let server = Server::start(|_| {
        let bucket = |name: &str, cpu: Option<f64>, memory: Option<f64>| {
            json!({"key": name, "doc_count": 1, "cpu": {"value": cpu}, "memory": {"value": memory}})
        };
        let buckets = [
            bucket("n1", Some(0.125), Some(0.4)),
            bucket("n2", Some(0.5), None),
            bucket("n3", None, None),
        ];
        let answer = json!({"took": 1, "aggregations": {"nodes": {"buckets": buckets}}});
        Answer::Text(200, answer.to_string())
    })
    .await;
    let address = format!("http://{}", server.address());
    let news = read(&[
        ("type", "elasticsearch"),
        ("address", &address),
        ("elasticsearch.username", "reader"),
        ("elasticsearch.password", "secret"),
        ("elasticsearch.hostnameFieldName", "host.name"),
    ])
    .await;
    assert_eq!(
        shown(news),
        "n1 12500 40000 0\n! n2: nothing is told of its memory"
    );
    let heard = server.log();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].line(), "POST /metricbeat-%2A/_search");
    assert_eq!(
        heard[0].header("authorization"),
        "Basic cmVhZGVyOnNlY3JldA=="
    );
    let search = &heard[0].body;
    assert_eq!(search["aggs"]["nodes"]["terms"]["field"], "host.name");
}

#[tokio::test]
async fn the_custom_metrics_api_is_asked_by_its_newest_version_that_is_there() {
    let list = |value: &str| {
        json!({"kind": "MetricValueList", "items": [{
            "describedObject": {"kind": "Node", "name": "n1"},
            "metric": {"name": "of no interest"},
            "timestamp": "1970-01-12T13:46:30Z",
            "value": value,
        }]})
    };
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/apis/custom.metrics.k8s.io/v1beta1/nodes/*/node_cpu_usage_avg" => {
            Answer::Json(200, list("125m"))
        }
        "/apis/custom.metrics.k8s.io/v1beta1/nodes/*/node_memory_usage_avg" => {
            Answer::Json(200, list("4e-1"))
        }
        _ => Answer::refuse(404, "no such version"),
    })
    .await;
    let client = UsageClient::new(
        &source(&[("type", "prometheus_adaptor")]),
        &server.client(),
        "tests",
    );
    let news = client.expect("a client").read(NOW_S).await;
    assert_eq!(shown(news), "n1 12500 40000 -10");
    server.change(|_| Answer::refuse(404, "no such version"));
    let client = UsageClient::new(
        &source(&[("type", "prometheus_adaptor")]),
        &server.client(),
        "tests",
    );
    let why = client
        .expect("a client")
        .read(NOW_S)
        .await
        .expect_err("nobody serves it");
    assert!(why.starts_with("HTTP 404 Not Found: "), "{why}");
}
