//! Positions of nodes in the keys of a class, and the cells they form.
//!
//! Filters that look at other pods say the same of all nodes that share their topology domains. Such
//! nodes form a *cell*; their keys stand side by side, in name order. A class without such filters
//! has one cell.

use std::sync::Arc;

use pumice_model::domains::Domains;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Domain of a cell under each topology key of the class.
pub type CellDomains = SmallVec<[u32; 2]>;

/// Order of nodes by cell.
#[derive(Debug, Default)]
pub struct Layout {
    /// Per node: its position.
    pub position: Vec<u32>,
    /// Per position: its node.
    pub node: Vec<u32>,
    /// Per node: its cell.
    pub cell: Vec<u32>,
    /// Per cell: its first position; one more entry for the end.
    pub start: Vec<u32>,
    /// Per cell: its domains.
    pub domains: Vec<CellDomains>,
    /// Per key and domain: the cells in it.
    pub cells_in: Vec<Vec<Vec<u32>>>,
}

impl Layout {
    /// Cells of nodes under some topology keys.
    pub fn of(nodes: usize, keys: &[Arc<Domains>]) -> Self {
        let mut numbers: FxHashMap<CellDomains, u32> = FxHashMap::default();
        let mut domains: Vec<CellDomains> = Vec::new();
        let mut cell = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let tuple: CellDomains = keys.iter().map(|key| key.of_node[node]).collect();
            let number = *numbers.entry(tuple.clone()).or_insert_with(|| {
                domains.push(tuple);
                (domains.len() - 1) as u32
            });
            cell.push(number);
        }
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.sort_by_key(|node| (cell[*node as usize], *node));
        let mut position = vec![0; nodes];
        let mut start = vec![0; domains.len() + 1];
        for (at, node) in order.iter().enumerate() {
            position[*node as usize] = at as u32;
            start[cell[*node as usize] as usize + 1] = at as u32 + 1;
        }
        let mut cells_in: Vec<Vec<Vec<u32>>> =
            keys.iter().map(|key| vec![Vec::new(); key.count]).collect();
        for (number, tuple) in domains.iter().enumerate() {
            for (key, domain) in tuple.iter().enumerate() {
                if *domain != Domains::NONE {
                    cells_in[key][*domain as usize].push(number as u32);
                }
            }
        }
        Self {
            position,
            node: order,
            cell,
            start,
            domains,
            cells_in,
        }
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.domains.len()
    }
}
