//! Who is below whom among the queues (spec/02 §10.2).
//!
//! ```text
//!   root            depth 0; stands in as a queue without limits where there is none of that name
//!   ├─ eng          1   parent: spec.parent, `root` where that is empty
//!   │  ├─ dev       2
//!   │  └─ prod      2
//!   └─ sci          1
//! ```
//!
//! A queue whose parent is missing, or that is its own ancestor, is cut off: it stands below the root
//! that is always there, and is held with everything below it. Without hierarchy every queue stands so,
//! and none is held.

use std::ops::Range;

use pumice_framework::QueueFault;
use pumice_framework::points::QueueBranches;
use pumice_model::{QueueIx, State};

/// Name of the root.
pub(super) const ROOT: &str = "root";

/// The queues and their places.
#[derive(Clone, Default)]
pub(super) struct QueueTree {
    /// By queue index.
    places: Vec<Option<TreePlace>>,
    /// Parents before children and all that is below the one before, children of the same parent by creation
    /// and name.
    top_down: Vec<QueueIx>,
    /// Queues right below the root that is always there, which share what the cluster has, by creation and name.
    tops: Vec<QueueIx>,
    root: Option<QueueIx>,
}

/// The place of one queue.
#[derive(Clone, Default)]
struct TreePlace {
    parent: Option<QueueIx>,
    depth: u32,
    children: Vec<QueueIx>,
    /// Why nothing is placed in it nor below it.
    fault: Option<QueueFault>,
    /// Position by creation and name.
    rank: u32,
    /// It and those below it, as positions in `top_down`.
    branch: Range<usize>,
}

impl QueueTree {
    /// The tree by `spec.parent`; with `hierarchy` off every queue stands alone.
    pub fn new(state: &State, hierarchy: bool) -> Self {
        let mut order: Vec<QueueIx> = state
            .population()
            .queues()
            .iter()
            .map(|(ix, _)| ix)
            .collect();
        order.sort_unstable_by_key(|ix| {
            let queue = &state.queue(*ix).object;
            (queue.created_s, &queue.name)
        });
        let size = order.iter().map(|ix| ix.at() + 1).max().unwrap_or(0);
        let mut tree = Self {
            places: Vec::new(),
            top_down: Vec::with_capacity(order.len()),
            tops: Vec::new(),
            root: hierarchy
                .then(|| state.population().queue_by_name(ROOT))
                .flatten(),
        };
        tree.places.resize_with(size, || None);
        for (rank, ix) in order.iter().enumerate() {
            let mut place = TreePlace {
                rank: rank as u32,
                ..TreePlace::default()
            };
            if hierarchy && Some(*ix) != tree.root {
                match state.queue(*ix).object.parent.as_str() {
                    "" => place.parent = tree.root,
                    // Without a queue of that name, the root is the one that is always there.
                    ROOT => place.parent = tree.root,
                    name => match state.population().queue_by_name(name) {
                        Some(parent) => place.parent = Some(parent),
                        None => place.fault = Some(QueueFault::ParentMissing(*ix)),
                    },
                }
            }
            tree.places[ix.at()] = Some(place);
        }
        tree.cut_circles(&order);
        for ix in &order {
            if let Some(parent) = tree.parent(*ix) {
                tree.place_mut(parent).children.push(*ix);
            }
        }
        let tops = order.iter().filter(|ix| tree.parent(**ix).is_none());
        let mut next: Vec<QueueIx> = tops.rev().copied().collect();
        while let Some(ix) = next.pop() {
            tree.settle(ix);
            let at = tree.top_down.len();
            tree.place_mut(ix).branch = at..at + 1;
            tree.top_down.push(ix);
            next.extend(tree.children(ix).iter().rev());
        }
        let tops = order.iter().copied();
        tree.tops = tops
            .filter(|ix| tree.parent(*ix).is_none() && tree.is_beside_others(*ix))
            .collect();
        for at in (0..tree.top_down.len()).rev() {
            let ix = tree.top_down[at];
            let end = tree.branch(ix).end;
            if let Some(parent) = tree.parent(ix) {
                let branch = &mut tree.place_mut(parent).branch;
                branch.end = branch.end.max(end);
            }
        }
        tree
    }

    /// Queues on a circle lose their parent.
    fn cut_circles(&mut self, order: &[QueueIx]) {
        // The walk in which a queue was met first; each queue is walked over once.
        let mut met: Vec<Option<u32>> = vec![None; self.places.len()];
        let mut circles = Vec::new();
        for (walk, start) in order.iter().enumerate() {
            let mut at = Some(*start);
            while let Some(ix) = at {
                match met[ix.at()] {
                    None => met[ix.at()] = Some(walk as u32),
                    Some(first) if first == walk as u32 => {
                        circles.push(ix);
                        break;
                    }
                    Some(_) => break,
                }
                at = self.parent(ix);
            }
        }
        for start in circles {
            let mut at = Some(start);
            while let Some(ix) = at {
                let place = self.place_mut(ix);
                at = place.parent.take();
                place.fault.get_or_insert(QueueFault::Circle(ix));
                if at == Some(start) {
                    break;
                }
            }
        }
    }

    /// Depth and what is inherited, once the parent is settled.
    fn settle(&mut self, ix: QueueIx) {
        let (depth, above) = match self.parent(ix) {
            Some(parent) => (self.depth(parent) + 1, self.fault(parent)),
            None => (u32::from(Some(ix) != self.root), None),
        };
        let place = self.place_mut(ix);
        place.depth = depth;
        place.fault = place.fault.or(above);
    }

    fn place(&self, ix: QueueIx) -> Option<&TreePlace> {
        self.places.get(ix.at())?.as_ref()
    }

    fn place_mut(&mut self, ix: QueueIx) -> &mut TreePlace {
        self.places[ix.at()].get_or_insert_default()
    }

    /// A queue and all below it, as positions in [`QueueTree::top_down`].
    fn branch(&self, ix: QueueIx) -> Range<usize> {
        self.place(ix).map_or(0..1, |place| place.branch.clone())
    }

    /// Queues, parents before children.
    pub fn top_down(&self) -> &[QueueIx] {
        &self.top_down
    }

    /// One more than the largest index.
    pub fn size(&self) -> usize {
        self.places.len()
    }

    /// The queue named `root`, where the tree has one.
    pub fn root(&self) -> Option<QueueIx> {
        self.root
    }

    /// The parent; none of the root, of queues below a root that is no queue, and of those cut off.
    pub fn parent(&self, ix: QueueIx) -> Option<QueueIx> {
        self.place(ix)?.parent
    }

    /// The queues right below, by creation and name.
    pub fn children(&self, ix: QueueIx) -> &[QueueIx] {
        self.place(ix).map_or(&[], |place| &place.children)
    }

    /// The queues right below one, or below the root that is always there.
    pub fn right_below(&self, parent: Option<QueueIx>) -> &[QueueIx] {
        parent.map_or(&self.tops, |parent| self.children(parent))
    }

    /// Whether it shares what is above it with those beside it: not the root, nor who is cut off.
    pub fn is_beside_others(&self, ix: QueueIx) -> bool {
        let is_top = self.parent(ix).is_none();
        !is_top || (Some(ix) != self.root && self.fault(ix).is_none())
    }

    /// No queue is below it.
    pub fn is_leaf(&self, ix: QueueIx) -> bool {
        self.children(ix).is_empty()
    }

    /// Levels below the root.
    pub fn depth(&self, ix: QueueIx) -> u32 {
        self.place(ix).map_or(0, |place| place.depth)
    }

    /// What keeps the queue and those below it from taking part.
    pub fn fault(&self, ix: QueueIx) -> Option<QueueFault> {
        self.place(ix)?.fault
    }

    /// What keeps jobs of the queue itself from taking part.
    pub fn fault_for_jobs(&self, ix: QueueIx) -> Option<QueueFault> {
        let not_leaf = || (!self.is_leaf(ix)).then_some(QueueFault::NotLeaf(ix));
        self.fault(ix).or_else(not_leaf)
    }

    /// The queue and its ancestors, upwards.
    pub fn path(&self, ix: QueueIx) -> impl Iterator<Item = QueueIx> + Clone + '_ {
        std::iter::successors(Some(ix), |at| self.parent(*at))
    }

    /// Ancestors of a queue up to so many levels, without the root.
    pub fn near_ancestors(&self, ix: QueueIx, levels: u32) -> impl Iterator<Item = QueueIx> + '_ {
        let above = self.path(ix).skip(1).take(levels as usize);
        above.take_while(|above| Some(*above) != self.root)
    }

    /// Whether `above` is the queue or one of its ancestors.
    pub fn is_within(&self, ix: QueueIx, above: QueueIx) -> bool {
        self.path(ix).any(|at| at == above)
    }

    /// The two queues right below the deepest common ancestor of two others, or those themselves where
    /// one is above the other.
    pub fn parting(&self, left: QueueIx, right: QueueIx) -> (QueueIx, QueueIx) {
        let (mut l, mut r) = (left, right);
        let up = |at: QueueIx, to: u32| {
            let mut path = self.path(at);
            path.find(|at| self.depth(*at) <= to).unwrap_or(at)
        };
        let depth = self.depth(left).min(self.depth(right));
        (l, r) = (up(l, depth), up(r, depth));
        if l == r {
            return (left, right);
        }
        while let (Some(above_l), Some(above_r)) = (self.parent(l), self.parent(r)) {
            if above_l == above_r {
                break;
            }
            (l, r) = (above_l, above_r);
        }
        (l, r)
    }

    /// Levels from a queue up to the deepest ancestor it has in common with another: 0 for itself.
    pub fn distance(&self, from: QueueIx, to: QueueIx) -> u32 {
        let common = self.path(from).find(|above| self.is_within(to, *above));
        // With no queue in common it is the root that is always there.
        self.depth(from) - common.map_or(0, |above| self.depth(above))
    }

    /// Position by creation and name among all queues.
    pub fn rank(&self, ix: QueueIx) -> u32 {
        self.place(ix).map_or(0, |place| place.rank)
    }
}

impl QueueBranches for QueueTree {
    fn positions(&self) -> usize {
        self.top_down.len()
    }

    fn position(&self, queue: QueueIx) -> usize {
        self.branch(queue).start
    }

    fn branches(&self, queue: QueueIx) -> Vec<Range<usize>> {
        self.path(queue).map(|above| self.branch(above)).collect()
    }
}
