//! Tests of what objects of either encoding mean.

mod protobuf;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::super::outbox::Outbox;
use super::super::{WatchOptions, kinds};
use super::*;
use crate::api::events::Encoding;
use crate::follow::Ledger;
use crate::follow::decode::{ObjectDecoder, WatchLine};

/// Reads for the scheduler what comes of a kind of this wire type, with these options.
fn with<K: Wire, T>(
    options: &WatchOptions,
    act: impl FnOnce(&ObjectDecoder<'_, Outbox>) -> T,
) -> T {
    let kind = kinds::table(options).find(|row| row.kind == K::KIND);
    let (inputs, _) = tokio::sync::mpsc::channel(1);
    let rules = WatchRules::new(options);
    let listener = Outbox::new(kind.expect("a kind"), rules, (inputs, None), None);
    act(&ObjectDecoder {
        listener: &listener,
        ledger: &Ledger::default(),
        retells: false,
    })
}

fn with_nodes<T>(act: impl FnOnce(&ObjectDecoder<'_, Outbox>) -> T) -> T {
    with::<Node, T>(&WatchOptions::default(), act)
}

fn node(name: &str, unschedulable: Value) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("u-{name}"), "resourceVersion": "7"},
        "spec": {"unschedulable": unschedulable},
    })
}

#[test]
fn an_object_of_another_shape_is_named_and_spares_the_others_of_its_page() {
    let items = [
        node("a", json!(true)),
        node("b", json!("yes")),
        node("c", json!(null)),
    ];
    let list = json!({"metadata": {"resourceVersion": "9", "continue": "x"}, "items": items});
    let page = with_nodes(|decoder| decoder.page(list.to_string().as_bytes())).unwrap();
    assert_eq!(
        (page.version.as_str(), page.next.as_deref()),
        ("9", Some("x"))
    );
    let read = |at: usize| page.items[at].reading.as_ref().unwrap();
    for at in [0, 2] {
        assert!(matches!(
            read(at),
            Reading::Keep(Change::Engine(Delta::NodeApply(_)))
        ));
    }
    let Reading::Bad(problems) = read(1) else {
        panic!("{:?}", read(1));
    };
    assert_eq!(problems[0].path, "spec.unschedulable");
    assert!(problems[0].message.contains("\"yes\""), "{}", problems[0]);
    assert_eq!(page.items[1].meta.key.name, "b");
    assert_eq!(page.items[1].meta.version, "7");
}

#[test]
fn an_event_of_another_shape_is_named() {
    let line = json!({"type": "MODIFIED", "object": node("b", json!(3))}).to_string();
    let event = with_nodes(|decoder| decoder.event(line.as_bytes(), Encoding::Json)).unwrap();
    let WatchLine::Apply(item) = event else {
        panic!("{event:?}");
    };
    assert!(matches!(item.reading, Some(Reading::Bad(_))), "{item:?}");
    let line = json!({"type": "DELETED", "object": node("b", json!(3))}).to_string();
    let event = with_nodes(|decoder| decoder.event(line.as_bytes(), Encoding::Json)).unwrap();
    assert_eq!(event, WatchLine::Delete(item.meta));
}
