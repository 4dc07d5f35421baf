//! How many pods of a class could be placed at once, at most.

use pumice_framework::Plugins;
use pumice_framework::points::CountedCluster;
use pumice_model::{NeedIx, NodeIx, Nodes, ResIx, ResVec, ResourceNeedIx, State, TaskIx};
use smallvec::SmallVec;

use super::cells::CellFilters;
use super::index::ClassIndex;
use super::{Description, Kernel};

/// Places for pods of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceCount {
    /// There are not more.
    pub most: u64,
    /// Filters over several nodes took part: what leaves one node may make places on others.
    pub spans_nodes: bool,
}

/// It asks for volumes, or has resource claims.
fn has_supplies(state: &State, task: TaskIx) -> bool {
    let task = state.task(task);
    task.volumes != NeedIx::NONE || task.resource_claims != ResourceNeedIx::NONE
}

impl Kernel {
    /// Counts the places for pods like this one, what is being released included. Never too few: filters
    /// whose refusals do not last are left out, and so is what the pods would do to each other beyond the
    /// resources they ask. Of pods with volumes or claims only what nodes are counts: what a placement does
    /// to those may help another.
    pub fn places(&mut self, state: &State, plugins: &Plugins, task: TaskIx) -> PlaceCount {
        if has_supplies(state, task) {
            let allowed = self.static_part_of(state, plugins, task);
            self.effort += state.nodes().len() as u64;
            let request = &state.shape(task).request;
            return PlaceCount {
                most: count(state.nodes(), request, |node| {
                    allowed.verdict[node.at()].is_none()
                }),
                spans_nodes: false,
            };
        }
        state.renew_looks(task);
        let class = self.class_of(state, plugins, task);
        let made = self.classes.make(state, class);
        let request = &made.shape.request;
        if self.prefilter(state, plugins, class).is_err() {
            return PlaceCount {
                most: 0,
                spans_nodes: false,
            };
        }
        let mut index = self.index_of_all_nodes(state, plugins, class);
        let counters = &self.counters;
        let now = CountedCluster { state, counters };
        index.catch_up(now, &mut self.reasons, &mut self.scratch);
        let found = index.places(state.nodes(), request);
        self.keep(state, class, index);
        found
    }
}

impl Kernel {
    /// Counts the places for pods like this one on some nodes, as [`Kernel::places`] does, and no further than
    /// `enough`.
    pub fn places_among(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
        nodes: &[NodeIx],
        enough: u64,
    ) -> PlaceCount {
        const NONE: PlaceCount = PlaceCount {
            most: 0,
            spans_nodes: false,
        };
        if has_supplies(state, task) {
            let allowed = self.static_part_of(state, plugins, task);
            self.effort += nodes.len() as u64;
            let room = Room::new(state.nodes(), &state.shape(task).request);
            return PlaceCount {
                most: room.on_all(nodes, enough, |node| allowed.verdict[node.at()].is_none()),
                spans_nodes: false,
            };
        }
        let class = self.class_of(state, plugins, task);
        let all = state.nodes().len();
        if self.classes.may_look_at(class, nodes.len(), all) {
            if self.prefilter(state, plugins, class).is_err() {
                return NONE;
            }
            let mut described = self.describe(state, plugins, class);
            return self.places_without_index(state, task, &mut described, nodes, enough);
        }
        let request = state.ground().shapes().share(state.task(task).shape);
        let found = self.with_index(state, plugins, task, |index, _, _, _| {
            let lasts = index.is_lasting();
            let room = Room::new(state.nodes(), &request.request);
            let most = room.on_all(nodes, enough, |node| match lasts {
                true => index.fits(node),
                false => index.is_allowed(node),
            });
            PlaceCount {
                most,
                spans_nodes: lasts && index.lasting_cells().is_some(),
            }
        });
        self.effort += nodes.len() as u64;
        found.unwrap_or(NONE)
    }

    fn places_without_index(
        &mut self,
        state: &State,
        task: TaskIx,
        described: &mut Description,
        nodes: &[NodeIx],
        enough: u64,
    ) -> PlaceCount {
        self.effort += nodes.len() as u64;
        let evaluator = &mut described.evaluator;
        let lasts = evaluator.is_lasting();
        let cells = described.cells.as_ref().filter(|cells| cells.is_lasting());
        let (table, block) = (&mut self.reasons, &mut *self.scratch);
        let request = state.ground().shapes().share(state.task(task).shape);
        let room = Room::new(state.nodes(), &request.request);
        let most = room.on_all(nodes, enough, |node| {
            if !lasts {
                return evaluator.static_part.verdict[node.at()].is_none();
            }
            let passes = |cells: &CellFilters| {
                let cell = cells.layout.cell[node.at()] as usize;
                cells.passes(cell).is_some()
            };
            evaluator.evaluate_roughly(state, table, node.at()..node.at() + 1, block);
            block.verdict[0].fits() && cells.is_none_or(passes)
        });
        PlaceCount {
            most,
            spans_nodes: lasts && cells.is_some(),
        }
    }
}

/// For how many pods with this request nodes have room, whatever else they ask, and no further than `enough`: never less than
/// [`Kernel::places_among`] counts.
pub(crate) fn room_among(state: &State, task: TaskIx, nodes: &[NodeIx], enough: u64) -> u64 {
    let room = Room::new(state.nodes(), &state.shape(task).request);
    room.on_all(nodes, enough, |_| true)
}

impl ClassIndex {
    /// See [`Kernel::places`]. [`ClassIndex::catch_up`] must have been called.
    fn places(&self, nodes: &Nodes, request: &ResVec) -> PlaceCount {
        if !self.is_lasting() {
            return PlaceCount {
                most: count(nodes, request, |node| self.is_allowed(node)),
                spans_nodes: false,
            };
        }
        let most = match self.fitting() {
            0 => 0,
            _ => count(nodes, request, |node| self.fits(node)),
        };
        PlaceCount {
            most,
            spans_nodes: self.lasting_cells().is_some(),
        }
    }
}

/// Pods with a request that the nodes of a kind have room for, once resources are released.
fn count(nodes: &Nodes, request: &ResVec, counts: impl Fn(NodeIx) -> bool) -> u64 {
    let room = Room::new(nodes, request);
    let fitting = nodes.indices().filter(|node| counts(*node));
    fitting
        .map(|node| room.on(node))
        .fold(0, u64::saturating_add)
}

/// For how many pods with a request nodes have room, once resources are released.
struct Room<'a> {
    nodes: &'a Nodes,
    /// What a pod asks, without zeros.
    asked: SmallVec<[(ResIx, i64); 4]>,
}

impl<'a> Room<'a> {
    fn new(nodes: &'a Nodes, request: &ResVec) -> Self {
        let asked = request.iter().filter(|(_, amount)| *amount > 0);
        Self {
            nodes,
            asked: asked.collect(),
        }
    }

    /// On those that count, until there is enough.
    fn on_all(&self, nodes: &[NodeIx], enough: u64, mut counts: impl FnMut(NodeIx) -> bool) -> u64 {
        let mut found: u64 = 0;
        for node in nodes {
            if found >= enough {
                break;
            }
            if counts(*node) {
                found = found.saturating_add(self.on(*node));
            }
        }
        found
    }

    fn on(&self, node: NodeIx) -> u64 {
        let each = self.asked.iter().map(|(ix, amount)| {
            let idle = self.nodes.future_idle(*ix, node).max(0);
            (idle / amount).unsigned_abs()
        });
        each.min().unwrap_or(u64::from(u32::MAX))
    }
}
