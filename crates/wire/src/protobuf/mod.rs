//! Pods and nodes in the encoding in which Kubernetes' own components exchange them.
//!
//! ```text
//!  a frame of a watch ─► RawFrame ─► which object, which version ─► ProtobufObject::read_protobuf
//!                        envelope: "k8s\0", Unknown{raw}
//! ```
//!
//! An API server spends less processor time on protobuf than on JSON, and we spend less on reading it,
//! since what nobody asks for is skipped by its length. The numbers of fields are those of `generated.proto` of
//! `k8s.io/api` and `k8s.io/apimachinery`; Kubernetes never gives a number another meaning.
//!
//! Only the fields that `pumice-ingest` reads are taken. The types are those that JSON is read into, so
//! what an object means is said in one place. Two things differ between the encodings, and are made equal here:
//! * an empty text is sent where JSON leaves the field out, and is read as absent;
//! * so is the zero time.
//!
//! Invariant: what cannot be read is an error and never a guess; no message is deeper than the types are.

mod constraint;
mod frame;
mod message;
mod meta;
mod node;
mod pod;
mod volume;

pub use frame::{
    FailureDetails, FailureStatus, ObjectName, RawFrame, envelope, name_of, raw_frame, status,
};
pub use message::Malformed;

use crate::WireObject;

/// Media type of objects in protobuf.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// A kind that API servers also send in protobuf, and that can be read from it.
pub trait ProtobufObject: WireObject {
    /// Reads the message of one object, without its envelope.
    ///
    /// # Errors
    /// The bytes are no such message.
    fn read_protobuf(bytes: &[u8]) -> Result<Self, Malformed>;
}

macro_rules! protobuf_objects {
    ($($kind:ident),*) => {
        $(
            impl ProtobufObject for k8s_openapi::api::core::v1::$kind {
                #[inline(never)]
                fn read_protobuf(bytes: &[u8]) -> Result<Self, Malformed> {
                    message::read(bytes)
                }
            }
        )*
    };
}

protobuf_objects!(Node, Pod);

#[cfg(test)]
mod tests;
