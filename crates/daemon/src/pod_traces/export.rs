//! Traces leave the process, in batches, while nobody waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use pumice_admin::log::Every;
use pumice_admin::metrics::Metrics;
use pumice_cluster::collector::CollectorClient;
use pumice_process::identity;
use tokio::sync::mpsc;

use super::book::{PodTrace, TraceBook};
use super::otlp::{self, SERVICE, TraceSource};
use super::{MAX_MOMENTS, OpenSink, PodMoment, TraceSink};
use crate::clock::DeciderClock;
use crate::flags::TraceFlags;
use crate::settings::DaemonSettings;

/// Traces in a request.
const BATCH: usize = 256;
/// Batches that may wait for the collector.
const MAX_BATCHES: usize = 16;
/// A batch that is not full waits this long for more.
const PERIOD: Duration = Duration::from_secs(1);
/// Pauses before a request is sent again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// How often the log says that the collector does not take traces.
const COMPLAINT_PERIOD: Duration = Duration::from_secs(30);

/// Starts the tasks that make and send traces, where flags ask for any; they end when nobody tells moments
/// any more.
///
/// # Errors
/// What of a flag cannot be used.
pub fn start(
    settings: &DaemonSettings,
    program: &'static str,
    clock: DeciderClock,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<TraceSink> {
    let flags = &settings.flags.traces;
    if flags.tracing_endpoint.is_empty() || settings.flags.ours.dry_run {
        return Ok(TraceSink::default());
    }
    begin(flags, program, clock, metrics).map_err(|why| anyhow!("--tracing-endpoint: {why}"))
}

/// Starts them.
pub(super) fn begin(
    flags: &TraceFlags,
    program: &'static str,
    clock: DeciderClock,
    metrics: &Arc<Metrics>,
) -> Result<TraceSink, String> {
    let endpoint = flags.tracing_endpoint.clone();
    let per_million = u64::from(flags.tracing_sampling_rate_per_million);
    let (ca_file, instance) = (flags.tracing_ca_file.clone(), identity::host(SERVICE));
    let client = CollectorClient::new(&endpoint, ca_file, program)?;
    let (sender, moments) = mpsc::channel(MAX_MOMENTS);
    let (batches, waiting) = mpsc::channel(MAX_BATCHES);
    let lost = Arc::new(AtomicBool::new(false));
    let collecting = Collecting {
        book: TraceBook::default(),
        batch: Vec::new(),
        batches,
        lost: Arc::clone(&lost),
        metrics: Arc::clone(metrics),
    };
    tokio::spawn(collecting.run(moments));
    let sending = Sending {
        client,
        endpoint,
        source: TraceSource { instance },
        metrics: Arc::clone(metrics),
    };
    tokio::spawn(sending.run(waiting));
    Ok(TraceSink(Some(Arc::new(OpenSink {
        moments: sender,
        clock,
        metrics: Arc::clone(metrics),
        lost,
        per_million,
    }))))
}

/// Puts moments together.
struct Collecting {
    book: TraceBook,
    batch: Vec<PodTrace>,
    batches: mpsc::Sender<Vec<PodTrace>>,
    lost: Arc<AtomicBool>,
    metrics: Arc<Metrics>,
}

impl Collecting {
    async fn run(mut self, mut moments: mpsc::Receiver<PodMoment>) {
        let mut tick = tokio::time::interval(PERIOD);
        let mut taken = Vec::new();
        loop {
            tokio::select! {
                count = moments.recv_many(&mut taken, BATCH) => {
                    if count == 0 {
                        return self.hand_on();
                    }
                    self.look_for_losses();
                    taken.drain(..).for_each(|moment| self.take(moment));
                }
                _ = tick.tick() => self.hand_on(),
            }
        }
    }

    fn take(&mut self, moment: PodMoment) {
        self.batch.extend(self.book.take(moment));
        if self.batch.len() >= BATCH {
            self.hand_on();
        }
    }

    /// Forgets all open traces once a moment was lost: of which pod it was is not known, so nothing that
    /// is known is believed.
    fn look_for_losses(&mut self) {
        if self.lost.swap(false, Ordering::Relaxed) {
            let forgotten = self.book.forget_all();
            self.metrics.pod_traces("lost", forgotten);
        }
    }

    fn hand_on(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        if let Err(refused) = self.batches.try_send(batch) {
            let batch = refused.into_inner();
            self.metrics.pod_traces("lost", batch.len());
        }
    }
}

/// Sends batches, one after the other.
struct Sending {
    client: CollectorClient,
    endpoint: String,
    source: TraceSource,
    metrics: Arc<Metrics>,
}

impl Sending {
    async fn run(self, mut batches: mpsc::Receiver<Vec<PodTrace>>) {
        let complaints = Every::new(COMPLAINT_PERIOD);
        while let Some(batch) = batches.recv().await {
            let body = otlp::request(&self.source, &batch);
            let result = match self.send(body).await {
                Ok(()) => "sent",
                Err(why) => {
                    if let Some(more) = complaints.admit("collector") {
                        let endpoint = &self.endpoint;
                        tracing::warn!(
                            "the collector of traces at {endpoint} took {} traces not: {why} (and {more} \
                             more batches before); see --tracing-endpoint",
                            batch.len()
                        );
                    }
                    "failed"
                }
            };
            self.metrics.pod_traces(result, batch.len());
        }
    }

    async fn send(&self, body: Vec<u8>) -> Result<(), String> {
        for pause in PAUSES {
            match self.client.send(body.clone()).await {
                Ok(()) => return Ok(()),
                Err(refused) if refused.may_pass => tokio::time::sleep(pause).await,
                Err(refused) => return Err(refused.why),
            }
        }
        self.client.send(body).await.map_err(|refused| refused.why)
    }
}
