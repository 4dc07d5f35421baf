//! What is shown of the watch: its numbers, how far behind the deciding thread is, and what a start
//! waits for.

use std::time::{Duration, Instant};

use pumice_admin::metrics::Metrics;
use pumice_cluster::follow::board::{KindState, KindStatus};
use pumice_cluster::watch::{INSTALL_DEFINITIONS, NEEDED_DEFINITIONS, WatchInput};
use rustc_hash::FxHashMap;
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::notices::{Notice, Topic};

/// What was published of each kind, and when a start that waits was last told of.
pub struct WatchMetrics {
    counted: FxHashMap<&'static str, CountedSoFar>,
    patience: Duration,
    told_at: Instant,
    /// Kinds every cluster needs whose definition is missing, as told last.
    missing: Vec<&'static str>,
    notices: mpsc::Sender<Notice>,
}

/// Counts that are in the metrics already.
#[derive(Clone, Copy, Default)]
struct CountedSoFar {
    restarts: u64,
    diverged: u64,
}

impl WatchMetrics {
    /// Tells what a start waits for after this time (`--resource-sync-timeout`), and again each
    /// time it is over.
    pub fn new(patience: Duration, notices: mpsc::Sender<Notice>) -> Self {
        Self {
            counted: FxHashMap::default(),
            patience: patience.max(Duration::from_secs(1)),
            told_at: Instant::now(),
            missing: Vec::new(),
            notices,
        }
    }

    /// Publishes the numbers of all kinds.
    pub fn publish(&mut self, metrics: &Metrics, kinds: &[KindStatus]) {
        self.tell_missing(kinds);
        for kind in kinds {
            metrics.watch_objects(kind.kind, kind.objects);
            if let Some(age) = kind.last_contact_age {
                metrics.watch_staleness(kind.kind, age.as_secs_f64());
            }
            let lost = kind.lost_for.unwrap_or_default();
            metrics.watch_lost(kind.kind, lost.as_secs_f64());
            let now = CountedSoFar {
                restarts: kind.counts.watches.saturating_sub(1),
                diverged: kind.counts.diverged,
            };
            let before = self.counted.insert(kind.kind, now).unwrap_or_default();
            metrics.watch_restarted(kind.kind, now.restarts - before.restarts);
            metrics.ledger_divergence(now.diverged - before.diverged);
        }
    }

    /// Tells operators which definitions are missing, when that has changed.
    fn tell_missing(&mut self, kinds: &[KindStatus]) {
        let absent = kinds.iter().filter(|kind| kind.state == KindState::Absent);
        let missing: Vec<&'static str> = absent
            .map(|kind| kind.kind)
            .filter(|kind| NEEDED_DEFINITIONS.contains(kind))
            .collect();
        if missing == self.missing {
            return;
        }
        let message = format!(
            "{} not installed, nothing in queues or groups is scheduled: {INSTALL_DEFINITIONS}",
            missing.join(" and ")
        );
        let notice = Notice {
            topic: Topic::MissingDefinitions,
            uid: String::new(),
            message: (!missing.is_empty()).then_some(message),
        };
        // In a dry run nobody listens; a full channel takes it the next time.
        match self.notices.try_send(notice) {
            Err(TrySendError::Full(_)) => {}
            Ok(()) | Err(TrySendError::Closed(_)) => self.missing = missing,
        }
    }

    /// What a start has been waiting for, when it is time to say so.
    pub fn overdue(&mut self, kinds: &[KindStatus]) -> Option<String> {
        let waits: Vec<String> = kinds.iter().filter_map(waits_for).collect();
        if waits.is_empty() || self.told_at.elapsed() < self.patience {
            return None;
        }
        self.told_at = Instant::now();
        Some(waits.join("; "))
    }
}

/// A kind whose first list is not complete, and why, where that is known.
fn waits_for(kind: &KindStatus) -> Option<String> {
    if kind.settled {
        return None;
    }
    Some(match &kind.state {
        KindState::Failing { error } => format!("{}: {error}", kind.kind),
        _ => kind.kind.to_owned(),
    })
}

/// Sends a probe after each pause, which takes the way every change takes.
pub async fn probe(inputs: mpsc::Sender<WatchInput>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        if inputs
            .send(WatchInput::Probe(Instant::now()))
            .await
            .is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_cluster::follow::board::WatchCounts;

    use super::*;

    fn kind(watches: u64, diverged: u64, state: KindState) -> KindStatus {
        KindStatus {
            kind: "Pod",
            required: true,
            settled: state == KindState::Synced,
            state,
            objects: 7,
            counts: WatchCounts {
                watches,
                diverged,
                ..WatchCounts::default()
            },
            last_event_age: None,
            last_contact_age: Some(Duration::from_secs(3)),
            lost_for: Some(Duration::from_secs(2)),
        }
    }

    #[test]
    fn every_restart_and_lost_event_is_counted_once() {
        let metrics = Metrics::new().expect("metrics");
        let mut watch_metrics = WatchMetrics::new(Duration::ZERO, mpsc::channel(1).0);
        for (watches, diverged) in [(0, 0), (1, 0), (3, 2), (3, 2), (4, 3)] {
            watch_metrics.publish(&metrics, &[kind(watches, diverged, KindState::Synced)]);
        }
        let text = metrics.text().expect("text");
        for line in [
            "pumice_watch_restarts_total{kind=\"Pod\"} 3",
            "pumice_ledger_divergence_total 3",
            "pumice_watch_objects{kind=\"Pod\"} 7",
            "pumice_watch_staleness_seconds{kind=\"Pod\"} 3",
            "pumice_watch_lost_seconds{kind=\"Pod\"} 2",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn missing_definitions_are_told_once_and_taken_back() {
        let metrics = Metrics::new().expect("metrics");
        let (notices, mut told) = mpsc::channel(4);
        let mut watch_metrics = WatchMetrics::new(Duration::ZERO, notices);
        let queue = |state| KindStatus {
            kind: "Queue",
            ..kind(0, 0, state)
        };
        let states = [KindState::Absent, KindState::Absent, KindState::Synced];
        for state in states {
            watch_metrics.publish(&metrics, &[queue(state)]);
        }
        let message = told.try_recv().expect("told").message.expect("a text");
        assert!(message.starts_with("Queue not installed"), "{message}");
        assert!(message.contains("kubectl create -f"), "{message}");
        assert_eq!(told.try_recv().expect("over").message, None);
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn a_start_that_waits_long_says_for_what() {
        let mut watch_metrics = WatchMetrics::new(Duration::from_secs(60), mpsc::channel(1).0);
        let error = "forbidden; grant list".to_owned();
        let waits = [kind(0, 0, KindState::Failing { error })];
        assert_eq!(watch_metrics.overdue(&waits), None);
        watch_metrics.told_at = watch_metrics
            .told_at
            .checked_sub(Duration::from_secs(60))
            .expect("a time");
        let told = watch_metrics.overdue(&waits);
        assert_eq!(told.as_deref(), Some("Pod: forbidden; grant list"));
        assert_eq!(watch_metrics.overdue(&waits), None);
        watch_metrics.told_at = watch_metrics
            .told_at
            .checked_sub(Duration::from_secs(60))
            .expect("a time");
        assert_eq!(
            watch_metrics.overdue(&[kind(1, 0, KindState::Synced)]),
            None
        );
    }
}
