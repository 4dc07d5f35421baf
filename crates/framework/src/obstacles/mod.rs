//! What of node objects keeps a class of pods from nodes that would do: cordons, taints, labels. Found by
//! trying: a node counts only if it could serve the class, were it idle.
//!
//! ```text
//!  every node ─► Barriers (a plugin's words) ─┬─ none has the labels asked for ─► LabelMiss, with near names
//!                                             └─ would do but for cordon, taint ─► named, with the first nodes
//! ```

mod labels;

use pumice_model::object::{NodeObject, Taint, TaintEffect};
use pumice_model::{NodeIx, Rules, State};

pub use labels::LabelMiss;

/// So many nodes are named of one obstacle.
const MAX_NAMES: usize = 3;

/// So many taints are.
const MAX_TAINTS: usize = 3;

/// Taints that Kubernetes puts on nodes and takes back by itself begin so.
const OF_KUBERNETES: &str = "node.kubernetes.io/";

/// What of one node's object keeps a pod away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Barriers<'a> {
    /// The node is cordoned (`spec.unschedulable`).
    pub cordoned: bool,
    /// It has not the labels the pod asks for.
    pub labels: bool,
    /// Taints the pod does not tolerate.
    pub taints: Vec<&'a Taint>,
}

impl<'a> Barriers<'a> {
    /// With those another plugin knows of.
    pub fn and(mut self, other: Self) -> Self {
        self.cordoned |= other.cordoned;
        self.labels |= other.labels;
        self.taints.extend(other.taints);
        self
    }
}

/// Some nodes by name, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NamedNodes {
    names: Vec<String>,
    count: usize,
}

impl NamedNodes {
    fn add(&mut self, name: &str) {
        self.count += 1;
        if self.names.len() < MAX_NAMES {
            self.names.push(name.to_owned());
        }
    }

    /// `node n1`, `nodes n1, n2 and 7 more`.
    pub fn text(&self) -> String {
        let noun = if self.count == 1 { "node" } else { "nodes" };
        let names = self.names.join(", ");
        match self.count - self.names.len() {
            0 => format!("{noun} {names}"),
            more => format!("{noun} {names} and {more} more"),
        }
    }

    fn is_one(&self) -> bool {
        self.count == 1
    }
}

/// A taint that is not tolerated, and the nodes that would do without it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaintedNodes {
    taint: Taint,
    nodes: NamedNodes,
}

/// What keeps a class from nodes that would do. Empty where there is no such node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Obstacles {
    /// No node has the labels asked for.
    pub labels: Option<LabelMiss>,
    cordoned: NamedNodes,
    taints: Vec<TaintedNodes>,
}

impl Obstacles {
    /// Those of a class with these rules; `barriers`: what of a node's object keeps it away, `serves`: whether a
    /// node could serve it, were it idle.
    pub fn find<'s>(
        state: &'s State,
        rules: &Rules,
        barriers: impl Fn(&'s NodeObject) -> Barriers<'s>,
        serves: impl Fn(NodeIx) -> bool,
    ) -> Self {
        let mut found = Self::default();
        let nodes = state.nodes();
        let mut has_labels = false;
        for ix in nodes.indices() {
            let node = nodes.object(ix);
            let barriers = barriers(node);
            has_labels |= !barriers.labels;
            let is_open = !barriers.cordoned && barriers.taints.is_empty();
            if barriers.labels || is_open || !serves(ix) {
                continue;
            }
            found.add(node, &barriers);
        }
        if !has_labels {
            let all = nodes.indices().map(|ix| nodes.object(ix));
            found.labels = LabelMiss::find(rules, &all.collect::<Vec<_>>());
        }
        found
    }

    fn add(&mut self, node: &NodeObject, barriers: &Barriers<'_>) {
        if barriers.cordoned {
            self.cordoned.add(&node.name);
        }
        for taint in &barriers.taints {
            let has_room = self.taints.len() < MAX_TAINTS;
            let known = self.taints.iter_mut().find(|known| known.taint == **taint);
            match known {
                Some(known) => known.nodes.add(&node.name),
                None if has_room => {
                    let mut nodes = NamedNodes::default();
                    nodes.add(&node.name);
                    let taint = (*taint).clone();
                    self.taints.push(TaintedNodes { taint, nodes });
                }
                None => {}
            }
        }
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_none() && self.cordoned.count == 0 && self.taints.is_empty()
    }

    /// What they are, a sentence each without its stop.
    pub fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        told.extend(self.labels.as_ref().map(LabelMiss::told));
        if self.cordoned.count > 0 {
            let are = if self.cordoned.is_one() { "is" } else { "are" };
            told.push(format!("{} {are} cordoned", self.cordoned.text()));
        }
        told.extend(self.taints.iter().map(|tainted| {
            let nodes = &tainted.nodes;
            let have = if nodes.is_one() { "has" } else { "have" };
            format!(
                "{} {have} taint {}, which the pod does not tolerate",
                nodes.text(),
                taint_text(&tainted.taint)
            )
        }));
        told
    }

    /// What would remove them, a sentence each without its stop.
    pub fn remedies(&self) -> Vec<String> {
        let mut remedies = Vec::new();
        remedies.extend(self.labels.as_ref().map(LabelMiss::remedy));
        if let Some(first) = self.cordoned.names.first() {
            remedies.push(match self.cordoned.count {
                1 => format!("node {first} has to be uncordoned (kubectl uncordon {first})"),
                _ => format!(
                    "one of {} has to be uncordoned (kubectl uncordon {first})",
                    self.cordoned.text()
                ),
            });
        }
        remedies.extend(self.taints.iter().map(TaintedNodes::remedy));
        remedies
    }
}

impl TaintedNodes {
    fn remedy(&self) -> String {
        let (nodes, taint) = (self.nodes.text(), taint_text(&self.taint));
        match self.taint.key.starts_with(OF_KUBERNETES) {
            true => format!(
                "{nodes} {} to be well again: Kubernetes takes taint {taint} back by itself then",
                if self.nodes.is_one() { "has" } else { "have" }
            ),
            false => format!("the pod has to tolerate taint {taint}, or it be taken from {nodes}"),
        }
    }
}

/// As kubectl writes it: `key=value:Effect`.
fn taint_text(taint: &Taint) -> String {
    let effect = match taint.effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    };
    match taint.value.as_str() {
        "" => format!("{}:{effect}", taint.key),
        value => format!("{}={value}:{effect}", taint.key),
    }
}
