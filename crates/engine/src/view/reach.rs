//! Which nodes could serve a pod, found by trying each: what would have to change is said of these, and of no
//! others.
//!
//! ```text
//!  every node ─┬─ its object allows the pod ─┬─ serves it when idle ─► what is missing there now
//!              │                             └─ does not ─► what the pod asks too much of
//!              └─ it does not, and the node would serve ─► what keeps the pod from it
//! ```

use std::sync::Arc;

use pumice_devices::LedgerTime;
use pumice_framework::points::ClassKey;
use pumice_framework::{Class, FitError, Obstacles, ReasonTable};
use pumice_model::resource::display_amount;
use pumice_model::{NodeIx, ResIx, TaskIx};

use super::shape::list;
use crate::view::remedies::Remedies;
use crate::waiting::never::join;

/// So many pods that hold cards are named.
const MAX_HOLDERS: usize = 5;

/// Claims that are named; for each the nearest of many is looked for.
const MAX_CLAIMS: usize = 8;

/// How far a node that could serve a pod is from doing so now; the smaller the nearer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResourceGap {
    /// The largest share of a resource that is missing, in millionths of what is asked.
    share: i128,
    /// How many resources are missing.
    short: usize,
    node: NodeIx,
}

impl Remedies<'_> {
    /// What would have to change about nodes for a pod that fits none.
    pub(super) fn changes_for_nodes(
        &self,
        ix: TaskIx,
        error: &FitError,
        changes: &mut Vec<String>,
    ) {
        if error.everywhere.is_some() {
            changes.extend(self.changes_for_claims(ix));
            return;
        }
        let open = self.allowed_nodes(ix);
        let serving = open.iter().copied();
        let serving: Vec<NodeIx> = serving.filter(|node| self.serves(ix, *node)).collect();
        if !serving.is_empty() {
            changes.extend(self.change_where_it_fits(ix, error, &serving));
        } else if !open.is_empty() {
            changes.push(self.change_where_it_never_fits(ix, error, &open));
            if let Some(node) = self.unselected(ix) {
                changes.push(format!(
                    "the pod's node selector or affinity has to allow node {}, which could serve it",
                    self.state.nodes().object(node).name
                ));
            }
        }
        let has_room = |node: NodeIx| match serving.is_empty() {
            true => self.serves(ix, node),
            // Among nodes that are busy only one with room is worth a word.
            false => self.serves(ix, node) && self.shortages(ix, node).is_empty(),
        };
        let rules = self
            .state
            .ground()
            .shapes()
            .rules(self.state.shape(ix).rules);
        let obstacles = Obstacles::find(
            self.state,
            rules,
            |node| self.plugins.barriers(rules, node),
            has_room,
        );
        changes.extend(obstacles.remedies());
    }

    /// Nodes that selector, taints and the like allow.
    fn allowed_nodes(&self, ix: TaskIx) -> Vec<NodeIx> {
        let state = self.state;
        let signature = self.plugins.signature(state, ix).unwrap_or_default();
        let class = Class::new(state, ClassKey::of(state, ix), Arc::new(signature));
        // Reasons are not told from here: which node is allowed is all that counts.
        let mut scratch = ReasonTable::default();
        let part = self.plugins.static_part(state, class.fixed(), &mut scratch);
        let is_open = |node: &NodeIx| part.verdict[node.at()].is_none();
        state.nodes().indices().filter(is_open).collect()
    }

    /// A node that could serve the pod, and that only its selector or affinity forbids.
    fn unselected(&self, ix: TaskIx) -> Option<NodeIx> {
        let state = self.state;
        let rules = state.ground().shapes().rules(state.shape(ix).rules);
        state.nodes().indices().find(|node| {
            let barriers = self.plugins.barriers(rules, state.nodes().object(*node));
            let only_labels = barriers.labels && !barriers.cordoned && barriers.taints.is_empty();
            only_labels && self.serves(ix, *node)
        })
    }

    /// Whether a node could serve a pod, were it idle.
    fn serves(&self, ix: TaskIx, node: NodeIx) -> bool {
        let nodes = self.state.nodes();
        let mut request = self.state.shape(ix).request.iter();
        let demand = self
            .state
            .supplies()
            .devices()
            .demand(self.state.task(ix).demand);
        let devices = &nodes.devices[node.at()];
        request.all(|(resource, asked)| asked <= nodes.total.get(resource, node))
            && (demand.parts.is_empty() || demand.fit(devices, LedgerTime::Idle).is_ok())
    }

    /// What a node has too little of now, by resource, and how much of it is missing.
    fn shortages(&self, ix: TaskIx, node: NodeIx) -> Vec<(ResIx, i64)> {
        let nodes = self.state.nodes();
        let request = &self.state.shape(ix).request;
        let resources = self.state.resources().in_order().iter();
        let short = resources.map(|resource| {
            let missing = request.get(*resource) - nodes.future_idle(*resource, node).max(0);
            (*resource, missing)
        });
        short
            .filter(|(resource, missing)| *missing > 0 && request.get(*resource) > 0)
            .collect()
    }

    /// What is missing on the nearest of the nodes that could serve it.
    fn change_where_it_fits(
        &self,
        ix: TaskIx,
        error: &FitError,
        serving: &[NodeIx],
    ) -> Option<String> {
        let told = error.nearest.as_ref().map(|miss| miss.node);
        let request = &self.state.shape(ix).request;
        let gap = |node: &NodeIx| {
            let short = self.shortages(ix, *node);
            let share = short.iter().map(|(resource, missing)| {
                i128::from(*missing) * 1_000_000 / i128::from(request.get(*resource).max(1))
            });
            ResourceGap {
                share: share.max().unwrap_or(0),
                short: short.len(),
                node: *node,
            }
        };
        let told = told.filter(|node| serving.contains(node));
        let node = told.or_else(|| serving.iter().map(gap).min().map(|gap| gap.node))?;
        let name = &self.state.nodes().object(node).name;
        let short = self.shortages(ix, node);
        if !short.is_empty() {
            let short = list(self.state, &short);
            return Some(format!(
                "{short} more would have to be free on node {name}, which comes nearest"
            ));
        }
        let holders = self.card_holders(node);
        let demand = self
            .state
            .supplies()
            .devices()
            .demand(self.state.task(ix).demand);
        let devices = &self.state.nodes().devices[node.at()];
        if demand.parts.is_empty()
            || holders.is_empty()
            || demand.fit(devices, LedgerTime::Now).is_ok()
        {
            return None;
        }
        let more = match holders.len().saturating_sub(MAX_HOLDERS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = &holders[..holders.len().min(MAX_HOLDERS)];
        Some(format!(
            "cards of node {name} would have to be given back, which would do were they idle; held by \
             {}{more}",
            named.join(", ")
        ))
    }

    /// Pods that hold cards of a node, by name.
    fn card_holders(&self, node: NodeIx) -> Vec<String> {
        let tasks = self.state.nodes().tasks(node).iter().copied();
        let holds = |task: &TaskIx| !self.card_names(*task).is_empty();
        let mut names: Vec<String> = tasks
            .filter(holds)
            .map(|task| self.state.population().task_key(task))
            .collect();
        names.sort_unstable();
        names
    }

    /// What the pod asks too much of, of nodes that never could serve it.
    fn change_where_it_never_fits(&self, ix: TaskIx, error: &FitError, open: &[NodeIx]) -> String {
        let total = &self.state.nodes().total;
        let asked = self.state.shape(ix).asked(self.state.resources());
        let beyond = asked.filter_map(|(resource, name, asked)| {
            let most = open.iter().map(|node| total.get(resource, *node)).max()?;
            let largest = open
                .iter()
                .find(|node| total.get(resource, **node) == most)?;
            (asked > most).then(|| self.excess_where_allowed(name, asked, most, *largest))
        });
        let told: Vec<String> = beyond.collect();
        if !told.is_empty() {
            return format!(
                "the pod has to ask less, or a larger node that it may use to come: {}",
                join(told)
            );
        }
        self.change_for_cards(ix, error, open).unwrap_or_else(|| {
            "the pod has to ask less, or a larger node to come: no node that it may use has all of it at \
             once"
                .to_owned()
        })
    }

    /// What is missing of cards on the node that comes nearest when it is idle, if no node has them.
    fn change_for_cards(&self, ix: TaskIx, error: &FitError, open: &[NodeIx]) -> Option<String> {
        let nodes = self.state.nodes();
        let demand = self
            .state
            .supplies()
            .devices()
            .demand(self.state.task(ix).demand);
        let misses = open.iter().map(|node| {
            let devices = &nodes.devices[node.at()];
            demand.explain(&nodes.object(*node).name, devices, LedgerTime::Idle)
        });
        let misses: Vec<_> = misses.collect::<Option<_>>()?;
        let nearest = misses.into_iter().min_by_key(|miss| miss.distance)?;
        let what = "the pod has to ask what cards have in all, or other cards have to come";
        let known = error
            .nearest
            .as_ref()
            .and_then(|miss| miss.words.as_deref());
        Some(match known == Some(nearest.text.as_str()) {
            // The reason says it.
            true => what.to_owned(),
            false => format!("{what}: {}", nearest.text),
        })
    }

    fn excess_where_allowed(&self, name: &str, asked: i64, most: i64, node: NodeIx) -> String {
        let asked = display_amount(name, asked);
        match most {
            ..=0 => format!("it asks {asked} {name}, and no node that it may use has any"),
            most => format!(
                "it asks {asked} {name}, and the largest node that it may use, {}, has {} in all",
                self.state.nodes().object(node).name,
                display_amount(name, most)
            ),
        }
    }

    /// Claims that have to be made.
    fn changes_for_claims(&self, ix: TaskIx) -> Vec<String> {
        let namespace = self.state.names().text(self.state.task(ix).namespace);
        let volumes = self.state.supplies().volumes();
        let mut missing = volumes.missing_claims(ix);
        let told = missing.by_ref().take(MAX_CLAIMS);
        let mut changes: Vec<String> = told
            .map(|name| {
                let known = volumes.claims_in(namespace).take(super::find::MAX_NAMES);
                let near = pumice_conf::nearest(name, known);
                let near = near.map_or(String::new(), |near| format!(", did you mean {near}?"));
                format!(
                    "PersistentVolumeClaim {name} has to be created in namespace {namespace}, or \
                     another one be named{near}"
                )
            })
            .collect();
        let more = missing.count();
        if more > 0 {
            changes.push(format!("{more} more claims have to be created there"));
        }
        changes
    }
}
