//! What an extender is asked and told (spec/02 §23.4): the questions that stand, and what they are about, as
//! things stand after a cycle.

mod notices;
mod told;

use std::collections::BTreeSet;
use std::sync::Arc;

use pumice_actions::CheapestByQueue;
use pumice_framework::points::NeededAnswer;
use pumice_framework::{Evicts, Plugins};
use pumice_model::extender::{
    ExtenderNotice, ExtenderQuestion, ExtenderReply, ExtenderSettings, ExtenderVerb, QuestionAbout,
    QuestionSheet, StandingQuestion, ToldPod, ToldSession,
};
use pumice_model::{State, TaskIx};
use rustc_hash::FxHashMap;

use crate::configured::evicts;
use crate::knowledge::Knowledge;
use told::{ToldJobs, ToldNodes, ToldPods, told_job};

/// Pods that could go for another one of which an extender is told.
const MAX_CANDIDATES: usize = 512;

/// What was told.
#[derive(Default)]
pub(crate) struct ToldQuestions {
    /// Whom.
    settings: Option<Arc<ExtenderSettings>>,
    /// Counts extenders that were configured one after the other.
    generation: u64,
    /// The last one of these that was told anything.
    told_generation: u64,
    /// The cycle that was told last.
    told_cycle: u64,
    /// The questions that were told last, and as of which revision.
    questions: Vec<(u64, StandingQuestion)>,
    /// `ChangeJournal::generation` then.
    told_state: u64,
    nodes: ToldNodes,
    pods: ToldPods,
    jobs: ToldJobs,
    /// What is to be told.
    notices: Vec<ExtenderNotice>,
}

impl ToldQuestions {
    pub fn of(settings: Option<ExtenderSettings>) -> Self {
        Self {
            generation: u64::from(settings.is_some()),
            settings: settings.map(Arc::new),
            ..Self::default()
        }
    }

    fn tells_sessions(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| settings.tells_sessions())
    }

    /// It is told of decisions.
    fn is_told(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| !settings.events.is_empty())
    }
}

impl ToldQuestions {
    /// Whom.
    pub fn settings(&self) -> Option<&ExtenderSettings> {
        self.settings.as_deref()
    }

    /// The extender that is asked now is the one that gave this reply.
    pub fn is_mine(&self, reply: &ExtenderReply) -> bool {
        reply.generation == self.generation
    }

    /// Other questions stand than were told last, to another extender, or after another cycle that it is
    /// told of.
    pub fn has_news(&self, known: Knowledge<'_>) -> bool {
        let told = self.questions.iter();
        let is_new_cycle = self.told_cycle != known.cycle && self.tells_sessions();
        is_new_cycle
            || self.told_generation != self.generation
            || !needed_answers(known)
                .map(|needed| &needed.question)
                .eq(told.map(|(_, told)| &told.question))
    }

    /// What an extender is to be asked from now on.
    pub fn sheet(&mut self, known: Knowledge<'_>) -> QuestionSheet {
        let (told, state) = (self, known.state);
        let before = std::mem::take(&mut told.questions);
        let before: FxHashMap<&ExtenderQuestion, (u64, &Arc<QuestionAbout>)> = before
            .iter()
            .map(|(revision, told)| (&told.question, (*revision, &told.about)))
            .collect();
        let answers = state.supplies().extender_answers();
        let mut abouts = Abouts {
            state,
            pods: &mut told.pods,
            passes_marks: evicts(known.actions).reclaim_passes_marks,
            candidates: [None, None],
        };
        let is_same_state = told.told_state == state.journal().generation();
        let standing = |needed: &NeededAnswer| {
            let question = &needed.question;
            let about = match before.get(question) {
                Some((revision, about))
                    if *revision == needed.revision && (is_same_state || is_settled(about)) =>
                {
                    Arc::clone(about)
                }
                _ => Arc::new(abouts.of(question)),
            };
            let standing = StandingQuestion {
                question: question.clone(),
                about,
                is_answered: answers.find(question).is_some(),
            };
            (needed.revision, standing)
        };
        let standing: Vec<_> = needed_answers(known).map(standing).collect();
        let questions: Vec<_> = standing.iter().map(|(_, asked)| asked.clone()).collect();
        told.questions = standing;
        let session = told.tells_sessions().then(|| told.session(known));
        let is_about_nodes = |asked: &StandingQuestion| asked.question.verb.is_about_nodes();
        let nodes = match session.is_some() || questions.iter().any(is_about_nodes) {
            true => told.nodes.tell(state, &mut told.pods),
            false => {
                told.nodes = ToldNodes::default();
                Vec::new()
            }
        };
        told.pods.tidy();
        (told.told_generation, told.told_cycle) = (told.generation, known.cycle);
        told.told_state = state.journal().generation();
        QuestionSheet {
            extender: told.settings.clone(),
            generation: told.generation,
            questions,
            nodes,
            session,
        }
    }

    /// The last cycle, as it is told.
    fn session(&mut self, known: Knowledge<'_>) -> Arc<ToldSession> {
        let jobs = known.plugins.told_jobs();
        let queues = known
            .state
            .population()
            .queues()
            .iter()
            .map(|(_, queue)| queue.object.clone());
        let mut queues: Vec<_> = queues.collect();
        queues.sort_by(|left, right| left.name.cmp(&right.name));
        Arc::new(ToldSession {
            cycle: known.cycle,
            jobs: self.jobs.tell(known.state, &mut self.pods, jobs),
            queues,
        })
    }

    /// Another extender, which has not said what this one did; whether it is another one.
    pub fn set(&mut self, settings: Option<ExtenderSettings>) -> bool {
        let told = self;
        // Revisions are those of a plugin, which is made anew.
        told.questions.clear();
        told.jobs = ToldJobs::default();
        let is_another = told.settings.as_deref() != settings.as_ref();
        if is_another {
            told.settings = settings.map(Arc::new);
            told.generation += 1;
            told.notices.clear();
        }
        is_another
    }
}

/// The answers that are needed. Who may go is asked where somebody may go at all.
pub(crate) fn needed_answers<'a>(known: Knowledge<'a>) -> impl Iterator<Item = &'a NeededAnswer> {
    let Evicts {
        preempt, reclaim, ..
    } = evicts(known.actions);
    let needed = known.plugins.standing_questions().iter();
    needed.filter(move |needed| match needed.question.verb {
        ExtenderVerb::Preemptable => preempt,
        ExtenderVerb::Reclaimable => reclaim,
        _ => true,
    })
}

/// Forgets answers nobody needs; whether there were any.
pub(crate) fn forget_answers(state: &mut State, plugins: &Plugins) -> bool {
    let before = state.journal().generation();
    if state.supplies().extender_answers().all().next().is_some() {
        let asked = plugins.standing_questions().iter();
        let asked: BTreeSet<_> = asked.map(|needed| &needed.question).collect();
        state
            .answer_books()
            .keep(|question| asked.contains(question));
    }
    state.journal().generation() != before
}

/// It stays as long as the job does; who may go changes with what others do.
fn is_settled(about: &QuestionAbout) -> bool {
    !matches!(about, QuestionAbout::Victims { .. })
}

/// Finds what questions are about.
struct Abouts<'a> {
    state: &'a State,
    pods: &'a mut ToldPods,
    /// Whether who reclaims passes over what pods say of their eviction.
    passes_marks: bool,
    /// Pods that could go, once somebody has asked: without marked ones, and with them.
    candidates: [Option<CheapestByQueue>; 2],
}

impl Abouts<'_> {
    /// What a question is about; `Gone` where that went since the cycle began.
    fn of(&mut self, question: &ExtenderQuestion) -> QuestionAbout {
        self.find(question).unwrap_or(QuestionAbout::Gone)
    }

    fn find(&mut self, question: &ExtenderQuestion) -> Option<QuestionAbout> {
        let state = self.state;
        Some(match question.verb {
            ExtenderVerb::QueueOverused => {
                let queue = question.queue(state.population())?;
                QuestionAbout::Queue(Box::new(state.queue(queue).object.clone()))
            }
            ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => {
                let job = question.job(state.population())?;
                QuestionAbout::Job(Arc::new(told_job(state, self.pods, job)?))
            }
            ExtenderVerb::Predicate | ExtenderVerb::Prioritize => {
                let pod = question.pod(state.population())?;
                QuestionAbout::Pod(self.pods.tell(state, pod))
            }
            ExtenderVerb::Preemptable | ExtenderVerb::Reclaimable => {
                let evictor = question.pod(state.population())?;
                let across = question.verb == ExtenderVerb::Reclaimable;
                QuestionAbout::Victims {
                    candidates: self.candidates(evictor, across)?,
                    evictor: self.pods.tell(state, evictor),
                }
            }
        })
    }

    /// Whom a pod may have evicted as far as queues and marks go: of its own queue, or `across` queues.
    fn candidates(&mut self, evictor: TaskIx, across: bool) -> Option<Vec<Arc<ToldPod>>> {
        let (state, pods) = (self.state, &mut *self.pods);
        let own = state.job(state.task(evictor).job?).queue?;
        let passes_marks = across && self.passes_marks;
        let all = self.candidates[usize::from(passes_marks)]
            .get_or_insert_with(|| CheapestByQueue::new(state, MAX_CANDIDATES, passes_marks));
        let may_go = match across {
            true => {
                let others = state
                    .population()
                    .queues()
                    .iter()
                    .filter(|(queue, _)| *queue != own);
                let others = others.filter(|(_, queue)| queue.object.reclaimable);
                all.of(state, others.map(|(queue, _)| queue))
            }
            false => all.of(state, std::iter::once(own)),
        };
        let may_go = may_go.into_iter();
        Some(may_go.map(|task| pods.tell(state, task)).collect())
    }
}
