//! What somebody outside has to agree to. Nobody is asked within a cycle: the state has the answers, and
//! after a cycle the plugin tells which answers are needed.

use pumice_model::extender::ExtenderQuestion;
use pumice_model::{JobIx, State};

use crate::refusal::Refusal;

/// A question that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededAnswer {
    /// What the extender is to be asked.
    pub question: ExtenderQuestion,
    /// Changes whenever the job does that it is about, or whose pod it is about; always for queues.
    pub revision: u64,
}

/// Whether a job may have turns at all, in any action that places its pods or makes room for them; the
/// first refusal counts. Asked once a job and action; a refusal depends on the job and on what is known
/// of it alone, and stays one however much is placed.
pub trait JobConsent {
    /// The job may have turns.
    ///
    /// # Errors
    /// Why not.
    fn job_consent(&self, state: &State, job: JobIx) -> Result<(), Refusal>;
}

/// What an extender is to be asked. Read after a cycle; answers to anything else are forgotten then.
pub trait ExtenderQuestions {
    /// Each once, in an order that depends on nothing but the state. They stand until the plugin is opened
    /// anew.
    fn standing_questions(&self) -> &[NeededAnswer];

    /// Jobs that wait, which an extender is told of with the cycle, the oldest ones first, each with a number
    /// that changes whenever it does. None where cycles are not told.
    fn told_jobs(&self) -> &[(JobIx, u64)];
}
