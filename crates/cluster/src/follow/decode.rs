//! Events of watches and pages of lists to the objects in them, whatever the kind and the encoding.
//!
//! ```text
//!  line ──► raw_event ─┐             ┌─► which object, which version ─► known already?
//!  frame ─► raw_frame ─┤  one object ┤
//!  page ──► raw_page ──┘             └─► its listener reads it
//! ```
//!
//! Every object stays as it is until it is read by itself, so one that does not have its type spares the others of
//! its page, and one whose version is known is not read at all.

use kube::core::Status;
use pumice_wire::protobuf::{RawFrame, name_of, raw_frame};
use serde_json::value::RawValue;

use super::ledger::Ledger;
use super::listener::KindListener;
use super::reading::{ReadItem, Unreadable};
use crate::api::events::{Encoding, status};
use crate::api::raw::{Meta, ObjectKey, RawEvent, meta_of, raw_event, raw_page};

/// An object as it travels.
#[derive(Clone, Copy)]
enum RawObject<'a> {
    Json(&'a RawValue),
    Protobuf(&'a [u8]),
}

/// Which object of protobuf it is, and which version of it, read without the rest.
///
/// # Errors
/// It is no message.
pub(crate) fn meta_of_protobuf(object: &[u8]) -> Result<Meta, Unreadable> {
    let named = name_of(object).map_err(|e| e.to_string())?;
    Ok(Meta {
        key: ObjectKey {
            namespace: named.namespace,
            name: named.name,
            uid: named.uid,
        },
        version: named.version,
    })
}

/// One event of a watch.
#[derive(Debug, PartialEq)]
pub(crate) enum WatchLine<C> {
    Apply(ReadItem<C>),
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
pub(crate) struct ListPage<C> {
    pub(crate) version: String,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
    pub(crate) items: Vec<ReadItem<C>>,
}

/// Reads for one listener.
pub(crate) struct ObjectDecoder<'a, L> {
    pub(crate) listener: &'a L,
    pub(crate) ledger: &'a Ledger,
    /// Also what is known is read again.
    pub(crate) retells: bool,
}

impl<L: KindListener> ObjectDecoder<'_, L> {
    /// Reads an event of a watch.
    pub(crate) fn event(
        &self,
        event: &[u8],
        encoding: Encoding,
    ) -> Result<WatchLine<L::Change>, Unreadable> {
        match encoding {
            Encoding::Json => self.line(event),
            Encoding::Protobuf => self.frame(event),
        }
    }

    fn line(&self, line: &[u8]) -> Result<WatchLine<L::Change>, Unreadable> {
        Ok(match raw_event(line).map_err(|e| e.to_string())? {
            RawEvent::Add(object) => WatchLine::Apply(self.item(RawObject::Json(object))?),
            RawEvent::Modify(object) => WatchLine::Apply(self.read(RawObject::Json(object))?),
            RawEvent::Delete(object) => WatchLine::Delete(meta_of(object)),
            RawEvent::Bookmark { version, ends_list } => WatchLine::Bookmark { version, ends_list },
            RawEvent::Error(status) => WatchLine::Error(status),
        })
    }

    fn frame(&self, frame: &[u8]) -> Result<WatchLine<L::Change>, Unreadable> {
        Ok(match raw_frame(frame).map_err(|e| e.to_string())? {
            RawFrame::Add(object) => WatchLine::Apply(self.item(RawObject::Protobuf(object))?),
            RawFrame::Modify(object) => WatchLine::Apply(self.read(RawObject::Protobuf(object))?),
            RawFrame::Delete(object) => WatchLine::Delete(meta_of_protobuf(object)?),
            RawFrame::Bookmark { version, ends_list } => WatchLine::Bookmark { version, ends_list },
            RawFrame::Error(failure) => WatchLine::Error(status(failure)),
        })
    }

    /// Reads a page of a list.
    pub(crate) fn page(&self, text: &[u8]) -> Result<ListPage<L::Change>, Unreadable> {
        let page = raw_page(text).map_err(|e| e.to_string())?;
        let items = page.items.into_iter().map(RawObject::Json);
        Ok(ListPage {
            version: page.version,
            next: page.next,
            items: items
                .map(|item| self.item(item))
                .collect::<Result<_, _>>()?,
        })
    }

    /// An object that may be known in this very version.
    fn item(&self, object: RawObject<'_>) -> Result<ReadItem<L::Change>, Unreadable> {
        // In the first list looking would cost and find nothing.
        if self.ledger.may_know() && !self.retells {
            let meta = match object {
                RawObject::Json(text) => meta_of(text),
                RawObject::Protobuf(object) => meta_of_protobuf(object)?,
            };
            if self.ledger.has(&meta) {
                let reading = None;
                return Ok(ReadItem { meta, reading });
            }
        }
        self.read(object)
    }

    fn read(&self, object: RawObject<'_>) -> Result<ReadItem<L::Change>, Unreadable> {
        let (meta, reading) = match object {
            RawObject::Json(text) => self.listener.read_json(text),
            RawObject::Protobuf(object) => self.listener.read_protobuf(object)?,
        };
        let reading = Some(reading);
        Ok(ReadItem { meta, reading })
    }
}

#[cfg(test)]
mod tests;
