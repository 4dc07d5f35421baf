//! Asks an extender (spec/02 §23).
//!
//! ```text
//!  QuestionSheet ─► rounds: one task a question, again each period ─► ExtenderClient ─► POST
//!                     │ what is new of an answer                          │ breaker: not asked for a while
//!                     ▼                                                   ▼
//!                   who decides                                         ExtenderAnswer
//!
//!  ExtenderNotice ─► ExtenderClient::tell ─► POST, and nobody waits for the answer; a breaker of its own
//! ```
//!
//! A request has a deadline, an answer a largest size, and few requests are under way at a time, to which
//! namespaces come by turns. Nobody waits for any of it but the questions.

mod answer;
mod breaker;
mod message;
mod rounds;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use http::StatusCode;
use hyper::body::Bytes;
use kube::Client;
use pumice_conf::HttpSource;
use pumice_model::extender::{
    AboutNode, ExtenderAnswer, ExtenderEvent, ExtenderNotice, ExtenderSettings, ExtenderVerb,
    NodeWord, QuestionAbout, StandingQuestion, ToldSession,
};
use tokio::time::Instant;

use crate::outside::{connect, post};
use crate::turns::FairPlaces;
use breaker::Breaker;
pub use message::NodeTexts;
pub use rounds::ExtenderRounds;

/// Largest answer, in bytes.
const LARGEST: usize = 10 << 20;
/// Requests under way at a time.
const MAX_UNDER_WAY: usize = 16;
/// Requests under way at a time about the nodes of one pod.
const MAX_OF_POD: usize = 4;
/// Pods about whose nodes it is asked at a time: some are answered early rather than all late.
const MAX_PODS: usize = MAX_UNDER_WAY / MAX_OF_POD;

/// One extender.
pub struct ExtenderClient {
    client: Client,
    settings: ExtenderSettings,
    requests: FairPlaces,
    pods: FairPlaces,
    /// Whether the extender answers questions.
    asking: Mutex<Breaker>,
    /// Whether the extender takes what it is told: how that goes says nothing on its answers.
    telling: Mutex<Breaker>,
}

/// Where a request goes, and for whom.
struct ExtenderRequest<'a> {
    breaker: &'a Mutex<Breaker>,
    path: &'a str,
    /// Whose turn it takes.
    namespace: &'a str,
}

impl ExtenderClient {
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// One sentence on what of the address cannot be used.
    pub fn new(settings: &ExtenderSettings, user_agent: &str) -> Result<Self, String> {
        let server = HttpSource {
            address: settings.url_prefix.clone(),
            insecure: false,
            ca_file: None,
            token_file: None,
            user: None,
        };
        Ok(Self {
            client: connect(&server, user_agent)?,
            settings: settings.clone(),
            requests: FairPlaces::new(MAX_UNDER_WAY),
            pods: FairPlaces::new(MAX_PODS),
            asking: Mutex::default(),
            telling: Mutex::default(),
        })
    }

    /// Why it is not asked at the moment, if that is so.
    pub fn is_down(&self) -> Option<String> {
        held(&self.asking).is_open()
    }

    /// Asks, and tells what there is to say however that goes.
    pub async fn ask(&self, asked: &StandingQuestion, nodes: &NodeTexts) -> ExtenderAnswer {
        let verb = asked.question.verb;
        let Some(path) = self.settings.verbs.get(&verb) else {
            return ExtenderAnswer::Failed("it is not asked for that".to_owned());
        };
        let about = || message::about(&asked.about);
        let to = ExtenderRequest {
            breaker: &self.asking,
            path,
            namespace: asked.about.namespace(),
        };
        let answer = match (verb, &*asked.about) {
            (_, QuestionAbout::Gone) => Err("it is gone".to_owned()),
            (ExtenderVerb::Predicate, _) => {
                return self.ask_of_nodes(&to, &about(), nodes).await;
            }
            (ExtenderVerb::Prioritize, _) => {
                let body = || message::prioritize(&about(), nodes);
                let read = |answer: &[u8]| answer::scores(answer, nodes);
                let _turn = self.pods.take(to.namespace).await;
                self.post(&to, body, read).await
            }
            (_, QuestionAbout::Victims { candidates, .. }) => {
                let read = |answer: &[u8]| answer::victims(answer, candidates);
                self.post(&to, about, read).await
            }
            _ => {
                let read = |answer: &[u8]| answer::read(verb, answer);
                self.post(&to, about, read).await
            }
        };
        answer.unwrap_or_else(ExtenderAnswer::Failed)
    }

    async fn ask_of_nodes(
        &self,
        to: &ExtenderRequest<'_>,
        pod: &str,
        nodes: &NodeTexts,
    ) -> ExtenderAnswer {
        let _turn = self.pods.take(to.namespace).await;
        let nodes = nodes
            .all()
            .map(|(node, text)| (Arc::clone(node), Arc::clone(text)));
        let nodes: Vec<_> = nodes.collect();
        let words = futures::stream::iter(nodes).map(|(node, text)| async move {
            let body = || message::predicate(pod, &text);
            let word = self.post(to, body, answer::read_word).await;
            AboutNode {
                node: node.object.name.clone(),
                uid: node.object.uid.clone(),
                said: word.unwrap_or_else(NodeWord::Failed),
            }
        });
        let words = words.buffered(MAX_OF_POD);
        let mut words: Vec<_> = words.collect().await;
        words.sort_by(|left, right| left.node.cmp(&right.node));
        ExtenderAnswer::Nodes(words)
    }

    /// Tells of something that was decided; what it has against it, if it says so.
    ///
    /// # Errors
    /// Why it could not be told.
    pub async fn tell(&self, notice: &ExtenderNotice) -> Result<Option<String>, String> {
        let path = self.settings.events.get(&notice.event);
        let path = path.ok_or("it is not told that")?;
        let body = || message::about(&notice.about);
        let read = |answer: &[u8]| match notice.event {
            ExtenderEvent::Allocate | ExtenderEvent::Deallocate => Ok(answer::complaint(answer)),
            _ => Ok(None),
        };
        self.post(&self.told(path), body, read).await
    }

    /// What is told is told one after the other, for all.
    fn told<'a>(&'a self, path: &'a str) -> ExtenderRequest<'a> {
        ExtenderRequest {
            breaker: &self.telling,
            path,
            namespace: "",
        }
    }

    /// Tells of a cycle. How that goes changes nothing, but whether it is told again soon.
    pub async fn tell_session(&self, session: &ToldSession, nodes: &NodeTexts) {
        let events = [ExtenderEvent::SessionOpen, ExtenderEvent::SessionClose];
        for event in events {
            let Some(path) = self.settings.events.get(&event) else {
                continue;
            };
            let body = || match event {
                ExtenderEvent::SessionOpen => message::session(session, nodes),
                _ => "{}".to_owned(),
            };
            if let Err(why) = self.post(&self.told(path), body, |_| Ok(())).await {
                tracing::debug!("the extender was not told of {}: {why}", event.name());
            }
        }
    }

    /// One request, unless it would be in vain; what it says is put together when it is sent, since it may be
    /// long.
    async fn post<A>(
        &self,
        to: &ExtenderRequest<'_>,
        body: impl FnOnce() -> String,
        read: impl Fn(&[u8]) -> Result<A, String>,
    ) -> Result<A, String> {
        let ExtenderRequest {
            breaker,
            path,
            namespace,
        } = to;
        let _place = self.requests.take(namespace).await;
        let admitted = held(breaker).admit(Instant::now())?;
        let deadline = Duration::from_millis(self.settings.timeout_ms);
        let answer = tokio::time::timeout(deadline, self.send(path, body())).await;
        let late = |_| Err(format!("no answer within {deadline:?}"));
        let answer = answer.unwrap_or_else(late);
        let answer = answer.and_then(|answer| read(&answer));
        held(breaker).note(Instant::now(), admitted, answer.as_ref().err());
        answer
    }

    async fn send(&self, path: &str, body: String) -> Result<Bytes, String> {
        let (status, answer) = post(&self.client, path, body.into_bytes(), LARGEST).await?;
        match status {
            StatusCode::OK => Ok(answer),
            status => Err(format!("it answers with HTTP status {status}")),
        }
    }
}

fn held(breaker: &Mutex<Breaker>) -> MutexGuard<'_, Breaker> {
    // What it holds is whole at every moment.
    breaker.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
