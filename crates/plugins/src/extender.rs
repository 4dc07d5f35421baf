//! Plugin `extender`: an HTTP service has a word on decisions (spec/02 §23).
//!
//! ```text
//!  open ─► AskedPods, questions that stand ─► engine, and somebody asks ─► answers, in the state
//!                                                                            │
//!  signature · filters · scores · admission · overused · consent · victims ◄─┘
//! ```
//!
//! Nothing is asked here. What has no answer yet waits, and says so.

mod asked_pods;
mod nodes;
mod questions;
mod settings;
mod turn;
mod victims;
mod words;

use pumice_conf::{PluginConf, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{
    Admission, ClassSignature, ExtenderQuestions, JobConsent, NeededAnswer, NodeFilters,
    NodeScores, Overused, Victims,
};
use pumice_framework::{
    CycleInfo, Plugin, PluginMemory, ReasonId, ReasonKind, ReasonTable, Refusal, Vote,
};
use pumice_model::extender::{ExtenderAnswer, ExtenderQuestion, ExtenderSettings, ExtenderVerb};
use pumice_model::{JobIx, QueueIx, State};

use crate::entry::PluginEntry;
use asked_pods::AskedPods;
use questions::StandingQuestions;
pub(crate) use settings::settings;
use words::Words;

/// What the configuration may say.
pub const SPEC: PluginSpec = settings::SPEC;

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, reasons| Box::new(Extender::new(conf, reasons)));

/// The plugin.
#[derive(Clone)]
pub struct Extender {
    settings: ExtenderSettings,
    words: Words,
    /// Against nodes that it was not asked about yet.
    unasked: ReasonId,
    /// What it says of a node, where it has said too many different things.
    refused: ReasonId,
    asked: AskedPods,
    questions: StandingQuestions,
}

impl Extender {
    fn new(conf: &PluginConf, reasons: &mut ReasonTable) -> Self {
        let settings = settings(conf);
        let words = Words::new(&settings);
        let unasked = words.missing(ExtenderVerb::Predicate);
        let refused = words.refused("for reasons of its own");
        Self {
            unasked: reasons.intern(&unasked, ReasonKind::Unresolvable),
            refused: reasons.intern(&refused, ReasonKind::Unresolvable),
            asked: AskedPods::new(&settings),
            questions: StandingQuestions::default(),
            settings,
            words,
        }
    }

    fn asks(&self, verb: ExtenderVerb) -> bool {
        self.settings.verbs.contains_key(&verb)
    }

    fn asks_of_pods(&self) -> bool {
        self.asks(ExtenderVerb::Predicate) || self.asks(ExtenderVerb::Prioritize)
    }

    /// What it says of a job or queue, in one word.
    fn flag(&self, state: &State, question: &ExtenderQuestion) -> Result<bool, String> {
        let answer = state.supplies().extender_answers().find(question);
        match answer.map(|(_, answer)| answer) {
            Some(ExtenderAnswer::Flag(flag)) => Ok(*flag),
            answer => Err(self.words.against(question.verb, answer)),
        }
    }

    /// It could not be asked, which does not matter.
    fn is_excused(&self, state: &State, question: &ExtenderQuestion) -> bool {
        let answer = state.supplies().extender_answers().find(question);
        let has_failed = matches!(answer, Some((_, ExtenderAnswer::Failed(_))));
        self.settings.ignorable && has_failed
    }

    /// Why a queue is passed over, if it is.
    fn against_queue(&self, state: &State, queue: QueueIx) -> Option<String> {
        let question =
            ExtenderQuestion::about_queue(ExtenderVerb::QueueOverused, state.population(), queue);
        if self.is_excused(state, &question) {
            return None;
        }
        match self.flag(state, &question) {
            Ok(false) => None,
            Ok(true) => Some(self.words.refused("the queue is overused")),
            Err(why) => Some(why),
        }
    }
}

impl Plugin for Extender {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        if self.settings.verbs.is_empty() && !self.settings.tells_sessions() {
            return;
        }
        self.asked.update(state, &cycle.changed);
        self.questions
            .update(state, &self.settings, &self.asked, cycle.now_s);
    }

    fn keep(&self, _: &State) -> Option<PluginMemory> {
        // When it was asked what.
        Some(PluginMemory {
            in_part: true,
            ..PluginMemory::default()
        })
    }

    fn wake_at_s(&self) -> Option<i64> {
        self.questions.ends_s()
    }

    points!(self; as_class_signature: ClassSignature if self.asks_of_pods());

    fn as_node_filters(&self) -> Option<&dyn NodeFilters> {
        let asks = self.asks(ExtenderVerb::Predicate);
        asks.then_some(self as &dyn NodeFilters)
    }

    fn as_node_scores(&self) -> Option<&dyn NodeScores> {
        let asks = self.asks(ExtenderVerb::Prioritize);
        asks.then_some(self as &dyn NodeScores)
    }

    fn as_admission(&self) -> Option<&dyn Admission> {
        let asks = self.asks(ExtenderVerb::JobEnqueueable);
        asks.then_some(self as &dyn Admission)
    }

    fn as_overused(&self) -> Option<&dyn Overused> {
        let asks = self.asks(ExtenderVerb::QueueOverused);
        asks.then_some(self as &dyn Overused)
    }

    fn as_job_consent(&self) -> Option<&dyn JobConsent> {
        let asks = self.asks(ExtenderVerb::JobReady);
        asks.then_some(self as &dyn JobConsent)
    }

    fn as_victims(&self) -> Option<&dyn Victims> {
        let asks = self.asks(ExtenderVerb::Preemptable) || self.asks(ExtenderVerb::Reclaimable);
        asks.then_some(self as &dyn Victims)
    }

    points!(self; as_extender_questions: ExtenderQuestions);
}

impl ExtenderQuestions for Extender {
    fn standing_questions(&self) -> &[NeededAnswer] {
        &self.questions.needed
    }

    fn told_jobs(&self) -> &[(JobIx, u64)] {
        &self.questions.told_jobs
    }
}

impl Admission for Extender {
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        let question =
            ExtenderQuestion::about_job(ExtenderVerb::JobEnqueueable, state.population(), job);
        let answer = state.supplies().extender_answers().find(&question);
        let against = match answer.map(|(_, answer)| answer) {
            Some(ExtenderAnswer::Vote(1..)) => return (Vote::Permit, None),
            Some(ExtenderAnswer::Vote(0)) => return (Vote::Abstain, None),
            Some(ExtenderAnswer::Vote(_)) => self.words.refused("it does not admit the job"),
            Some(ExtenderAnswer::Failed(_)) if self.settings.ignorable => {
                return (Vote::Permit, None);
            }
            answer => self.words.against(question.verb, answer),
        };
        (Vote::Reject, Some(Refusal::Told(against.into())))
    }
}

impl Overused for Extender {
    fn overused(&self, state: &State, queue: QueueIx) -> bool {
        self.against_queue(state, queue).is_some()
    }

    fn overused_refusal(&self, state: &State, queue: QueueIx) -> Option<Refusal> {
        let against = self.against_queue(state, queue);
        against.map(|text| Refusal::Told(text.into()))
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl JobConsent for Extender {
    fn job_consent(&self, state: &State, job: JobIx) -> Result<(), Refusal> {
        let question = ExtenderQuestion::about_job(ExtenderVerb::JobReady, state.population(), job);
        if self.is_excused(state, &question) {
            return Ok(());
        }
        let against = match self.flag(state, &question) {
            Ok(true) => return Ok(()),
            Ok(false) => self.words.refused("the job is not ready"),
            Err(why) => why,
        };
        Err(Refusal::Told(against.into()))
    }
}

#[cfg(test)]
mod tests;
