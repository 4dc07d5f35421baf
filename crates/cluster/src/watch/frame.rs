//! Frames of protobuf to what they mean, as `decode` reads lines of JSON.
//!
//! The API server makes a message from the type, so an object that does not have its type, as in JSON, cannot come.
//! One whose message cannot be read all the same is reported and spares the others.

use pumice_ingest::ObjectProblem;
use pumice_wire::protobuf::{Malformed, ProtobufObject, RawFrame, name_of, raw_frame};

use super::decode::{DecodeContext, ReadItem, WatchLine, meta};
use super::kinds::Wire;
use super::reading::Reading;
use crate::api::events::status;
use crate::api::raw::{Meta, ObjectKey};

/// Help for an object that cannot be read.
const HELP: &str = "tell the authors of Pumice, with what `kubectl get --v=8` shows of the object";

/// Reads a frame of a watch.
pub(super) fn event<K: Wire + ProtobufObject>(
    frame: &[u8],
    context: &DecodeContext<'_>,
) -> Result<WatchLine, Malformed> {
    Ok(match raw_frame(frame)? {
        RawFrame::Add(object) => WatchLine::Apply(item::<K>(object, context)?),
        RawFrame::Modify(object) => WatchLine::Apply(read::<K>(object, context)?),
        RawFrame::Delete(object) => WatchLine::Delete(meta_of(object)?),
        RawFrame::Bookmark { version, ends_list } => WatchLine::Bookmark { version, ends_list },
        RawFrame::Error(failure) => WatchLine::Error(status(failure)),
    })
}

/// An object that may be known in this very version.
fn item<K: Wire + ProtobufObject>(
    object: &[u8],
    context: &DecodeContext<'_>,
) -> Result<ReadItem, Malformed> {
    // Nothing is known while the first list is read, and looking would cost.
    if context.ledger.len() > 0 {
        let meta = meta_of(object)?;
        if context.ledger.has(&meta) {
            return Ok(ReadItem {
                meta,
                reading: None,
            });
        }
    }
    read::<K>(object, context)
}

fn read<K: Wire + ProtobufObject>(
    object: &[u8],
    context: &DecodeContext<'_>,
) -> Result<ReadItem, Malformed> {
    let problem = match K::read_protobuf(object) {
        Ok(object) => {
            return Ok(ReadItem {
                meta: meta(object.metadata()),
                reading: Some(object.means(context.rules)),
            });
        }
        Err(problem) => problem,
    };
    Ok(ReadItem {
        meta: meta_of(object)?,
        reading: Some(Reading::Bad(vec![ObjectProblem {
            path: ".".to_owned(),
            message: problem.to_string(),
            help: HELP.to_owned(),
        }])),
    })
}

fn meta_of(object: &[u8]) -> Result<Meta, Malformed> {
    let named = name_of(object)?;
    Ok(Meta {
        key: ObjectKey {
            namespace: named.namespace,
            name: named.name,
            uid: named.uid,
        },
        version: named.version,
    })
}

#[cfg(test)]
mod tests;
