//! A plugin of one's own, from `docs/plugin.md`: jobs of high priority stay off spot nodes, which may
//! go away at any time; the others prefer them, because they are cheap.
//!
//! It lives in an example so that it is compiled and run by the tests, and nobody gets it by accident.
//! `cargo run -p pumice-plugins --example spot` prints the verdicts and scores.

use pumice_conf::{Arg, Arguments, PluginSpec};
use pumice_framework::plugins::Member;
use pumice_framework::points;
use pumice_framework::points::{
    ClassSignature, NodeFilters, NodeScores, Signature, StaticClass, StaticPart,
};
use pumice_framework::{Class, Plugin, Plugins, ReasonId, ReasonKind, ReasonTable};
use pumice_model::object::{NodeObject, PodObject};
use pumice_model::{Delta, NodeIx, State, TaskIx};
use std::sync::Arc;

const LABEL: &str = "example.com/spot";
/// Key, kind, default, range and sentence of an argument stand here and nowhere else.
const PROTECTED_FROM: Arg<i64> = Arg::int(
    "spot.protectedFrom",
    1000,
    "Jobs of this priority and above stay off spot nodes.",
);
const WEIGHT: Arg<i64> = Arg::int("spot.weight", 10, "Score of a spot node for the others.").min(0);

/// What the configuration may say; `pumice check`, the reference page and the schema read it.
const SPEC: PluginSpec = PluginSpec {
    name: "spot",
    summary: "Keeps important jobs off spot nodes, and puts the others there.",
    args: &[PROTECTED_FROM.spec(), WEIGHT.spec()],
    ..PluginSpec::PLAIN
};

#[derive(Clone)]
struct Spot {
    protected_from: i64,
    weight: i64,
    reason: ReasonId,
}

impl Spot {
    /// Called once a configuration; the reason gets its number.
    fn new(arguments: &Arguments, reasons: &mut ReasonTable) -> Self {
        let text = "node(s) were spot nodes, which the job's priority forbids";
        Self {
            protected_from: PROTECTED_FROM.read(arguments),
            weight: WEIGHT.read(arguments),
            // No eviction would make it another node.
            reason: reasons.intern(text, ReasonKind::Unresolvable),
        }
    }

    fn is_protected(class: StaticClass<'_>) -> bool {
        !class.signature.of(SPEC.name).is_empty()
    }
}

fn is_spot(state: &State, node: NodeIx) -> bool {
    let labels = &state.nodes().object(node).labels;
    labels
        .iter()
        .any(|(key, value)| key == LABEL && value == "true")
}

impl Plugin for Spot {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_class_signature: ClassSignature,
        as_node_filters: NodeFilters,
        as_node_scores: NodeScores,
    );
}

/// The priority of a job is not in the pod's template, so it is signed: pods of one template in
/// protected and in other jobs become two classes, and each class has one answer.
impl ClassSignature for Spot {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        let job = state.task(task).job.map(|job| state.job(job));
        let protected = job.is_some_and(|job| i64::from(job.priority) >= self.protected_from);
        if protected { "protected" } else { "" }.to_owned()
    }
}

impl NodeFilters for Spot {
    fn static_filter(
        &self,
        state: &State,
        class: StaticClass<'_>,
        _: &mut ReasonTable,
        part: &mut StaticPart,
    ) {
        if Self::is_protected(class) {
            for (node, verdict) in state.nodes().indices().zip(&mut part.verdict) {
                if is_spot(state, node) {
                    verdict.get_or_insert(self.reason);
                }
            }
        }
    }
}

impl NodeScores for Spot {
    fn static_score(&self, state: &State, class: StaticClass<'_>, part: &mut StaticPart) {
        if !Self::is_protected(class) {
            for (node, score) in state.nodes().indices().zip(&mut part.score) {
                *score += i64::from(is_spot(state, node)) * self.weight;
            }
        }
    }
}

/// Two nodes, of which `b` is a spot node, and a pod.
fn cluster() -> State {
    let mut state = State::new("default");
    for (name, spot) in [("a", false), ("b", true)] {
        state.apply(Delta::NodeApply(Box::new(NodeObject {
            name: name.to_owned(),
            labels: vec![(LABEL.to_owned(), spot.to_string())],
            ..NodeObject::default()
        })));
    }
    state.apply(Delta::PodApply(Box::new(PodObject {
        name: "pod".to_owned(),
        uid: "pod".to_owned(),
        ours: true,
        ..PodObject::default()
    })));
    state.seal();
    state
}

/// Verdicts and scores of the nodes for the pod, in jobs of both kinds.
fn answers() -> Option<Vec<StaticPart>> {
    let state = cluster();
    let mut reasons = ReasonTable::default();
    let plugin = Spot::new(&Arguments::default(), &mut reasons);
    let plugins = Plugins::new(vec![vec![Member::new(
        Box::new(plugin),
        &pumice_conf::Enabled::default(),
    )]]);
    let class = Class::of(&state, state.population().task_by_uid("pod")?);
    let mut with = |text: &str| {
        let mut signature = Signature::default();
        signature.add(SPEC.name, text.to_owned());
        let class = Class::new(&state, class.key, Arc::new(signature));
        plugins.static_part(&state, class.fixed(), &mut reasons)
    };
    Some(vec![with("protected"), with("")])
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn main() {
    for part in answers().into_iter().flatten() {
        println!("verdicts {:?}, scores {:?}", part.verdict, part.score);
    }
}

#[cfg(test)]
mod tests {
    use super::answers;

    #[test]
    fn protected_jobs_stay_off_spot_nodes_and_others_prefer_them() {
        let answers = answers().expect("a cluster");
        let [protected, others] = answers.as_slice() else {
            panic!("two answers");
        };
        assert!(protected.verdict[0].is_none() && protected.verdict[1].is_some());
        assert_eq!(protected.score, [0, 0]);
        assert_eq!(others.verdict, [None, None]);
        assert_eq!(others.score, [0, 10]);
    }
}
