//! Bytes of the API server to what they mean. A wire object lives only here.
//!
//! ```text
//!  line ─► raw_event ─┐              ┌─► meta_of: which object, which version ─► known already?
//!  page ─► raw_page ──┴─ text of one ─┤
//!                        object       └─► WireObject::read ─► typed object, or what is wrong with it
//! ```
//!
//! The text of every object stays as it is until it is read by itself, so one that does not have
//! its type spares the others of its page, and one whose version is known is not read at all. Frames of
//! protobuf are read likewise (`frame`).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Status;
use pumice_ingest::ObjectProblem;
use pumice_wire::WireProblem;
use pumice_wire::protobuf::{Malformed, ProtobufObject};
use serde_json::value::RawValue;

use super::frame;
use super::kinds::Wire;
use super::ledger::Ledger;
use super::reading::Reading;
use super::rules::WatchRules;
use crate::api::events::Encoding;
use crate::api::raw::ObjectKey;
use crate::api::raw::{Meta, RawEvent, meta_of, raw_event, raw_page};

/// Help for an object that does not have its type.
const HELP: &str = "write the field as the API reference of this kind says";

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

/// What a watch brings cannot be read as an event, or an answer as a page; with the reason.
pub(super) type Unreadable = String;

/// Reads a frame of protobuf.
type ReadFrame = fn(&[u8], &DecodeContext<'_>) -> Result<WatchLine, Malformed>;

/// How a kind is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decode {
    line: fn(&[u8], &DecodeContext<'_>) -> serde_json::Result<WatchLine>,
    page: fn(&[u8], &DecodeContext<'_>) -> serde_json::Result<ListPage>,
    /// From a frame of protobuf, for kinds that are asked for in it.
    frame: Option<ReadFrame>,
}

pub(super) const fn of<K: Wire>() -> Decode {
    Decode {
        line: event_of_line::<K>,
        page: page::<K>,
        frame: None,
    }
}

pub(super) const fn of_protobuf<K: Wire + ProtobufObject>() -> Decode {
    Decode {
        frame: Some(frame::event::<K>),
        ..of::<K>()
    }
}

impl Decode {
    /// How watches of the kind are asked for.
    pub(super) fn wanted(&self) -> Encoding {
        match self.frame {
            Some(_) => Encoding::Protobuf,
            None => Encoding::Json,
        }
    }

    /// Reads an event of a watch.
    pub(super) fn event(
        &self,
        event: &[u8],
        encoding: Encoding,
        context: &DecodeContext<'_>,
    ) -> Result<WatchLine, Unreadable> {
        match (encoding, self.frame) {
            (Encoding::Json, _) => (self.line)(event, context).map_err(|e| e.to_string()),
            (Encoding::Protobuf, Some(frame)) => frame(event, context).map_err(|e| e.to_string()),
            (Encoding::Protobuf, None) => Err("it came in protobuf, unasked".to_owned()),
        }
    }

    /// Reads a page of a list.
    pub(super) fn page(
        &self,
        text: &[u8],
        context: &DecodeContext<'_>,
    ) -> Result<ListPage, Unreadable> {
        (self.page)(text, context).map_err(|e| e.to_string())
    }
}

fn event_of_line<K: Wire>(
    line: &[u8],
    context: &DecodeContext<'_>,
) -> serde_json::Result<WatchLine> {
    Ok(match raw_event(line)? {
        RawEvent::Add(object) => WatchLine::Apply(item::<K>(object, context)),
        RawEvent::Modify(object) => WatchLine::Apply(read::<K>(object, context)),
        RawEvent::Delete(object) => WatchLine::Delete(meta_of(object)),
        RawEvent::Bookmark { version, ends_list } => WatchLine::Bookmark { version, ends_list },
        RawEvent::Error(status) => WatchLine::Error(status),
    })
}

fn page<K: Wire>(text: &[u8], context: &DecodeContext<'_>) -> serde_json::Result<ListPage> {
    let page = raw_page(text)?;
    let items = page.items.into_iter();
    Ok(ListPage {
        version: page.version,
        next: page.next,
        items: items.map(|text| item::<K>(text, context)).collect(),
    })
}

/// An object that may be known in this very version.
fn item<K: Wire>(text: &RawValue, context: &DecodeContext<'_>) -> ReadItem {
    // Nothing is known while the first list is read, and looking would cost.
    if context.ledger.len() > 0 {
        let meta = meta_of(text);
        if context.ledger.has(&meta) {
            return ReadItem {
                meta,
                reading: None,
            };
        }
    }
    read::<K>(text, context)
}

fn read<K: Wire>(text: &RawValue, context: &DecodeContext<'_>) -> ReadItem {
    let json = text.get().as_bytes();
    let problem = match K::read(json) {
        Ok(object) => {
            return ReadItem {
                meta: meta(object.metadata()),
                reading: Some(object.means(context.rules)),
            };
        }
        Err(problem) => problem,
    };
    let reading = match K::read_in_part(json) {
        Some((object, lost)) => {
            let lost = lost.into_iter().map(of_field);
            object.means(context.rules).with(lost.collect())
        }
        None => Reading::Bad(vec![of_field(problem)]),
    };
    ReadItem {
        meta: meta_of(text),
        reading: Some(reading),
    }
}

fn of_field(problem: WireProblem) -> ObjectProblem {
    ObjectProblem {
        path: problem.path,
        message: problem.message,
        help: HELP.to_owned(),
    }
}

pub(super) fn meta(wire: &ObjectMeta) -> Meta {
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

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use pumice_model::Delta;
    use serde_json::{Value, json};

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
        let event = with(|context| event_of_line::<Node>(line.as_bytes(), context)).unwrap();
        let WatchLine::Apply(item) = event else {
            panic!("{event:?}");
        };
        assert!(matches!(item.reading, Some(Reading::Bad(_))), "{item:?}");
        let line = json!({"type": "DELETED", "object": node("b", json!(3))}).to_string();
        let event = with(|context| event_of_line::<Node>(line.as_bytes(), context)).unwrap();
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
            let read = with(|context| event_of_line::<Node>(line.as_bytes(), context));
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
            let event = with(|context| event_of_line::<Node>(line.as_bytes(), context)).unwrap();
            let version = "12".to_owned();
            assert_eq!(event, WatchLine::Bookmark { version, ends_list });
        }
    }
}
