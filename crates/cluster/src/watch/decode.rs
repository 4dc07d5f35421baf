//! Bytes of the API server to what they mean. A wire object lives only here.
//!
//! Objects are read straight into their type. Where that fails, the same bytes are read as plain
//! JSON, so that the one object that does not have its type is found and named, and the others of
//! the page are not lost with it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use kube::api::WatchEvent;
use kube::core::Status;
use pumice_ingest::ObjectProblem;
use serde::Deserialize;
use serde_json::Value;

use super::kinds::{ObjectKey, Reading, Wire};
use super::ledger::Ledger;
use super::rules::WatchRules;

/// Annotation of the bookmark that ends the list part of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Help for an object that does not have its type.
const HELP: &str = "write the field as the API reference of this kind says";

/// Which object, and which version of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meta {
    pub(super) key: ObjectKey,
    pub(super) version: String,
}

/// An object.
#[derive(Debug, PartialEq)]
pub(super) struct ReadItem {
    pub(super) meta: Meta,
    /// What it means; `None` where this version is known already.
    pub(super) reading: Option<Reading>,
}

/// One line of a watch.
#[derive(Debug, PartialEq)]
pub(super) enum WatchLine {
    Apply(ReadItem),
    Delete(Meta),
    /// Everything up to this version has been told.
    Bookmark {
        version: String,
        /// The list part of the watch ends here.
        ends_list: bool,
    },
    Error(Box<Status>),
}

/// One page of a list.
#[derive(Debug)]
pub(super) struct ListPage {
    pub(super) version: String,
    /// Where the next page begins.
    pub(super) next: Option<String>,
    pub(super) items: Vec<ReadItem>,
}

/// What reading depends on.
pub(super) struct DecodeContext<'a> {
    pub(super) rules: &'a WatchRules,
    pub(super) ledger: &'a Ledger,
}

/// How a kind is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decode {
    pub(super) event: fn(&[u8], &DecodeContext<'_>) -> serde_json::Result<WatchLine>,
    pub(super) page: fn(&[u8], &DecodeContext<'_>) -> serde_json::Result<ListPage>,
}

pub(super) const fn of<K: Wire>() -> Decode {
    Decode {
        event: event::<K>,
        page: page::<K>,
    }
}

#[derive(Deserialize)]
struct List<T> {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<T>>,
}

fn event<K: Wire>(line: &[u8], context: &DecodeContext<'_>) -> serde_json::Result<WatchLine> {
    if let Ok(event) = serde_json::from_slice::<WatchEvent<K>>(line) {
        let read = |object: K| item(&object, context);
        return Ok(of_event(event, read, |object: K| meta(object.metadata())));
    }
    let event = serde_json::from_slice::<WatchEvent<Value>>(line)?;
    let read = |object: Value| untyped::<K>(&object, context);
    Ok(of_event(event, read, |object| untyped_meta(&object)))
}

fn of_event<T>(
    event: WatchEvent<T>,
    item: impl Fn(T) -> ReadItem,
    meta: impl Fn(T) -> Meta,
) -> WatchLine {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => WatchLine::Apply(item(object)),
        WatchEvent::Deleted(object) => WatchLine::Delete(meta(object)),
        WatchEvent::Bookmark(bookmark) => WatchLine::Bookmark {
            version: bookmark.metadata.resource_version,
            ends_list: bookmark
                .metadata
                .annotations
                .contains_key(INITIAL_EVENTS_END),
        },
        WatchEvent::Error(status) => WatchLine::Error(status),
    }
}

fn page<K: Wire>(text: &[u8], context: &DecodeContext<'_>) -> serde_json::Result<ListPage> {
    if let Ok(list) = serde_json::from_slice::<List<K>>(text) {
        return Ok(of_list(list, |object: K| item(&object, context)));
    }
    let list = serde_json::from_slice::<List<Value>>(text)?;
    Ok(of_list(list, |object| untyped::<K>(&object, context)))
}

fn of_list<T>(list: List<T>, item: impl Fn(T) -> ReadItem) -> ListPage {
    ListPage {
        version: list.metadata.resource_version.unwrap_or_default(),
        next: list.metadata.continue_.filter(|next| !next.is_empty()),
        items: list.items.into_iter().flatten().map(item).collect(),
    }
}

fn item<K: Wire>(object: &K, context: &DecodeContext<'_>) -> ReadItem {
    let meta = meta(object.metadata());
    let known = context.ledger.has(&meta);
    ReadItem {
        meta,
        reading: (!known).then(|| object.read(context.rules)),
    }
}

fn meta(wire: &ObjectMeta) -> Meta {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Meta {
        key: ObjectKey {
            namespace: text(&wire.namespace),
            name: text(&wire.name),
            uid: text(&wire.uid),
        },
        version: text(&wire.resource_version),
    }
}

/// The object, if it has its type after all; else what is wrong with it.
fn untyped<K: Wire>(object: &Value, context: &DecodeContext<'_>) -> ReadItem {
    match serde_path_to_error::deserialize::<_, K>(object) {
        Ok(object) => item(&object, context),
        Err(error) => ReadItem {
            meta: untyped_meta(object),
            reading: Some(Reading::Bad(vec![ObjectProblem {
                path: error.path().to_string(),
                message: error.inner().to_string(),
                help: HELP.to_owned(),
            }])),
        },
    }
}

fn untyped_meta(object: &Value) -> Meta {
    let text = |field: &str| {
        let text = object["metadata"][field].as_str();
        text.unwrap_or_default().to_owned()
    };
    Meta {
        key: ObjectKey {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
        },
        version: text("resourceVersion"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use pumice_model::Delta;
    use serde_json::json;

    use super::super::kinds::Change;
    use super::super::{WatchOptions, rules::WatchRules};
    use super::*;

    fn with<T>(act: impl FnOnce(&DecodeContext<'_>) -> T) -> T {
        let rules = WatchRules::new(&WatchOptions::default());
        let ledger = Ledger::new(<Node as Wire>::gone);
        act(&DecodeContext {
            rules: &rules,
            ledger: &ledger,
        })
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
        let page = with(|context| page::<Node>(list.to_string().as_bytes(), context)).unwrap();
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
        let event = with(|context| event::<Node>(line.as_bytes(), context)).unwrap();
        let WatchLine::Apply(item) = event else {
            panic!("{event:?}");
        };
        assert!(matches!(item.reading, Some(Reading::Bad(_))), "{item:?}");
        let line = json!({"type": "DELETED", "object": node("b", json!(3))}).to_string();
        let event = with(|context| super::event::<Node>(line.as_bytes(), context)).unwrap();
        assert_eq!(event, WatchLine::Delete(item.meta));
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
            let read = with(|context| event::<Node>(line.as_bytes(), context));
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
            let event = with(|context| event::<Node>(line.as_bytes(), context)).unwrap();
            let version = "12".to_owned();
            assert_eq!(event, WatchLine::Bookmark { version, ends_list });
        }
    }
}
