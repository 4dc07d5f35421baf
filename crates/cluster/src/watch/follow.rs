//! Follows one kind: lists it, watches it, and begins again as often as it must.
//!
//! ```text
//!            ┌────── 410, untrusted ──────┐
//!            ▼                            │
//!  ─► list (streamed, or by pages) ─► watch ◄─┐
//!            ▲                            │   │ cut, silent, ended: from the last version
//!            └── not installed, denied ───┴───┘
//! ```

mod recover;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::Client;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, sleep_until, timeout};
use tracing::{info, warn};

use super::board::KindReporter;
use super::decode::{DecodeContext, WatchLine};
use super::failure::{STREAM, WatchFailure};
use super::kinds::WatchedKind;
use super::ledger::{Ledger, ReadBy, WentBack};
use super::look::{self, GapCheckResult};
use super::outbox::{Outbox, ReceiverGone};
use super::reading::Reading;
use super::rules::WatchRules;
use super::{KindState, WatchInput, WatchOptions};
use crate::PluginProgress;
use crate::api::events::{self, Encoding, EventStream};
use crate::contact::Contact;

/// Changes of the first list sent together; before the gate opens nobody acts on them, and to hold
/// all of them would take several times the memory of what is made of them.
const FIRST_LIST_PART: usize = 1_000;

/// Times an API server must show an older list before it is believed: it was restored from a
/// backup.
const OLDER_LISTS_TO_BELIEVE: u32 = 8;

/// A watch that has been open for this long has brought what had happened before.
const LONGEST_CATCHING_UP: Duration = Duration::from_secs(1);

/// Lists by pages that expired half-way before all is asked for at once.
const EXPIRED_PAGES: u32 = 2;

/// Follows one kind.
pub(super) struct KindFollower {
    kind: WatchedKind,
    client: Client,
    options: Arc<WatchOptions>,
    rules: WatchRules,
    ledger: Ledger,
    outbox: Outbox,
    place: KindReporter,
    contact: Contact,
    /// Version to go on from; `None` to list.
    from: Option<String>,
    /// The API server streams lists.
    streams: bool,
    /// Failures in a row.
    failures: u32,
    absences: u32,
    denials: u32,
    older_lists: u32,
    expired_pages: u32,
    /// When the last complete list was.
    listed: Option<Instant>,
    complained: Option<Instant>,
}

impl KindFollower {
    pub(super) fn new(
        kind: WatchedKind,
        client: Client,
        options: &Arc<WatchOptions>,
        receivers: (Sender<WatchInput>, Option<PluginProgress>),
        place: KindReporter,
        contact: Contact,
    ) -> Self {
        let own_shard = options
            .shard
            .as_deref()
            .filter(|_| kind.name == "NodeShard");
        Self {
            client,
            rules: WatchRules::new(options),
            ledger: Ledger::new(kind.gone),
            outbox: Outbox::new(kind, receivers, own_shard),
            kind,
            options: Arc::clone(options),
            place,
            contact,
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
    pub(super) async fn run(mut self) {
        loop {
            let (began, moment) = (Instant::now(), self.contact.moment());
            let Err(failure) = self.round().await;
            if began.elapsed() >= self.options.pace.lived {
                self.failures = 0;
            }
            if matches!(failure, WatchFailure::Broken { .. }) {
                // A watch that broke may be the first to find out.
                self.contact.failed();
            }
            self.place.lost(Instant::now());
            match self.recover(failure).await {
                Ok(wait) => {
                    if self.contact.pause(moment, wait).await {
                        self.failures = 0;
                    }
                }
                Err(ReceiverGone) => return,
            }
        }
    }

    /// Lists where it must, then watches until that fails.
    async fn round(&mut self) -> Result<std::convert::Infallible, WatchFailure> {
        let answer = self.options.pace.answer;
        let open_s = self.options.pace.watch_s(self.kind.name);
        let (path, wanted) = (self.kind.path(), self.kind.decode.wanted());
        if self.from.is_none() {
            self.begin_list();
            if self.streams {
                let opened = timeout(answer, events::stream(&self.client, &path, open_s, wanted));
                let mut events = self.in_time(opened.await, STREAM)?;
                self.place.count(|counts| counts.watches += 1);
                return self.follow(&mut events, true).await;
            }
            self.list_pages().await?;
        }
        let from = self.from.clone().unwrap_or_default();
        let opened = timeout(
            answer,
            events::watch(&self.client, &path, &from, open_s, wanted),
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
        verb: &str,
    ) -> Result<T, WatchFailure> {
        let limit = self.options.pace.answer;
        let answer =
            answer.map_err(|_| WatchFailure::broken(format!("no answer within {limit:?}")))?;
        answer.map_err(|error| WatchFailure::of(&error, &self.kind, verb))
    }

    fn set_synced(&self) {
        if matches!(self.place.state(), KindState::Failing { .. }) {
            info!(kind = self.kind.name, "followed again");
        }
        self.place.set_state(KindState::Synced);
    }

    fn begin_list(&mut self) {
        self.ledger.begin_list();
        // A failure stays visible until the list is complete.
        if self.place.state() == KindState::Synced {
            self.place.set_state(KindState::Listing);
        }
    }

    /// Lists page by page.
    async fn list_pages(&mut self) -> Result<(), WatchFailure> {
        let (answer, path) = (self.options.pace.answer, self.kind.path());
        let mut next = None;
        loop {
            let all = self.expired_pages >= EXPIRED_PAGES;
            let limit = (!all).then_some(self.options.page_size);
            let asked = events::page(&self.client, &path, limit, next.take());
            let text = self.in_time(timeout(answer, asked).await, "list");
            if matches!(text, Err(WatchFailure::Gone)) {
                self.expired_pages += 1;
            }
            let text = text?;
            self.place.contact();
            let context = DecodeContext {
                rules: &self.rules,
                ledger: &self.ledger,
            };
            let page = self.kind.decode.page(text.as_bytes(), &context);
            let page =
                page.map_err(|e| WatchFailure::broken(format!("the list is not readable: {e}")))?;
            drop(text);
            for item in page.items {
                self.count_unreadable(item.reading.as_ref());
                // Whether the list is too old as a whole shows at its end.
                if self
                    .ledger
                    .apply(item, ReadBy::List, &mut self.outbox.waiting)
                    .is_err()
                {
                    self.place.count(|counts| counts.stale += 1);
                }
            }
            self.send_part().await?;
            if page.next.is_none() {
                self.expired_pages = 0;
                return self.finish_list(page.version).await;
            }
            next = page.next;
        }
    }

    /// Reads events until the watch ends. With `listing` it begins with the list.
    async fn follow(
        &mut self,
        events: &mut EventStream,
        mut listing: bool,
    ) -> Result<std::convert::Infallible, WatchFailure> {
        let pace = self.options.pace.clone();
        let encoding = events.encoding();
        let (opened, mut heard) = (Instant::now(), tokio::time::Instant::now());
        let mut reach = match listing {
            true => WatchReach::Listing,
            false => WatchReach::Behind(opened),
        };
        let mut look = look::begin(&self.client, self.kind, None, &pace);
        loop {
            let came = tokio::select! {
                biased;
                line = events.next() => Came::Line(line),
                finding = &mut look => Came::Finding(finding),
                () = sleep(pace.caught_up), if matches!(reach, WatchReach::Behind(_)) => Came::Quiet,
                () = sleep_until(heard + pace.silence) => Came::Silence,
            };
            reach = match came {
                Came::Line(line) => {
                    let listed = self.take(read(line, listing)?, encoding, listing).await?;
                    listing &= !listed;
                    heard = tokio::time::Instant::now();
                    match reach {
                        WatchReach::Listing if !listed => WatchReach::Listing,
                        WatchReach::Listing if opened.elapsed() < pace.young_list => {
                            WatchReach::Present
                        }
                        // The list tells how things stood when it began; what was held up, how they
                        // stood before.
                        WatchReach::Listing | WatchReach::Unknown => {
                            WatchReach::Behind(Instant::now())
                        }
                        // In a stream that never pauses.
                        WatchReach::Behind(since) if since.elapsed() >= LONGEST_CATCHING_UP => {
                            WatchReach::Present
                        }
                        WatchReach::Behind(_) | WatchReach::Present => reach,
                    }
                }
                Came::Quiet => WatchReach::Present,
                Came::Finding(GapCheckResult::Nothing) => {
                    self.place.contact();
                    WatchReach::Present
                }
                Came::Finding(GapCheckResult::Withheld(seen)) => {
                    self.place.lost(seen);
                    let text = "it is open, but does not bring what happens";
                    return Err(WatchFailure::Untrusted(text.to_owned()));
                }
                Came::Finding(GapCheckResult::Unknown(proof)) => {
                    self.contact.failed();
                    self.place.lost(proof);
                    WatchReach::Unknown
                }
                Came::Silence => {
                    let silence = pace.silence;
                    return Err(WatchFailure::broken(format!(
                        "nothing came for {silence:?}"
                    )));
                }
            };
            if reach == WatchReach::Present {
                self.place.followed();
            }
            let version = match reach {
                WatchReach::Present | WatchReach::Unknown => self.from.as_deref(),
                WatchReach::Listing | WatchReach::Behind(_) => None,
            };
            look = look::begin(&self.client, self.kind, version, &pace);
        }
    }

    /// Takes one line. Returns whether it was the end of the list.
    async fn take(
        &mut self,
        event: &[u8],
        encoding: Encoding,
        listing: bool,
    ) -> Result<bool, WatchFailure> {
        let context = DecodeContext {
            rules: &self.rules,
            ledger: &self.ledger,
        };
        let event = self.kind.decode.event(event, encoding, &context);
        let event = event.map_err(|e| WatchFailure::Untrusted(format!("this is no event: {e}")))?;
        self.place.contact();
        if listing {
            return Ok(!self.in_list(event).await?);
        }
        self.in_watch(event).await?;
        Ok(false)
    }

    /// An event of the list part of a watch. Returns whether the list goes on.
    async fn in_list(&mut self, event: WatchLine) -> Result<bool, WatchFailure> {
        match event {
            WatchLine::Apply(item) => {
                self.count_unreadable(item.reading.as_ref());
                if self
                    .ledger
                    .apply(item, ReadBy::List, &mut self.outbox.waiting)
                    .is_err()
                {
                    self.place.count(|counts| counts.stale += 1);
                }
                self.send_part().await?;
                Ok(true)
            }
            WatchLine::Delete(meta) => {
                self.ledger.delete(&meta, &mut self.outbox.waiting);
                Ok(true)
            }
            WatchLine::Bookmark {
                ends_list: false, ..
            } => Ok(true),
            WatchLine::Bookmark { version, .. } => {
                self.finish_list(version).await?;
                self.set_synced();
                Ok(false)
            }
            WatchLine::Error(status) => Err(WatchFailure::of_status(&status, &self.kind, STREAM)),
        }
    }

    /// An event after the list.
    async fn in_watch(&mut self, event: WatchLine) -> Result<(), WatchFailure> {
        match event {
            WatchLine::Apply(item) => {
                self.count_unreadable(item.reading.as_ref());
                let version = item.meta.version.clone();
                let applied = self
                    .ledger
                    .apply(item, ReadBy::Watch, &mut self.outbox.waiting);
                if applied == Err(WentBack) {
                    self.place.count(|counts| counts.stale += 1);
                    let text = format!("version {version} came after a newer one");
                    return Err(WatchFailure::Untrusted(text));
                }
                self.reached(version);
            }
            WatchLine::Delete(meta) => {
                self.ledger.delete(&meta, &mut self.outbox.waiting);
                self.reached(meta.version);
            }
            WatchLine::Bookmark { version, .. } => {
                self.ledger.reached(&version);
                self.failures = 0;
                self.from = Some(version);
                return Ok(());
            }
            WatchLine::Error(status) => {
                return Err(WatchFailure::of_status(&status, &self.kind, "watch"));
            }
        }
        self.place.event(self.ledger.len());
        self.flush().await
    }

    fn reached(&mut self, version: String) {
        self.failures = 0;
        if !version.is_empty() {
            self.from = Some(version);
        }
    }

    fn count_unreadable(&self, reading: Option<&Reading>) {
        if matches!(reading, Some(Reading::Bad(_) | Reading::Doubtful(..))) {
            self.place.count(|counts| counts.unreadable += 1);
        }
    }

    /// Sends what the first list has brought so far. Of later lists nothing is sent before the end.
    async fn send_part(&mut self) -> Result<(), WatchFailure> {
        if !self.place.is_settled() && self.outbox.waiting.len() >= FIRST_LIST_PART {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), WatchFailure> {
        self.outbox
            .flush()
            .await
            .map_err(|ReceiverGone| WatchFailure::Closed)
    }

    /// The list is complete.
    async fn finish_list(&mut self, version: String) -> Result<(), WatchFailure> {
        if version.is_empty() {
            return Err(WatchFailure::broken("the list has no resourceVersion"));
        }
        if self
            .ledger
            .finish_list(&version, &mut self.outbox.waiting)
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
        if self.place.state() == KindState::Absent {
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
        self.flush().await?;
        self.settle()
            .await
            .map_err(|ReceiverGone| WatchFailure::Closed)
    }

    /// The kind no longer holds up the gate; the last one says so.
    async fn settle(&mut self) -> Result<(), ReceiverGone> {
        self.outbox.tell_shards().await?;
        match self.place.settle() {
            true => self.outbox.send(WatchInput::Synced).await,
            false => Ok(()),
        }
    }
}

/// How far what an open watch has brought reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WatchReach {
    /// It brings the list.
    Listing,
    /// Since then it brings events, some of them of before.
    Behind(Instant),
    /// To the present.
    Present,
    /// Nobody knows: it brings nothing, and no other answer came either.
    Unknown,
}

/// What came of waiting for a watch.
enum Came<'a> {
    Line(std::io::Result<Option<&'a [u8]>>),
    /// Nothing for a moment, for the first time.
    Quiet,
    /// Nothing for so long that it is given up.
    Silence,
    Finding(GapCheckResult),
}

/// A line, unless the answer has ended.
fn read(line: std::io::Result<Option<&[u8]>>, listing: bool) -> Result<&[u8], WatchFailure> {
    match line {
        Err(error) => {
            let error = crate::client::describe(&error);
            Err(WatchFailure::broken(format!("the watch broke: {error}")))
        }
        Ok(None) if listing => Err(WatchFailure::broken("the list ended half-way")),
        Ok(None) => Err(WatchFailure::Ended),
        Ok(Some(line)) => Ok(line),
    }
}
