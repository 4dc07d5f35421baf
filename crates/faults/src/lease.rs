//! The lease between replicas, by the rules at the head of `crates/cluster/src/lease/mod.rs`: a holder counts
//! from when it sent the request that made or kept it the holder, a standby from when it saw the
//! record change, and what somebody else has given back is left alone for a pause. Clocks of replicas are never compared.

use pumice_model::lag::RELEASE_PAUSE;

/// A holder's term without renewal, milliseconds.
pub const TERM_MS: u64 = 10_000;

/// A record that has not changed for so long may be taken over, milliseconds.
pub const EXPIRY_MS: u64 = 15_000;

/// What somebody else gave back may be taken after so long, milliseconds.
const RELEASE_PAUSE_MS: u64 = RELEASE_PAUSE.as_millis() as u64;

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
    /// The record last seen, and from when on it may be taken over if it stays so.
    seen: Option<(VirtualLease, u64)>,
    /// It has not stepped yet: what it sees of the lease it sees with its first lists.
    is_new: bool,
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
            is_new: true,
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
        let is_new = std::mem::take(&mut self.is_new);
        if self.term_end_ms.take_if(|end| now_ms >= *end).is_some() {
            return Leadership::Lost;
        }
        if reachable && now_ms >= self.next_ms {
            let free_ms = self.look(record, now_ms, is_new);
            self.next_ms = match now_ms < free_ms {
                true => free_ms.min(now_ms + RETRY_MS),
                false => now_ms + RETRY_MS,
            };
            let is_ours = record.holder == Some(self.identity);
            if !is_ours && self.term_end_ms.take().is_some() {
                return Leadership::Lost;
            }
            if is_ours || now_ms >= free_ms {
                record.holder = Some(self.identity);
                record.version += 1;
                self.seen = Some((record.clone(), now_ms + EXPIRY_MS));
                self.terms += u64::from(self.term_end_ms.is_none());
                self.term_end_ms = Some(now_ms + TERM_MS);
            }
        }
        match self.term_end_ms {
            Some(_) => Leadership::Leader,
            None => Leadership::Standby,
        }
    }

    /// From when on the record may be taken over. `is_new`: what its last holder wrote is in lists made now.
    fn look(&mut self, record: &VirtualLease, now_ms: u64, is_new: bool) -> u64 {
        let wait_ms = match record.holder {
            Some(_) => EXPIRY_MS,
            None if is_new => 0,
            None => RELEASE_PAUSE_MS,
        };
        let known = self.seen.take().filter(|(seen, _)| seen == record);
        let (_, free_ms) = self
            .seen
            .insert(known.unwrap_or_else(|| (record.clone(), now_ms + wait_ms)));
        *free_ms
    }
}
