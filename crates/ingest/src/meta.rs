//! Metadata every kind has.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pumice_api::keys;
use pumice_model::object::{Pairs, PreemptableMark};

use crate::problem::{ObjectProblem, ObjectProblems, Path};

/// `metadata.name`, which must be there.
pub(crate) fn name(meta: &ObjectMeta, problems: &mut ObjectProblems) -> String {
    let name = meta.name.clone().unwrap_or_default();
    if name.is_empty() {
        let help = "give the object a name, for example \"worker-0\"";
        problems.add(
            Path::root("metadata").field("name"),
            "the name is missing",
            help,
        );
    }
    name
}

/// Whether an object has a name of which nothing else is read.
///
/// # Errors
/// It has none.
pub fn named(meta: &ObjectMeta) -> Result<(), Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    name(meta, &mut problems);
    problems.or(())
}

/// `metadata.namespace`, or the default one.
pub(crate) fn namespace(meta: &ObjectMeta) -> String {
    match meta.namespace.as_deref() {
        None | Some("") => keys::DEFAULT_NAMESPACE.to_owned(),
        Some(namespace) => namespace.to_owned(),
    }
}

/// `metadata.uid`, or `namespace/name`.
pub(crate) fn uid(meta: &ObjectMeta, namespace: &str, name: &str) -> String {
    match meta.uid.as_deref() {
        None | Some("") => format!("{namespace}/{name}"),
        Some(uid) => uid.to_owned(),
    }
}

/// `metadata.creationTimestamp` in seconds since the epoch, 0 when absent.
pub(crate) fn created_s(meta: &ObjectMeta) -> i64 {
    seconds(meta.creation_timestamp.as_ref())
}

/// A time in seconds since the epoch, 0 when absent.
pub(crate) fn seconds(time: Option<&Time>) -> i64 {
    time.map_or(0, |time| time.0.as_second())
}

/// Sorted pairs of a map.
pub(crate) fn pairs(map: Option<&BTreeMap<String, String>>) -> Pairs {
    let clone = |(key, value): (&String, &String)| (key.clone(), value.clone());
    map.into_iter().flatten().map(clone).collect()
}

/// The annotations among these keys, sorted.
pub(crate) fn annotations(meta: &ObjectMeta, keys: &[&str]) -> Pairs {
    let Some(all) = &meta.annotations else {
        return Pairs::new();
    };
    let kept = all.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Value of an annotation; an empty one counts as absent.
pub(crate) fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    let value = meta.annotations.as_ref()?.get(key)?;
    (!value.is_empty()).then_some(value)
}

/// Value of a label; an empty one counts as absent.
pub(crate) fn label<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    let value = meta.labels.as_ref()?.get(key)?;
    (!value.is_empty()).then_some(value)
}

/// Longer names are none: nobody fills memory with them.
const MAX_USER_BYTES: usize = 128;

/// The user an object is of, as it says: annotation, then label; empty for none (spec/13 §2).
pub(crate) fn user(meta: &ObjectMeta) -> String {
    user_of(annotation(meta, keys::USER).or_else(|| label(meta, keys::USER)))
}

/// Who asked for an object, as admission wrote it; empty for none (spec/13 §2). Whoever may edit a namespace may make service
/// accounts there and be each of them, so those of one are one user, by the name of their group.
pub(crate) fn requester(meta: &ObjectMeta) -> String {
    let name = annotation(meta, keys::REQUESTER);
    let account = name.and_then(|name| name.strip_prefix("system:serviceaccount:"));
    let namespace = account.and_then(|account| account.split_once(':'));
    match namespace {
        Some((namespace, _)) => user_of(Some(&format!("system:serviceaccounts:{namespace}"))),
        None => user_of(name),
    }
}

fn user_of(name: Option<&str>) -> String {
    let name = name.filter(|name| name.len() <= MAX_USER_BYTES);
    name.unwrap_or_default().to_owned()
}

/// What an object says of the eviction of its pods: annotation, then label (spec/07 §2.3).
pub(crate) fn preemptable(meta: &ObjectMeta) -> PreemptableMark {
    let said =
        |map: &Option<BTreeMap<String, String>>| map.as_ref()?.get(keys::PREEMPTABLE).cloned();
    let text = said(&meta.annotations).or_else(|| said(&meta.labels));
    PreemptableMark::of(text.as_deref())
}
