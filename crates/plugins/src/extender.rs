//! Plugin `extender`: an HTTP service has a word on decisions (spec/02 §23).
//!
//! ```text
//!  open ─► AskedPods, questions that stand ─► engine, and somebody asks ─► answers, in the state
//!                                                                            │
//!  signature · filters · scores · admission · overused · consent ◄───────────┘
//! ```
//!
//! Nothing is asked here. What has no answer yet waits, and says so.

mod asked_pods;
mod settings;
mod words;

use std::ops::Range;

use pumice_conf::{PluginConf, PluginSpec};
use pumice_framework::points::{
    Admission, Class, ClassSignature, ExtenderQuestions, JobConsent, NeededAnswer, NodeFilters,
    NodeScore, NodeScores, Overused, StaticClass, StaticPart,
};
use pumice_framework::{CycleInfo, Plugin, ReasonId, ReasonKind, ReasonTable, Refusal, Vote};
use pumice_model::extender::{ExtenderAnswer, ExtenderSettings, ExtenderVerb, NodeWord};
use pumice_model::{JobIx, QueueIx, State, TaskIx};

use crate::registry::PluginEntry;
use asked_pods::{AskedPods, QuestionWindow};
pub(crate) use settings::settings;
use words::{SignedAnswer, SignedAnswers, Words};

/// What the configuration may say.
pub const SPEC: PluginSpec = settings::SPEC;

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, reasons| Box::new(Extender::new(conf, reasons)));

/// The plugin.
pub struct Extender {
    settings: ExtenderSettings,
    words: Words,
    /// Against nodes that it was not asked about yet.
    unasked: ReasonId,
    /// What it says of a node, where it has said too many different things.
    refused: ReasonId,
    asked: AskedPods,
    window: QuestionWindow,
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
            window: QuestionWindow::default(),
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
    fn flag(&self, state: &State, verb: ExtenderVerb, subject: &str) -> Result<bool, String> {
        let answer = state.extender_answers().find(verb, subject);
        match answer.map(|(_, answer)| answer) {
            Some(ExtenderAnswer::Flag(flag)) => Ok(*flag),
            answer => Err(self.words.against(verb, answer)),
        }
    }

    /// It could not be asked, which does not matter.
    fn is_excused(&self, state: &State, verb: ExtenderVerb, subject: &str) -> bool {
        let answer = state.extender_answers().find(verb, subject);
        let has_failed = matches!(answer, Some((_, ExtenderAnswer::Failed(_))));
        self.settings.ignorable && has_failed
    }

    /// Why a queue is passed over, if it is.
    fn against_queue(&self, state: &State, queue: QueueIx) -> Option<String> {
        let name = &state.queue(queue).object.name;
        let verb = ExtenderVerb::QueueOverused;
        if self.is_excused(state, verb, name) {
            return None;
        }
        match self.flag(state, verb, name) {
            Ok(false) => None,
            Ok(true) => Some(self.words.refused("the queue is overused")),
            Err(why) => Some(why),
        }
    }

    fn signed<'a>(&self, state: &'a State, class: StaticClass<'_>) -> SignedAnswers<'a> {
        SignedAnswers::read(state, class.signature.of(SPEC.name))
    }

    fn answer_about(&self, state: &State, verb: ExtenderVerb, pod: &str) -> String {
        match state.extender_answers().find(verb, pod) {
            _ if !self.asks(verb) => SignedAnswer::UNASKED.to_owned(),
            None => SignedAnswer::MISSING.to_owned(),
            Some((serial, _)) => serial.to_string(),
        }
    }
}

impl Plugin for Extender {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        if self.settings.verbs.is_empty() {
            return;
        }
        self.asked.update(state, &cycle.changed);
        self.window = QuestionWindow::new(state, &self.settings, &self.asked, cycle.now_s);
    }

    fn wake_at_s(&self) -> Option<i64> {
        self.window.ends_s
    }

    fn as_class_signature(&self) -> Option<&dyn ClassSignature> {
        self.asks_of_pods().then_some(self as &dyn ClassSignature)
    }

    fn as_node_filters(&self) -> Option<&dyn NodeFilters> {
        self.asks_of_pods().then_some(self as &dyn NodeFilters)
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

    fn as_extender_questions(&self) -> Option<&dyn ExtenderQuestions> {
        Some(self)
    }
}

impl ExtenderQuestions for Extender {
    fn standing_questions(&self) -> &[NeededAnswer] {
        &self.window.questions
    }
}

impl ClassSignature for Extender {
    /// The answers that count for the pod, by number. Those whose node is decided are not asked about
    /// again.
    fn signature(&self, state: &State, task: TaskIx) -> String {
        if !state.task(task).status.is_undecided() || !self.asked.is_of_interest(state, task) {
            return String::new();
        }
        let pod = self.asked.pod_asked_about(state, task);
        let filter = self.answer_about(state, ExtenderVerb::Predicate, pod);
        let scores = self.answer_about(state, ExtenderVerb::Prioritize, pod);
        format!("{filter} {scores}")
    }
}

impl NodeFilters for Extender {
    fn prefilter(&self, state: &State, class: &Class) -> Option<String> {
        let signed = self.signed(state, class.fixed());
        let both = [
            (ExtenderVerb::Predicate, signed.filter),
            (ExtenderVerb::Prioritize, signed.scores),
        ];
        both.into_iter().find_map(|(verb, signed)| match signed {
            SignedAnswer::Unasked => None,
            SignedAnswer::Missing => Some(self.words.missing(verb)),
            SignedAnswer::Known(ExtenderAnswer::Failed(_)) if self.settings.ignorable => None,
            SignedAnswer::Known(ExtenderAnswer::Nodes(_) | ExtenderAnswer::Scores(_)) => None,
            SignedAnswer::Known(answer) => Some(self.words.against(verb, Some(answer))),
        })
    }

    fn static_filter(
        &self,
        state: &State,
        class: StaticClass<'_>,
        reasons: &mut ReasonTable,
        part: &mut StaticPart,
    ) {
        let signed = self.signed(state, class).filter;
        let SignedAnswer::Known(ExtenderAnswer::Nodes(said)) = signed else {
            return;
        };
        for (node, verdict) in state.nodes().indices().zip(&mut part.verdict) {
            let name = &state.nodes().object(node).name;
            let found = said.binary_search_by(|(known, _)| known.cmp(name));
            let against = match found.map(|at| &said[at].1) {
                Ok(NodeWord::Fits) => continue,
                Ok(NodeWord::Failed(_)) if self.settings.ignorable => continue,
                Ok(NodeWord::Failed(why)) => Some(self.words.failed(ExtenderVerb::Predicate, why)),
                Ok(NodeWord::Refused(why)) => Some(self.words.refused(why)),
                Err(_) => None,
            };
            let told =
                |text: &String| reasons.intern_told(text, ReasonKind::Unresolvable, self.refused);
            let reason = against.as_ref().map_or(self.unasked, told);
            verdict.get_or_insert(reason);
        }
    }
}

impl NodeScores for Extender {
    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        let signed = self.signed(state, class.fixed()).scores;
        let SignedAnswer::Known(ExtenderAnswer::Scores(said)) = signed else {
            return Vec::new();
        };
        let mut by_node = vec![0.0; state.nodes().len()];
        for (name, score) in said {
            if let Some(node) = state.nodes().find(name) {
                by_node[node.at()] = *score;
            }
        }
        vec![Box::new(ToldScores(by_node))]
    }
}

/// Scores by node.
struct ToldScores(Vec<f64>);

impl NodeScore for ToldScores {
    fn add_fraction(&self, _: &State, range: Range<usize>, out: &mut [f64]) {
        for (out, score) in out.iter_mut().zip(&self.0[range]) {
            *out += score;
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}

impl Admission for Extender {
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        let (verb, key) = (
            ExtenderVerb::JobEnqueueable,
            state.extender_key(state.job(job)),
        );
        let answer = state.extender_answers().find(verb, &key);
        let against = match answer.map(|(_, answer)| answer) {
            Some(ExtenderAnswer::Vote(1..)) => return (Vote::Permit, None),
            Some(ExtenderAnswer::Vote(0)) => return (Vote::Abstain, None),
            Some(ExtenderAnswer::Vote(_)) => self.words.refused("it does not admit the job"),
            Some(ExtenderAnswer::Failed(_)) if self.settings.ignorable => {
                return (Vote::Permit, None);
            }
            answer => self.words.against(verb, answer),
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
        let (verb, key) = (ExtenderVerb::JobReady, state.extender_key(state.job(job)));
        if self.is_excused(state, verb, &key) {
            return Ok(());
        }
        let against = match self.flag(state, verb, &key) {
            Ok(true) => return Ok(()),
            Ok(false) => self.words.refused("the job is not ready"),
            Err(why) => why,
        };
        Err(Refusal::Told(against.into()))
    }
}

#[cfg(test)]
mod tests;
