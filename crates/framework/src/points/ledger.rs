//! What nodes have beside the resources of Kubernetes, kept in ledgers of its own: cards.
//!
//! A look at a ledger is the dearest one, and it tells at once whether a task fits, now or later, and
//! what the place is worth. So the kernel asks last, about nodes that fit otherwise, and keeps the
//! answer about a node until the node is touched (*node*). The step that places the task books what it
//! takes there.
//!
//! This point has no switch: what stands in a ledger is never given out unseen, as with resources.

use std::ops::Range;

use pumice_devices::{NearMiss, Settings};
use pumice_model::{NodeIx, Nodes};

use super::class::Class;
use crate::reason::{ReasonTable, SetId};
use crate::verdict::Verdict;

/// A plugin that looks after ledgers.
pub trait Ledgers {
    /// Why tasks of the class fit nowhere, whatever the nodes are. Asked before any filter.
    fn refusal(&self, class: &Class) -> Option<String>;

    /// The check of a class; none if it takes nothing from the ledgers. The reasons it may give go into
    /// the table.
    fn ledger_check(
        &self,
        class: &Class,
        reasons: &mut ReasonTable,
    ) -> Option<Box<dyn LedgerCheck>>;

    /// How devices are read from nodes and pods.
    fn device_settings(&self) -> &Settings;
}

/// How exact the reasons against a node have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonDetail {
    /// The ones there are.
    Exact,
    /// Any one may stand for all: nobody will read it.
    Any,
}

/// Looks at the ledgers of nodes for one class.
pub trait LedgerCheck {
    /// For the nodes of `range` that fit so far: turns down those whose ledgers do not, or says that
    /// they fit later, and adds the scores of the others. `verdicts` and `scores` start with the first
    /// node of the range.
    fn judge(
        &self,
        nodes: &Nodes,
        range: Range<usize>,
        verdicts: &mut [Verdict],
        scores: &mut [i64],
        reasons: ReasonDetail,
    );

    /// Whether a set of reasons is one of this check.
    fn is_failure(&self, set: SetId) -> bool;

    /// Whether the node would do if nobody held anything of its ledgers.
    fn serves_when_idle(&self, nodes: &Nodes, node: NodeIx) -> bool;

    /// Why the node does not do, counting what is being released; `None` if it does.
    fn explain(&self, nodes: &Nodes, node: NodeIx) -> Option<NearMiss>;
}
