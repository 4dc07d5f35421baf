//! Questions to pods: does a port answer?

/// A question to one pod, asked once.
///
/// Whoever executes an [`ManagerOutput::Probe`](super::ManagerOutput::Probe) opens one connection to `address`,
/// port `port`, from where the controllers run, and answers with
/// [`ManagerInput::Probed`](super::ManagerInput::Probed):
/// * [`PodProbe::http`] is `None`: [`ProbeOutcome::Holds`] as soon as the connection is open;
/// * else: one `GET` over plain HTTP/1.1 with the path and headers given (`Host` is the address
///   unless a header says otherwise), redirects not followed; it holds for a status from 200 to 399,
///   and the body is not read.
///
/// After [`PodProbe::TIMEOUT_MILLISECONDS`] without an end it fails. Nothing is tried again by the
/// one who executes it: the controller asks again. A process that ends may forget probes under way.
/// A probe is no write: it may be done without a term of the lease, and does not count against
/// limits of requests to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodProbe {
    /// IP address of the pod, IPv4 or IPv6 without brackets, as the kubelet reported it. Text that
    /// is no address fails.
    pub address: String,
    /// Port of the pod that is asked.
    pub port: u16,
    /// What to ask for; `None` for an open port.
    pub http: Option<HttpQuestion>,
}

/// What to ask an HTTP server for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HttpQuestion {
    /// Path, with query; begins with `/`.
    pub path: String,
    /// A header, name and value. One that HTTP does not allow makes the probe fail.
    pub header: Option<(String, String)>,
}

impl PodProbe {
    /// Longest time a probe may take, in milliseconds.
    pub const TIMEOUT_MILLISECONDS: u64 = 1_000;
}

/// How a probe ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The answer is as wanted.
    Holds,
    /// It is not, or there was none: why, in a few words for people.
    Fails(String),
}

/// Number of a probe under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId(pub u64);
