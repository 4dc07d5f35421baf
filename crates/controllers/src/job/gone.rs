//! Pods of a Job that are gone.

use jiff::Timestamp;

use crate::runtime::Disruption;

/// A pod that is gone although the Job asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GonePod {
    pub name: String,
    pub uid: String,
    pub task: String,
    pub partition: Option<i32>,
    pub index: i32,
    /// Version of the Job that made it.
    pub version: i32,
    /// Who evicted it, where that was told.
    pub disruption: Option<Disruption>,
    /// Since when that is known; `None` until it is looked at.
    pub at: Option<Timestamp>,
}
