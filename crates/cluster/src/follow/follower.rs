//! Follows one kind: lists it, watches it, and begins again as often as it must.
//!
//! ```text
//!            ┌────── 410, untrusted ──────┐
//!            ▼                            │
//!  ─► list (streamed, or by pages) ─► watch ◄─┐
//!            ▲                            │   │ cut, silent, ended: from the last version
//!            └── not installed, denied ───┴───┘
//! ```

use std::convert::Infallible;
use std::time::Instant;

use kube::Client;
use tokio::time::timeout;
use tracing::{info, warn};

use super::board::{KindReporter, KindState};
use super::decode::ObjectDecoder;
use super::failure::{STREAM, WatchFailure};
use super::kind::FollowedKind;
use super::ledger::{Ledger, LedgerNews, ReadBy};
use super::listener::{Heard, KindListener, ReceiverGone};
use super::pace::WatchTimes;
use super::reading::{ReadItem, Reading};
use crate::api::events::{self, Collection};
use crate::client::Clients;
use crate::contact::Contact;

/// Changes of the first list told together; before the gate opens nobody acts on them, and to hold
/// all of them would take several times the memory of what is made of them.
const FIRST_LIST_PART: usize = 1_000;

/// Times an API server must show an older list before it is believed: it was restored from a
/// backup.
const OLDER_LISTS_TO_BELIEVE: u32 = 8;

/// Lists by pages that expired half-way before all is asked for at once.
const EXPIRED_PAGES: u32 = 2;

/// The way to the API server for lists and watches.
#[derive(Clone)]
pub struct ReadWay {
    /// Asks; must not retry by itself: see [`crate::client::connect`].
    pub client: Client,
    /// Who knows whether the API server is away: when it is back, followers try at once.
    pub contact: Contact,
}

impl From<&Clients> for ReadWay {
    fn from(clients: &Clients) -> Self {
        Self {
            client: clients.reads.clone(),
            contact: clients.contact.clone(),
        }
    }
}

/// How a follower asks.
#[derive(Clone, Debug)]
pub struct FollowLimits {
    /// How long to wait for what.
    pub pace: WatchTimes,
    /// Objects in one page of a list, where the server cannot stream it.
    pub page_size: u32,
}

impl Default for FollowLimits {
    fn default() -> Self {
        Self {
            pace: WatchTimes::default(),
            page_size: 500,
        }
    }
}

/// Follows one kind.
pub struct KindFollower<L: KindListener> {
    pub(super) kind: FollowedKind,
    pub(super) listener: L,
    pub(super) way: ReadWay,
    pub(super) limits: FollowLimits,
    pub(super) ledger: Ledger,
    /// What is still to be told.
    pub(super) waiting: Vec<LedgerNews<L::Change>>,
    pub(super) place: KindReporter,
    /// Version to go on from; `None` to list.
    pub(super) from: Option<String>,
    /// The API server streams lists.
    pub(super) streams: bool,
    /// Failures in a row.
    pub(super) failures: u32,
    pub(super) absences: u32,
    pub(super) denials: u32,
    older_lists: u32,
    expired_pages: u32,
    /// When the last complete list was.
    pub(super) listed: Option<Instant>,
    pub(super) complained: Option<Instant>,
}

impl<L: KindListener> KindFollower<L> {
    /// Follows a kind for a listener, and reports at this place of a board.
    pub fn new(
        kind: FollowedKind,
        listener: L,
        way: ReadWay,
        limits: FollowLimits,
        place: KindReporter,
    ) -> Self {
        Self {
            kind,
            listener,
            way,
            limits,
            ledger: Ledger::default(),
            waiting: Vec::new(),
            place,
            from: None,
            streams: true,
            failures: 0,
            absences: 0,
            denials: 0,
            older_lists: 0,
            expired_pages: 0,
            listed: None,
            complained: None,
        }
    }

    /// Follows the kind until nobody listens any more.
    pub async fn run(mut self) {
        loop {
            let (began, moment) = (Instant::now(), self.way.contact.moment());
            let Err(failure) = self.round().await;
            if began.elapsed() >= self.limits.pace.lived {
                self.failures = 0;
            }
            if matches!(failure, WatchFailure::Broken { .. }) {
                // A watch that broke may be the first to find out.
                self.way.contact.failed();
            }
            self.place.lost(Instant::now());
            match self.recover(failure).await {
                Ok(wait) => {
                    if self.way.contact.pause(moment, wait).await {
                        self.failures = 0;
                    }
                }
                Err(ReceiverGone) => return,
            }
        }
    }

    /// Lists where it must, then watches until that fails.
    async fn round(&mut self) -> Result<Infallible, WatchFailure> {
        let answer = self.limits.pace.answer;
        let open_s = self.limits.pace.watch_s(self.kind.name);
        let (which, wanted) = (self.kind.collection(), self.kind.wanted);
        if self.from.is_none() {
            self.begin_list().await?;
            if self.streams {
                let opened = timeout(
                    answer,
                    events::stream(&self.way.client, &which, open_s, wanted),
                );
                let mut events = self.in_time(opened.await, STREAM)?;
                self.place.count(|counts| counts.watches += 1);
                return self.follow(&mut events, true).await;
            }
            self.list_pages(&which).await?;
        }
        let from = self.from.clone().unwrap_or_default();
        let opened = timeout(
            answer,
            events::watch(&self.way.client, &which, &from, open_s, wanted),
        );
        let mut events = self.in_time(opened.await, "watch")?;
        self.place.count(|counts| counts.watches += 1);
        self.place.contact();
        self.set_synced();
        self.follow(&mut events, false).await
    }

    /// What came of a request with this verb.
    fn in_time<T>(
        &self,
        answer: Result<Result<T, kube::Error>, tokio::time::error::Elapsed>,
        verb: &'static str,
    ) -> Result<T, WatchFailure> {
        let limit = self.limits.pace.answer;
        let answer =
            answer.map_err(|_| WatchFailure::broken(format!("no answer within {limit:?}")))?;
        answer.map_err(|error| WatchFailure::of(&error, verb))
    }

    pub(super) fn set_synced(&self) {
        if matches!(self.place.state(), KindState::Failing { .. }) && self.kind.logs {
            info!(kind = self.kind.name, "followed again");
        }
        self.place.set_state(KindState::Synced);
    }

    async fn begin_list(&mut self) -> Result<(), WatchFailure> {
        heard(self.listener.list_begins().await)?;
        // What a list that broke off brought is told again by this one where its listener keeps nothing.
        if self.kind.retells {
            self.waiting.clear();
        }
        self.ledger.begin_list();
        // A failure stays visible until the list is complete.
        if self.place.state() == KindState::Synced {
            self.place.set_state(KindState::Listing);
        }
        Ok(())
    }

    /// Lists page by page.
    async fn list_pages(&mut self, which: &Collection) -> Result<(), WatchFailure> {
        let answer = self.limits.pace.answer;
        let mut next = None;
        loop {
            let all = self.expired_pages >= EXPIRED_PAGES;
            let limit = (!all).then_some(self.limits.page_size);
            let asked = events::page(&self.way.client, which, limit, next.take());
            let text = self.in_time(timeout(answer, asked).await, "list");
            if matches!(text, Err(WatchFailure::Gone)) {
                self.expired_pages += 1;
            }
            let text = text?;
            self.place.contact();
            let page = self.decoder().page(text.as_bytes());
            let page =
                page.map_err(|e| WatchFailure::broken(format!("the list is not readable: {e}")))?;
            drop(text);
            for item in page.items {
                self.take_listed(item);
            }
            self.tell_part().await?;
            if page.next.is_none() {
                self.expired_pages = 0;
                return self.finish_list(page.version).await;
            }
            next = page.next;
        }
    }

    pub(super) fn decoder(&self) -> ObjectDecoder<'_, L> {
        ObjectDecoder {
            listener: &self.listener,
            ledger: &self.ledger,
            retells: self.kind.retells,
        }
    }

    /// Takes an object of a list. Whether the list is too old as a whole shows at its end.
    pub(super) fn take_listed(&mut self, item: ReadItem<L::Change>) {
        self.count_unreadable(item.reading.as_ref());
        let applied = self.ledger.apply(item, ReadBy::List, &mut self.waiting);
        if applied.is_err() {
            self.place.count(|counts| counts.stale += 1);
        }
    }

    pub(super) fn count_unreadable(&self, reading: Option<&Reading<L::Change>>) {
        if matches!(reading, Some(Reading::Bad(_) | Reading::Doubtful(..))) {
            self.place.count(|counts| counts.unreadable += 1);
        }
    }

    /// Tells what the first list has brought so far. Of later lists nothing is told before the end.
    pub(super) async fn tell_part(&mut self) -> Result<(), WatchFailure> {
        if !self.place.is_settled() && self.waiting.len() >= FIRST_LIST_PART {
            self.tell_waiting().await?;
        }
        Ok(())
    }

    /// Tells all that waits.
    pub(super) async fn tell_waiting(&mut self) -> Result<(), WatchFailure> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        heard(self.listener.tell(waiting).await)
    }

    /// The list is complete.
    pub(super) async fn finish_list(&mut self, version: String) -> Result<(), WatchFailure> {
        if version.is_empty() {
            return Err(WatchFailure::broken("the list has no resourceVersion"));
        }
        if self
            .ledger
            .finish_list(&version, &mut self.waiting)
            .is_err()
        {
            self.older_lists += 1;
            if self.older_lists >= OLDER_LISTS_TO_BELIEVE {
                let kind = self.kind.name;
                warn!(
                    kind,
                    version, "the API server keeps showing an older list; believing it"
                );
                self.ledger.forget_versions();
                self.older_lists = 0;
            }
            let text = format!("the list of version {version} is older than what is known");
            return Err(WatchFailure::Untrusted(text));
        }
        self.older_lists = 0;
        if self.place.state() == KindState::Absent && self.kind.logs {
            info!(kind = self.kind.name, "installed now; the feature is on");
        }
        (self.absences, self.denials) = (0, 0);
        self.from = Some(version);
        self.listed = Some(Instant::now());
        let diverged = self.ledger.diverged();
        self.place.count(|counts| {
            counts.lists += 1;
            counts.diverged = diverged;
        });
        self.place.set_objects(self.ledger.len());
        self.place.set_version(self.kind.api_version());
        self.tell_waiting().await?;
        heard(self.listener.listed(&self.ledger).await)?;
        heard(self.settle().await)
    }

    /// The kind no longer holds up the gate; the last one says so.
    pub(super) async fn settle(&mut self) -> Heard {
        self.listener.settles().await?;
        match self.place.settle() {
            true => self.listener.synced().await,
            false => Ok(()),
        }
    }
}

fn heard(heard: Heard) -> Result<(), WatchFailure> {
    heard.map_err(|ReceiverGone| WatchFailure::Closed)
}
