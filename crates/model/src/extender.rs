//! An extender: an HTTP service that has a word on decisions (spec/02 §23).
//!
//! ```text
//!  state ─► ExtenderQuestion ─► QuestionSheet ─► whoever asks ─► ExtenderReply ─► ExtenderAnswers
//!  what was decided ─► ExtenderNotice ─► whoever tells it
//! ```
//!
//! Nobody waits for an answer within a cycle: what is to be known is a question that stands until it is
//! needed no more, and an answer counts until the next one comes. Notices are answered by nobody.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::object::{Amounts, GroupPhase, NodeObject, Pairs, QueueObject};
use crate::task::TaskStatus;

/// What an extender is asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum ExtenderVerb {
    /// Whether jobs of a queue have to wait.
    QueueOverused,
    /// Whether a job is admitted.
    JobEnqueueable,
    /// Whether a job may have places.
    JobReady,
    /// On which nodes a pod may run.
    Predicate,
    /// How good nodes are for a pod.
    Prioritize,
    /// Who of its queue may go for a pod.
    Preemptable,
    /// Who of other queues may go for a pod.
    Reclaimable,
}

impl ExtenderVerb {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::QueueOverused,
        Self::JobEnqueueable,
        Self::JobReady,
        Self::Predicate,
        Self::Prioritize,
        Self::Preemptable,
        Self::Reclaimable,
    ];

    /// It is asked about a pod and nodes.
    pub fn is_about_nodes(self) -> bool {
        matches!(self, Self::Predicate | Self::Prioritize)
    }

    /// Volcano's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueOverused => "queueOverused",
            Self::JobEnqueueable => "jobEnqueueable",
            Self::JobReady => "jobReady",
            Self::Predicate => "predicate",
            Self::Prioritize => "prioritize",
            Self::Preemptable => "preemptable",
            Self::Reclaimable => "reclaimable",
        }
    }
}

/// What an extender is told, without being asked anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExtenderEvent {
    /// A cycle has decided.
    SessionOpen,
    /// A cycle has decided, told after [`ExtenderEvent::SessionOpen`].
    SessionClose,
    /// A job was admitted.
    JobEnqueued,
    /// A pod was given a place.
    Allocate,
    /// A pod has lost its place.
    Deallocate,
}

impl ExtenderEvent {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::SessionOpen,
        Self::SessionClose,
        Self::JobEnqueued,
        Self::Allocate,
        Self::Deallocate,
    ];

    /// Volcano's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionOpen => "onSessionOpen",
            Self::SessionClose => "onSessionClose",
            Self::JobEnqueued => "jobEnqueued",
            Self::Allocate => "allocateFunc",
            Self::Deallocate => "deallocateFunc",
        }
    }
}

/// Where an extender is and what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtenderSettings {
    /// Address of the extender, without a trailing `/`.
    pub url_prefix: String,
    /// How long a request may take as a whole, in milliseconds.
    pub timeout_ms: u64,
    /// What it is asked, and the last part of the URL for it.
    pub verbs: BTreeMap<ExtenderVerb, String>,
    /// What it is told, and the last part of the URL for it.
    pub events: BTreeMap<ExtenderEvent, String>,
    /// Where it fails, all goes on as if it had agreed.
    pub ignorable: bool,
    /// Only pods that ask for one of these resources are asked about, and told of; `None`: all.
    pub managed_resources: Option<Vec<String>>,
}

impl ExtenderSettings {
    /// It is told when cycles decide.
    pub fn tells_sessions(&self) -> bool {
        let of_sessions = [ExtenderEvent::SessionOpen, ExtenderEvent::SessionClose];
        of_sessions
            .iter()
            .any(|event| self.events.contains_key(event))
    }
}

/// One question, by what it is about.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct ExtenderQuestion {
    /// What is asked.
    pub verb: ExtenderVerb,
    /// Name of the queue; `namespace/name` of the job, as Volcano names it; UID of the pod.
    pub subject: String,
    /// UID of the queue or PodGroup, which tells it from a later one of that name; empty for pods.
    #[serde(default)]
    pub uid: String,
}

/// What an extender said of a node.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AboutNode<T> {
    /// Name of the node.
    pub node: String,
    /// UID of the node, which tells it from a later one of that name.
    #[serde(default)]
    pub uid: String,
    /// What was said.
    pub said: T,
}

/// What an extender said.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum ExtenderAnswer {
    /// It could not be asked, or what it said is no answer: why. Where the extender is ignorable that
    /// counts as agreement.
    Failed(String),
    /// It said that it has no answer: why. That counts as a refusal.
    Error(String),
    /// To `Predicate`: every node that was asked about, by name.
    Nodes(Vec<AboutNode<NodeWord>>),
    /// To `Prioritize`: scores, finite, of nodes that were asked about, by name.
    Scores(Vec<AboutNode<f64>>),
    /// To `JobEnqueueable`: above 0 yes, below no, 0 no opinion.
    Vote(i64),
    /// To `QueueOverused` and `JobReady`.
    Flag(bool),
    /// To `Preemptable` and `Reclaimable`: UIDs, in order, of those who may go of the pods that were asked
    /// about; `None`: no opinion.
    Victims(Option<Vec<String>>),
}

/// What an extender said of a pod on a node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NodeWord {
    /// It may run there.
    Fits,
    /// It may not: why.
    Refused(String),
    /// It could not be asked: why.
    Failed(String),
}

/// Answers, by question.
#[derive(Clone, Debug, Default)]
pub struct ExtenderAnswers {
    serials: BTreeMap<ExtenderQuestion, u64>,
    answers: FxHashMap<u64, Arc<ExtenderAnswer>>,
    last: u64,
}

impl ExtenderAnswers {
    /// The answer to a question, with a number that no other answer has.
    pub fn find(&self, question: &ExtenderQuestion) -> Option<(u64, &ExtenderAnswer)> {
        let serial = *self.serials.get(question)?;
        Some((serial, self.answers.get(&serial)?))
    }

    /// The answer with a number.
    pub fn by_serial(&self, serial: u64) -> Option<&ExtenderAnswer> {
        self.answers.get(&serial).map(Arc::as_ref)
    }

    /// All of them, by question.
    pub fn all(&self) -> impl Iterator<Item = (&ExtenderQuestion, &ExtenderAnswer)> {
        let all = self.serials.iter();
        all.filter_map(|(question, serial)| Some((question, self.by_serial(*serial)?)))
    }

    /// Whether it is news.
    pub(crate) fn set(&mut self, question: ExtenderQuestion, answer: ExtenderAnswer) -> bool {
        let known = self.find(&question);
        if known.is_some_and(|(_, known)| *known == answer) {
            return false;
        }
        self.last += 1;
        let before = self.serials.insert(question, self.last);
        before.and_then(|before| self.answers.remove(&before));
        self.answers.insert(self.last, Arc::new(answer));
        true
    }

    /// Forgets all but the answers to some questions; returns what was forgotten.
    pub(crate) fn keep(
        &mut self,
        is_asked: impl Fn(&ExtenderQuestion) -> bool,
    ) -> Vec<ExtenderQuestion> {
        let gone = self.serials.keys().filter(|question| !is_asked(question));
        let gone: Vec<ExtenderQuestion> = gone.cloned().collect();
        for question in &gone {
            let serial = self.serials.remove(question);
            serial.and_then(|serial| self.answers.remove(&serial));
        }
        gone
    }
}

/// A pod, as an extender is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldPod {
    /// UID of the pod.
    pub uid: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// Job of the pod as [`ExtenderQuestion::subject`] names it; empty for pods of others.
    pub job: String,
    /// Role of the pod within its job, empty for none.
    pub role: String,
    /// Amounts that the pod requests.
    pub request: Amounts,
    /// Node it is on.
    pub node: Option<String>,
    /// Status of the pod.
    pub status: TaskStatus,
    /// Priority of the pod.
    pub priority: i32,
    /// Name of the pod's PriorityClass, empty for none.
    pub priority_class: String,
    /// It says that it may be evicted.
    pub preemptable: bool,
    /// Request is empty besides `pods`.
    pub best_effort: bool,
    /// It has scheduling gates.
    pub gated: bool,
    /// Labels of the pod.
    pub labels: Pairs,
    /// Annotations that are kept: those some plugin reads.
    pub annotations: Pairs,
    /// Creation, seconds since the epoch.
    pub created_s: i64,
    /// `spec.nodeSelector`.
    pub node_selector: Pairs,
}

/// A node, as an extender is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldNode {
    /// What is read of the Node object.
    pub object: NodeObject,
    /// What it has left.
    pub idle: Amounts,
    /// What its pods hold.
    pub used: Amounts,
    /// What pods on it are releasing.
    pub releasing: Amounts,
    /// What it offers.
    pub total: Amounts,
    /// Pods on it, by UID.
    pub pods: Vec<Arc<ToldPod>>,
}

/// A job, as an extender is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldJob {
    /// As [`ExtenderQuestion::subject`] names it.
    pub key: String,
    /// UID of its PodGroup.
    pub uid: String,
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the job.
    pub name: String,
    /// Queue by name.
    pub queue: String,
    /// Priority of the job.
    pub priority: i32,
    /// `minMember`.
    pub min_available: i32,
    /// `minTaskMember`, by role.
    pub role_minima: Vec<(String, i32)>,
    /// `minResources`.
    pub min_resources: Option<Amounts>,
    /// Phase of its PodGroup.
    pub phase: GroupPhase,
    /// What its pods hold.
    pub allocated: Amounts,
    /// What its pods ask in all.
    pub total: Amounts,
    /// Creation, seconds since the epoch.
    pub created_s: i64,
    /// Pods of the job, by UID.
    pub pods: Vec<Arc<ToldPod>>,
}

/// What a question or notice is about, as things stood when it was told.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionAbout {
    /// One pod, by itself.
    Pod(Arc<ToldPod>),
    /// One job with its pods.
    Job(Arc<ToldJob>),
    /// One queue, as its object has it.
    Queue(Box<QueueObject>),
    /// Who may go for a pod.
    Victims {
        /// The pod, which waits.
        evictor: Arc<ToldPod>,
        /// Pods that could go, cheapest first.
        candidates: Vec<Arc<ToldPod>>,
    },
    /// It went, and the question will with the next cycle.
    Gone,
}

impl QuestionAbout {
    /// Whose question it is: a namespace, or nobody's and empty.
    pub fn namespace(&self) -> &str {
        match self {
            Self::Pod(pod) | Self::Victims { evictor: pod, .. } => &pod.namespace,
            Self::Job(job) => &job.namespace,
            Self::Queue(_) | Self::Gone => "",
        }
    }
}

/// A question as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingQuestion {
    /// What is asked, without what it is about.
    pub question: ExtenderQuestion,
    /// What it is about.
    pub about: Arc<QuestionAbout>,
    /// There was an answer when it was told.
    pub is_answered: bool,
}

/// A cycle that has decided, as an extender is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldSession {
    /// Number of the cycle.
    pub cycle: u64,
    /// Jobs that wait, in the order of their age.
    pub jobs: Vec<Arc<ToldJob>>,
    /// All queues, by name.
    pub queues: Vec<QueueObject>,
}

/// Everything an extender is to be asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuestionSheet {
    /// Whom to ask; nobody where that is not configured.
    pub extender: Option<Arc<ExtenderSettings>>,
    /// Counts the extenders that were configured one after the other: answers carry it, and those that
    /// another one gave do not count.
    pub generation: u64,
    /// The questions, each once.
    pub questions: Vec<StandingQuestion>,
    /// All nodes, in the order of their names; none where nothing is about nodes.
    pub nodes: Vec<Arc<ToldNode>>,
    /// The last cycle, where that is to be told.
    pub session: Option<Arc<ToldSession>>,
}

/// An answer on its way.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ExtenderReply {
    /// [`QuestionSheet::generation`] of whom was asked.
    pub generation: u64,
    /// Which question is answered.
    pub question: ExtenderQuestion,
    /// What was said.
    pub answer: ExtenderAnswer,
}

/// Something that was decided, to be told to an extender.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtenderNotice {
    /// [`QuestionSheet::generation`] of whom to tell.
    pub generation: u64,
    /// What happened.
    pub event: ExtenderEvent,
    /// To whom.
    pub about: QuestionAbout,
}
