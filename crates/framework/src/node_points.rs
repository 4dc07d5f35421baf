//! How plugins speak about nodes: not node by node, but once for a *class* of tasks.
//!
//! A class is a set of tasks whose filters and scores cannot differ. For a class the chain collects
//!
//! * a [`StaticPart`]: verdicts and scores that depend on the node object alone,
//! * [`NodeFilter`]s and [`NodeScore`]s: they depend on this node's current load as well,
//! * [`PodPoints`]: filters and scores that depend on pods elsewhere; the placement kernel itself
//!   keeps the counters they need.
//!
//! The kernel then asks again only about nodes whose load has changed.

use std::ops::Range;
use std::rc::Rc;

use pumice_devices::Demand;
use pumice_model::topology::AppearanceIx;
use pumice_model::{DemandIx, Need, NeedIx, Nodes, Rules, Shape, ShapeIx, State, Task};

use crate::reason::ReasonId;

/// Identity of a class: same shape, the same look to every selector in the cluster, and the same
/// needs of volumes and devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassKey {
    /// Shape.
    pub shape: ShapeIx,
    /// What selectors see.
    pub appearance: AppearanceIx,
    /// What it asks of its volumes.
    pub volumes: NeedIx,
    /// What it asks of devices.
    pub devices: DemandIx,
}

impl ClassKey {
    /// The key of a task.
    pub fn of(task: &Task) -> Self {
        Self {
            shape: task.shape,
            appearance: task.appearance,
            volumes: task.volumes,
            devices: task.demand,
        }
    }
}

/// A class while its points are collected.
pub struct Class {
    /// Identity.
    pub key: ClassKey,
    /// The shape.
    pub shape: Rc<Shape>,
    /// The rules of the shape.
    pub rules: Rc<Rules>,
    /// What it asks of its volumes; nothing for most.
    pub volumes: Rc<Need>,
    /// What it asks of devices; nothing for most.
    pub devices: Rc<Demand>,
}

impl Class {
    /// The class of a task.
    pub fn of(state: &State, task: pumice_model::TaskIx) -> Self {
        Self::with_key(state, ClassKey::of(state.task(task)))
    }

    /// The class with an identity.
    pub fn with_key(state: &State, key: ClassKey) -> Self {
        let shape = state.shapes.share(key.shape);
        let rules = state.shapes.rules(shape.rules).clone();
        let volumes = state.volumes.need(key.volumes).clone();
        Self {
            key,
            shape,
            rules,
            volumes,
            devices: state.devices.demand(key.devices).clone(),
        }
    }
}

/// A score that is spread over 0 … 100 by its largest value among the candidates
/// (spec/02 §8: `N(reverse)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalised {
    /// Raw value per node, at least 0.
    pub raw: Vec<i64>,
    /// Weight of the result.
    pub weight: i64,
    /// A large raw value is bad.
    pub reverse: bool,
}

impl Normalised {
    /// The weighted score of a raw value when `max` is the largest one among the candidates.
    pub fn score(&self, raw: i64, max: i64) -> i64 {
        let spread = if max == 0 { 0 } else { 100 * raw / max };
        self.weight * if self.reverse { 100 - spread } else { spread }
    }
}

/// What depends on the node object alone; shared by all classes with the same rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticPart {
    /// First static reason against each node; `None` when there is none.
    pub verdict: Vec<Option<ReasonId>>,
    /// Sum of integer scores per node.
    pub score: Vec<i64>,
    /// Scores normalised over the candidates.
    pub normalised: Vec<Normalised>,
}

/// A filter that depends on a node's current load.
pub trait NodeFilter {
    /// Whether it is asked before the static verdict (spec/02 §6.3 step 2) or after it (step 4).
    fn before_static(&self) -> bool;

    /// For every node of `range` that it rejects, writes the reason to `out[node - range.start]`;
    /// other entries stay as they are.
    fn reject(&self, nodes: &Nodes, range: Range<usize>, out: &mut [Option<ReasonId>]);
}

/// A score that depends on a node's current load.
pub trait NodeScore {
    /// Adds the integer scores of the nodes of `range` to `out[node - range.start]`.
    fn add_whole(&self, _nodes: &Nodes, _range: Range<usize>, _out: &mut [i64]) {}

    /// Adds the fractional scores of the nodes of `range` to `out[node - range.start]`.
    fn add_fraction(&self, _nodes: &Nodes, _range: Range<usize>, _out: &mut [f64]) {}

    /// Whether [`NodeScore::add_fraction`] does anything.
    fn has_fraction(&self) -> bool {
        false
    }
}

/// Which points that look at other pods are on, and their weights (0 = off).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodPoints {
    /// Filter by inter-pod affinity.
    pub affinity_filter: bool,
    /// Filter by topology spread.
    pub spread_filter: bool,
    /// Weight of the preferred inter-pod affinity score.
    pub affinity_weight: i64,
    /// Weight of the soft topology spread score.
    pub spread_weight: i64,
}
