//! What an extender says of nodes: reasons against them, and scores.

use std::ops::Range;

use pumice_framework::points::{
    Class, ClassSignature, NodeFilters, NodeScore, NodeScores, StaticClass, StaticPart,
};
use pumice_framework::{ReasonKind, ReasonTable};
use pumice_model::extender::{AboutNode, ExtenderAnswer, ExtenderQuestion, ExtenderVerb, NodeWord};
use pumice_model::object::NodeObject;
use pumice_model::{State, TaskIx};

use super::words::{SignedAnswer, SignedAnswers};
use super::{Extender, SPEC};

impl Extender {
    fn signed<'a>(&self, state: &'a State, class: StaticClass<'_>) -> SignedAnswers<'a> {
        SignedAnswers::read(state, class.signature.of(SPEC.name))
    }

    fn answer_about(&self, state: &State, verb: ExtenderVerb, pod: &str) -> String {
        if !self.asks(verb) {
            return SignedAnswer::UNASKED.to_owned();
        }
        let question = ExtenderQuestion {
            verb,
            subject: pod.to_owned(),
            uid: String::new(),
        };
        match state.supplies().extender_answers().find(&question) {
            None => SignedAnswer::MISSING.to_owned(),
            Some((serial, _)) => serial.to_string(),
        }
    }

    /// Why no node is taken, for want of an answer.
    fn against_all(&self, verb: ExtenderVerb, signed: SignedAnswer<'_>) -> Option<String> {
        match signed {
            SignedAnswer::Unasked => None,
            SignedAnswer::Missing => Some(self.words.missing(verb)),
            SignedAnswer::Known(ExtenderAnswer::Failed(_)) if self.settings.ignorable => None,
            SignedAnswer::Known(ExtenderAnswer::Nodes(_) | ExtenderAnswer::Scores(_)) => None,
            SignedAnswer::Known(answer) => Some(self.words.against(verb, Some(answer))),
        }
    }
}

/// What was said of a node, and not of an earlier one of that name.
fn said_of<'a, T>(said: &'a [AboutNode<T>], node: &NodeObject) -> Option<&'a T> {
    let found = said.binary_search_by(|about| about.node.cmp(&node.name));
    let about = &said[found.ok()?];
    (about.uid == node.uid).then_some(&about.said)
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
        self.against_all(ExtenderVerb::Predicate, signed.filter)
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
            let against = match said_of(said, state.nodes().object(node)) {
                Some(NodeWord::Fits) => continue,
                Some(NodeWord::Failed(_)) if self.settings.ignorable => continue,
                Some(NodeWord::Failed(why)) => {
                    Some(self.words.failed(ExtenderVerb::Predicate, why))
                }
                Some(NodeWord::Refused(why)) => Some(self.words.refused(why)),
                None => None,
            };
            let told =
                |text: &String| reasons.intern_told(text, ReasonKind::Unresolvable, self.refused);
            let reason = against.as_ref().map_or(self.unasked, told);
            verdict.get_or_insert(reason);
        }
    }
}

impl NodeScores for Extender {
    fn awaits(&self, state: &State, class: &Class) -> Option<String> {
        let signed = self.signed(state, class.fixed());
        self.against_all(ExtenderVerb::Prioritize, signed.scores)
    }

    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        let signed = self.signed(state, class.fixed()).scores;
        let SignedAnswer::Known(ExtenderAnswer::Scores(said)) = signed else {
            return Vec::new();
        };
        let nodes = state.nodes();
        let score = |node| said_of(said, nodes.object(node)).copied().unwrap_or(0.0);
        let by_node = nodes.indices().map(score).collect();
        vec![Box::new(ToldScores(by_node))]
    }
}

/// Scores by node.
struct ToldScores(Vec<f64>);

impl NodeScore for ToldScores {
    fn add_fraction(&mut self, _: &State, range: Range<usize>, out: &mut [f64]) {
        for (out, score) in out.iter_mut().zip(&self.0[range]) {
            *out += score;
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}
