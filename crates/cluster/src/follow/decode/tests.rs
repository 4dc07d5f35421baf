//! Tests of what is the same of every kind.

use serde_json::{Value, json};

use super::super::kind::FollowedKind;
use super::super::ledger::{LedgerNews, ReadBy};
use super::super::listener::Heard;
use super::super::reading::Reading;
use super::*;

/// Keeps nothing but names.
struct Names;

impl KindListener for Names {
    type Change = String;

    fn read_json(&self, object: &RawValue) -> (Meta, Reading<String>) {
        let meta = meta_of(object);
        let name = meta.key.name.clone();
        (meta, Reading::Keep(name))
    }

    async fn tell(&mut self, _: Vec<LedgerNews<String>>) -> Heard {
        Ok(())
    }

    fn denial(&self, _: &FollowedKind, _: &str, message: &str) -> String {
        message.to_owned()
    }
}

fn decoder(ledger: &Ledger, retells: bool) -> ObjectDecoder<'_, Names> {
    ObjectDecoder {
        listener: &Names,
        ledger,
        retells,
    }
}

fn event(line: &str) -> Result<WatchLine<String>, Unreadable> {
    decoder(&Ledger::default(), false).event(line.as_bytes(), Encoding::Json)
}

#[test]
fn what_is_known_is_read_again_only_for_a_listener_that_keeps_nothing() {
    let object = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "5"}});
    let list = json!({"metadata": {"resourceVersion": "7"}, "items": [object]}).to_string();
    let mut ledger = Ledger::default();
    let is_read = |ledger: &Ledger, retells: bool| {
        let page = decoder(ledger, retells).page(list.as_bytes()).unwrap();
        page.items[0].reading.is_some()
    };
    assert!(is_read(&ledger, false), "nothing is known");
    let page = decoder(&ledger, false).page(list.as_bytes()).unwrap();
    let mut news = Vec::new();
    for item in page.items {
        ledger.apply(item, ReadBy::List, &mut news).unwrap();
    }
    ledger.finish_list(&page.version, &mut news).unwrap();
    assert_eq!(news, [LedgerNews::Change("a".to_owned())]);
    assert!(!is_read(&ledger, false), "it is known");
    assert!(is_read(&ledger, true), "its listener keeps nothing");
}

#[test]
fn protobuf_of_a_kind_that_is_not_asked_for_in_it_is_refused() {
    let decoder = ObjectDecoder {
        listener: &Names,
        ledger: &Ledger::default(),
        retells: false,
    };
    // `type` ADDED, and an object without a name.
    let frame = b"\x0a\x05ADDED\x12\x0a\x0a\x08k8s\0\x12\x02\x0a\0";
    let read = decoder.event(frame, Encoding::Protobuf);
    assert_eq!(read, Err("it came in protobuf, unasked".to_owned()));
}

#[test]
fn what_is_no_event_is_an_error() {
    for line in [
        "",
        "{",
        "[]",
        r#"{"type":"ADDED"}"#,
        r#"{"type":"NEW","object":{}}"#,
    ] {
        let read = event(line);
        assert!(read.is_err(), "{line:?}: {read:?}");
    }
}

#[test]
fn bookmarks_tell_where_the_list_ends() {
    let line = |annotations: Value| {
        let meta = json!({"resourceVersion": "12", "annotations": annotations});
        let object = json!({"kind": "Node", "apiVersion": "v1", "metadata": meta});
        json!({"type": "BOOKMARK", "object": object}).to_string()
    };
    let cases = [
        (json!({}), false),
        (json!({"k8s.io/initial-events-end": "true"}), true),
    ];
    for (annotations, ends_list) in cases {
        let line = line(annotations);
        let event = event(&line).unwrap();
        let version = "12".to_owned();
        assert_eq!(event, WatchLine::Bookmark { version, ends_list });
    }
}
