//! An object as it travels to what it means. A wire object lives only here.
//!
//! The API server makes a message of protobuf from the type, so an object that does not have its type, as in JSON,
//! cannot come in it. One whose message cannot be read all the same is reported and spares the others.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_ingest::{ObjectProblem, Readable};
use pumice_model::Delta;
use pumice_wire::protobuf::ProtobufObject;
use serde_json::value::RawValue;

use super::rules::WatchRules;
use super::wire::{Change, Wire};
use crate::api::raw::{Meta, ObjectKey, meta_of};
use crate::follow::decode::meta_of_protobuf;
use crate::follow::{Reading, Unreadable, of_field};

/// Help for an object whose message cannot be read.
const HELP_PROTOBUF: &str =
    "tell the authors of Pumice, with what `kubectl get --v=8` shows of the object";

/// Which object it is, and what it means.
pub(super) type ReadObject = (Meta, Reading<Change>);

/// Reads an object from JSON.
pub(super) type ReadJson = fn(&RawValue, &WatchRules) -> ReadObject;

/// Reads an object from protobuf.
pub(super) type ReadProtobuf = fn(&[u8], &WatchRules) -> Result<ReadObject, Unreadable>;

pub(super) fn json<K: Wire>(text: &RawValue, rules: &WatchRules) -> ReadObject {
    let json = text.get().as_bytes();
    let problem = match K::read(json) {
        Ok(object) => return (meta(object.metadata()), object.means(rules)),
        Err(problem) => problem,
    };
    let reading = match K::read_in_part(json) {
        Some((object, lost)) => {
            let lost = lost.into_iter().map(of_field);
            object.means(rules).with(lost.collect())
        }
        None => Reading::Bad(vec![of_field(problem)]),
    };
    (meta_of(text), reading)
}

pub(super) fn protobuf<K: Wire + ProtobufObject>(
    object: &[u8],
    rules: &WatchRules,
) -> Result<ReadObject, Unreadable> {
    let problem = match K::read_protobuf(object) {
        Ok(object) => return Ok((meta(object.metadata()), object.means(rules))),
        Err(problem) => problem,
    };
    let problem = ObjectProblem {
        path: ".".to_owned(),
        message: problem.to_string(),
        help: HELP_PROTOBUF.to_owned(),
    };
    let meta = meta_of_protobuf(object)?;
    Ok((meta, Reading::Bad(vec![problem])))
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

/// An object which counts if all of it can be read.
pub(super) fn whole<T>(
    read: Result<T, Vec<ObjectProblem>>,
    change: impl FnOnce(T) -> Delta,
) -> Reading<Change> {
    match read {
        Ok(object) => Reading::Keep(Change::Engine(change(object))),
        Err(problems) => Reading::Bad(problems),
    }
}

/// An object some of which may not be readable.
pub(super) fn readable<T>(
    read: Result<Readable<T>, Vec<ObjectProblem>>,
    change: impl FnOnce(T) -> Delta,
) -> Reading<Change> {
    match read {
        Ok(Readable { object, doubts }) => {
            Reading::Keep(Change::Engine(change(object))).with(doubts)
        }
        Err(problems) => Reading::Bad(problems),
    }
}

#[cfg(test)]
mod tests;
