//! Answers as classes of pods know them, and what is said where there is none.

use pumice_model::State;
use pumice_model::extender::{ExtenderAnswer, ExtenderSettings, ExtenderVerb};

/// The answers that count for a class.
pub(super) struct SignedAnswers<'a> {
    /// To `predicate`.
    pub filter: SignedAnswer<'a>,
    /// To `prioritize`.
    pub scores: SignedAnswer<'a>,
}

/// An answer that counts for a class.
pub(super) enum SignedAnswer<'a> {
    /// It is not asked of such pods.
    Unasked,
    /// There is none yet.
    Missing,
    /// The extender has answered.
    Known(&'a ExtenderAnswer),
}

impl SignedAnswer<'_> {
    /// How [`SignedAnswer::Unasked`] is signed.
    pub const UNASKED: &'static str = "";
    /// How [`SignedAnswer::Missing`] is signed.
    pub const MISSING: &'static str = "-";
}

impl<'a> SignedAnswers<'a> {
    /// Reads a signature: both answers by number, with a space between.
    pub fn read(state: &'a State, signature: &str) -> Self {
        let (filter, scores) = signature.split_once(' ').unwrap_or_default();
        let answer = |text: &str| match text {
            SignedAnswer::UNASKED => SignedAnswer::Unasked,
            text => {
                let serial = text.parse().ok();
                let known =
                    serial.and_then(|serial| state.supplies().extender_answers().by_serial(serial));
                known.map_or(SignedAnswer::Missing, SignedAnswer::Known)
            }
        };
        Self {
            filter: answer(filter),
            scores: answer(scores),
        }
    }
}

/// What owners of pods, jobs and queues are told.
#[derive(Clone)]
pub(super) struct Words {
    /// The address of the extender.
    url: String,
}

impl Words {
    pub fn new(settings: &ExtenderSettings) -> Self {
        Self {
            url: settings.url_prefix.clone(),
        }
    }

    /// There is no answer yet.
    pub fn missing(&self, verb: ExtenderVerb) -> String {
        format!(
            "the extender at {} has not answered {} yet",
            self.url,
            verb.name()
        )
    }

    /// It could not be asked.
    pub fn failed(&self, verb: ExtenderVerb, why: &str) -> String {
        format!(
            "the extender at {} could not be asked for {}: {why}",
            self.url,
            verb.name()
        )
    }

    /// It says no.
    pub fn refused(&self, why: &str) -> String {
        format!("{why} (said by the extender at {})", self.url)
    }

    /// An answer that is none, or none at all.
    pub fn against(&self, verb: ExtenderVerb, answer: Option<&ExtenderAnswer>) -> String {
        match answer {
            Some(ExtenderAnswer::Failed(why)) => self.failed(verb, why),
            Some(ExtenderAnswer::Error(why)) => self.refused(&format!("{}: {why}", verb.name())),
            _ => self.missing(verb),
        }
    }
}
