//! What writers have around them.

use super::lease::VirtualTerm;
use super::network::{Network, REQUEST_MS, ServerCall};
use super::rng::Rng;
use super::server::VirtualServer;

/// Why what was decided in a term that is over is not sent.
pub(super) const NOT_THE_LEADER: &str = "no longer the leader";

/// What writers work with.
pub struct Around<'a> {
    /// API server that is written to.
    pub server: &'a mut VirtualServer,
    /// The way to it.
    pub network: &'a mut Network,
    /// Chance.
    pub rng: &'a mut Rng,
    /// The term of the process.
    pub by: VirtualTerm,
    /// What decisions were made from is followed.
    pub followed: bool,
}

impl Around<'_> {
    /// Whether the term outlasts a request.
    pub(super) fn has_term(&self) -> bool {
        self.server.now_ms() + REQUEST_MS <= self.by.end_ms
    }

    pub(super) fn send(&mut self, call: ServerCall) -> (u64, u64) {
        let now_ms = self.server.now_ms();
        (self.network.send(self.by, call, now_ms, self.rng), now_ms)
    }
}
