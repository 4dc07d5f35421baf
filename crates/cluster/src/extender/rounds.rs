//! Questions that stand are asked again and again, each by itself: one that takes long holds up no other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pumice_model::extender::{
    ExtenderAnswer, ExtenderQuestion, ExtenderReply, QuestionSheet, StandingQuestion, ToldSession,
};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::{ExtenderClient, NodeTexts};

/// Asks one extender.
pub struct ExtenderRounds {
    /// Client for the address of the extender.
    pub client: Arc<ExtenderClient>,
    /// The sheets that are for this extender ([`QuestionSheet::generation`]).
    pub generation: u64,
    /// From one request to the next of the same question, unless it takes longer.
    pub period: Duration,
    /// Where answers go that are news.
    pub answers: mpsc::Sender<ExtenderReply>,
}

/// The questions as they were told last, for those who ask.
#[derive(Default)]
struct EncodedSheet {
    /// Numbers sheets.
    number: u64,
    questions: BTreeMap<ExtenderQuestion, StandingQuestion>,
    nodes: NodeTexts,
    session: Option<Arc<ToldSession>>,
}

impl ExtenderRounds {
    /// Asks until nobody tells questions, or takes answers, any more.
    pub async fn run(self, mut sheets: watch::Receiver<Arc<QuestionSheet>>) {
        let (encoded, asked) = watch::channel(Arc::new(EncodedSheet::default()));
        let rounds = Arc::new(self);
        let mut tasks: BTreeMap<ExtenderQuestion, AbortHandle> = BTreeMap::new();
        // Ends all of them when it goes.
        let mut running = JoinSet::new();
        running.spawn(Arc::clone(&rounds).tell_sessions(asked.clone()));
        loop {
            let sheet = Arc::clone(&sheets.borrow_and_update());
            let new = match sheet.generation == rounds.generation {
                true => encoded.borrow().next(&sheet),
                // Another one is to be asked.
                false => EncodedSheet::default(),
            };
            let new = Arc::new(new);
            tasks.retain(|question, task| {
                let stands = new.questions.contains_key(question);
                if !stands {
                    task.abort();
                }
                stands
            });
            encoded.send_replace(Arc::clone(&new));
            for question in new.questions.keys() {
                if !tasks.contains_key(question) {
                    let round = Arc::clone(&rounds).ask(question.clone(), asked.clone());
                    tasks.insert(question.clone(), running.spawn(round));
                }
            }
            while running.try_join_next().is_some() {}
            tokio::select! {
                changed = sheets.changed() => if changed.is_err() {
                    return;
                },
                () = rounds.answers.closed() => return,
            }
        }
    }

    /// Tells of cycles, one after the other: of those that came meanwhile only the newest one.
    async fn tell_sessions(self: Arc<Self>, mut sheets: watch::Receiver<Arc<EncodedSheet>>) {
        let mut told = None;
        loop {
            let sheet = Arc::clone(&sheets.borrow_and_update());
            if let Some(session) = &sheet.session
                && told != Some(session.cycle)
            {
                told = Some(session.cycle);
                self.client.tell_session(session, &sheet.nodes).await;
            }
            if sheets.changed().await.is_err() {
                return;
            }
        }
    }

    /// Asks one question again and again.
    async fn ask(
        self: Arc<Self>,
        question: ExtenderQuestion,
        sheets: watch::Receiver<Arc<EncodedSheet>>,
    ) {
        // What was said last, and on which sheet.
        let mut said: Option<(u64, ExtenderAnswer)> = None;
        loop {
            let begun = Instant::now();
            let sheet = Arc::clone(&sheets.borrow());
            let Some(asked) = sheet.questions.get(&question) else {
                return;
            };
            let answer = self.client.ask(asked, &sheet.nodes).await;
            let is_news = match &said {
                // It may stand for the second time: what was said to the first is forgotten.
                Some((number, _)) if *number != sheet.number && !asked.is_answered => true,
                Some((_, before)) => *before != answer,
                None => true,
            };
            if is_news {
                said = Some((sheet.number, answer.clone()));
                let reply = ExtenderReply {
                    generation: self.generation,
                    question: question.clone(),
                    answer,
                };
                if self.answers.send(reply).await.is_err() {
                    return;
                }
            }
            drop(sheet);
            tokio::time::sleep_until(begun + self.period).await;
        }
    }
}

impl EncodedSheet {
    fn next(&self, sheet: &QuestionSheet) -> Self {
        let questions = sheet.questions.iter();
        Self {
            number: self.number + 1,
            questions: questions
                .map(|asked| (asked.question.clone(), asked.clone()))
                .collect(),
            nodes: self.nodes.renewed(&sheet.nodes),
            session: sheet.session.clone(),
        }
    }
}
