//! What each queue may have and what it is owed (spec/02 §10.2), from what is written on the queues and,
//! without hierarchy, from the size of the cluster.

use std::borrow::Cow;
use std::collections::BTreeSet;

use pumice_framework::Bound;
use pumice_framework::points::QueueBranches;
use pumice_model::resource::{AmountUnit, PODS, ResVec, display_amount, is_of_device_class};
use pumice_model::{QueueIx, ResIx, State};

use super::tree::{QueueTree, ROOT};

/// No limit.
pub(super) const UNLIMITED: i64 = i64::MAX;

/// One queue; amounts in stored units.
#[derive(Clone, Default)]
pub(super) struct OwedAmounts {
    /// What it is owed; resources that are not named are 0.
    pub deserved: ResVec,
    /// What is never taken from it.
    pub guarantee: ResVec,
    /// Real capability by resource index.
    ceiling: Vec<Ceiling>,
    /// Real capability of resources beyond those.
    rest: Ceiling,
    /// What the guarantees of the queues right below it keep back.
    kept: ResVec,
    /// What is written on the queue and does not count as it is written.
    own_warnings: Vec<String>,
    /// What those below it have together and it has not itself.
    sum_warnings: Vec<String>,
}

/// The most a queue may have of one resource.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ceiling {
    amount: i64,
    /// What sets it; none where it is that of the parent, which is asked itself.
    bound: Option<Bound>,
}

impl Default for Ceiling {
    fn default() -> Self {
        Self {
            amount: UNLIMITED,
            bound: None,
        }
    }
}

impl OwedAmounts {
    /// Real capability of a resource.
    pub fn ceiling(&self, ix: ResIx) -> i64 {
        self.ceiling_of(ix).amount
    }

    /// The limit that is this queue's own, and what sets it.
    pub fn limit(&self, ix: ResIx) -> Option<(i64, Bound)> {
        let ceiling = self.ceiling_of(ix);
        Some((ceiling.amount, ceiling.bound?))
    }

    /// Whether it may have as much of every resource, for the same reason.
    fn is_limited_as(&self, other: &Self) -> bool {
        let known = self.ceiling.len().max(other.ceiling.len());
        let mut known = (0..known).map(|at| ResIx(at as u16));
        self.rest == other.rest && known.all(|ix| self.ceiling_of(ix) == other.ceiling_of(ix))
    }

    fn ceiling_of(&self, ix: ResIx) -> Ceiling {
        *self.ceiling.get(ix.0 as usize).unwrap_or(&self.rest)
    }

    /// What is written on it, or on those below it, and does not count as it is written.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        self.own_warnings.iter().chain(&self.sum_warnings)
    }

    /// What it deserves of a resource, if its amounts name that.
    pub fn deserves(&self, ix: ResIx) -> Option<f64> {
        let amount = self.deserved.get(ix);
        (amount > 0).then_some(amount as f64)
    }

    /// It deserves something besides `pods`.
    pub fn deserves_something(&self) -> bool {
        self.deserved
            .iter()
            .any(|(ix, amount)| ix != PODS && amount > 0)
    }

    /// The largest part of what it deserves that it holds; 1 where it deserves nothing.
    pub fn share(&self, held: &ResVec) -> f64 {
        if !self.deserves_something() {
            return 1.0;
        }
        let parts = self.deserved.iter();
        let parts = parts.map(|(ix, deserved)| held.get(ix) as f64 / deserved as f64);
        parts.fold(0.0, f64::max)
    }
}

/// What every queue may have.
///
/// Other amounts on a queue change what it has itself; what those beside it have only if other amounts are
/// guaranteed, and what those below it have only if it may have more or less than before.
#[derive(Clone, Default)]
pub(super) struct Entitlements {
    /// By queue index.
    all: Vec<OwedAmounts>,
    /// The cluster, as a queue above those that have no other.
    whole: OwedAmounts,
    /// What all queues deserve together: of what is in here somebody deserves something.
    shared: ResVec,
    /// How many resources were known.
    resources: usize,
    unknown: OwedAmounts,
}

impl Entitlements {
    /// What all queues are owed; with `is_flat` nobody may have more than the cluster has, in a tree
    /// that is left to the nodes.
    pub fn new(state: &State, tree: &QueueTree, is_flat: bool) -> Self {
        let mut new = Self {
            all: vec![OwedAmounts::default(); tree.size()],
            whole: match is_flat {
                true => of_cluster(state),
                false => OwedAmounts::default(),
            },
            shared: ResVec::default(),
            resources: state.resources().len(),
            unknown: OwedAmounts::default(),
        };
        new.whole.kept = new.kept(state, tree, None);
        for ix in tree.top_down() {
            new.redo(state, tree, *ix);
            let kept = new.kept(state, tree, Some(*ix));
            new.all[ix.at()].kept = kept;
        }
        for ix in tree.top_down() {
            new.add_up(state, tree, *ix);
        }
        new.sum_up();
        new
    }

    /// Whether some queue deserves something of a resource.
    pub fn is_shared(&self, resource: ResIx) -> bool {
        self.shared.get(resource) > 0
    }

    fn sum_up(&mut self) {
        self.shared = ResVec::default();
        for owed in &self.all {
            self.shared.add_saturating(&owed.deserved);
        }
    }

    /// Something else is written on some queues of the same tree. Those that may have other amounts now.
    pub fn revise(
        &mut self,
        state: &State,
        tree: &QueueTree,
        rewritten: &[QueueIx],
    ) -> BTreeSet<QueueIx> {
        // By place in the tree: those above come first.
        let mut next: BTreeSet<usize> = rewritten.iter().map(|ix| tree.position(*ix)).collect();
        let is_kept = |ix: QueueIx| self.of(ix).guarantee == state.queue(ix).guarantee;
        let moved = rewritten.iter().copied();
        let moved = moved.filter(|ix| !is_kept(*ix) && tree.is_beside_others(*ix));
        let above: BTreeSet<Option<QueueIx>> = moved.map(|ix| tree.parent(ix)).collect();
        for parent in above {
            let beside = self.keep_anew(state, tree, parent).iter();
            next.extend(beside.map(|ix| tree.position(*ix)));
        }
        let (mut changed, mut sums) = (BTreeSet::new(), BTreeSet::new());
        while let Some(place) = next.pop_first() {
            let ix = tree.top_down()[place];
            let before = std::mem::take(&mut self.all[ix.at()]);
            self.redo(state, tree, ix);
            let now = &mut self.all[ix.at()];
            let may_have_other = !now.is_limited_as(&before);
            (now.kept, now.sum_warnings) = (before.kept, before.sum_warnings);
            if may_have_other {
                self.keep_anew(state, tree, Some(ix));
                next.extend(tree.children(ix).iter().map(|ix| tree.position(*ix)));
            }
            changed.insert(ix);
            sums.extend([Some(ix), tree.parent(ix)].into_iter().flatten());
        }
        for ix in sums {
            self.add_up(state, tree, ix);
            changed.insert(ix);
        }
        if !changed.is_empty() {
            self.sum_up();
        }
        changed
    }

    /// Whether no resource has become known since that the cluster limits in its own way.
    pub fn know_resources(&self, state: &State) -> bool {
        self.resources == state.resources().len()
    }

    /// A queue that came since has no limits and is owed nothing.
    pub fn of(&self, queue: QueueIx) -> &OwedAmounts {
        self.known(queue).unwrap_or(&self.unknown)
    }

    /// What a queue is owed; `None` of one that came since.
    pub fn known(&self, queue: QueueIx) -> Option<&OwedAmounts> {
        self.all.get(queue.at())
    }

    /// Whether they are those of the state.
    pub fn are_of(&self, state: &State, tree: &QueueTree, is_flat: bool) -> bool {
        let fresh = Self::new(state, tree, is_flat);
        let resources = state.resources().in_order().iter();
        let is_known = |ix: &ResIx| self.is_shared(*ix) == fresh.is_shared(*ix);
        resources.copied().all(|ix| is_known(&ix))
            && tree.top_down().iter().all(|ix| {
                let (mine, theirs) = (self.of(*ix), fresh.of(*ix));
                mine.deserved == theirs.deserved
                    && mine.guarantee == theirs.guarantee
                    && mine.kept == theirs.kept
                    && mine.is_limited_as(theirs)
                    && mine.warnings().eq(theirs.warnings())
            })
    }

    /// What of this is above queues with such a parent.
    fn above(&self, parent: Option<QueueIx>) -> &OwedAmounts {
        parent.map_or(&self.whole, |parent| &self.all[parent.at()])
    }

    /// What the queues right below one keep back by their guarantees.
    fn kept(&self, state: &State, tree: &QueueTree, parent: Option<QueueIx>) -> ResVec {
        let above = self.above(parent);
        let mut kept = ResVec::default();
        for ix in tree.right_below(parent) {
            kept.add_saturating(&kept_for(&state.queue(*ix).guarantee, above));
        }
        kept
    }

    /// Keeps back what those right below one are guaranteed now; they, if it is not what it was.
    fn keep_anew<'a>(
        &mut self,
        state: &State,
        tree: &'a QueueTree,
        parent: Option<QueueIx>,
    ) -> &'a [QueueIx] {
        let kept = self.kept(state, tree, parent);
        let above = match parent {
            Some(parent) => &mut self.all[parent.at()],
            None => &mut self.whole,
        };
        match std::mem::replace(&mut above.kept, kept) == above.kept {
            true => &[],
            false => tree.right_below(parent),
        }
    }

    /// Gives a queue its part of what those above it may have.
    fn redo(&mut self, state: &State, tree: &QueueTree, ix: QueueIx) {
        let parent = tree.parent(ix);
        let above = self.above(parent);
        let kept = match tree.is_beside_others(ix) {
            true => Cow::Borrowed(&above.kept),
            false => Cow::Owned(kept_for(&state.queue(ix).guarantee, above)),
        };
        let mut own = of_queue(state, ix, above, &kept, parent);
        let written = &state.queue(ix).object.parent;
        if tree.root() == Some(ix) && !written.is_empty() && written != ROOT {
            own.own_warnings.push(format!(
                "spec.parent \"{written}\" of the root is not looked at; remove it"
            ));
        }
        self.all[ix.at()] = own;
    }

    /// What the queues below one are owed together: the root has just that, another one is told where it is
    /// more than its own.
    fn add_up(&mut self, state: &State, tree: &QueueTree, ix: QueueIx) {
        if tree.is_leaf(ix) {
            return;
        }
        let (mut deserved, mut guarantee) = (ResVec::default(), ResVec::default());
        for child in tree.children(ix) {
            deserved.add_saturating(&self.all[child.at()].deserved);
            guarantee.add_saturating(&self.all[child.at()].guarantee);
        }
        let is_root = tree.root() == Some(ix);
        let own = &mut self.all[ix.at()];
        if is_root {
            (own.deserved, own.guarantee) = (deserved.clone(), guarantee.clone());
        }
        let over = |sums: &ResVec, most: &dyn Fn(ResIx) -> i64| -> Vec<String> {
            let over = sums.iter().filter(|(resource, sum)| *sum > most(*resource));
            let told = over.map(|(resource, sum)| {
                let name = state.resources().name(resource);
                let most = most(resource);
                let unit = AmountUnit::of(name, &[most, sum]);
                format!("{name} {} of {}", unit.show(sum), unit.show(most))
            });
            told.collect()
        };
        let over_guarantee = match is_root {
            true => over(&guarantee, &|resource| own.ceiling(resource)),
            false => over(&guarantee, &|resource| own.guarantee.get(resource)),
        };
        let over_deserved = over(&deserved, &|resource| match own.deserved.get(resource) {
            _ if is_root => own.ceiling(resource),
            // It says nothing of that resource.
            0 => UNLIMITED,
            deserved => deserved,
        });
        own.sum_warnings.clear();
        if !over_guarantee.is_empty() {
            own.sum_warnings.push(format!(
                "what queues below it are guaranteed adds up to more than it has itself ({}): the surplus is \
                 not kept back from queues beside it; raise its guarantee or lower theirs",
                over_guarantee.join(", ")
            ));
        }
        if !over_deserved.is_empty() {
            own.sum_warnings.push(format!(
                "what queues below it deserve adds up to more than it has itself ({}): they cannot all have \
                 that at once; raise its deserved or lower theirs",
                over_deserved.join(", ")
            ));
        }
    }
}

/// The whole cluster, as if it were a queue above those that have no other.
fn of_cluster(state: &State) -> OwedAmounts {
    let total = &state.nodes().cluster_total;
    let ceiling = |amount| Ceiling {
        amount,
        bound: Some(Bound::Cluster),
    };
    // Devices are no resources of nodes: how many there are is left to the search for them.
    let names = state.resources();
    let all = (0..names.len()).map(|at| ResIx(at as u16));
    let ceilings = all.map(|ix| match is_of_device_class(names.name(ix)) {
        true => Ceiling::default(),
        false => ceiling(total.get(ix)),
    });
    OwedAmounts {
        ceiling: ceilings.collect(),
        rest: ceiling(0),
        ..OwedAmounts::default()
    }
}

/// What of a guarantee is kept back from others: nothing of a resource of which more is guaranteed than
/// all of them may have.
fn kept_for(guarantee: &ResVec, above: &OwedAmounts) -> ResVec {
    let mut kept = guarantee.clone();
    for (ix, amount) in guarantee.iter() {
        if (1..amount).contains(&above.ceiling(ix)) {
            kept.set(ix, 0);
        }
    }
    kept
}

fn of_queue(
    state: &State,
    ix: QueueIx,
    above: &OwedAmounts,
    kept: &ResVec,
    parent: Option<QueueIx>,
) -> OwedAmounts {
    let queue = state.queue(ix);
    let own = kept_for(&queue.guarantee, above);
    let part = |resource: ResIx| -> Ceiling {
        let most = above.ceiling(resource);
        let kept_for_others = kept.get(resource).saturating_sub(own.get(resource));
        if most == UNLIMITED || kept_for_others <= 0 {
            let bound = match parent {
                // The parent is asked itself.
                Some(_) => None,
                None => above.ceiling_of(resource).bound,
            };
            return Ceiling {
                amount: most,
                bound,
            };
        }
        let free = most.saturating_sub(kept.get(resource)).max(0);
        Ceiling {
            amount: free.saturating_add(own.get(resource)),
            bound: Some(Bound::Guarantees),
        }
    };
    let known = state.resources().len();
    let mut out = OwedAmounts {
        deserved: queue.deserved.clone(),
        guarantee: queue.guarantee.clone(),
        ceiling: (0..known).map(|at| part(ResIx(at as u16))).collect(),
        rest: above.rest,
        ..OwedAmounts::default()
    };
    if parent.is_some() {
        out.rest.bound = None;
    }
    for (resource, limit) in queue.limits(state.resources()) {
        let ceiling = &mut out.ceiling[resource.0 as usize];
        if limit < ceiling.amount {
            *ceiling = Ceiling {
                amount: limit,
                bound: Some(Bound::Capability),
            };
        }
    }
    // In the cluster as a whole nobody may have more than there is; in a tree that is left to the nodes.
    if parent.is_none() && above.rest.bound.is_some() {
        for at in 0..known {
            let resource = ResIx(at as u16);
            let most = out.ceiling(resource);
            if out.deserved.get(resource) > most {
                out.deserved.set(resource, most);
            }
        }
    }
    for (resource, amount) in queue.guarantee.iter() {
        if amount > out.deserved.get(resource) {
            out.deserved.set(resource, amount);
        }
    }
    out.own_warnings = warnings(state, ix, above, parent, &out);
    out
}

/// What of a queue cannot be as it is written, beside its parent or the cluster.
fn warnings(
    state: &State,
    ix: QueueIx,
    above: &OwedAmounts,
    parent: Option<QueueIx>,
    own: &OwedAmounts,
) -> Vec<String> {
    let queue = state.queue(ix);
    let whose = match parent {
        Some(parent) => format!(
            "queue {} above it may have",
            state.queue(parent).object.name
        ),
        None => "the cluster has".to_owned(),
    };
    let show =
        |resource: ResIx, amount: i64| display_amount(state.resources().name(resource), amount);
    let mut warnings = Vec::new();
    for (resource, limit) in queue.limits(state.resources()) {
        let most = above.ceiling(resource);
        let name = state.resources().name(resource);
        if parent.is_some() && limit > most {
            warnings.push(format!(
                "spec.capability.{name} {} is more than the {} that {whose}: it counts as that; lower it \
                 or raise the other",
                show(resource, limit),
                show(resource, most)
            ));
        }
    }
    for (resource, amount) in queue.guarantee.iter() {
        let most = above.ceiling(resource);
        let name = state.resources().name(resource);
        if (1..amount).contains(&most) {
            warnings.push(format!(
                "spec.guarantee.resource.{name} {} is more than the {} that {whose}: nothing is kept back \
                 for it; lower it",
                show(resource, amount),
                show(resource, most)
            ));
        } else if own.ceiling_of(resource).bound == Some(Bound::Capability)
            && amount > own.ceiling(resource)
        {
            warnings.push(format!(
                "spec.guarantee.resource.{name} {} is more than its spec.capability {}: the surplus is \
                 kept back from others and never used; lower it",
                show(resource, amount),
                show(resource, own.ceiling(resource))
            ));
        }
    }
    warnings
}
