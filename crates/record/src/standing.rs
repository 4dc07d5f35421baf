//! What a decider was told that stands, beside its state: a segment that begins in the middle tells it again.

use std::collections::BTreeMap;
use std::time::Duration;

use pumice_decider::{DeciderMemory, DeciderOptions, ReportData, ReportNews};
use pumice_engine::Fork;
use pumice_model::shard::ShardView;
use pumice_model::state::dump_in_parts;

use crate::entry::{ReportsOf, TapeEntry, UntakenEffects};
use crate::tape::Tape;

/// Bytes of entries of which a block of a copy is made, about: so much is lost with one.
const COPY_BYTES: usize = 2 << 20;

/// The newest of each.
#[derive(Clone)]
pub(crate) struct StandingInputs {
    options: DeciderOptions,
    configuration: Option<Option<String>>,
    device_config: Option<TapeEntry>,
    reports: BTreeMap<ReportsOf, BTreeMap<String, ReportData>>,
    shard: Option<ShardView>,
    synced: bool,
    leader: bool,
    followed: bool,
}

impl StandingInputs {
    pub(crate) fn new(options: DeciderOptions) -> Self {
        Self {
            options,
            configuration: None,
            device_config: None,
            reports: BTreeMap::new(),
            shard: None,
            synced: false,
            leader: false,
            followed: true,
        }
    }

    /// Remembers what stands.
    pub(crate) fn note(&mut self, entry: &TapeEntry) {
        match entry {
            TapeEntry::Configure(text) => self.configuration = Some(text.clone()),
            TapeEntry::DeviceConfig { .. } => self.device_config = Some(entry.clone()),
            TapeEntry::NodeReports(place, news) => self.note_reports(place, news),
            TapeEntry::Shard(view) => self.shard = Some(view.clone()),
            TapeEntry::Synced => self.synced = true,
            TapeEntry::Leader(leader) => self.leader = *leader,
            TapeEntry::Followed(followed) => self.followed = *followed,
            _ => {}
        }
    }

    pub(crate) fn leads(&self) -> bool {
        self.leader
    }

    pub(crate) fn is_followed(&self) -> bool {
        self.followed
    }

    fn note_reports(&mut self, place: &ReportsOf, news: &ReportNews) {
        let known = self.reports.entry(place.clone()).or_default();
        match news {
            ReportNews::All(maps) => *known = maps.iter().cloned().collect(),
            ReportNews::One(name, Some(data)) => {
                known.insert(name.clone(), data.clone());
            }
            ReportNews::One(name, None) => {
                known.remove(name);
            }
            ReportNews::Unread(_) => {}
        }
    }
}

/// Where a segment begins: at a decider that knows nothing, or at a copy of what one knows. A copy becomes bytes
/// elsewhere: that takes long, and the thread that decides goes on.
pub struct SegmentStart {
    pub(crate) standing: StandingInputs,
    pub(crate) at: Duration,
    pub(crate) copy: Option<StandingCopy>,
}

/// What a decider knows and remembers at a moment.
pub(crate) struct StandingCopy {
    pub fork: Fork,
    pub memory: DeciderMemory,
    pub untaken: UntakenEffects,
}

impl SegmentStart {
    /// When it was.
    pub fn at(&self) -> Duration {
        self.at
    }

    /// Entries with which the segment begins, some at a time: the first say what stands, the last that this is all.
    pub(crate) fn parts(self, keep: &mut dyn FnMut(&[u8])) {
        let mut tape = Tape::default();
        let standing = self.standing;
        tape.push(&TapeEntry::Begin {
            options: standing.options,
            at: self.at,
            fresh: self.copy.is_none(),
        });
        let Some(copy) = self.copy else {
            keep(&tape.take());
            return;
        };
        if let Some(text) = standing.configuration {
            tape.push(&TapeEntry::Configure(text));
        }
        if let Some(entry) = standing.device_config {
            tape.push(&entry);
        }
        if let Some(view) = standing.shard {
            tape.push(&TapeEntry::Shard(view));
        }
        for (place, maps) in standing.reports {
            let news = ReportNews::All(maps.into_iter().collect());
            tape.push(&TapeEntry::NodeReports(place, news));
        }
        keep(&tape.take());
        dump_in_parts(copy.fork.state(), &mut |deltas| {
            tape.push_deltas(deltas);
            if tape.len() >= COPY_BYTES {
                keep(&tape.take());
            }
        });
        if !tape.is_empty() {
            keep(&tape.take());
        }
        if standing.synced {
            tape.push(&TapeEntry::Synced);
        }
        tape.push(&TapeEntry::Followed(standing.followed));
        tape.push(&TapeEntry::Leader(standing.leader));
        tape.push(&TapeEntry::Memory {
            of: Box::new(copy.memory.with_engine(&copy.fork)),
            untaken: copy.untaken,
        });
        tape.push(&TapeEntry::CopyEnds);
        keep(&tape.take());
    }
}
