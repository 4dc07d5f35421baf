//! Traces as OTLP in JSON: `ExportTraceServiceRequest` of `opentelemetry/proto/collector/trace/v1`, in the
//! JSON mapping of the OTLP specification (identifiers in hexadecimal, 64-bit numbers as text).
//!
//! The trace of a pod has the pod's UID as its identifier, without the dashes, so that one finds the other.

use std::hash::BuildHasher as _;
use std::time::Duration;

use pumice_cluster::effects::BindStage;
use rustc_hash::FxBuildHasher;
use serde_json::{Value, json};

use super::book::{PartKind, PodTrace, TraceEnd, TracePart};

/// `service.name`.
pub(super) const SERVICE: &str = "pumice-scheduler";
/// `service.version`.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Name of the span of a whole trace.
const ROOT: &str = "pod";
/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// Who speaks.
pub(super) struct TraceSource {
    /// `service.instance.id`: the name of the pod, or of the machine.
    pub(super) instance: String,
}

/// One request with these traces.
pub(super) fn request(source: &TraceSource, traces: &[PodTrace]) -> Vec<u8> {
    let spans: Vec<Value> = traces.iter().flat_map(spans).collect();
    let resource = [
        text("service.name", SERVICE),
        text("service.version", VERSION),
        text("service.instance.id", &source.instance),
    ];
    let request = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{
            "scope": { "name": SERVICE, "version": VERSION },
            "spans": spans,
        }],
    }]});
    request.to_string().into_bytes()
}

fn spans(trace: &PodTrace) -> Vec<Value> {
    let trace_id = trace_id(&trace.uid);
    let from = trace.parts.first().map_or(Duration::ZERO, |part| part.from);
    let until = trace.parts.last().map_or(from, |part| part.until);
    let span_id = |at: usize| format!("{:016x}", hash(&(&trace.uid, from, at)).max(1));
    let span = |at: usize, name: &str, from, until, attributes: Vec<Value>| {
        json!({
            "traceId": trace_id,
            "spanId": span_id(at),
            "name": name,
            "kind": INTERNAL,
            "startTimeUnixNano": nanos(from),
            "endTimeUnixNano": nanos(until),
            "attributes": attributes,
        })
    };
    let mut root = span(0, ROOT, from, until, about(trace));
    if trace.end == TraceEnd::Gone {
        let message = "the pod went before it was bound";
        root["status"] = json!({ "code": ERROR, "message": message });
    }
    let mut spans = vec![root];
    for (at, part) in trace.parts.iter().enumerate() {
        let (name, attributes) = described(part);
        let mut child = span(at + 1, name, part.from, part.until, attributes);
        child["parentSpanId"] = span_id(0).into();
        spans.push(child);
    }
    spans
}

fn about(trace: &PodTrace) -> Vec<Value> {
    let pod = &trace.pod;
    let mut about = vec![
        text("k8s.namespace.name", &pod.namespace),
        text("k8s.pod.name", &pod.name),
        text("k8s.pod.uid", &trace.uid),
        json!({ "key": "pumice.pod.created_s", "value": { "intValue": pod.created_s.to_string() } }),
        json!({ "key": "pumice.pod.seen_at_start", "value": { "boolValue": pod.at_start } }),
    ];
    if let TraceEnd::Bound(node) = &trace.end {
        about.push(text("k8s.node.name", node));
    }
    if let Some(decision) = &trace.decision {
        let cycle = decision.cycle.to_string();
        about.push(json!({ "key": "pumice.cycle", "value": { "intValue": cycle } }));
        about.push(text("pumice.queue", &decision.queue));
        if !decision.group.is_empty() {
            about.push(text("pumice.pod_group", &decision.group));
        }
    }
    about
}

/// Name and attributes of a part.
fn described(part: &TracePart) -> (&'static str, Vec<Value>) {
    match &part.kind {
        PartKind::Wait(reason) if reason.word.is_empty() => ("wait", Vec::new()),
        PartKind::Wait(reason) => {
            let word = text("pumice.wait.reason", &reason.word);
            let message = text("pumice.wait.message", &reason.message);
            ("wait", vec![word, message])
        }
        PartKind::Decide => ("decide", Vec::new()),
        PartKind::Bind(stage) => {
            let (name, reason) = named(*stage);
            let reason = reason.map(|reason| text("pumice.wait.reason", reason));
            (name, reason.into_iter().collect())
        }
    }
}

/// Name of the span of a stage, and what is waited for in it.
fn named(stage: BindStage) -> (&'static str, Option<&'static str>) {
    match stage {
        BindStage::Turn => ("bind.turn", Some("BindWindow")),
        BindStage::Volumes => ("bind.volumes", Some("Volumes")),
        BindStage::Claims => ("bind.claims", Some("ResourceClaims")),
        BindStage::DevicePlugin => ("bind.device-plugin", Some("DevicePlugin")),
        BindStage::NodeLock => ("bind.node-lock", Some("NodeLock")),
        BindStage::Request => ("bind.request", None),
        BindStage::Pause => ("bind.pause", Some("ApiServer")),
        BindStage::Certainty => ("bind.certainty", Some("UnknownOutcome")),
        BindStage::Accepted => ("confirm", Some("Watch")),
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn nanos(time: Duration) -> String {
    time.as_nanos().to_string()
}

fn hash(of: &impl std::hash::Hash) -> u64 {
    FxBuildHasher.hash_one(of)
}

/// The 128 bits of a UID; of one that is no UUID, a hash of it.
fn trace_bits(uid: &str) -> u128 {
    let digits: String = uid.chars().filter(|digit| *digit != '-').collect();
    let is_uuid = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let bits = is_uuid.then(|| u128::from_str_radix(&digits, 16).ok());
    let hashed = || (u128::from(hash(&(uid, 1))) << 64) | u128::from(hash(&(uid, 2)));
    bits.flatten()
        .filter(|bits| *bits != 0)
        .unwrap_or_else(hashed)
}

fn trace_id(uid: &str) -> String {
    format!("{:032x}", trace_bits(uid))
}

/// The part of a trace's identifier that is random, as W3C's Trace Context has it: the last 56 bits.
pub(super) fn random_part(uid: &str) -> u64 {
    (trace_bits(uid) & ((1 << 56) - 1)) as u64
}
