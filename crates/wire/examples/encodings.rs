//! How long a pod and a node with every field that is read take to be read from JSON and from protobuf:
//! `cargo run --release -p pumice-wire --example encodings`.

use std::hint::black_box;
use std::time::Instant;

use k8s_openapi::api::core::v1::{Node, Pod};
use pumice_wire::protobuf::{ProtobufObject, envelope};
use serde_json::Value;

const POD: (&str, &[u8]) = (
    include_str!("../../cluster/src/watch/decode/pod.json"),
    include_bytes!("../../cluster/src/watch/decode/pod.pb"),
);
const NODE: (&str, &[u8]) = (
    include_str!("../../cluster/src/watch/decode/node.json"),
    include_bytes!("../../cluster/src/watch/decode/node.pb"),
);
const ROUNDS: u32 = 20_000;

fn main() {
    measure::<Pod>("pod", POD);
    measure::<Node>("node", NODE);
}

/// Measures an object as the API server sends it: in one line, but without who has managed which field.
fn measure<K: ProtobufObject>(name: &str, (json, bytes): (&str, &[u8])) {
    let json = serde_json::from_str::<Value>(json)
        .expect("JSON")
        .to_string();
    let object = envelope(bytes).expect("an envelope");
    for _ in 0..3 {
        let from_json = time(|| K::read(json.as_bytes()).ok());
        let from_protobuf = time(|| K::read_protobuf(object).ok());
        let (long, short) = (json.len(), object.len());
        println!(
            "{name}: JSON {from_json:.1} µs of {long} bytes, protobuf {from_protobuf:.1} µs of {short} bytes"
        );
    }
}

/// Mean microseconds.
fn time<T>(read: impl Fn() -> Option<T>) -> f64 {
    let began = Instant::now();
    for _ in 0..ROUNDS {
        black_box(read()).expect("it can be read");
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
}
