//! What a decider wants done.

use pumice_model::extender::{ExtenderNotice, QuestionSheet};
use pumice_model::write::Write;

/// Something to be done outside.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are writes")]
pub enum Effect {
    /// To be written; how it ended comes back as an [`pumice_model::write::Outcome`].
    Write(Write),
    /// The decision to bind this pod does not fit any more: its Binding is not to be sent, and its
    /// place stays taken until an outcome says that no request can put the pod there.
    Recall {
        /// UID of the pod.
        uid: String,
        /// What has changed.
        why: String,
    },
    /// What an extender is to be asked from now on; answers come back as
    /// [`pumice_model::extender::ExtenderReply`].
    Ask(Box<QuestionSheet>),
    /// What an extender is to be told, in that order. Nothing comes back.
    TellExtender(Vec<ExtenderNotice>),
    /// A queue that every cluster has was deleted: to be made again.
    MakeDefaultQueues,
    /// For the log.
    Log(LogLine),
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How loud.
    pub level: LogLevel,
    /// Lines of one kind may come in floods: one of them now and then, with how many there were, is
    /// enough. `None`: every line is written.
    pub flood: Option<&'static str>,
    /// What is said.
    pub text: String,
}

impl LogLine {
    /// A line that is written in any case.
    pub fn new(level: LogLevel, text: String) -> Self {
        Self {
            level,
            flood: None,
            text,
        }
    }
}

/// How loud a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Good to know.
    Info,
    /// Somebody should look at it.
    Warning,
    /// Somebody must look at it.
    Error,
}
