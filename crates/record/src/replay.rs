//! A recording, once more.

use std::time::Duration;

use pumice_conf::Config;
use pumice_decider::{Decider, report_places};
use pumice_engine::{Engine, REGISTRY, Unobserved};
use pumice_model::Delta;

use crate::blocks::TapeHeader;
use crate::clocks::{RepeatedClock, first};
use crate::course::{BlockNews, CoursePart, TapeCourse};
use crate::entry::{ReportsOf, TapeEntry, UntakenEffects};
use crate::reader::{BlockPlace, TapePiece};
use crate::recorded::decided;

/// What a copy does not hold of which that block is lost.
const LOST_MEMORY: &str = "what the scheduler remembered beside the state (its block is lost)";

/// Why a replay cannot go on in this segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// No text of the configuration was recorded.
    #[error(
        "the configuration was not recorded, since it cannot be shown without its secrets; give \
         it with --conf FILE"
    )]
    HiddenConfiguration,
    /// The text is not valid any more.
    #[error("the configuration that was recorded is not valid in this version: {0}")]
    InvalidConfiguration(String),
}

/// What was decided, beside what was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// When, since 1970.
    pub at: Duration,
    /// Which step since the decider began, from 1.
    pub step: u64,
    /// Pods placed as recorded: UID and node.
    pub recorded: Vec<(String, String)>,
    /// Pods placed now.
    pub now: Vec<(String, String)>,
    /// Pods evicted as recorded, by UID.
    pub recorded_evicted: Vec<String>,
    /// Pods evicted now.
    pub now_evicted: Vec<String>,
}

impl Compared {
    /// All as it was.
    pub fn is_same(&self) -> bool {
        self.recorded == self.now && self.recorded_evicted == self.now_evicted
    }

    /// Nothing was decided, then and now.
    pub fn is_quiet(&self) -> bool {
        self.recorded.is_empty()
            && self.now.is_empty()
            && self.recorded_evicted.is_empty()
            && self.now_evicted.is_empty()
    }
}

/// Something that happened in a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEvent {
    /// A decider begins, at this time. What it does afterwards is exactly what was done only if it knew nothing then.
    Began {
        /// When, since 1970.
        at: Duration,
        /// It knew nothing.
        fresh: bool,
    },
    /// The copy at which a decider began is all there.
    Copied {
        /// When, since 1970.
        at: Duration,
        /// What it does not hold by which is decided, for people; nothing: what is decided is exactly what was.
        lacks: Vec<String>,
    },
    /// Another segment begins, and the decider goes on in it as if it were one: the copy is not needed.
    WentOn {
        /// When, since 1970.
        at: Duration,
    },
    /// Parts of the copy at which the segment begins are lost: what they held is not known.
    KnowsLess {
        /// When the step before was, since 1970.
        at: Duration,
    },
    /// Something is missing here, so that nothing can be decided before the next beginning.
    Waits {
        /// When the step before was, since 1970.
        at: Duration,
    },
    /// A step was taken.
    Stepped(Compared),
    /// What was wanted done since the step before is not what was recorded, although the decisions may be: how much it
    /// was, and is.
    ToldOtherwise {
        /// After which step.
        step: u64,
        /// When, since 1970.
        at: Duration,
        /// How much was recorded.
        recorded: u32,
        /// How much there is now.
        now: usize,
    },
    /// Nothing was recorded from here on.
    BrokeOff {
        /// When, since 1970.
        at: Duration,
        /// Why the recording broke off.
        why: String,
    },
}

/// Repeats segments, one after the other.
pub struct Replay {
    /// Instead of those that were recorded.
    config: Option<Config>,
    decider: Option<Decider>,
    configured: Option<Config>,
    fresh: bool,
    step: u64,
    now: Duration,
    course: TapeCourse,
    /// What the copy does not hold by which is decided.
    lacks: Vec<String>,
    /// What was wanted done at the copy and not taken.
    untaken: UntakenEffects,
    /// How much was last wanted done, and its digest.
    told: (u32, u64),
}

impl Replay {
    /// A replay under the configurations that were recorded, or under another one.
    pub fn new(config: Option<Config>) -> Self {
        Self {
            config,
            decider: None,
            configured: None,
            fresh: false,
            step: 0,
            now: Duration::ZERO,
            course: TapeCourse::default(),
            lacks: Vec::new(),
            untaken: UntakenEffects::default(),
            told: (0, 0),
        }
    }

    /// What it knows at this moment, unless it waits for a beginning.
    pub fn engine(&self) -> Option<&Engine> {
        self.decider.as_ref().map(Decider::engine)
    }

    /// It may decide at this moment, as the one did that recorded.
    pub fn leads(&self) -> bool {
        self.decider.as_ref().is_some_and(Decider::may_decide)
    }

    /// The time at which it is, since 1970.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Decides as the recorded one, input by input; otherwise as one that was told later what that one knew.
    pub fn is_exact(&self) -> bool {
        self.fresh && self.config.is_none()
    }

    /// Decides as the recorded one, although what it wants told on objects may be told again: what was told before a copy
    /// is not known.
    pub fn decides_exactly(&self) -> bool {
        self.lacks.is_empty() && self.config.is_none()
    }

    /// The configuration in use, which may be another one than was recorded.
    pub fn configured(&self) -> Option<&Config> {
        self.configured.as_ref()
    }

    /// How much was last wanted done, and the digest of it.
    pub(crate) fn told(&self) -> (u32, u64) {
        self.told
    }

    /// The entry changes nothing: it is known, or nothing is decided before the next beginning.
    pub(crate) fn passes_over(&self, entry: &TapeEntry) -> bool {
        let begins = matches!(entry, TapeEntry::Begin { .. });
        self.course.part == CoursePart::Known || self.decider.is_none() && !begins
    }

    /// Something is missing: waits for the next beginning.
    pub fn lose(&mut self) {
        self.decider = None;
    }

    /// Does what the next piece tells; what comes of it. Segments of one process that follow each other without a gap
    /// are one to it.
    ///
    /// # Errors
    /// It cannot go on before the next beginning.
    pub fn take_piece(&mut self, piece: TapePiece) -> Result<Option<ReplayEvent>, ReplayError> {
        match piece {
            TapePiece::Header(header) => return Ok(self.begin(&header)),
            TapePiece::Block(place) => return Ok(self.open(place)),
            // Whether entries are lost with it tells the number of the next block.
            TapePiece::Lost(_) => {}
            TapePiece::Unreadable(_) => return Ok(self.wait()),
            TapePiece::Entry(entry) => return self.take_placed(*entry),
        }
        Ok(None)
    }

    fn begin(&mut self, header: &TapeHeader) -> Option<ReplayEvent> {
        if !self.course.begin(header) {
            self.lose();
        }
        let goes_on = self.decider.is_some();
        self.course.part = match goes_on {
            true => CoursePart::Known,
            false => CoursePart::Copy,
        };
        goes_on.then_some(ReplayEvent::WentOn { at: header.at })
    }

    fn open(&mut self, place: BlockPlace) -> Option<ReplayEvent> {
        match self.course.open(place) {
            BlockNews::Follows => None,
            BlockNews::AfterGaps => {
                self.lacks.push("what the lost parts held".to_owned());
                let event = ReplayEvent::KnowsLess { at: self.now };
                self.decider.as_ref().map(|_| event)
            }
            BlockNews::Missing => self.wait(),
        }
    }

    fn wait(&mut self) -> Option<ReplayEvent> {
        let event = ReplayEvent::Waits { at: self.now };
        self.decider.take().map(|_| event)
    }

    /// As [`Replay::take_piece`] an entry.
    pub(crate) fn take_placed(
        &mut self,
        entry: TapeEntry,
    ) -> Result<Option<ReplayEvent>, ReplayError> {
        match self.course.part {
            CoursePart::Known => Ok(None),
            CoursePart::Copy | CoursePart::Entries => self.take(entry),
        }
    }

    /// Does what the entry tells; what comes of it.
    ///
    /// # Errors
    /// It cannot go on before the next beginning.
    pub fn take(&mut self, entry: TapeEntry) -> Result<Option<ReplayEvent>, ReplayError> {
        match entry {
            TapeEntry::Begin { options, at, fresh } => {
                self.decider = Some(Decider::new(options, &RepeatedClock::new(&[], at)));
                (self.fresh, self.step, self.now) = (fresh, 0, at);
                self.untaken = UntakenEffects::default();
                self.lacks = match fresh {
                    true => Vec::new(),
                    false => vec![LOST_MEMORY.to_owned()],
                };
                if fresh {
                    self.course.ends_copy();
                }
                return Ok(Some(ReplayEvent::Began { at, fresh }));
            }
            TapeEntry::CopyEnds => {
                self.course.ends_copy();
                let lacks = self.lacks.clone();
                let event = ReplayEvent::Copied {
                    at: self.now,
                    lacks,
                };
                return Ok(self.decider.as_ref().map(|_| event));
            }
            TapeEntry::BreaksOff { at, why } => {
                self.lose();
                return Ok(Some(ReplayEvent::BrokeOff { at, why }));
            }
            TapeEntry::Configure(text) => {
                let config = match self.read(text) {
                    Ok(config) => config,
                    Err(error) => {
                        self.lose();
                        return Err(error);
                    }
                };
                if let Some(decider) = &mut self.decider {
                    decider.configure(&config);
                }
                self.configured = Some(config);
            }
            TapeEntry::Memory { of, untaken } => {
                self.lacks = of.lacks();
                if let Some(decider) = &mut self.decider {
                    decider.remember(*of);
                }
                self.untaken = untaken;
            }
            TapeEntry::Step {
                readings,
                placed,
                evicted,
            } => return Ok(self.step(&readings, placed, evicted)),
            TapeEntry::Effects {
                count,
                digest: recorded,
            } => return Ok(self.compare_effects(count, recorded)),
            input => self.tell(input),
        }
        Ok(None)
    }

    fn read(&self, text: Option<String>) -> Result<Config, ReplayError> {
        if let Some(config) = &self.config {
            return Ok(config.clone());
        }
        let text = text.ok_or(ReplayError::HiddenConfiguration)?;
        let checked = pumice_conf::parse(&text, &REGISTRY);
        checked.config.ok_or_else(|| {
            let all: Vec<String> = checked.diagnostics.iter().map(|one| one.brief()).collect();
            ReplayError::InvalidConfiguration(all.join("; "))
        })
    }

    fn step(
        &mut self,
        readings: &[u64],
        recorded: Vec<(String, String)>,
        recorded_evicted: Vec<String>,
    ) -> Option<ReplayEvent> {
        let decider = self.decider.as_mut()?;
        self.now = first(readings).unwrap_or(self.now);
        self.step += 1;
        let clock = RepeatedClock::new(readings, self.now);
        let step = decider.step(&clock, &mut Unobserved);
        let (now, now_evicted) = decided(decider.engine(), step.decisions.as_ref());
        if self.config.is_some() {
            // The cluster is the one that was: nobody carried out what was not decided then.
            let placed = now.iter().filter(|one| !recorded.contains(one));
            let placed = placed.map(|(uid, _)| Delta::BindTakenBack { uid: uid.clone() });
            let evicted = now_evicted.iter();
            let evicted = evicted.filter(|uid| !recorded_evicted.contains(uid));
            let evicted = evicted.map(|uid| Delta::EvictTakenBack { uid: uid.clone() });
            let taken_back: Vec<Delta> = placed.chain(evicted).collect();
            if !taken_back.is_empty() {
                decider.apply(taken_back);
            }
        }
        Some(ReplayEvent::Stepped(Compared {
            at: self.now,
            step: self.step,
            recorded,
            now,
            recorded_evicted,
            now_evicted,
        }))
    }

    fn compare_effects(&mut self, count: u32, recorded: u64) -> Option<ReplayEvent> {
        let effects = self.decider.as_mut()?.take_effects();
        let wanted = std::mem::take(&mut self.untaken).with(&effects);
        self.told = (wanted.count, wanted.digest);
        let is_same = self.told == (count, recorded);
        (!is_same).then_some(ReplayEvent::ToldOtherwise {
            step: self.step,
            at: self.now,
            recorded: count,
            now: usize::try_from(wanted.count).unwrap_or(usize::MAX),
        })
    }

    fn tell(&mut self, input: TapeEntry) {
        let Some(decider) = &mut self.decider else {
            return;
        };
        match input {
            TapeEntry::Deltas(deltas) => decider.apply(deltas),
            TapeEntry::ExtenderReply(reply) => decider.take_extender_reply(*reply),
            TapeEntry::Synced => decider.set_synced(),
            TapeEntry::Leader(leader) => decider.set_leader(leader),
            TapeEntry::Followed(followed) => decider.set_followed(followed),
            TapeEntry::Rest => decider.rest(),
            TapeEntry::DeviceConfig {
                namespace,
                name,
                text,
            } => decider.set_device_config(namespace, name, text),
            TapeEntry::NodeReports(of, news) => {
                let places = self.configured.iter().flat_map(report_places);
                let place = places.into_iter().find(|place| ReportsOf::of(place) == of);
                // Nobody follows it in this configuration.
                if let Some(place) = place {
                    decider.set_node_reports(&place, news);
                }
            }
            TapeEntry::NodeUsage(measured) => decider.set_node_usage(measured),
            TapeEntry::BindWaits(waits) => decider.set_bind_waits(waits),
            TapeEntry::Shard(view) => decider.set_shard(view),
            TapeEntry::Outcome(outcome, readings) => {
                decider.on_outcome(outcome, &RepeatedClock::new(&readings, self.now));
            }
            TapeEntry::Begin { .. }
            | TapeEntry::BreaksOff { .. }
            | TapeEntry::CopyEnds
            | TapeEntry::Configure(_)
            | TapeEntry::Step { .. }
            | TapeEntry::Memory { .. }
            | TapeEntry::Effects { .. } => {}
        }
    }
}
