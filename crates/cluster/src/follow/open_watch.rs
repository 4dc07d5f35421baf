//! A watch that is open: takes its events, and finds out when it does not bring what happens.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio::time::{sleep, sleep_until};

use super::decode::WatchLine;
use super::failure::{STREAM, WatchFailure};
use super::follower::KindFollower;
use super::ledger::{ReadBy, WentBack};
use super::listener::KindListener;
use super::look::{self, GapCheckResult};
use crate::api::events::{Encoding, EventStream};

/// A watch that has been open for this long has brought what had happened before.
const LONGEST_CATCHING_UP: Duration = Duration::from_secs(1);

impl<L: KindListener> KindFollower<L> {
    /// Reads events until the watch ends. With `listing` it begins with the list.
    pub(super) async fn follow(
        &mut self,
        events: &mut EventStream,
        mut listing: bool,
    ) -> Result<Infallible, WatchFailure> {
        let pace = self.limits.pace.clone();
        let encoding = events.encoding();
        let (opened, mut heard) = (Instant::now(), tokio::time::Instant::now());
        let mut reach = match listing {
            true => WatchReach::Listing,
            false => WatchReach::Behind(opened),
        };
        let mut look = look::begin(&self.way.client, &self.kind, None, &pace);
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
                    self.way.contact.failed();
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
            look = look::begin(&self.way.client, &self.kind, version, &pace);
        }
    }

    /// Takes one line. Returns whether it was the end of the list.
    async fn take(
        &mut self,
        event: &[u8],
        encoding: Encoding,
        listing: bool,
    ) -> Result<bool, WatchFailure> {
        let event = self.decoder().event(event, encoding);
        let event = event.map_err(|e| WatchFailure::Untrusted(format!("this is no event: {e}")))?;
        self.place.contact();
        if listing {
            return Ok(!self.in_list(event).await?);
        }
        self.in_watch(event).await?;
        Ok(false)
    }

    /// An event of the list part of a watch. Returns whether the list goes on.
    async fn in_list(&mut self, event: WatchLine<L::Change>) -> Result<bool, WatchFailure> {
        match event {
            WatchLine::Apply(item) => {
                self.take_listed(item);
                self.tell_part().await?;
                Ok(true)
            }
            WatchLine::Delete(meta) => {
                self.ledger.delete(&meta, &mut self.waiting);
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
            WatchLine::Error(status) => Err(WatchFailure::of_status(&status, STREAM)),
        }
    }

    /// An event after the list.
    async fn in_watch(&mut self, event: WatchLine<L::Change>) -> Result<(), WatchFailure> {
        match event {
            WatchLine::Apply(item) => {
                self.count_unreadable(item.reading.as_ref());
                let version = item.meta.version.clone();
                let applied = self.ledger.apply(item, ReadBy::Watch, &mut self.waiting);
                if applied == Err(WentBack) {
                    self.place.count(|counts| counts.stale += 1);
                    let text = format!("version {version} came after a newer one");
                    return Err(WatchFailure::Untrusted(text));
                }
                self.reached(version);
            }
            WatchLine::Delete(meta) => {
                self.ledger.delete(&meta, &mut self.waiting);
                self.reached(meta.version);
            }
            WatchLine::Bookmark { version, .. } => {
                self.ledger.reached(&version);
                self.failures = 0;
                self.from = Some(version);
                return Ok(());
            }
            WatchLine::Error(status) => {
                return Err(WatchFailure::of_status(&status, "watch"));
            }
        }
        self.place.event(self.ledger.len());
        self.tell_waiting().await
    }

    fn reached(&mut self, version: String) {
        self.failures = 0;
        if !version.is_empty() {
            self.from = Some(version);
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
