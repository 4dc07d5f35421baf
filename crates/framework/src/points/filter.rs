//! Filters on one node. The kernel collects them when it meets a class for the first time.
//!
//! * [`NodeFilters::prefilter`]: once a class; kept until nodes or terms change.
//! * [`NodeFilters::static_filter`] (*static*): once for all classes with the same rules and signature;
//!   kept until nodes change.
//! * [`NodeFilter::reject`] (*node*): asked in blocks of nodes; the answer about a node is kept until
//!   the node is touched, which is whenever a pod enters or leaves it.
//!
//! A node that only now rejects, and not once everything that is being released is gone, fits later.
//! A reason says whether evicting pods of the node could help (`ReasonKind`).

use std::ops::Range;

use pumice_devices::NearMiss;
use pumice_model::object::NodeObject;
use pumice_model::{LoadMoment, NodeIx, Nodes, Rules, State};

use super::class::{Class, StaticClass};
use super::score::StaticPart;
use crate::obstacles::Barriers;
use crate::reason::{ReasonId, ReasonTable, SetId};

/// A plugin's filters on one node.
pub trait NodeFilters {
    /// A reason against every node, found by looking at the class alone.
    fn prefilter(&self, _state: &State, _class: &Class) -> Option<String> {
        None
    }

    /// Adds verdicts that depend on node objects alone to `part.verdict` (the first reason stays).
    /// Reasons that are known beforehand are in the table since the plugin was made; others go into it
    /// here.
    fn static_filter(
        &self,
        _state: &State,
        _class: StaticClass<'_>,
        _reasons: &mut ReasonTable,
        _part: &mut StaticPart,
    ) {
    }

    /// What of a node's object keeps pods with these rules away, where [`NodeFilters::static_filter`] turns
    /// the node down for it: all of it, for words. Nothing is decided by it.
    fn barriers<'a>(&self, _rules: &Rules, _node: &'a NodeObject) -> Barriers<'a> {
        Barriers::default()
    }

    /// Whether it sees to it that nodes have what resource claims ask for.
    fn looks_at_claims(&self) -> bool {
        false
    }

    /// Filters on node load, in the order they are to be asked.
    fn node_filters(&self, _state: &State, _class: &Class) -> Vec<Box<dyn NodeFilter>> {
        Vec::new()
    }
}

/// A filter of one class that depends on a node's current load.
pub trait NodeFilter {
    /// Whether it is asked before the static verdict (spec/02 §6.3 step 2) or after it (step 4).
    fn before_static(&self) -> bool;

    /// For every node of `range` that it rejects at a moment, writes the reason to
    /// `out[node - range.start]`; other entries stay as they are. Of the state it may read the node and
    /// what is on it. Who is rejected once all is released is so now.
    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    );

    /// Whether it can say how close a node came that has this set of reasons.
    fn is_explained(&self, _set: SetId) -> bool {
        false
    }

    /// How close a node came that it rejects.
    fn explain(&self, _nodes: &Nodes, _node: NodeIx) -> Option<NearMiss> {
        None
    }

    /// Whether answers now may be others than once all that is being released is gone.
    fn counts_released(&self) -> bool {
        false
    }

    /// A node it rejects stays rejected whatever else is placed there; something has to leave the node.
    fn is_lasting(&self) -> bool {
        false
    }
}
