//! Who may ask what on the secure port: whoever the API server knows by a token, and lets `get` or
//! `put` the path.
//!
//! ```text
//! Authorization: Bearer … ─► asked in the last 10 s? ─► Gatekeeper (TokenReview, SubjectAccessReview)
//!                                  │                           │ 4 at a time
//!                                  └──────────► the page, 401, 403 ◄──┘
//! ```

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::places::PlaceBooking;

/// How long a verdict holds, as long as those of Kubernetes' own components do.
const HOLDS: Duration = Duration::from_secs(10);

/// Verdicts that are kept. More are asked for again.
const MAX_KEPT: usize = 1024;

/// Questions to the API server at a time, so that those who try tokens take little of it.
const MAX_ASKED: usize = 4;

const NO_TOKEN: &str = "this port answers only to whom the API server lets ask: send `Authorization: \
    Bearer TOKEN`, as `pumice explain`, `top`, `queues`, `cards` and `dump` do\n";

const UNKNOWN: &str = "the API server does not know this token: it has expired, or is of another \
    cluster\n";

/// What the API server says of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessVerdict {
    /// Nobody is known by the token.
    Unknown,
    /// The user may not ask this.
    Denied {
        /// Name of the user.
        user: String,
    },
    /// The user may ask.
    Allowed {
        /// Name of the user.
        user: String,
    },
}

/// A verdict that is on its way; otherwise why there is none.
pub type PendingVerdict<'a> =
    Pin<Box<dyn Future<Output = Result<AccessVerdict, String>> + Send + 'a>>;

/// Knows users by their tokens, and what they may ask.
pub trait Gatekeeper: Send + Sync + 'static {
    /// Whether the one with this token may do `verb` (`get`, `post`, `put`) to the page at `path`.
    fn judge<'a>(&'a self, token: &'a str, verb: &'a str, path: &'a str) -> PendingVerdict<'a>;
}

/// Who asks, as the API server knows the name.
#[derive(Clone, Debug)]
pub(super) struct PageAsker(pub String);

/// The digest of a question: tokens themselves are not kept.
type QuestionDigest = [u8; 32];

fn digest(token: &str, verb: &str, path: &str) -> QuestionDigest {
    let mut digest = Sha256::new();
    for part in [token, verb, path] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// Verdicts of the last seconds.
#[derive(Default)]
struct KeptVerdicts {
    by_question: BTreeMap<QuestionDigest, (Instant, AccessVerdict)>,
}

impl KeptVerdicts {
    fn get(&self, question: &QuestionDigest) -> Option<AccessVerdict> {
        let (at, verdict) = self.by_question.get(question)?;
        (at.elapsed() < HOLDS).then(|| verdict.clone())
    }

    fn keep(&mut self, question: QuestionDigest, verdict: AccessVerdict) {
        if self.by_question.len() >= MAX_KEPT {
            self.by_question.retain(|_, (at, _)| at.elapsed() < HOLDS);
        }
        if self.by_question.len() >= MAX_KEPT {
            let oldest = self.by_question.iter().min_by_key(|(_, (at, _))| *at);
            let oldest = oldest.map(|(question, _)| *question);
            oldest.and_then(|oldest| self.by_question.remove(&oldest));
        }
        self.by_question.insert(question, (Instant::now(), verdict));
    }
}

/// The gatekeeper of a port, with what it has said.
pub(super) struct Gate {
    keeper: Arc<dyn Gatekeeper>,
    kept: Mutex<KeptVerdicts>,
    asking: Semaphore,
}

impl Gate {
    pub(super) fn new(keeper: Arc<dyn Gatekeeper>) -> Arc<Self> {
        Arc::new(Self {
            keeper,
            kept: Mutex::default(),
            asking: Semaphore::new(MAX_ASKED),
        })
    }

    async fn judge(&self, token: &str, verb: &str, path: &str) -> Result<AccessVerdict, String> {
        let question = digest(token, verb, path);
        if let Some(verdict) = self.kept().get(&question) {
            return Ok(verdict);
        }
        let turn = self.asking.acquire().await;
        let _turn = turn.map_err(|error| error.to_string())?;
        // Somebody with the same question may have been before.
        if let Some(verdict) = self.kept().get(&question) {
            return Ok(verdict);
        }
        let verdict = self.keeper.judge(token, verb, path).await?;
        self.kept().keep(question, verdict.clone());
        Ok(verdict)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, KeptVerdicts> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a request through whose sender may make it.
pub(super) async fn guard(
    State(gate): State<Arc<Gate>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(token) = bearer(&request) else {
        return unknown(NO_TOKEN);
    };
    let verb = request.method().as_str().to_ascii_lowercase();
    let path = request.uri().path();
    match gate.judge(token, &verb, path).await {
        Ok(AccessVerdict::Allowed { user }) => {
            if let Some(booking) = request.extensions().get::<PlaceBooking>() {
                booking.is_of(&user);
            }
            request.extensions_mut().insert(PageAsker(user));
            next.run(request).await
        }
        Ok(AccessVerdict::Denied { user }) => {
            let text = format!(
                "{user} may not {verb} {path}: bind a ClusterRole with `nonResourceURLs: [{path}]` \
                 and `verbs: [{verb}]`\n"
            );
            (StatusCode::FORBIDDEN, text).into_response()
        }
        Ok(AccessVerdict::Unknown) => unknown(UNKNOWN),
        Err(error) => {
            let text = format!("the API server cannot be asked who may see this: {error}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

fn bearer(request: &Request) -> Option<&str> {
    let value = request
        .headers()
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?;
    let (kind, token) = value.split_once(' ')?;
    let token = token.trim();
    (kind.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn unknown(text: &'static str) -> Response {
    let headers = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, headers, text).into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Lets everybody do everything, and counts.
    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Gatekeeper for Counted {
        fn judge<'a>(&'a self, token: &'a str, _: &'a str, _: &'a str) -> PendingVerdict<'a> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let user = token.to_owned();
            Box::pin(async move { Ok(AccessVerdict::Allowed { user }) })
        }
    }

    fn counted() -> (Arc<Counted>, Arc<Gate>) {
        let counted = Arc::new(Counted::default());
        let gate = Gate::new(Arc::clone(&counted) as _);
        (counted, gate)
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_is_asked_again_after_ten_seconds_and_for_each_question() {
        let (counted, gate) = counted();
        for (token, verb, path, asked) in [
            ("a", "get", "/x", 1),
            ("a", "get", "/x", 1),
            ("a", "put", "/x", 2),
            ("a", "get", "/xy", 3),
            ("ag", "et", "/x", 4),
        ] {
            gate.judge(token, verb, path).await.expect("a verdict");
            assert_eq!(counted.0.load(Ordering::Relaxed), asked, "{verb} {path}");
        }
        tokio::time::advance(HOLDS).await;
        gate.judge("a", "get", "/x").await.expect("a verdict");
        assert_eq!(counted.0.load(Ordering::Relaxed), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_try_tokens_take_a_bounded_memory() {
        let (_, gate) = counted();
        for n in 0..MAX_KEPT * 2 {
            let token = n.to_string();
            gate.judge(&token, "get", "/x").await.expect("a verdict");
            tokio::time::advance(Duration::from_micros(1)).await;
        }
        assert_eq!(gate.kept().by_question.len(), MAX_KEPT);
        let last = (MAX_KEPT * 2 - 1).to_string();
        assert!(gate.kept().get(&digest(&last, "get", "/x")).is_some());
        assert!(gate.kept().get(&digest("0", "get", "/x")).is_none());
    }
}
