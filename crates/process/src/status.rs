//! How a process is doing, as the probes ask it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The deciding thread must come round this often to count as alive, milliseconds.
const PULSE_MS: u64 = 10_000;

/// State of a process, shared between its parts.
#[derive(Debug, Default)]
pub struct DaemonStatus {
    synced: AtomicBool,
    ticks_ms: AtomicU64,
    configuration: Mutex<Option<String>>,
    lost: Mutex<Option<String>>,
}

impl DaemonStatus {
    /// Every required list is complete.
    pub fn set_synced(&self, synced: bool) {
        self.synced.store(synced, Ordering::Release);
    }

    /// Whether every required list is complete.
    pub fn synced(&self) -> bool {
        self.synced.load(Ordering::Acquire)
    }

    /// The deciding thread came round at this time, milliseconds since the start.
    pub fn tick(&self, ms: u64) {
        self.ticks_ms.store(ms, Ordering::Release);
    }

    /// Why there is no valid configuration; `None` when there is one in use.
    pub fn set_configuration_problem(&self, problem: Option<String>) {
        *self
            .configuration
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// What of the cluster is not followed; `None` when all that matters is.
    pub fn set_lost(&self, problem: Option<String>) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// What keeps the process from its work.
    ///
    /// # Errors
    /// One sentence a reason.
    pub fn ready(&self) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        if !self.synced() {
            problems.push("the first lists of the API server are not complete".to_owned());
        }
        let configuration = self
            .configuration
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        problems.extend(configuration.clone());
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        problems.extend(lost.clone());
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }

    /// Whether the deciding thread makes progress; `now_ms` since the start.
    ///
    /// # Errors
    /// How long it has been stuck.
    pub fn live(&self, now_ms: u64) -> Result<(), String> {
        let silent = now_ms.saturating_sub(self.ticks_ms.load(Ordering::Acquire));
        if silent <= PULSE_MS {
            return Ok(());
        }
        Err(format!(
            "the deciding thread has not come round for {:.1} s",
            silent as f64 / 1000.0
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_needs_complete_lists_a_configuration_and_a_present_picture() {
        let status = DaemonStatus::default();
        status.set_configuration_problem(Some("no configuration".to_owned()));
        assert_eq!(status.ready().map_err(|problems| problems.len()), Err(2));
        status.set_synced(true);
        assert_eq!(status.ready(), Err(vec!["no configuration".to_owned()]));
        status.set_configuration_problem(None);
        assert_eq!(status.ready(), Ok(()));
        status.set_lost(Some("Node for 3.0 s".to_owned()));
        assert_eq!(status.ready(), Err(vec!["Node for 3.0 s".to_owned()]));
        status.set_lost(None);
        assert_eq!(status.ready(), Ok(()));
    }

    #[test]
    fn a_thread_that_stops_coming_round_is_not_alive() {
        let status = DaemonStatus::default();
        status.tick(1000);
        assert_eq!(status.live(11_000), Ok(()));
        assert!(status.live(12_500).is_err_and(|why| why.contains("11.5 s")));
    }
}
