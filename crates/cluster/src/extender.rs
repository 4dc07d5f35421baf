//! Asks an extender (spec/02 §23).
//!
//! ```text
//!  QuestionSheet ─► rounds: one task a question, again each period ─► ExtenderClient ─► POST
//!                     │ what is new of an answer                          │ breaker: not asked for a while
//!                     ▼                                                   ▼
//!                   who decides                                         ExtenderAnswer
//! ```
//!
//! A request has a deadline, an answer a largest size, and few requests are under way at a time. Nobody
//! waits for any of it but the questions.

mod answer;
mod breaker;
mod message;
mod rounds;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Bytes;
use kube::Client;
use pumice_conf::HttpSource;
use pumice_model::extender::{
    ExtenderAnswer, ExtenderSettings, ExtenderVerb, NodeWord, QuestionAbout, StandingQuestion,
};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::client::describe;
use crate::outside::connect;
use breaker::Breaker;
pub use message::NodeTexts;
pub use rounds::ExtenderRounds;

/// Largest answer, in bytes.
const LARGEST: usize = 10 << 20;
/// Requests under way at a time.
const MOST_UNDER_WAY: usize = 16;
/// Of these, about the nodes of one pod.
const MOST_OF_POD: usize = 4;
/// Pods about whose nodes it is asked at a time: some are answered early rather than all late.
const MOST_PODS: usize = MOST_UNDER_WAY / MOST_OF_POD;

/// One extender.
pub struct ExtenderClient {
    client: Client,
    settings: ExtenderSettings,
    permits: Semaphore,
    pods: Semaphore,
    breaker: Mutex<Breaker>,
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
            permits: Semaphore::new(MOST_UNDER_WAY),
            pods: Semaphore::new(MOST_PODS),
            breaker: Mutex::new(Breaker::default()),
        })
    }

    /// Why it is not asked at the moment, if that is so.
    pub fn is_down(&self) -> Option<String> {
        self.breaker().is_open()
    }

    /// Asks, and tells what there is to say however that goes.
    pub async fn ask(&self, asked: &StandingQuestion, nodes: &NodeTexts) -> ExtenderAnswer {
        if *asked.about == QuestionAbout::Gone {
            return ExtenderAnswer::Failed("it is gone".to_owned());
        }
        let verb = asked.question.verb;
        let about = message::about(&asked.about);
        let read = |answer: &[u8]| answer::read(verb, answer);
        let answer = match verb {
            ExtenderVerb::Predicate => return self.ask_of_nodes(&about, nodes).await,
            ExtenderVerb::Prioritize => {
                let body = || message::prioritize(&about, nodes);
                self.post(verb, body, read).await
            }
            ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => {
                self.post(verb, || message::of_job(&about), read).await
            }
            ExtenderVerb::QueueOverused => {
                self.post(verb, || message::of_queue(&about), read).await
            }
        };
        answer.unwrap_or_else(ExtenderAnswer::Failed)
    }

    async fn ask_of_nodes(&self, pod: &str, nodes: &NodeTexts) -> ExtenderAnswer {
        // Nobody closes it.
        let _turn = self.pods.acquire().await;
        let nodes = futures::stream::iter(nodes.all().to_vec());
        let words = nodes.map(|(name, node)| async move {
            let body = || message::predicate(pod, &node);
            let word = self.post(ExtenderVerb::Predicate, body, answer::read_word);
            (name, word.await.unwrap_or_else(NodeWord::Failed))
        });
        let words = words.buffered(MOST_OF_POD);
        let mut words: Vec<_> = words.collect().await;
        words.sort_by(|(left, _), (right, _)| left.cmp(right));
        ExtenderAnswer::Nodes(words)
    }

    /// One request, unless it would be in vain; what it says is put together when it is sent, since it may be
    /// long.
    async fn post<A>(
        &self,
        verb: ExtenderVerb,
        body: impl FnOnce() -> String,
        read: impl Fn(&[u8]) -> Result<A, String>,
    ) -> Result<A, String> {
        // Nobody closes it.
        let _permit = self.permits.acquire().await;
        let admitted = self.breaker().admit(Instant::now())?;
        let deadline = Duration::from_millis(self.settings.timeout_ms);
        let answer = tokio::time::timeout(deadline, self.send(verb, body())).await;
        let late = |_| Err(format!("no answer within {deadline:?}"));
        let answer = answer.unwrap_or_else(late);
        let answer = answer.and_then(|answer| read(&answer));
        self.breaker()
            .note(Instant::now(), admitted, answer.as_ref().err());
        answer
    }

    async fn send(&self, verb: ExtenderVerb, body: String) -> Result<Bytes, String> {
        let verb = self.settings.verbs.get(&verb);
        let verb = verb.ok_or("it is not asked for that")?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("/{verb}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(kube::client::Body::from(body.into_bytes()));
        let request = request.map_err(|error| describe(&error))?;
        let answer = self.client.send(request).await;
        let answer = answer.map_err(|error| describe(&error))?;
        let status = answer.status();
        if status != StatusCode::OK {
            return Err(format!("it answers with HTTP status {status}"));
        }
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        match body {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(format!("its answer is longer than {} MiB", LARGEST >> 20))
            }
            Err(error) => Err(describe(error.as_ref())),
        }
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        // What it holds is whole at every moment.
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
