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

/// By message, fields that are read of other messages only, which have one of the same name.
const OF_OTHER_MESSAGES: [(&str, &[&str]); 9] = [
    (
        "ObjectMeta",
        &["finalizers", "generation", "managed_fields"],
    ),
    ("PodSpec", &["restart_policy"]),
    ("PodStatus", &["host_ip", "observed_generation", "resize"]),
    ("PodCondition", &["observed_generation"]),
    ("ContainerStatus", &["image"]),
    ("ResourceRequirements", &["claims"]),
    ("Volume", &["csi"]),
    ("Toleration", &["toleration_seconds"]),
    ("NodeStatus", &["conditions", "config", "phase"]),
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

/// What follows these words, up to the end of the block that they begin.
fn block<'t>(text: &'t str, begins: &str) -> Option<&'t str> {
    let at = text.find(begins)? + begins.len();
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let indent = text[line..].len() - text[line..].trim_start().len();
    let end = format!("\n{}}}\n", " ".repeat(indent));
    text[at..].split(&end).next()
}

/// What is taken of a message: its list of fields, or what sets them.
fn taken_of(text: &str, name: &str) -> String {
    let list = block(text, &format!("\n    {name} {{\n"));
    let set = block(text, &format!("\nimpl Message for {name} {{\n"));
    // The source of a volume is a message of its own.
    let source = match name {
        "Volume" => block(text, "\nfn source(volume: &mut Volume, "),
        _ => None,
    };
    [list, set, source].into_iter().flatten().collect()
}

/// Whether a text has this before a name of a field, and nothing behind it that makes it a longer one.
fn has(text: &str, before: &str, field: &str) -> bool {
    let name = format!("{before}{field}");
    let mut found = text.match_indices(&name);
    found.any(|(at, _)| {
        !text[at + name.len()..].starts_with(|c: char| c == '_' || c.is_alphanumeric())
    })
}

/// Messages that are read, with the fields of their types.
fn messages() -> impl Iterator<Item = (&'static str, Vec<String>)> {
    use k8s_openapi::api::core::v1 as core;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
    [
        ("ObjectMeta", fields_of(&ObjectMeta::default())),
        (
            "OwnerReference",
            fields_of(&meta::OwnerReference::default()),
        ),
        ("LabelSelector", fields_of(&meta::LabelSelector::default())),
        ("PodSpec", fields_of(&core::PodSpec::default())),
        ("PodStatus", fields_of(&core::PodStatus::default())),
        ("PodCondition", fields_of(&core::PodCondition::default())),
        ("Container", fields_of(&core::Container::default())),
        ("ContainerPort", fields_of(&core::ContainerPort::default())),
        (
            "ContainerStatus",
            fields_of(&core::ContainerStatus::default()),
        ),
        (
            "ResourceRequirements",
            fields_of(&core::ResourceRequirements::default()),
        ),
        (
            "PodResourceClaim",
            fields_of(&core::PodResourceClaim::default()),
        ),
        ("Volume", fields_of(&core::Volume::default())),
        ("Toleration", fields_of(&core::Toleration::default())),
        (
            "PodAffinityTerm",
            fields_of(&core::PodAffinityTerm::default()),
        ),
        (
            "TopologySpreadConstraint",
            fields_of(&core::TopologySpreadConstraint::default()),
        ),
        ("NodeSpec", fields_of(&core::NodeSpec::default())),
        ("NodeStatus", fields_of(&core::NodeStatus::default())),
        ("Taint", fields_of(&core::Taint::default())),
        (
            "ContainerImage",
            fields_of(&core::ContainerImage::default()),
        ),
    ]
    .into_iter()
}

#[test]
fn every_field_that_is_read_of_pods_and_nodes_has_its_number_in_its_message() {
    let read =
        sources("ingest/src") + include_str!("../../rules.rs") + include_str!("../../kinds.rs");
    let taken = sources("wire/src/protobuf");
    let mut fields = 0;
    let mut forgotten = Vec::new();
    for (name, all) in messages() {
        let taken = taken_of(&taken, name);
        assert!(!taken.is_empty(), "no message {name}");
        let others = OF_OTHER_MESSAGES
            .iter()
            .find(|(message, _)| *message == name);
        let others = others.map_or(&[][..], |(_, fields)| fields);
        fields += all.len();
        for field in &all {
            let is_taken = ["=> ", "self.", "volume."]
                .iter()
                .any(|before| has(&taken, before, field));
            let of_others = others.contains(&field.as_str());
            assert!(
                !(is_taken && of_others),
                "{name}.{field} is taken, and not another's alone"
            );
            if has(&read, ".", field) && !is_taken && !of_others {
                forgotten.push(format!("{name}.{field}"));
            }
        }
    }
    assert!(fields > 150, "{fields}");
    assert!(
        forgotten.is_empty(),
        "pumice-ingest reads {forgotten:?}: give them their numbers in crates/wire/src/protobuf, or, where a field of that \
         name is read of another message only, say so in OF_OTHER_MESSAGES"
    );
}
