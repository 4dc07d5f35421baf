//! Domains of one tier in which a unit is ready, compared by what it leaves of each for others (spec/08 §5).
//!
//! ```text
//!  ready in a domain ─► what is left of its nodes ─► undone ─► what was left of them
//!                                       └──── the difference, and the score of the domain ─► the best so far
//! ```

use pumice_framework::points::POINT;
use pumice_framework::{Checkpoint, Session};
use pumice_model::{DomainIx, JobUnit, ResVec};

use crate::attempt::Attempt;

/// Most domains that are compared: each costs a placement of the unit.
const MAX_COMPARED: usize = 8;

/// The best of the domains that were compared.
pub(super) struct ComparedDomains {
    unit: JobUnit,
    count: usize,
    best: Option<(f64, Attempt)>,
}

impl ComparedDomains {
    /// Nothing where no plugin tells what is left, or there is nothing to choose from.
    pub fn new(session: &Session, unit: JobUnit, domains: usize) -> Option<Self> {
        let compares = domains > 1 && session.plugins.has_nodes_rest();
        compares.then_some(Self {
            unit,
            count: 0,
            best: None,
        })
    }

    /// The unit is ready in a domain: all of that is undone.
    pub fn add(
        &mut self,
        session: &mut Session,
        (domain, attempt): (DomainIx, Attempt),
        asked: &ResVec,
        start: Checkpoint,
    ) {
        let mut nodes = self.unit.placed_on(session.state.population());
        nodes.dedup();
        let after = session.plugins.nodes_rest(session.state, &nodes);
        session.undo_to(start);
        let before = session.plugins.nodes_rest(session.state, &nodes);
        let score = session.plugins.domain_score(session.state, domain, asked);
        let score = score + (after - before) as f64 / POINT as f64;
        self.count += 1;
        if self.best.as_ref().is_none_or(|(best, _)| score > *best) {
            self.best = Some((score, attempt));
        }
    }

    /// Whether there is an end to comparing once the unit is ready in one domain more: as many are compared, or the share
    /// of work of its job is not enough to try another one and to come back.
    pub fn is_last(&self, session: &Session) -> bool {
        let tries = self.count as u64 + 1;
        self.count + 1 >= MAX_COMPARED || !session.work.allows_two_more(self.unit.job, tries)
    }

    /// Nothing was compared yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where the unit is to be.
    pub fn best(self) -> Option<Attempt> {
        self.best.map(|(_, attempt)| attempt)
    }
}
