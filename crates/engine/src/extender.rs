//! What an extender is told (spec/02 §23.4): the questions that stand, and what they are about, as things
//! stand after a cycle.

use std::collections::BTreeSet;
use std::sync::Arc;

use pumice_model::extender::{
    ExtenderQuestion, ExtenderSettings, ExtenderVerb, QuestionAbout, QuestionSheet,
    StandingQuestion, ToldJob, ToldNode, ToldPod,
};
use pumice_model::node::Columns;
use pumice_model::object::{Amounts, Gates, PreemptableMark};
use pumice_model::{JobIx, NodeIx, ResVec, State, Sym, TaskIx};

use pumice_framework::points::NeededAnswer;
use rustc_hash::FxHashMap;

use crate::Engine;

/// What was told.
#[derive(Default)]
pub(crate) struct ToldQuestions {
    /// Where the extender is.
    settings: Option<ExtenderSettings>,
    /// The questions that were told last, and as of which revision.
    questions: Vec<(u64, StandingQuestion)>,
    nodes: ToldNodes,
}

/// Nodes as they were told: who was not touched since is told as before.
#[derive(Default)]
struct ToldNodes {
    epoch: Option<u64>,
    cursor: u64,
    told: Vec<Arc<ToldNode>>,
}

impl ToldQuestions {
    pub fn of(settings: Option<ExtenderSettings>) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }
}

impl Engine {
    /// The extender that is asked, if there is one.
    pub fn extender(&self) -> Option<&ExtenderSettings> {
        self.extender.settings.as_ref()
    }

    /// Other questions stand than were told last.
    pub fn has_new_questions(&self) -> bool {
        let stand = self.plugins.standing_questions().iter();
        let told = self.extender.questions.iter();
        !stand
            .map(|needed| &needed.question)
            .eq(told.map(|(_, told)| &told.question))
    }

    /// Some question stands.
    pub fn has_questions(&self) -> bool {
        !self.plugins.standing_questions().is_empty()
    }

    /// What an extender is to be asked from now on.
    pub fn question_sheet(&mut self) -> QuestionSheet {
        let told = std::mem::take(&mut self.extender.questions);
        let told: FxHashMap<&ExtenderQuestion, (u64, &Arc<QuestionAbout>)> = told
            .iter()
            .map(|(revision, told)| (&told.question, (*revision, &told.about)))
            .collect();
        let answers = self.state.extender_answers();
        let standing = |needed: &NeededAnswer| {
            let question = &needed.question;
            let about = match told.get(question) {
                Some((revision, about)) if *revision == needed.revision => Arc::clone(about),
                _ => Arc::new(question_about(&self.state, question)),
            };
            let standing = StandingQuestion {
                question: question.clone(),
                about,
                is_answered: answers.find(question.verb, &question.subject).is_some(),
            };
            (needed.revision, standing)
        };
        let needed = self.plugins.standing_questions().iter();
        let standing: Vec<_> = needed.map(standing).collect();
        let questions: Vec<_> = standing.iter().map(|(_, asked)| asked.clone()).collect();
        self.extender.questions = standing;
        let state = &self.state;
        let of_nodes = [ExtenderVerb::Predicate, ExtenderVerb::Prioritize];
        let needs_nodes = questions
            .iter()
            .any(|asked| of_nodes.contains(&asked.question.verb));
        let nodes = match needs_nodes {
            true => self.extender.nodes.renew(state),
            false => {
                self.extender.nodes = ToldNodes::default();
                Vec::new()
            }
        };
        QuestionSheet { questions, nodes }
    }

    /// Forgets answers nobody needs; whether there were any.
    pub(crate) fn forget_answers(&mut self) -> bool {
        let before = self.state.generation();
        if self.state.extender_answers().all().next().is_some() {
            let asked = self.plugins.standing_questions().iter();
            let asked: BTreeSet<_> = asked.map(|needed| &needed.question).collect();
            self.state.keep_answers(|question| asked.contains(question));
        }
        self.state.generation() != before
    }

    /// Another extender has not said what this one did.
    pub(crate) fn set_extender(&mut self, settings: Option<ExtenderSettings>) {
        // Revisions are those of a plugin, which is made anew.
        self.extender.questions.clear();
        if self.extender.settings != settings {
            self.state.keep_answers(|_| false);
            self.extender.settings = settings;
        }
    }
}

impl ToldNodes {
    fn renew(&mut self, state: &State) -> Vec<Arc<ToldNode>> {
        let nodes = state.nodes();
        let epoch = Some(nodes.static_epoch());
        let touched = nodes.touched_since(self.cursor);
        match touched.filter(|_| self.epoch == epoch && self.told.len() == nodes.len()) {
            Some(touched) => {
                for node in touched {
                    self.told[node.at()] = Arc::new(told_node(state, node));
                }
            }
            None => {
                let all = nodes.indices().map(|node| Arc::new(told_node(state, node)));
                self.told = all.collect();
            }
        }
        (self.epoch, self.cursor) = (epoch, nodes.touch_cursor());
        self.told.clone()
    }
}

/// What a question is about; `Gone` where that went since the cycle began.
fn question_about(state: &State, question: &ExtenderQuestion) -> QuestionAbout {
    find_about(state, question).unwrap_or(QuestionAbout::Gone)
}

fn find_about(state: &State, question: &ExtenderQuestion) -> Option<QuestionAbout> {
    let subject = &question.subject;
    Some(match question.verb {
        ExtenderVerb::QueueOverused => {
            let queue = state.queue_by_name(subject)?;
            QuestionAbout::Queue(Box::new(state.queue(queue).object.clone()))
        }
        ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => {
            let job = state.job_by_extender_key(subject)?;
            QuestionAbout::Job(Box::new(told_job(state, job)))
        }
        ExtenderVerb::Predicate | ExtenderVerb::Prioritize => {
            QuestionAbout::Pod(Box::new(told_pod(state, state.task_by_uid(subject)?)))
        }
    })
}

fn amounts(state: &State, amounts: &ResVec) -> Amounts {
    let name = |ix| state.resources().name(ix).to_owned();
    let mut amounts: Amounts = amounts.iter().map(|(ix, n)| (name(ix), n)).collect();
    amounts.retain(|(_, amount)| *amount != 0);
    amounts.sort();
    amounts
}

fn text(state: &State, sym: Sym) -> String {
    state.names().text(sym).to_owned()
}

fn told_pod(state: &State, ix: TaskIx) -> ToldPod {
    let task = state.task(ix);
    let shape = state.shape(ix);
    let job = task.job.map(|job| state.extender_key(state.job(job)));
    let labels = task.labels.iter();
    let node = task
        .node
        .map(|node| state.nodes().object(node).name.clone());
    let mut request = amounts(state, &shape.request);
    request.extend_from_slice(&shape.uncounted);
    ToldPod {
        uid: task.uid.to_string(),
        namespace: text(state, task.namespace),
        name: task.name.to_string(),
        job: job.unwrap_or_default(),
        role: text(state, task.role),
        request,
        node,
        status: task.status,
        priority: task.priority,
        priority_class: text(state, task.priority_class),
        preemptable: task.preemptable == PreemptableMark::Yes,
        best_effort: task.best_effort,
        gated: task.gates != Gates::None,
        labels: labels
            .map(|(key, value)| (text(state, *key), text(state, *value)))
            .collect(),
        annotations: task.annotations.as_deref().cloned().unwrap_or_default(),
        created_s: task.created_s,
        node_selector: state.shapes().rules(shape.rules).node_selector.clone(),
    }
}

/// Some pods, by UID.
fn told_pods(state: &State, pods: &[TaskIx]) -> Vec<ToldPod> {
    let mut pods: Vec<ToldPod> = pods.iter().map(|ix| told_pod(state, *ix)).collect();
    pods.sort_by(|left, right| left.uid.cmp(&right.uid));
    pods
}

fn told_node(state: &State, node: NodeIx) -> ToldNode {
    let nodes = state.nodes();
    let column = |columns: &Columns| {
        let of = |resource| {
            (
                state.resources().name(resource).to_owned(),
                columns.get(resource, node),
            )
        };
        let all = state
            .resources()
            .in_order()
            .iter()
            .map(|resource| of(*resource));
        all.filter(|(_, amount)| *amount != 0).collect()
    };
    ToldNode {
        object: nodes.object(node).clone(),
        idle: column(&nodes.idle),
        used: column(&nodes.used),
        releasing: column(&nodes.releasing),
        total: column(&nodes.total),
        pods: told_pods(state, nodes.tasks(node)),
    }
}

fn told_job(state: &State, ix: JobIx) -> ToldJob {
    let job = state.job(ix);
    let minima = job.roles.iter().filter(|role| role.min > 0);
    ToldJob {
        key: state.extender_key(job),
        uid: job.uid.to_string(),
        namespace: text(state, job.namespace),
        name: job.group_name().to_owned(),
        queue: text(state, job.queue_name),
        priority: job.priority,
        min_available: job.min_available,
        role_minima: minima
            .map(|role| (text(state, role.role), role.min))
            .collect(),
        min_resources: job.min_resources.as_ref().map(|all| amounts(state, all)),
        phase: job.status.phase,
        allocated: amounts(state, &job.allocated),
        total: amounts(state, &job.total),
        created_s: job.created_s,
        pods: told_pods(state, &job.tasks),
    }
}
