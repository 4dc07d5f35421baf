//! What must hold, and how long what was decided without a change may still land.

use super::network::REQUEST_MS;
use super::watch::{GRACE_MS, MAX_LAG_MS};

/// Longest time from a change to the last Binding that may be decided without it, milliseconds.
pub const WINDOW_MS: u64 = GRACE_MS + MAX_LAG_MS + REQUEST_MS + 2 * MAX_STEP_MS;

/// Longest step while faults happen, milliseconds.
pub const MAX_STEP_MS: u64 = 1000;

/// What must hold at every moment (spec/06).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// spec/06 INV-1: no node holds more than it has.
    Nodes,
    /// spec/06 INV-2: no card holds more than it has.
    Cards,
    /// spec/06 INV-3: no gang is bound in part, but for a time.
    Gang,
    /// spec/06 INV-4: no queue holds more than it may.
    Queues,
    /// spec/06 INV-5: no pod is lost.
    NoLostPod,
    /// spec/06 INV-6: one Binding a pod.
    OneBind,
    /// spec/06 INV-7: no write outside a term.
    Term,
    /// spec/06 INV-8: no eviction without a reason.
    Evictions,
    /// spec/06 INV-9: node and card become visible together.
    NodeAndCard,
    /// spec/06 INV-10: same inputs, same decisions.
    Repeatable,
    /// spec/06 INV-11: no change, no write.
    Quiet,
    /// spec/06 INV-12: the live ledger is the one rebuilt from the objects.
    Ledger,
    /// spec/06 INV-13: bad input hurts only itself.
    BadInput,
    /// spec/06 INV-14: what fits is bound.
    Progress,
    /// spec/06 INV-15: memory follows the population.
    Memory,
    /// spec/06 INV-16: no device is given twice.
    Devices,
    /// spec/06 INV-17: a pod has its claims, and a claim nothing without a pod.
    Claims,
    /// spec/03 §B10: a PodGroup of Kubernetes itself that was placed says so for ever.
    Placed,
    /// spec/08 §4: what asks for a place in the network stands within one domain that is allowed.
    Domain,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub invariant: Invariant,
    /// What was seen.
    pub text: String,
}

impl Invariant {
    /// It does not hold.
    pub fn broken(self, text: String) -> Broken {
        Broken {
            invariant: self,
            text,
        }
    }
}
