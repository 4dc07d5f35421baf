//! Follows the kinds of the controllers.
//!
//! Invariants:
//! * One channel for this and for the ends of writes, so that the answer of a write and the beginning of a list keep
//!   their order: what a write made is never taken for gone because a list was older.
//! * Of an object only what `read_object` keeps outlives its line of the watch.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use kube::core::Status;
use pumice_controllers::runtime::{FOLLOWED, ManagedKind, ManagedRef, ManagerInput, read_object};
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, info, warn};

use pumice_cluster::api::events::{self, Encoding, EventStream};
use pumice_cluster::api::raw::{Meta, RawEvent, meta_of, raw_event, raw_page};
use pumice_cluster::client::describe;
use pumice_cluster::contact::Contact;
use pumice_cluster::watch::board::{Board, KindReporter};
use pumice_cluster::watch::{KindState, KindStatus, WatchTimes};

/// Kinds without which nothing is done: what is missing of them would be made again.
const REQUIRED: [ManagedKind; 5] = [
    ManagedKind::Pod,
    ManagedKind::Job,
    ManagedKind::PodGroup,
    ManagedKind::Queue,
    ManagedKind::Command,
];

/// Times a kind that can be missed must be denied, by an API server that serves the required ones,
/// before it counts as empty: one that is starting denies everything for a moment.
const DENIALS_TO_BELIEVE: u32 = 5;

/// Times a kind that has been followed must be unknown to the API server before it counts as empty.
const ABSENCES_TO_BELIEVE: u32 = 3;

/// Objects asked for at once where lists are not streamed.
const PAGE_SIZE: u32 = 500;

/// How the watch behaves.
#[derive(Clone, Debug, Default)]
pub struct ControllerWatchOptions {
    /// How long to wait for what.
    pub pace: WatchTimes,
    /// Kinds that are not followed: no controller that is on reads them.
    pub without: Vec<ManagedKind>,
}

/// Starts to follow every kind; must be called within a tokio runtime. The client must not retry by
/// itself: see [`pumice_cluster::client::connect`].
pub fn watch(
    client: &Client,
    options: ControllerWatchOptions,
    inputs: &Sender<ManagerInput>,
    contact: &Contact,
) -> ControllerWatch {
    let kinds = FOLLOWED.iter().copied();
    let kinds: Vec<ManagedKind> = kinds
        .filter(|kind| !options.without.contains(kind))
        .collect();
    let slots = kinds.iter().map(|kind| {
        let required = REQUIRED.contains(kind);
        (kind.path().kind, required, required)
    });
    let board = Arc::new(Board::new(slots));
    let options = Arc::new(options);
    let mut tasks = JoinSet::new();
    for (at, kind) in kinds.into_iter().enumerate() {
        let follower = Follower {
            kind,
            inputs: inputs.clone(),
            contact: contact.clone(),
            place: KindReporter::new(Arc::clone(&board), at),
            options: Arc::clone(&options),
            from: None,
            streams: true,
            listed: None,
            there: BTreeSet::new(),
            failures: 0,
            refusals: 0,
            complained: None,
        };
        let client = client.clone();
        tasks.spawn(async move {
            // Nobody listens any more: the process ends.
            let Err(InputsClosed) = follower.run(client).await;
        });
    }
    ControllerWatch {
        board,
        _tasks: tasks,
    }
}

/// A running watch; dropping it ends it.
#[derive(Debug)]
pub struct ControllerWatch {
    board: Arc<Board>,
    _tasks: JoinSet<()>,
}

impl ControllerWatch {
    /// Where every kind stands, in a fixed order.
    pub fn kinds(&self) -> Vec<KindStatus> {
        self.board.kinds()
    }
}

/// Nobody takes inputs any more.
struct InputsClosed;

/// Follows one kind.
struct Follower {
    kind: ManagedKind,
    inputs: Sender<ManagerInput>,
    contact: Contact,
    place: KindReporter,
    options: Arc<ControllerWatchOptions>,
    /// Version to go on from; `None` to list.
    from: Option<String>,
    /// The API server streams lists.
    streams: bool,
    /// When it was last listed whole.
    listed: Option<Instant>,
    /// Objects of the list that is being read.
    there: BTreeSet<ManagedRef>,
    /// Failures in a row.
    failures: u32,
    /// Answers in a row that the kind is unknown, or denied.
    refusals: u32,
    complained: Option<Instant>,
}

/// Why a round of listing and watching ended.
enum RoundEnd {
    Closed(InputsClosed),
    /// The API server ended the watch in good order.
    Ended,
    Failed(WatchTrouble),
}

impl From<InputsClosed> for RoundEnd {
    fn from(closed: InputsClosed) -> Self {
        Self::Closed(closed)
    }
}

/// Why a watch failed.
enum WatchTrouble {
    /// The API server does not know the kind.
    Absent,
    /// The role does not grant it.
    Denied(String),
    /// It cannot stream lists.
    NotStreamed,
    /// The version to go on from is too old: it is listed again.
    Expired,
    /// Anything else.
    Broken(String),
}

impl WatchTrouble {
    fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(status),
            error => Self::Broken(describe(error)),
        }
    }

    fn of_status(status: &Status) -> Self {
        match status.code {
            404 => Self::Absent,
            403 => Self::Denied(status.message.clone()),
            410 => Self::Expired,
            400 | 422 if status.message.contains("sendInitialEvents") => Self::NotStreamed,
            _ => Self::Broken(format!("{} ({})", status.message, status.code)),
        }
    }
}

fn broken(error: impl Into<String>) -> RoundEnd {
    RoundEnd::Failed(WatchTrouble::Broken(error.into()))
}

impl Follower {
    async fn run(mut self, client: Client) -> Result<Infallible, InputsClosed> {
        loop {
            let (began, moment) = (Instant::now(), self.contact.moment());
            // What comes next may be a list.
            self.tell(ManagerInput::ListBegins(self.kind)).await?;
            let Err(end) = self.round(&client).await;
            match end {
                RoundEnd::Closed(closed) => return Err(closed),
                RoundEnd::Ended if began.elapsed() >= self.options.pace.lived => {}
                RoundEnd::Ended => {
                    // Whoever ends watches as soon as they are open is not asked without a pause.
                    let wait = self.options.pace.retry(self.name(), 1);
                    self.contact.pause(moment, wait).await;
                }
                RoundEnd::Failed(trouble) => {
                    let wait = self.failed(trouble).await?;
                    if self.contact.pause(moment, wait).await {
                        self.failures = 0;
                    }
                }
            }
        }
    }

    /// Lists where it must, then watches until that fails.
    async fn round(&mut self, client: &Client) -> Result<Infallible, RoundEnd> {
        let path = self.kind.path().all();
        let open_s = self.options.pace.watch_s(self.name());
        if self.from.is_none() {
            self.there.clear();
            if self.listed.is_none() {
                self.place.set_state(KindState::Listing);
            }
            if self.streams {
                let lines = self
                    .answer(events::stream(client, &path, open_s, Encoding::Json))
                    .await?;
                return self.follow(lines, true).await;
            }
            self.list_pages(client, &path).await?;
        }
        let from = self.from.clone().unwrap_or_default();
        let lines = events::watch(client, &path, &from, open_s, Encoding::Json);
        let lines = self.answer(lines).await?;
        self.follow(lines, false).await
    }

    /// What came of a request.
    async fn answer<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, RoundEnd> {
        let limit = self.options.pace.answer;
        let answer = timeout(limit, request).await;
        let answer = answer.map_err(|_| broken(format!("no answer within {limit:?}")))?;
        answer.map_err(|error| RoundEnd::Failed(WatchTrouble::of(&error)))
    }

    async fn list_pages(&mut self, client: &Client, path: &str) -> Result<(), RoundEnd> {
        let mut next = None;
        loop {
            let asked = events::page(client, path, Some(PAGE_SIZE), next.take());
            let text = self.answer(asked).await?;
            self.place.contact();
            let page = raw_page(text.as_bytes());
            let page = page.map_err(|e| broken(format!("the list is not readable: {e}")))?;
            for object in page.items {
                self.in_list(object).await?;
            }
            if page.next.is_none() {
                return self.listed(page.version).await;
            }
            next = page.next;
        }
    }

    /// Reads events until the watch ends. With `listing` it begins with the list.
    async fn follow(
        &mut self,
        mut lines: EventStream,
        mut listing: bool,
    ) -> Result<Infallible, RoundEnd> {
        let silence = self.options.pace.silence;
        loop {
            let line = timeout(silence, lines.next()).await;
            let line = line.map_err(|_| broken(format!("nothing came for {silence:?}")))?;
            let line = line.map_err(|e| broken(format!("the watch broke: {}", describe(&e))))?;
            let line = match line {
                Some(line) => line,
                None if listing => return Err(broken("the list ended half-way")),
                None => return Err(RoundEnd::Ended),
            };
            let event = raw_event(line).map_err(|error| {
                self.from = None;
                broken(format!("this is no event: {error}"))
            })?;
            self.place.contact();
            match event {
                RawEvent::Add(object) | RawEvent::Modify(object) if listing => {
                    self.in_list(object).await?
                }
                RawEvent::Add(object) | RawEvent::Modify(object) => {
                    let meta = self.changed(object);
                    self.seen(&meta, object).await?;
                }
                RawEvent::Delete(object) => {
                    let meta = match listing {
                        true => meta_of(object),
                        false => self.changed(object),
                    };
                    let of = self.reference(&meta);
                    self.there.remove(&of);
                    let uid = meta.key.uid;
                    self.tell(ManagerInput::Gone { of, uid }).await?;
                }
                RawEvent::Bookmark { version, ends_list } if listing && ends_list => {
                    listing = false;
                    self.listed(version).await?;
                }
                RawEvent::Bookmark { .. } if listing => {}
                RawEvent::Bookmark { version, .. } => {
                    self.from = Some(version);
                    self.followed();
                }
                RawEvent::Error(status) => {
                    return Err(RoundEnd::Failed(WatchTrouble::of_status(&status)));
                }
            }
        }
    }

    /// An object has changed behind the list.
    fn changed(&mut self, object: &RawValue) -> Meta {
        let meta = meta_of(object);
        if !meta.version.is_empty() {
            self.from = Some(meta.version.clone());
        }
        self.followed();
        self.place.count(|counts| counts.events += 1);
        meta
    }

    /// An object of the list that is being read.
    async fn in_list(&mut self, object: &RawValue) -> Result<(), InputsClosed> {
        let meta = meta_of(object);
        self.there.insert(self.reference(&meta));
        self.seen(&meta, object).await
    }

    fn reference(&self, meta: &Meta) -> ManagedRef {
        ManagedRef::new(self.kind, &meta.key.namespace, &meta.key.name)
    }

    fn name(&self) -> &'static str {
        self.kind.path().kind
    }

    async fn tell(&self, input: ManagerInput) -> Result<(), InputsClosed> {
        self.inputs.send(input).await.map_err(|_| InputsClosed)
    }

    fn followed(&mut self) {
        if self.failures > 0 || matches!(self.place.state(), KindState::Failing { .. }) {
            info!(kind = self.name(), "followed again");
        }
        (self.failures, self.refusals) = (0, 0);
        self.place.followed();
        self.place.set_state(KindState::Synced);
    }

    async fn seen(&self, meta: &Meta, object: &RawValue) -> Result<(), InputsClosed> {
        match read_object(self.kind, object.get().as_bytes()) {
            Ok(Some(object)) => self.tell(ManagerInput::Seen(object)).await,
            Ok(None) => Ok(()),
            Err(problem) => {
                self.place.count(|counts| counts.unreadable += 1);
                let object = self.reference(meta);
                warn!("{object} is set aside, what was known of it stays: {problem}");
                Ok(())
            }
        }
    }

    /// The list is complete: `there` is all there is, at this version.
    async fn listed(&mut self, version: String) -> Result<(), RoundEnd> {
        if version.is_empty() {
            return Err(broken("the list has no resourceVersion"));
        }
        self.from = Some(version);
        self.listed = Some(Instant::now());
        let (kind, there) = (self.kind, std::mem::take(&mut self.there));
        self.place.set_objects(there.len());
        self.place.count(|counts| counts.lists += 1);
        self.tell(ManagerInput::Listed { kind, there }).await?;
        self.settle().await?;
        self.followed();
        Ok(())
    }

    async fn settle(&self) -> Result<(), InputsClosed> {
        if self.place.settle() {
            self.tell(ManagerInput::Synced).await?;
        }
        Ok(())
    }

    /// Draws the conclusions from a failure. Returns how long to wait before the next try.
    async fn failed(&mut self, trouble: WatchTrouble) -> Result<Duration, InputsClosed> {
        self.place.lost(Instant::now());
        self.place.count(|counts| counts.failures += 1);
        self.failures = self.failures.saturating_add(1);
        let retry = self.options.pace.retry(self.name(), self.failures);
        match trouble {
            WatchTrouble::Absent => return self.absent().await,
            WatchTrouble::NotStreamed => {
                debug!(kind = self.name(), "lists are not streamed, but paged");
                self.streams = false;
                return Ok(Duration::ZERO);
            }
            WatchTrouble::Expired => {
                self.from = None;
                return Ok(retry);
            }
            WatchTrouble::Denied(error) => {
                let path = self.kind.path();
                let group = match path.group {
                    "" => "the core group",
                    group => group,
                };
                let grant = format!(
                    "{error}; grant list and watch on {} of {group}",
                    path.plural
                );
                self.complain(&grant);
                self.refusals += u32::from(self.place.others_are_served());
                let is_optional = !REQUIRED.contains(&self.kind);
                if is_optional && self.refusals >= DENIALS_TO_BELIEVE && self.listed.is_none() {
                    self.settle().await?;
                }
            }
            WatchTrouble::Broken(error) => {
                self.contact.failed();
                // One cut is nothing; the watch goes on in a moment.
                if self.failures > 1 || self.listed.is_none() {
                    self.complain(&error);
                }
            }
        }
        Ok(retry)
    }

    /// The API server does not know the kind: there are no objects of it.
    async fn absent(&mut self) -> Result<Duration, InputsClosed> {
        self.refusals += 1;
        self.from = None;
        if self.listed.is_some() && self.refusals < ABSENCES_TO_BELIEVE {
            self.complain("the API server does not know this kind any more");
            return Ok(self.options.pace.retry(self.name(), self.failures));
        }
        if self.place.state() != KindState::Absent {
            info!(
                kind = self.name(),
                api_version = self.kind.path().api_version(),
                "not installed: counts as empty until it is"
            );
        }
        self.place.set_objects(0);
        self.place.contact();
        self.place.set_state(KindState::Absent);
        self.place.followed();
        self.failures = 0;
        if self.listed.take().is_some() {
            let (kind, there) = (self.kind, BTreeSet::new());
            self.tell(ManagerInput::Listed { kind, there }).await?;
        }
        self.settle().await?;
        Ok(self.options.pace.absent(self.name(), self.refusals))
    }

    /// Makes a failure visible: in the state always, in the log now and then.
    fn complain(&mut self, error: &str) {
        let every = self.options.pace.complaint;
        if self.complained.is_none_or(|at| at.elapsed() >= every) {
            self.complained = Some(Instant::now());
            warn!(kind = self.name(), error, "cannot follow");
        }
        let error = error.to_owned();
        self.place.set_state(KindState::Failing { error });
    }
}
