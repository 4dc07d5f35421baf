//! The deciding thread's end of a recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use pumice_admin::metrics::Metrics;
use pumice_record::{RecordedDecider, SegmentStart};

/// Bundles of entries that may wait for the writer.
const MAX_MESSAGES: usize = 4096;

/// Bytes of them.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// What the writer is handed.
pub(super) enum RecordingMessage {
    /// A segment begins; why the one before broke off, if it did.
    Start(Box<SegmentStart>, Option<String>),
    /// What was recorded in a round, and when that ended.
    Entries(Vec<u8>, Duration),
    /// What was handed over is to be kept now.
    Flush,
}

/// What both ends see.
#[derive(Default)]
pub(super) struct RecordingPipe {
    /// Bytes on their way.
    pub queued: AtomicUsize,
    /// A new segment is wanted.
    pub wants_segment: AtomicBool,
}

/// The writer's end.
pub(super) struct PipeEnd {
    pub messages: Receiver<RecordingMessage>,
    pub pipe: Arc<RecordingPipe>,
}

/// See the module.
pub struct RecordingFeed {
    sender: Option<SyncSender<RecordingMessage>>,
    pipe: Arc<RecordingPipe>,
    metrics: Option<Arc<Metrics>>,
    /// Why nothing is recorded at this moment.
    broken: Option<String>,
    writer: Option<JoinHandle<()>>,
}

pub(super) fn pipe(metrics: Arc<Metrics>) -> (RecordingFeed, PipeEnd) {
    let (sender, messages) = sync_channel(MAX_MESSAGES);
    let pipe = Arc::<RecordingPipe>::default();
    let feed = RecordingFeed {
        sender: Some(sender),
        pipe: Arc::clone(&pipe),
        metrics: Some(metrics),
        broken: None,
        writer: None,
    };
    (feed, PipeEnd { messages, pipe })
}

impl RecordingFeed {
    /// One that records nothing.
    pub fn off() -> Self {
        Self {
            sender: None,
            pipe: Arc::default(),
            metrics: None,
            broken: None,
            writer: None,
        }
    }

    /// Something is on its way.
    #[cfg(test)]
    pub(super) fn is_busy(&self) -> bool {
        self.pipe.queued.load(Ordering::Acquire) > 0
    }

    pub(super) fn ended_by(mut self, writer: JoinHandle<()>) -> Self {
        self.writer = Some(writer);
        self
    }

    /// The decider begins, and knows nothing yet.
    pub fn begin(&mut self, decider: &mut RecordedDecider, start: SegmentStart) {
        if self.sender.is_none() {
            decider.never_record();
            return;
        }
        decider.record(true);
        self.send(decider, RecordingMessage::Start(Box::new(start), None));
    }

    /// Hands over what was recorded in a round. Never waits.
    pub fn hand_over(&mut self, decider: &mut RecordedDecider, now: Duration) {
        if self.sender.is_none() {
            return;
        }
        let is_idle = self.pipe.queued.load(Ordering::Acquire) == 0;
        let wants = self.pipe.wants_segment.swap(false, Ordering::AcqRel);
        if self.broken.is_some() && is_idle {
            decider.record(true);
            let why = self.broken.take();
            self.start(decider, now, why);
        } else if self.broken.is_none() {
            let entries = decider.take_tape();
            if !entries.is_empty() {
                self.pipe.queued.fetch_add(entries.len(), Ordering::AcqRel);
                self.send(decider, RecordingMessage::Entries(entries, now));
            }
            if wants && self.broken.is_none() {
                self.start(decider, now, None);
            }
        }
    }

    fn start(&mut self, decider: &mut RecordedDecider, now: Duration, broke_off: Option<String>) {
        if let Some(start) = decider.segment_start(now) {
            let start = Box::new(start);
            self.send(decider, RecordingMessage::Start(start, broke_off));
        }
    }

    /// Everything that was handed over is kept soon.
    pub fn flush(&mut self, decider: &mut RecordedDecider) {
        if self.broken.is_none() {
            self.send(decider, RecordingMessage::Flush);
        }
    }

    fn send(&mut self, decider: &mut RecordedDecider, message: RecordingMessage) {
        let queued = self.pipe.queued.load(Ordering::Acquire);
        let Some(sender) = &self.sender else {
            return;
        };
        let sent = match queued > MAX_QUEUED_BYTES {
            true => Err(TrySendError::Full(message)),
            false => sender.try_send(message),
        };
        let Err(error) = sent else {
            return;
        };
        decider.record(false);
        let (lost, ended) = match error {
            TrySendError::Full(lost) => (lost, false),
            TrySendError::Disconnected(lost) => (lost, true),
        };
        if let RecordingMessage::Entries(entries, _) = lost {
            self.pipe.queued.fetch_sub(entries.len(), Ordering::AcqRel);
        }
        if ended {
            tracing::error!("nothing is recorded any more: the thread that records has ended");
            decider.never_record();
            self.sender = None;
            return;
        }
        self.broken = Some("more was decided than could be written".to_owned());
        if let Some(metrics) = &self.metrics {
            metrics.recording_broke_off();
        }
    }
}

impl Drop for RecordingFeed {
    /// The writer keeps what it has, and ends.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
