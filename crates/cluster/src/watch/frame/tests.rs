use k8s_openapi::api::core::v1::{Node, Pod};
use pumice_wire::protobuf::envelope;

use super::super::WatchOptions;
use super::super::decode::{self, Decode};
use super::super::ledger::Ledger;
use super::super::request::Encoding;
use super::super::rules::WatchRules;
use super::*;

/// A pod and a node with every field that is read, as an API server writes them; end-to-end scenarios
/// `encodings` keep them.
const POD: (&str, &[u8]) = (include_str!("pod.json"), include_bytes!("pod.pb"));
const NODE: (&str, &[u8]) = (include_str!("node.json"), include_bytes!("node.pb"));

fn with<T>(act: impl FnOnce(&DecodeContext<'_>) -> T) -> T {
    let rules = WatchRules::new(&WatchOptions {
        annotations: vec!["example.com/text", "example.com/empty"],
        ..WatchOptions::default()
    });
    let ledger = Ledger::new(<Node as Wire>::gone);
    act(&DecodeContext {
        rules: &rules,
        ledger: &ledger,
    })
}

/// A field of bytes of a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    [field, content.to_vec()].concat()
}

fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    [field(1, kind.as_bytes()), field(2, &field(1, object))].concat()
}

/// What an event means in both encodings.
fn both(kind: &str, (json, object): (&str, &[u8]), decode: Decode) -> [WatchLine; 2] {
    let line = format!("{{\"type\": {kind:?}, \"object\": {json}}}");
    let frame = frame(kind, object);
    [
        with(|context| decode.event(line.as_bytes(), Encoding::Json, context)).unwrap(),
        with(|context| decode.event(&frame, Encoding::Protobuf, context)).unwrap(),
    ]
}

#[test]
fn events_mean_the_same_in_both_encodings() {
    for (object, decode) in [
        (POD, decode::of_protobuf::<Pod>()),
        (NODE, decode::of_protobuf::<Node>()),
    ] {
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            let [json, protobuf] = both(kind, object, decode);
            assert_eq!(json, protobuf);
            let is_read = match &json {
                WatchLine::Apply(item) => matches!(item.reading, Some(Reading::Keep(_))),
                WatchLine::Delete(meta) => meta.key.name == "full",
                _ => false,
            };
            assert!(is_read, "{json:?}");
        }
    }
}

#[test]
fn an_object_cut_anywhere_is_no_event_or_another_object_and_never_a_panic() {
    for (_, object) in [POD, NODE] {
        let whole = envelope(object).unwrap();
        for end in 0..whole.len() {
            let envelope = [b"k8s\0".to_vec(), field(2, &whole[..end])].concat();
            let frame = frame("ADDED", &envelope);
            let read = with(|context| event::<Pod>(&frame, context));
            let named = name_of(&whole[..end]);
            assert_eq!(read.is_err(), named.is_err(), "{end}: {read:?}");
        }
    }
}

#[test]
fn an_object_that_cannot_be_read_is_reported_and_the_watch_goes_on() {
    let named = field(1, &field(1, b"p"));
    // `spec` is a number.
    let object = [named, vec![0x10, 1]].concat();
    let envelope = [b"k8s\0".to_vec(), field(2, &object)].concat();
    let read = with(|context| event::<Pod>(&frame("MODIFIED", &envelope), context)).unwrap();
    let WatchLine::Apply(ReadItem { meta, reading }) = read else {
        panic!("{read:?}");
    };
    assert_eq!(meta.key.name, "p");
    let Some(Reading::Bad(problems)) = reading else {
        panic!("{reading:?}");
    };
    assert!(problems[0].message.contains("field 2"), "{}", problems[0]);
}

#[test]
fn protobuf_of_a_kind_that_is_not_asked_for_in_it_is_refused() {
    let decode = decode::of::<Node>();
    assert_eq!(decode.wanted(), Encoding::Json);
    let frame = frame("ADDED", NODE.1);
    let read = with(|context| decode.event(&frame, Encoding::Protobuf, context));
    assert!(read.is_err(), "{read:?}");
}
