//! What the HTTP server asks, answered.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pumice_admin::http::{Answers, DebugPage, DiagAsk, HistoryAsk, PendingAnswer, Unanswered};
use pumice_decider::Clock as _;
use pumice_decider::beside::BesideBook;
use pumice_engine::view::{Ask, JobsAsk, JobsShown, TopologyAsk};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::clock::DeciderClock;
use crate::conf::ConfInUse;
use crate::copied_answers::{Questions, ToldView};
use crate::dump;
use crate::history::{self, HistoryShelf};
use crate::journal::Journal;
use crate::recording::MemoryRing;
use crate::requests::{DecideRequest, NoView};
use crate::shared_copy::SharedCopy;
use pumice_process::DaemonStatus;

/// Answers from the shared status, and from the deciding thread where only it knows.
pub struct AdminApi {
    /// How the daemon is doing.
    pub status: Arc<DaemonStatus>,
    /// Configuration in use.
    pub in_use: Arc<RwLock<Option<ConfInUse>>>,
    /// The last decisions.
    pub journal: Arc<Journal>,
    /// In a dry run: what the other scheduler did.
    pub beside: Option<Arc<Mutex<BesideBook>>>,
    /// The deciding thread.
    pub core: mpsc::Sender<DecideRequest>,
    /// Held while a dump or a copy of a recording is made.
    pub dumping: tokio::sync::Mutex<()>,
    /// Plans, and pages of a replica that stands by, on copies of their own.
    pub questions: Questions,
    /// Pages, on a copy that is shared.
    pub shared_copy: SharedCopy,
    /// What was.
    pub kept: KeptPast,
    /// Held while history is read.
    pub asking_history: tokio::sync::Mutex<()>,
    /// The daemon's clock.
    pub clock: DeciderClock,
}

/// What was.
pub struct KeptPast {
    /// What was recorded, in memory.
    pub recording: Arc<MemoryRing>,
    /// What became of jobs.
    pub history: Arc<HistoryShelf>,
}

impl Answers for AdminApi {
    fn ready(&self) -> Result<(), Vec<String>> {
        self.status.ready()
    }

    fn live(&self) -> Result<(), String> {
        self.status.live(self.clock.ticks_ms())
    }

    fn config(&self) -> Value {
        let in_use = self.in_use.read().ok().and_then(|in_use| in_use.clone());
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match in_use {
            Some(ConfInUse { hash, config, .. }) => {
                json!({ "hash": hash, "configuration": config, "arguments": arguments })
            }
            None => json!({ "configuration": null, "arguments": arguments }),
        }
    }

    fn page(&self, page: DebugPage) -> PendingAnswer<'_, Result<Value, String>> {
        Box::pin(async move {
            // Written here, not by the thread that decides.
            let told = self.told(ask(page)).await?;
            Ok(told.map(|told| told.json()))
        })
    }

    fn dump(&self) -> PendingAnswer<'_, Vec<u8>> {
        Box::pin(async {
            let _alone = self.dumping.lock().await;
            let text = dump::text(&self.core).await;
            text.map_err(|error| Unanswered(format!("{error:#}")))
        })
    }

    fn record(&self) -> PendingAnswer<'_, Vec<u8>> {
        Box::pin(async {
            if self.kept.recording.is_off() {
                let why = "nothing is recorded in memory: see --record-memory";
                return Err(Unanswered(why.to_owned()));
            }
            let _alone = self.dumping.lock().await;
            let ring = Arc::clone(&self.kept.recording);
            let copied = tokio::task::spawn_blocking(move || ring.bytes()).await;
            copied.map_err(|error| Unanswered(error.to_string()))
        })
    }

    fn history(&self, asked: HistoryAsk) -> PendingAnswer<'_, Result<Value, String>> {
        Box::pin(async move {
            let now_s = i64::try_from(self.clock.now().as_secs()).unwrap_or(i64::MAX);
            let question = match history::question(&asked, now_s) {
                Ok(question) => question,
                Err(wrong) => return Ok(Err(wrong)),
            };
            let _alone = self.asking_history.lock().await;
            let shelf = Arc::clone(&self.kept.history);
            let made = tokio::task::spawn_blocking(move || {
                let answer = shelf.answer(&question, now_s)?;
                serde_json::to_value(answer).map_err(|error| error.to_string())
            });
            let made = made.await.map_err(|error| Unanswered(error.to_string()))?;
            made.map(Ok).map_err(Unanswered)
        })
    }

    fn plan(&self, question: Vec<u8>) -> PendingAnswer<'_, Result<Value, String>> {
        Box::pin(async move { self.questions.plan(&self.core, &question).await })
    }

    fn diag(&self, ask: DiagAsk) -> PendingAnswer<'_, Value> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let ended = || Unanswered("the scheduler is stopping".to_owned());
            let reset = ask == DiagAsk::Reset;
            let sent = self.core.send(DecideRequest::Diag { reset, reply }).await;
            sent.map_err(|_| ended())?;
            let view = answer.await.map_err(|_| ended())?;
            Ok(match ask {
                DiagAsk::Text => Value::String(view.to_string()),
                DiagAsk::Read | DiagAsk::Reset => serde_json::to_value(view).unwrap_or_default(),
            })
        })
    }

    fn decisions(&self) -> PendingAnswer<'_, Value> {
        Box::pin(async {
            let mut value = self.journal.json();
            value["waiting"] = match self.told(Ask::Waiting).await {
                Ok(Ok(told)) => told.json(),
                Ok(Err(why)) | Err(Unanswered(why)) => json!({ "unknown": why }),
            };
            if let Some(book) = &self.beside {
                let book = book.lock().unwrap_or_else(PoisonError::into_inner);
                value["beside"] = serde_json::to_value(book.view()).unwrap_or_default();
            }
            Ok(value)
        })
    }
}

impl AdminApi {
    /// What is seen; otherwise why there is nothing to show under that name.
    ///
    /// # Errors
    /// There is no answer at the moment.
    pub async fn told(&self, ask: Ask) -> Result<Result<ToldView, String>, Unanswered> {
        let refused = self.refused_configuration();
        match self.shared_copy.view(&self.core, ask.clone()).await {
            Ok(mut view) => {
                view.set_configuration_problem(refused);
                let standby = None;
                Ok(Ok(ToldView { view, standby }))
            }
            Err(NoView::Absent(why)) => Ok(Err(why)),
            Err(NoView::NotNow(why)) => Err(Unanswered(why)),
            Err(NoView::StandsBy) => self.questions.page(&self.core, ask, refused).await,
        }
    }

    fn refused_configuration(&self) -> Option<String> {
        let in_use = self.in_use.read().ok()?;
        in_use.as_ref()?.refused.clone()
    }
}

fn ask(page: DebugPage) -> Ask {
    match page {
        DebugPage::Pod { namespace, name } => Ask::Pod { namespace, name },
        DebugPage::Job { namespace, name } => Ask::Job { namespace, name },
        DebugPage::Queue(name) => Ask::Queue(name),
        DebugPage::Queues => Ask::Queues,
        DebugPage::Cards(node) => Ask::Cards(node),
        DebugPage::Top => Ask::Top,
        DebugPage::Mix => Ask::Mix,
        DebugPage::Jobs(of) => Ask::Jobs(JobsAsk {
            search: of.search,
            queue: of.queue,
            reason: of.reason,
            shown: JobsShown::named(&of.shown).unwrap_or_default(),
            from: of.from,
        }),
        DebugPage::Nodes => Ask::Nodes,
        DebugPage::Node(name) => Ask::Node(name),
        DebugPage::Topology(of) => Ask::Topology(TopologyAsk {
            search: of.search,
            tier: of.tier,
            job: of.job,
            pods: of.pods,
            from: of.from,
        }),
    }
}
