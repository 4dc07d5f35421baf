//! Follows the kinds of the controllers.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Client;
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::runtime::watcher::{self, Event, InitialListStrategy};
use pumice_controllers::runtime::{
    Followed, FollowedVisitor, ManagedKind, ManagedRef, ManagerInput, visit_followed,
};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use crate::client::describe;
use crate::contact::Contact;
use crate::watch::status::{Board, KindReporter};
use crate::watch::{KindState, KindStatus, WatchTimes};

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

/// How the watch behaves.
#[derive(Clone, Debug, Default)]
pub struct ControllerWatchOptions {
    /// How long to wait for what.
    pub pace: WatchTimes,
    /// Kinds that are not followed: no controller that is on reads them.
    pub without: Vec<ManagedKind>,
}

/// Starts to follow every kind; must be called within a tokio runtime. The client must not retry by
/// itself: see [`crate::client::connect`].
pub fn watch(
    client: &Client,
    options: ControllerWatchOptions,
    inputs: &Sender<ManagerInput>,
    contact: &Contact,
) -> ControllerWatch {
    let mut kinds = Kinds {
        without: options.without.clone(),
        found: Vec::new(),
    };
    visit_followed(&mut kinds);
    let slots = kinds.found.iter().map(|(kind, _)| {
        let required = REQUIRED.contains(kind);
        (kind.path().kind, required, required)
    });
    let board = Arc::new(Board::new(slots));
    let options = Arc::new(options);
    let mut tasks = JoinSet::new();
    for (at, (kind, start)) in kinds.found.into_iter().enumerate() {
        let follower = Follower {
            kind,
            inputs: inputs.clone(),
            contact: contact.clone(),
            place: KindReporter::new(Arc::clone(&board), at),
            options: Arc::clone(&options),
            strategy: InitialListStrategy::StreamingList,
            listed: None,
            there: BTreeSet::new(),
            failures: 0,
            refusals: 0,
            complained: None,
        };
        start(follower, client.clone(), &mut tasks);
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

type Start = fn(Follower, Client, &mut JoinSet<()>);

/// The kinds to follow, each with what starts its follower.
struct Kinds {
    without: Vec<ManagedKind>,
    found: Vec<(ManagedKind, Start)>,
}

impl FollowedVisitor for Kinds {
    fn visit<K: Followed>(&mut self) {
        if !self.without.contains(&K::MANAGED) {
            self.found.push((K::MANAGED, start::<K>));
        }
    }
}

fn start<K: Followed>(follower: Follower, client: Client, tasks: &mut JoinSet<()>) {
    tasks.spawn(async move {
        // Nobody listens any more: the process ends.
        let Err(InputsClosed) = follower.run::<K>(client).await;
    });
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
    strategy: InitialListStrategy,
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
    fn of(error: &watcher::Error) -> Self {
        let status = match error {
            watcher::Error::WatchError(status) => Some(&**status),
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(&**status),
            _ => None,
        };
        let Some(status) = status else {
            return Self::Broken(describe(error));
        };
        match status.code {
            404 => Self::Absent,
            403 => Self::Denied(status.message.clone()),
            410 => Self::Expired,
            400 | 422 if status.message.contains("sendInitialEvents") => Self::NotStreamed,
            _ => Self::Broken(format!("{} ({})", status.message, status.code)),
        }
    }
}

impl Follower {
    async fn run<K: Followed>(
        mut self,
        client: Client,
    ) -> Result<std::convert::Infallible, InputsClosed> {
        let api: Api<DeserializeGuard<K>> = Api::all(client);
        loop {
            let config = watcher::Config {
                initial_list_strategy: self.strategy.clone(),
                timeout: Some(self.options.pace.watch_s(self.name())),
                ..watcher::Config::default()
            };
            let mut stream = pin!(watcher::watcher(api.clone(), config));
            let strategy = self.strategy.clone();
            let mut moment = self.contact.moment();
            self.tell(ManagerInput::ListBegins(self.kind)).await?;
            while strategy == self.strategy {
                match stream.next().await {
                    None => break,
                    Some(Ok(event)) => self.take(event).await?,
                    Some(Err(error)) => {
                        let wait = self.failed(WatchTrouble::of(&error)).await?;
                        if self.contact.pause(moment, wait).await {
                            self.failures = 0;
                        }
                        moment = self.contact.moment();
                        // What comes next may be a list.
                        self.tell(ManagerInput::ListBegins(self.kind)).await?;
                    }
                }
            }
        }
    }

    fn name(&self) -> &'static str {
        self.kind.path().kind
    }

    async fn tell(&self, input: ManagerInput) -> Result<(), InputsClosed> {
        self.inputs.send(input).await.map_err(|_| InputsClosed)
    }

    async fn take<K: Followed>(
        &mut self,
        event: Event<DeserializeGuard<K>>,
    ) -> Result<(), InputsClosed> {
        self.place.contact();
        match event {
            Event::Init => {
                self.there.clear();
                if self.listed.is_none() {
                    self.place.set_state(KindState::Listing);
                }
            }
            Event::InitApply(object) => {
                self.there.insert(reference(self.kind, &object));
                self.seen(object).await?;
            }
            Event::InitDone => {
                let there = std::mem::take(&mut self.there);
                self.place.set_objects(there.len());
                self.place.count(|counts| counts.lists += 1);
                self.listed(there).await?;
                self.followed();
            }
            Event::Apply(object) => {
                self.followed();
                self.place.count(|counts| counts.events += 1);
                self.seen(object).await?;
            }
            Event::Delete(object) => {
                self.followed();
                self.place.count(|counts| counts.events += 1);
                let of = reference(self.kind, &object);
                let uid = kube::Resource::meta(&object).uid.clone();
                let uid = uid.unwrap_or_default();
                self.tell(ManagerInput::Gone { of, uid }).await?;
            }
        }
        Ok(())
    }

    fn followed(&mut self) {
        if self.failures > 0 || matches!(self.place.state(), KindState::Failing { .. }) {
            info!(kind = self.name(), "followed again");
        }
        (self.failures, self.refusals) = (0, 0);
        self.place.followed();
        self.place.set_state(KindState::Synced);
    }

    async fn seen<K: Followed>(&mut self, guard: DeserializeGuard<K>) -> Result<(), InputsClosed> {
        match guard.0 {
            Ok(object) => self.tell(ManagerInput::Seen(object.observe())).await,
            Err(invalid) => {
                self.place.count(|counts| counts.unreadable += 1);
                let meta = &invalid.metadata;
                let text = |field: &Option<String>| field.clone().unwrap_or_default();
                let (namespace, name) = (text(&meta.namespace), text(&meta.name));
                warn!(
                    "{} is set aside, what was known of it stays: {}",
                    ManagedRef::new(self.kind, &namespace, &name),
                    invalid.error
                );
                Ok(())
            }
        }
    }

    /// The whole list is `there`.
    async fn listed(&mut self, there: BTreeSet<ManagedRef>) -> Result<(), InputsClosed> {
        self.listed = Some(Instant::now());
        let kind = self.kind;
        self.tell(ManagerInput::Listed { kind, there }).await?;
        self.settle().await
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
                self.strategy = InitialListStrategy::ListWatch;
                return Ok(Duration::ZERO);
            }
            WatchTrouble::Expired => return Ok(retry),
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

fn reference<K: Followed>(kind: ManagedKind, object: &DeserializeGuard<K>) -> ManagedRef {
    let meta = kube::Resource::meta(object);
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let name = meta.name.as_deref().unwrap_or_default();
    ManagedRef::new(kind, namespace, name)
}
