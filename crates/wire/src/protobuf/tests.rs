use k8s_openapi::api::core::v1::{Node, Pod};

use super::{Malformed, ProtobufObject, RawFrame, envelope, name_of, raw_frame, status};

/// A number as messages have it.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field of a text, of bytes or of a message.
fn bytes(number: u64, content: &[u8]) -> Vec<u8> {
    let length = varint(content.len() as u64);
    [varint(number << 3 | 2), length, content.to_vec()].concat()
}

/// A field of a number.
fn number(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value.cast_unsigned())].concat()
}

fn pod(spec: &[u8]) -> Pod {
    Pod::read_protobuf(&bytes(2, spec)).expect("a pod")
}

fn enveloped(object: &[u8]) -> Vec<u8> {
    let kind = [bytes(1, b"v1"), bytes(2, b"Pod")].concat();
    [b"k8s\0".to_vec(), bytes(1, &kind), bytes(2, object)].concat()
}

fn event(kind: &[u8], object: &[u8]) -> Vec<u8> {
    [bytes(1, kind), bytes(2, &bytes(1, &enveloped(object)))].concat()
}

#[test]
fn what_nobody_reads_is_skipped_whatever_its_wire_type() {
    let unknown = [
        number(900, -1),
        [varint(901 << 3 | 1), vec![1; 8]].concat(),
        [varint(902 << 3 | 5), vec![1; 4]].concat(),
        bytes(903, b"text"),
    ];
    let spec = [unknown.concat(), bytes(10, b"n-1"), unknown.concat()].concat();
    assert_eq!(pod(&spec).spec.unwrap().node_name.as_deref(), Some("n-1"));
}

#[test]
fn an_empty_text_is_absent_but_not_in_lists_and_maps() {
    let entry = [bytes(1, b"zone"), bytes(2, b"")].concat();
    let spec = [bytes(10, b""), bytes(7, &entry)].concat();
    let spec = pod(&spec).spec.unwrap();
    assert_eq!(spec.node_name, None);
    assert_eq!(spec.node_selector.unwrap()["zone"], "");
    let image = [bytes(1, b""), bytes(1, b"a")].concat();
    let node = Node::read_protobuf(&bytes(3, &bytes(8, &image))).unwrap();
    let images = node.status.unwrap().images.unwrap();
    assert_eq!(images[0].names.as_deref().unwrap(), ["", "a"]);
}

#[test]
fn numbers_below_zero_are_read_and_those_of_more_bits_are_not() {
    let priority = |value| Pod::read_protobuf(&bytes(2, &number(25, value)));
    assert_eq!(priority(-7).unwrap().spec.unwrap().priority, Some(-7));
    assert_eq!(priority(0).unwrap().spec.unwrap().priority, Some(0));
    assert_eq!(priority(1 << 31), Err(Malformed::Type(25)));
}

#[test]
fn a_time_that_is_zero_or_beyond_the_calendar_is_absent() {
    let created = |time: &[u8]| {
        let pod = Pod::read_protobuf(&bytes(1, &bytes(8, time))).unwrap();
        pod.metadata
            .creation_timestamp
            .map(|time| time.0.as_second())
    };
    assert_eq!(created(&number(1, 1_700_000_000)), Some(1_700_000_000));
    assert_eq!(created(&[number(1, 5), number(2, 0)].concat()), Some(5));
    assert_eq!(created(&[]), None);
    assert_eq!(created(&number(1, i64::MAX)), None);
}

#[test]
fn text_that_is_no_utf8_is_replaced_as_go_does() {
    let spec = pod(&bytes(19, b"vol\xffcano")).spec.unwrap();
    assert_eq!(spec.scheduler_name.as_deref(), Some("vol\u{fffd}cano"));
}

#[test]
fn a_group_of_a_workload_is_read_as_in_json() {
    let group = |parts: &[Vec<u8>]| {
        let spec = pod(&bytes(42, &parts.concat())).spec.unwrap();
        spec.scheduling_group.unwrap().pod_group_name
    };
    let (name, part) = (bytes(1, b"train"), bytes(2, b"workers"));
    let named = group(&[name.clone(), part.clone()]);
    assert_eq!(named.as_deref(), Some("train/workers"));
    let keyed = group(&[name, part, bytes(3, b"0")]);
    assert_eq!(keyed.as_deref(), Some("train/workers/0"));
    let own = pod(&bytes(43, &bytes(1, b"own"))).spec.unwrap();
    let own = own.scheduling_group.unwrap().pod_group_name;
    assert_eq!(own.as_deref(), Some("own"));
}

#[test]
fn bytes_that_are_no_message_are_an_error() {
    let cases: [(&[u8], Malformed); 7] = [
        (&[0x12], Malformed::Cut),
        (&[0x12, 5, 1], Malformed::Cut),
        (&[0x80], Malformed::Cut),
        (&[0xff; 11], Malformed::Overlong),
        // Groups, which ended with the first version of the format.
        (&[0x0b], Malformed::WireType(1, 3)),
        (&[0x0e], Malformed::WireType(1, 6)),
        // A number where there is a message.
        (&[0x10, 1], Malformed::Type(2)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(Pod::read_protobuf(bytes), Err(expected), "{bytes:?}");
    }
}

#[test]
fn frames_tell_what_happened_to_which_object() {
    let meta = [
        bytes(1, b"p"),
        bytes(3, b"ns"),
        bytes(5, b"u"),
        bytes(6, b"7"),
    ]
    .concat();
    let object = bytes(1, &meta);
    let named = name_of(&object).unwrap();
    let parts = [&named.namespace, &named.name, &named.uid, &named.version];
    assert_eq!(parts, ["ns", "p", "u", "7"]);
    assert_eq!(
        raw_frame(&event(b"ADDED", &object)),
        Ok(RawFrame::Add(&object))
    );
    assert_eq!(
        raw_frame(&event(b"MODIFIED", &object)),
        Ok(RawFrame::Modify(&object))
    );
    assert_eq!(
        raw_frame(&event(b"DELETED", &object)),
        Ok(RawFrame::Delete(&object))
    );
    assert_eq!(raw_frame(&event(b"NEW", &object)), Err(Malformed::Event));
    let bare = [bytes(1, b"ADDED"), bytes(2, &bytes(1, &object))].concat();
    assert_eq!(raw_frame(&bare), Err(Malformed::Envelope));
}

#[test]
fn bookmarks_tell_where_the_list_ends() {
    let annotation = [bytes(1, b"k8s.io/initial-events-end"), bytes(2, b"true")].concat();
    for ends_list in [false, true] {
        let end = if ends_list {
            bytes(12, &annotation)
        } else {
            Vec::new()
        };
        let object = bytes(1, &[bytes(6, b"12"), end].concat());
        let version = "12".to_owned();
        let expected = RawFrame::Bookmark { version, ends_list };
        assert_eq!(raw_frame(&event(b"BOOKMARK", &object)), Ok(expected));
    }
}

#[test]
fn a_status_is_read_from_a_frame_and_from_an_answer() {
    let parts = [
        bytes(3, b"too old"),
        bytes(4, b"Expired"),
        bytes(5, &number(5, 3)),
        number(6, 410),
    ];
    let told = parts.concat();
    let read = status(&enveloped(&told)).unwrap();
    assert_eq!((read.code, read.reason.as_str()), (410, "Expired"));
    assert_eq!(
        (read.message.as_str(), read.details.retry_after_s),
        ("too old", 3)
    );
    assert_eq!(
        raw_frame(&event(b"ERROR", &told)),
        Ok(RawFrame::Error(read))
    );
    assert_eq!(envelope(b"{}"), Err(Malformed::Envelope));
}
