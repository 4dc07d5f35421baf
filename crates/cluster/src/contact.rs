//! Whether the API server answers: what every request finds out serves all others.
//!
//! ```text
//!  request ─► no connection, no answer, 5xx ─► in doubt ─► GET /readyz, again and again ─┐
//!  request ─► answered ──────────────────────► in contact ◄──────────────────────────────┘
//!                                                  │ after an outage
//!                                                  ▼
//!                                   all that wait between two tries try now
//! ```
//!
//! A single request that fails beside others that succeed is no outage: what is in order when
//! `/readyz` is asked at once wakes nobody, so that its back-off grows as before.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer, Service};

/// An API server in doubt for less than this was not away.
const LEAST_OUTAGE: Duration = Duration::from_millis(300);

/// Pause between two questions whether the API server is back.
const PROBE_PAUSE: Duration = Duration::from_millis(250);

/// A question without an answer is given up after this.
const PROBE_ANSWER: Duration = Duration::from_secs(1);

/// Those that were waiting begin within this time after the API server is back, not all at once.
const SPREAD: Duration = Duration::from_millis(200);

/// What is known of the way to the API server. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Contact(Arc<SharedContact>);

#[derive(Debug, Default)]
struct SharedContact {
    state: Mutex<ContactState>,
    /// Outages that are over.
    outages: watch::Sender<u64>,
    doubted: Notify,
}

#[derive(Debug, Default)]
struct ContactState {
    /// Since when nothing but failures has come back.
    doubted: Option<Instant>,
    answered: Option<Instant>,
    /// When the last outage ended.
    back: Option<Instant>,
}

/// A moment, to be taken before a request is sent: an outage that ends after it is not missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

impl Contact {
    /// No lock is held while something can fail, so a poisoned one is as good as any.
    fn state(&self) -> MutexGuard<'_, ContactState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client of which every request tells how it fared.
    ///
    /// # Errors
    /// Credentials or certificates that cannot be used.
    pub fn client(&self, config: Config) -> kube::Result<Client> {
        Ok(ClientBuilder::try_from(config)?.with_layer(self).build())
    }

    /// A request has come to nothing for want of an API server.
    pub fn failed(&self) {
        self.state().doubted.get_or_insert_with(Instant::now);
        self.0.doubted.notify_one();
    }

    /// The API server has answered a request.
    pub fn answered(&self) {
        let now = Instant::now();
        let mut state = self.state();
        state.answered = Some(now);
        let Some(doubted) = state.doubted.take() else {
            return;
        };
        if now - doubted < LEAST_OUTAGE {
            return;
        }
        state.back = Some(now);
        drop(state);
        self.0.outages.send_modify(|count| *count += 1);
    }

    /// Whether nothing has been answered for a while, of what was asked.
    pub fn is_out(&self) -> bool {
        let doubted = self.state().doubted;
        doubted.is_some_and(|since| since.elapsed() >= LEAST_OUTAGE)
    }

    /// Whether a request was answered lately.
    pub(crate) fn served_within(&self, time: Duration) -> bool {
        self.state().answered.is_some_and(|at| at.elapsed() <= time)
    }

    /// Whether an outage has ended since then.
    pub(crate) fn was_out_since(&self, since: Instant) -> bool {
        self.state().back.is_some_and(|back| back > since)
    }

    /// Now.
    pub fn moment(&self) -> Moment {
        Moment(*self.0.outages.borrow())
    }

    /// Waits until an outage is over that ended, or will end, after `since`. Returns the moment up
    /// to which outages have been seen by then.
    pub async fn back(&self, since: Moment) -> Moment {
        let mut outages = self.0.outages.subscribe();
        let over = outages.wait_for(|count| *count > since.0).await;
        // The sender lives as long as `self`.
        over.map_or(since, |count| Moment(*count))
    }

    /// Sleeps for `wait`, or, when an outage ends after `since`, until shortly after that. Says
    /// whether it did.
    pub async fn pause(&self, since: Moment, wait: Duration) -> bool {
        tokio::select! {
            () = sleep(wait) => false,
            _ = self.back(since) => {
                sleep(some_of(SPREAD).min(wait)).await;
                true
            }
        }
    }

    /// Asks whether the API server is ready as long as that is in doubt; works for ever. The client
    /// must be one of [`Contact::client`], with a connection of its own.
    pub async fn probe(self, client: Client) {
        loop {
            if self.state().doubted.is_none() {
                self.0.doubted.notified().await;
            }
            let request = Request::get("/readyz").body(Body::empty());
            let Ok(request) = request else { return };
            // What comes of it is told by the client.
            let _ = timeout(PROBE_ANSWER, client.send(request)).await;
            if self.state().doubted.is_some() {
                sleep(PROBE_PAUSE).await;
            }
        }
    }
}

/// A part of a time, by chance.
fn some_of(time: Duration) -> Duration {
    // Every RandomState has other keys; this is all the chance needed here.
    time.mul_f64((RandomState::new().hash_one(0) % 1000) as f64 / 1000.0)
}

/// Tells how the requests of a client fare.
pub struct WithContact<S> {
    inner: S,
    contact: Contact,
}

impl<S> Layer<S> for Contact {
    type Service = WithContact<S>;

    fn layer(&self, inner: S) -> WithContact<S> {
        let contact = self.clone();
        WithContact { inner, contact }
    }
}

/// Tells of a failure unless it is told otherwise: a request whose deadline passes is dropped.
struct FailureOnDrop(Option<Contact>);

impl Drop for FailureOnDrop {
    fn drop(&mut self) {
        if let Some(contact) = &self.0 {
            contact.failed();
        }
    }
}

type ResponseFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<S, B> Service<Request<Body>> for WithContact<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = ResponseFuture<Result<Response<B>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut told = FailureOnDrop(Some(self.contact.clone()));
        let sent = self.inner.call(request);
        Box::pin(async move {
            let answer = sent.await?;
            // Neither proves anything: a starting API server refuses everybody.
            let unclear = matches!(
                answer.status(),
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
            );
            if !answer.status().is_server_error()
                && let Some(contact) = told.0.take().filter(|_| !unclear)
            {
                contact.answered();
            }
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_failure_beside_successes_wakes_nobody() {
        let contact = Contact::default();
        let moment = contact.moment();
        contact.failed();
        sleep(LEAST_OUTAGE / 2).await;
        contact.answered();
        assert!(!contact.is_out());
        assert!(!contact.pause(moment, Duration::from_secs(30)).await);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_an_outage_wakes_whoever_sent_before_it_even_if_he_comes_late() {
        let contact = Contact::default();
        let moment = contact.moment();
        contact.failed();
        sleep(LEAST_OUTAGE * 2).await;
        contact.failed();
        assert!(contact.is_out());
        contact.answered();
        let began = Instant::now();
        assert!(contact.pause(moment, Duration::from_secs(30)).await);
        assert!(began.elapsed() <= SPREAD);
        let moment = contact.moment();
        assert!(!contact.pause(moment, Duration::from_secs(30)).await);
    }
}
