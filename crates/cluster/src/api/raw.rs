//! What lines of watches and pages of lists have in common, whatever the kind; the text of each
//! object stays as it is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::core::Status;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;

/// Annotation of the bookmark that ends the list part of a watch.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// Which object: an empty namespace for kinds without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectKey {
    /// `metadata.namespace`, empty where the kind has none.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// Which object, and which version of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Which object.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
}

/// A line of a watch, the object of it unread.
#[derive(Deserialize)]
struct WatchEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// What a bookmark says.
#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// A line of a watch, its object unread.
pub enum RawEvent<'a> {
    /// Told as new, which after a pause is what was told before as well.
    Add(&'a RawValue),
    /// Another version of what was told.
    Modify(&'a RawValue),
    /// The object is gone.
    Delete(&'a RawValue),
    /// Everything up to this version has been told.
    Bookmark {
        /// `resourceVersion` up to which everything has been told.
        version: String,
        /// The list part of the watch ends here.
        ends_list: bool,
    },
    /// The watch is over.
    Error(Box<Status>),
}

/// Reads a line of a watch as far as it is the same for every kind.
///
/// # Errors
/// It is no event.
pub fn raw_event(line: &[u8]) -> serde_json::Result<RawEvent<'_>> {
    let WatchEvent { kind, object } = serde_json::from_slice(line)?;
    match &*kind {
        "ADDED" => Ok(RawEvent::Add(object)),
        "MODIFIED" => Ok(RawEvent::Modify(object)),
        "DELETED" => Ok(RawEvent::Delete(object)),
        "BOOKMARK" => {
            let Bookmark { metadata } = serde_json::from_str(object.get())?;
            Ok(RawEvent::Bookmark {
                version: metadata.resource_version,
                ends_list: metadata.annotations.contains_key(INITIAL_EVENTS_END),
            })
        }
        "ERROR" => serde_json::from_str(object.get()).map(RawEvent::Error),
        other => {
            let text = format!("no type of events: {other:?}");
            Err(serde_json::Error::custom(text))
        }
    }
}

/// A page of a list, its objects unread.
#[derive(Deserialize)]
struct ListText<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

/// A page of a list, its objects unread.
pub struct RawPage<'a> {
    /// The version the list shows.
    pub version: String,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Objects of the page, as text.
    pub items: Vec<&'a RawValue>,
}

/// Reads a page of a list as far as it is the same for every kind.
///
/// # Errors
/// It is no list.
pub fn raw_page(text: &[u8]) -> serde_json::Result<RawPage<'_>> {
    let ListText { metadata, items } = serde_json::from_slice(text)?;
    Ok(RawPage {
        version: metadata.resource_version.unwrap_or_default(),
        next: metadata.continue_.filter(|next| !next.is_empty()),
        items: items.unwrap_or_default(),
    })
}

/// The part of an object that says which one it is.
#[derive(Deserialize)]
struct Named {
    metadata: NamedMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NamedMeta {
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
}

/// Which object a text is, read without the rest of it.
pub fn meta_of(text: &RawValue) -> Meta {
    match serde_json::from_str::<Named>(text.get()) {
        Ok(Named { metadata }) => Meta {
            key: ObjectKey {
                namespace: metadata.namespace,
                name: metadata.name,
                uid: metadata.uid,
            },
            version: metadata.resource_version,
        },
        // One of the names is no text. The others are told all the same.
        Err(_) => untyped_meta(&serde_json::from_str(text.get()).unwrap_or_default()),
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
