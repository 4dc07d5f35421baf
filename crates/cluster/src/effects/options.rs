//! Limits and names.

use std::str::FromStr;
use std::time::Duration;

/// How pods are evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvictionMethod {
    /// Through the Eviction API where a PodDisruptionBudget selects the pod, deleted otherwise.
    #[default]
    Auto,
    /// Deleted, whatever budgets say.
    Delete,
    /// Through the Eviction API, always.
    EvictionApi,
}

impl FromStr for EvictionMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "delete" => Ok(Self::Delete),
            "eviction-api" => Ok(Self::EvictionApi),
            _ => Err("write auto, delete or eviction-api".to_owned()),
        }
    }
}

/// How effects behave. Start from [`EffectOptions::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct EffectOptions {
    /// Source component of events: the scheduler's name if there is one, else `volcano`
    /// (spec/01 §9.1).
    pub event_source: String,
    /// The scheduler's name, in the message of the condition of victims (spec/01 §7.4).
    pub scheduler_name: String,
    /// How pods are evicted.
    pub eviction_method: EvictionMethod,
    /// Write events.
    pub events: bool,
    /// How long the API server keeps an event.
    pub event_lifetime: Duration,
    /// Deadline of one request. At most half the renew deadline of the lease counts, since a
    /// request goes out only when the term outlasts it.
    pub request_timeout: Duration,
    /// How long a bind is tried before it fails, from its first request.
    pub bind_timeout: Duration,
    /// After this time a request that was sent cannot be carried out any more: the API server's own
    /// bound on requests (`--request-timeout`, one minute) and something for etcd.
    pub settle_after: Duration,
    /// How long a bound pod whose device plugin has not answered keeps others like it from being
    /// bound to its node, from the answer to its Binding (spec/04 R22).
    pub plugin_patience: Duration,
    /// A lock of a node is taken over after this time (spec/04 §12).
    pub lock_lasts: Duration,
    /// How long a Binding waits for the lock of its node before it fails.
    pub lock_wait: Duration,
    /// Pause between two looks at a lock that another holds: the first, and the longest.
    pub lock_pause: (Duration, Duration),
    /// Binds handed in and not ended; one more fails at once. A pod has one at a time, so a limit
    /// above the pods of a cluster is met only by a defect, which must not fill the memory.
    pub max_binds: usize,
    /// Writes per second, each for core objects, Volcano's objects and events (`--kube-api-qps`);
    /// 0 or less does not limit.
    pub qps: f32,
    /// Writes at once beyond that (`--kube-api-burst`).
    pub burst: u32,
}

impl EffectOptions {
    /// The defaults, for a scheduler of that name.
    pub fn new(scheduler_name: impl Into<String>) -> Self {
        let scheduler_name = scheduler_name.into();
        Self {
            event_source: scheduler_name.clone(),
            scheduler_name,
            eviction_method: EvictionMethod::default(),
            events: true,
            event_lifetime: Duration::from_secs(3600),
            request_timeout: Duration::from_secs(5),
            bind_timeout: Duration::from_secs(30),
            settle_after: Duration::from_secs(65),
            plugin_patience: Duration::from_secs(30),
            lock_lasts: Duration::from_secs(5 * 60),
            lock_wait: Duration::from_secs(6 * 60),
            lock_pause: (Duration::from_millis(500), Duration::from_secs(5)),
            max_binds: 1_000_000,
            qps: 2000.0,
            burst: 2000,
        }
    }

    /// With a deadline of requests that fits in a term.
    pub(super) fn within(mut self, term: Option<Duration>) -> Self {
        if let Some(term) = term {
            self.request_timeout = self.request_timeout.min(term / 2);
        }
        self
    }
}
