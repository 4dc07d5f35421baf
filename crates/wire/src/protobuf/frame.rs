//! What frames of watches have in common, whatever the kind; the message of each object stays as it is.

use super::message::{Malformed, MessageFields, Slot as _, messages, read};

/// What the bytes of every object begin with.
const MAGIC: &[u8] = b"k8s\0";

/// Annotation of the bookmark that ends the list part of a watch.
const INITIAL_EVENTS_END: &[u8] = b"k8s.io/initial-events-end";

/// A frame of a watch, its object unread and without envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawFrame<'f> {
    /// Told as new, which after a pause is what was told before as well.
    Add(&'f [u8]),
    /// Another version of what was told.
    Modify(&'f [u8]),
    /// The object is gone.
    Delete(&'f [u8]),
    /// Everything up to this version has been told.
    Bookmark {
        /// `resourceVersion` up to which everything has been told.
        version: String,
        /// The list part of the watch ends here.
        ends_list: bool,
    },
    /// The watch is over.
    Error(FailureStatus),
}

/// Reads a frame of a watch as far as it is the same for every kind.
///
/// # Errors
/// The bytes are no event.
pub fn raw_frame(frame: &[u8]) -> Result<RawFrame<'_>, Malformed> {
    let (mut kind, mut object) = (&[][..], &[][..]);
    for field in MessageFields::of(frame) {
        let field = field?;
        match field.number {
            1 => kind = field.bytes()?,
            // A RawExtension.
            2 => object = only(field.bytes()?, 1)?,
            _ => {}
        }
    }
    let object = envelope(object)?;
    match kind {
        b"ADDED" => Ok(RawFrame::Add(object)),
        b"MODIFIED" => Ok(RawFrame::Modify(object)),
        b"DELETED" => Ok(RawFrame::Delete(object)),
        b"BOOKMARK" => bookmark(object),
        b"ERROR" => read(object).map(RawFrame::Error),
        _ => Err(Malformed::Event),
    }
}

/// The message of an object, as it stands in an answer or event within an envelope.
///
/// # Errors
/// There is no envelope.
pub fn envelope(object: &[u8]) -> Result<&[u8], Malformed> {
    let unknown = object.strip_prefix(MAGIC).ok_or(Malformed::Envelope)?;
    only(unknown, 2)
}

/// The bytes of one field of a message.
fn only(message: &[u8], number: u32) -> Result<&[u8], Malformed> {
    let mut found = &[][..];
    for field in MessageFields::of(message) {
        let field = field?;
        if field.number == number {
            found = field.bytes()?;
        }
    }
    Ok(found)
}

fn bookmark(object: &[u8]) -> Result<RawFrame<'_>, Malformed> {
    let (mut version, mut ends_list) = (String::new(), false);
    for field in MessageFields::of(only(object, 1)?) {
        let field = field?;
        match field.number {
            6 => version.accept(field)?,
            12 => ends_list |= only(field.bytes()?, 1)? == INITIAL_EVENTS_END,
            _ => {}
        }
    }
    Ok(RawFrame::Bookmark { version, ends_list })
}

/// Which object a message is, and which version of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectName {
    /// Empty for kinds without.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub version: String,
}

messages! {
    ObjectName {
        1 => name,
        3 => namespace,
        5 => uid,
        6 => version,
    }
    FailureStatus {
        3 => message,
        4 => reason,
        5 => details,
        6 => code,
    }
    FailureDetails {
        5 => retry_after_s,
    }
}

/// Reads which object a message is, without the rest of it.
///
/// # Errors
/// The bytes are no object.
pub fn name_of(object: &[u8]) -> Result<ObjectName, Malformed> {
    read(only(object, 1)?)
}

/// The part of a `meta/v1 Status` that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureStatus {
    /// The HTTP status.
    pub code: i32,
    /// One word, as `Expired`.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// What else it says.
    pub details: FailureDetails,
}

/// The part of `StatusDetails` that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureDetails {
    /// Seconds the API server asks to wait; 0 for none.
    pub retry_after_s: i32,
}

/// Reads the status in an answer, with its envelope.
///
/// # Errors
/// The bytes are none.
pub fn status(answer: &[u8]) -> Result<FailureStatus, Malformed> {
    read(envelope(answer)?)
}
