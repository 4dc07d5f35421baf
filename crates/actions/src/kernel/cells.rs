//! The filters by topology domain of one class, by cell.

use std::sync::Arc;

use pumice_framework::points::{Cell, ChangedDomains, CountedCluster, DomainFilter};
use pumice_framework::{ReasonId, ReasonKind, ReasonTable, TopologyKeys};
use pumice_model::domains::Domains;
use pumice_model::{LoadMoment, NodeIx, State};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::layout::Layout;

/// Combinations of topology keys beyond which those no class uses are dropped.
const MAX_LAYOUTS: usize = 256;

/// Layouts by the keys of their classes: they depend on node labels alone, so classes share them.
#[derive(Default)]
pub struct Layouts(FxHashMap<Vec<String>, Arc<Layout>>);

impl Layouts {
    fn layout(&mut self, state: &State, all: &mut TopologyKeys, keys: &[String]) -> Arc<Layout> {
        if let Some(layout) = self.0.get(keys) {
            return layout.clone();
        }
        if self.0.len() >= MAX_LAYOUTS {
            self.0.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let domains: Vec<Arc<Domains>> = keys.iter().map(|key| all.domains(state, key)).collect();
        let layout = Arc::new(Layout::of(state.nodes().len(), &domains));
        self.0.insert(keys.to_vec(), layout.clone());
        layout
    }
}

/// One filter, and the numbers of its keys among those of the class.
struct CellFilter {
    filter: Box<dyn DomainFilter>,
    keys: Vec<usize>,
}

/// The filters of one class.
pub struct CellFilters {
    parts: Vec<CellFilter>,
    /// Cells of nodes about which the filters say the same.
    pub layout: Arc<Layout>,
}

impl CellFilters {
    /// The filters of a class; `None` when there are none.
    pub fn new(
        state: &State,
        filters: Vec<Box<dyn DomainFilter>>,
        all: &mut TopologyKeys,
        layouts: &mut Layouts,
    ) -> Option<Self> {
        if filters.is_empty() {
            return None;
        }
        let mut names: Vec<String> = Vec::new();
        let mut number = |key: &String| match names.iter().position(|name| name == key) {
            Some(at) => at,
            None => {
                names.push(key.clone());
                names.len() - 1
            }
        };
        let mut parts = Vec::with_capacity(filters.len());
        for filter in filters {
            let keys = filter.keys().iter().map(&mut number).collect();
            parts.push(CellFilter { filter, keys });
        }
        let layout = layouts.layout(state, all, &names);
        Some(Self { parts, layout })
    }

    /// Number of counts the filters keep.
    pub fn sums(&self) -> usize {
        self.parts.iter().map(|part| part.filter.sums()).sum()
    }

    /// Takes touched nodes into account; calls `changed` for every cell whose verdict may differ.
    pub fn catch_up(
        &mut self,
        now: CountedCluster<'_>,
        touched: &[NodeIx],
        mut changed: impl FnMut(&Self, usize),
    ) {
        // A placement touches one node.
        let mut stale: SmallVec<[u32; 16]> = SmallVec::new();
        let mut all = false;
        for part in &mut self.parts {
            let mut domains = ChangedDomains::default();
            part.filter.catch_up(now, touched, &mut domains);
            all |= domains.all;
            for (key, domain) in domains.some {
                stale.extend_from_slice(&self.layout.cells_in[part.keys[key]][domain as usize]);
            }
        }
        if all {
            (0..self.layout.cells()).for_each(|cell| changed(self, cell));
            return;
        }
        stale.sort_unstable();
        stale.dedup();
        for cell in stale {
            changed(self, cell as usize);
        }
    }

    /// What the filters say stays so while pods are placed.
    pub fn is_lasting(&self) -> bool {
        self.parts.iter().all(|part| part.filter.is_lasting())
    }

    fn verdicts(&self, cell: usize, moment: LoadMoment) -> impl Iterator<Item = ReasonId> {
        let domains = &self.layout.domains[cell];
        self.parts.iter().filter_map(move |part| {
            let keys = &part.keys;
            part.filter.reject(Cell { domains, keys }, moment)
        })
    }

    /// Whether what the filters say now and what they say of later may differ.
    pub fn counts_released(&self) -> bool {
        self.parts.iter().any(|part| part.filter.counts_released())
    }

    /// Since when the filters pass the nodes of a cell: now, or once what is being released is gone.
    pub fn passes(&self, cell: usize) -> Option<LoadMoment> {
        if self.verdicts(cell, LoadMoment::Released).next().is_some() {
            return None;
        }
        let waits = || self.verdicts(cell, LoadMoment::Now).next().is_some();
        match self.counts_released() && waits() {
            true => Some(LoadMoment::Released),
            false => Some(LoadMoment::Now),
        }
    }

    /// Reasons against the nodes of a cell even once what is being released is gone, in the order they are
    /// found, up to one that no eviction could help; empty when it passes.
    pub fn reasons(&self, table: &ReasonTable, cell: usize) -> SmallVec<[ReasonId; 2]> {
        let mut found = SmallVec::new();
        for reason in self.verdicts(cell, LoadMoment::Released) {
            found.push(reason);
            if table.reason(reason).kind == ReasonKind::Unresolvable {
                break;
            }
        }
        found
    }
}
