//! Tests of protobuf.

use k8s_openapi::api::core::v1::Pod;
use pumice_wire::protobuf::{envelope, name_of};

use super::*;

/// A pod and a node with every field that is read, as an API server writes them; end-to-end scenarios
/// `encodings` keep them.
const POD: (&str, &[u8]) = (include_str!("../pod.json"), include_bytes!("../pod.pb"));
const NODE: (&str, &[u8]) = (include_str!("../node.json"), include_bytes!("../node.pb"));

fn options() -> WatchOptions {
    WatchOptions {
        annotations: vec!["example.com/text", "example.com/empty"],
        ..WatchOptions::default()
    }
}

/// What an event means to the scheduler.
fn event<K: Wire>(event: &[u8], encoding: Encoding) -> Result<WatchLine<Change>, Unreadable> {
    with::<K, _>(&options(), |decoder| decoder.event(event, encoding))
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
fn both<K: Wire>(kind: &str, (json, object): (&str, &[u8])) -> [WatchLine<Change>; 2] {
    let line = format!("{{\"type\": {kind:?}, \"object\": {json}}}");
    let frame = frame(kind, object);
    [
        event::<K>(line.as_bytes(), Encoding::Json).unwrap(),
        event::<K>(&frame, Encoding::Protobuf).unwrap(),
    ]
}

#[test]
fn events_mean_the_same_in_both_encodings() {
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        for [json, protobuf] in [both::<Pod>(kind, POD), both::<Node>(kind, NODE)] {
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
            let read = event::<Pod>(&frame, Encoding::Protobuf);
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
    let read = event::<Pod>(&frame("MODIFIED", &envelope), Encoding::Protobuf).unwrap();
    let WatchLine::Apply(item) = read else {
        panic!("{read:?}");
    };
    assert_eq!(item.meta.key.name, "p");
    let Some(Reading::Bad(problems)) = item.reading else {
        panic!("{item:?}");
    };
    assert!(problems[0].message.contains("field 2"), "{}", problems[0]);
}

/// Fields that are read of other kinds only: of claims and slices, Numatopologies, budgets, queues, volumes; and a
/// method of vectors.
const OF_OTHER_KINDS: [&str; 9] = [
    "config",
    "csi",
    "finalizers",
    "generation",
    "managed_fields",
    "observed_generation",
    "resize",
    "state",
    "toleration_seconds",
];

/// Names of the fields of a type, as its `Debug` tells them.
fn fields_of<T: std::fmt::Debug>(example: &T) -> Vec<String> {
    let text = format!("{example:#?}");
    let own = text
        .lines()
        .filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    own.filter_map(|line| Some(line.trim().split_once(": ")?.0.to_owned()))
        .collect()
}

/// Text of all sources in a folder, without their tests.
fn sources(folder: &str) -> String {
    let folder = format!("{}/../{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().extension().is_some_and(|end| end == "rs") {
            let source = std::fs::read_to_string(entry.path()).expect("a source");
            text += source.split("#[cfg(test)]").next().unwrap_or_default();
        }
    }
    text
}

#[test]
fn every_field_that_is_read_of_pods_and_nodes_has_its_number() {
    let read =
        sources("ingest/src") + include_str!("../../rules.rs") + include_str!("../../kinds.rs");
    let taken = sources("wire/src/protobuf");
    let has = |text: &str, before: &str, field: &str| {
        let name = format!("{before}{field}");
        let mut found = text.match_indices(&name);
        found.any(|(at, _)| {
            !text[at + name.len()..].starts_with(|c: char| c == '_' || c.is_alphanumeric())
        })
    };
    let types = [
        fields_of(&ObjectMeta::default()),
        fields_of(&k8s_openapi::api::core::v1::PodSpec::default()),
        fields_of(&k8s_openapi::api::core::v1::PodStatus::default()),
        fields_of(&k8s_openapi::api::core::v1::PodCondition::default()),
        fields_of(&k8s_openapi::api::core::v1::Container::default()),
        fields_of(&k8s_openapi::api::core::v1::ContainerPort::default()),
        fields_of(&k8s_openapi::api::core::v1::ContainerStatus::default()),
        fields_of(&k8s_openapi::api::core::v1::Volume::default()),
        fields_of(&k8s_openapi::api::core::v1::Toleration::default()),
        fields_of(&k8s_openapi::api::core::v1::TopologySpreadConstraint::default()),
        fields_of(&k8s_openapi::api::core::v1::NodeSpec::default()),
        fields_of(&k8s_openapi::api::core::v1::NodeStatus::default()),
    ];
    let all: Vec<String> = types.into_iter().flatten().collect();
    assert!(all.len() > 150, "{all:?}");
    let forgotten = all.iter().filter(|field| {
        let is_taken = has(&taken, "=> ", field)
            || has(&taken, "self.", field)
            || has(&taken, "volume.", field);
        has(&read, ".", field) && !is_taken && !OF_OTHER_KINDS.contains(&field.as_str())
    });
    let forgotten: Vec<&String> = forgotten.collect();
    assert!(
        forgotten.is_empty(),
        "pumice-ingest reads {forgotten:?}: give them their numbers in crates/wire/src/protobuf"
    );
}
