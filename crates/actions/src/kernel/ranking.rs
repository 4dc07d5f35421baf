//! The candidates of a class that have room of one kind (idle now, or idle once resources are
//! released), ordered by score.

use std::collections::BTreeMap;

use super::layout::Layout;
use super::wide_max::{Keys, NOT_A_CANDIDATE, Ranked, WideMax};

/// Cells of up to this many nodes are scanned, larger ones have a tree.
const SMALL_CELL: usize = 64;

/// Keys by node or, with cells, by position.
#[derive(Clone)]
pub struct Ranking {
    keys: Vec<f64>,
    order: Order,
    /// Per normalised score: how many candidates have each raw value.
    pub raw_counts: Vec<BTreeMap<i64, u32>>,
    /// Per normalised score: the largest raw value the keys were made with.
    pub raw_max: Vec<i64>,
}

#[derive(Clone)]
enum Order {
    One(WideMax),
    Cells(Box<Cells>),
}

/// Best of every cell, and the best of all cells that pass.
#[derive(Clone)]
struct Cells {
    trees: Vec<Option<WideMax>>,
    best: Vec<(f64, u32)>,
    passing: Vec<bool>,
    stale: Vec<u32>,
    is_stale: Vec<bool>,
    top: WideMax,
}

struct TopKeys<'a>(&'a Cells);

impl Keys for TopKeys<'_> {
    fn key(&self, at: usize) -> f64 {
        if self.0.passing[at] {
            self.0.best[at].0
        } else {
            NOT_A_CANDIDATE
        }
    }

    fn rank(&self, at: usize) -> u32 {
        self.0.best[at].1
    }
}

impl Ranking {
    /// Bytes it holds of each node, about: a key and its share of the tree.
    pub const BYTES_A_NODE: usize = 9;

    /// A ranking without candidates.
    pub fn new(nodes: usize, layout: Option<&Layout>, normalised: usize) -> Self {
        let order = match layout {
            None => Order::One(WideMax::new(nodes)),
            Some(layout) => Order::Cells(Box::new(Cells::new(layout))),
        };
        Self {
            keys: vec![NOT_A_CANDIDATE; nodes],
            order,
            raw_counts: vec![BTreeMap::new(); normalised],
            raw_max: vec![0; normalised],
        }
    }

    /// Keys by node or, with cells, by position.
    pub fn keys(&self) -> &[f64] {
        &self.keys
    }

    /// Sets the key of a node.
    pub fn set(&mut self, node: usize, key: f64, layout: Option<&Layout>) {
        let position = at(node, layout);
        if self.keys[position] == key {
            return;
        }
        self.keys[position] = key;
        match (&mut self.order, layout) {
            (Order::Cells(cells), Some(layout)) => cells.mark(node, position, layout),
            (Order::One(tree), _) => tree.mark(position),
            _ => {}
        }
    }

    /// Sets the keys of neighbours; only without cells.
    pub fn set_neighbours(&mut self, from: usize, keys: &[f64]) {
        let known = &mut self.keys[from..from + keys.len()];
        if known == keys {
            return;
        }
        known.copy_from_slice(keys);
        if let Order::One(tree) = &mut self.order {
            tree.mark(from);
            tree.mark(from + keys.len() - 1);
        }
    }

    /// Lets a cell pass or not.
    pub fn set_passing(&mut self, cell: usize, passes: bool) {
        if let Order::Cells(cells) = &mut self.order
            && cells.passing[cell] != passes
        {
            cells.passing[cell] = passes;
            cells.top.mark(cell);
        }
    }

    /// The best candidate: node and key.
    pub fn best(&mut self, layout: Option<&Layout>) -> Option<(u32, f64)> {
        let (node, key) = match (&mut self.order, layout) {
            (Order::Cells(cells), Some(layout)) => cells.find(&self.keys, layout)?,
            (Order::One(tree), _) => {
                let node = tree.best(&Ranked(&self.keys))?;
                (node as u32, self.keys[node])
            }
            _ => return None,
        };
        (key != NOT_A_CANDIDATE).then_some((node, key))
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        let cells = match &self.order {
            Order::Cells(cells) => cells.best.len() * 64,
            Order::One(_) => 0,
        };
        self.keys.len() * Self::BYTES_A_NODE + cells
    }
}

fn at(node: usize, layout: Option<&Layout>) -> usize {
    layout.map_or(node, |layout| layout.position[node] as usize)
}

impl Cells {
    fn new(layout: &Layout) -> Self {
        let count = layout.cells();
        let size = |cell: usize| (layout.start[cell + 1] - layout.start[cell]) as usize;
        Self {
            trees: (0..count)
                .map(|cell| (size(cell) > SMALL_CELL).then(|| WideMax::new(size(cell))))
                .collect(),
            best: vec![(NOT_A_CANDIDATE, 0); count],
            passing: vec![true; count],
            stale: (0..count as u32).collect(),
            is_stale: vec![true; count],
            top: WideMax::new(count),
        }
    }

    fn mark(&mut self, node: usize, position: usize, layout: &Layout) {
        let cell = layout.cell[node] as usize;
        if let Some(tree) = &mut self.trees[cell] {
            tree.mark(position - layout.start[cell] as usize);
        }
        if !self.is_stale[cell] {
            self.is_stale[cell] = true;
            self.stale.push(cell as u32);
        }
    }

    fn find(&mut self, keys: &[f64], layout: &Layout) -> Option<(u32, f64)> {
        while let Some(cell) = self.stale.pop() {
            let cell = cell as usize;
            self.is_stale[cell] = false;
            let from = layout.start[cell] as usize;
            let keys = Ranked(&keys[from..layout.start[cell + 1] as usize]);
            let found = match &mut self.trees[cell] {
                Some(tree) => tree.best(&keys).unwrap_or(0),
                None => keys.best_of(0, keys.0.len()),
            };
            self.best[cell] = (keys.key(found), layout.node[from + found]);
            self.top.mark(cell);
        }
        let mut top = std::mem::take(&mut self.top);
        let found = top.best(&TopKeys(self));
        self.top = top;
        let cell = found?;
        self.passing[cell].then(|| (self.best[cell].1, self.best[cell].0))
    }
}
