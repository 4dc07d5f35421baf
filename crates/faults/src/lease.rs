//! The lease between replicas, by the rules at the head of `crates/cluster/src/lease/mod.rs`: a holder counts
//! from when it sent the request that made or kept it the holder, a standby from when it saw the
//! record change. Clocks of replicas are never compared.

/// A holder's term without renewal, milliseconds.
pub const TERM_MS: u64 = 10_000;

/// A record that has not changed for so long may be taken over, milliseconds.
pub const EXPIRY_MS: u64 = 15_000;

/// Pause between two tries, milliseconds.
const RETRY_MS: u64 = 2_000;

/// The record on the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualLease {
    /// Who holds it; `None`: it was given back.
    pub holder: Option<u32>,
    /// Grows with every write.
    pub version: u64,
}

/// A term of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualTerm {
    /// Whose.
    pub by: u32,
    /// The how manieth of that process.
    pub number: u64,
    /// When it ends; 0: it is over.
    pub end_ms: u64,
}

/// What one process knows of it.
#[derive(Clone, Debug)]
pub struct VirtualElector {
    /// Who it is: another one after every start.
    pub identity: u32,
    /// The record last seen, and when it changed.
    seen: Option<(VirtualLease, u64)>,
    next_ms: u64,
    /// End of the own term.
    term_end_ms: Option<u64>,
    /// Terms that it has had.
    terms: u64,
}

/// What a try came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// May write until the end of its term.
    Leader,
    /// Waits.
    Standby,
    /// Was the leader and is not any more: it waits like any other from now on.
    Lost,
}

impl VirtualElector {
    /// A candidate that has seen nothing.
    pub fn new(identity: u32) -> Self {
        Self {
            identity,
            seen: None,
            next_ms: 0,
            term_end_ms: None,
            terms: 0,
        }
    }

    /// The own term, or the last one.
    pub fn term(&self) -> VirtualTerm {
        VirtualTerm {
            by: self.identity,
            number: self.terms,
            end_ms: self.term_end_ms.unwrap_or(0),
        }
    }

    /// Gives back what it holds.
    pub fn release(&mut self, record: &mut VirtualLease, now_ms: u64) {
        let term = self.term_end_ms.take().filter(|end| now_ms < *end);
        if term.is_some() && record.holder == Some(self.identity) {
            record.holder = None;
            record.version += 1;
        }
    }

    /// Tries what is due. `reachable`: whether the server answers this replica about leases.
    pub fn step(&mut self, record: &mut VirtualLease, now_ms: u64, reachable: bool) -> Leadership {
        if self.term_end_ms.take_if(|end| now_ms >= *end).is_some() {
            return Leadership::Lost;
        }
        if reachable && now_ms >= self.next_ms {
            self.next_ms = now_ms + RETRY_MS;
            if self.seen.as_ref().is_none_or(|(seen, _)| seen != record) {
                self.seen = Some((record.clone(), now_ms));
            }
            let since = self.seen.as_ref().map_or(now_ms, |(_, since)| *since);
            let is_ours = record.holder == Some(self.identity);
            if !is_ours && self.term_end_ms.take().is_some() {
                return Leadership::Lost;
            }
            if is_ours || record.holder.is_none() || now_ms >= since + EXPIRY_MS {
                record.holder = Some(self.identity);
                record.version += 1;
                self.seen = Some((record.clone(), now_ms));
                self.terms += u64::from(self.term_end_ms.is_none());
                self.term_end_ms = Some(now_ms + TERM_MS);
            }
        }
        match self.term_end_ms {
            Some(_) => Leadership::Leader,
            None => Leadership::Standby,
        }
    }
}
