//! What each queue may have and what it is owed (spec/02 §10.2), from what is written on the queues and,
//! without hierarchy, from the size of the cluster.

use pumice_framework::Bound;
use pumice_model::resource::{PODS, ResVec, display_amount};
use pumice_model::{QueueIx, ResIx, State};

use super::tree::{QueueTree, ROOT};
use crate::capability;

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
    /// Of resources beyond those.
    rest: Ceiling,
    /// What is written on the queue and does not count as it is written.
    pub warnings: Vec<String>,
}

/// The most a queue may have of one resource.
#[derive(Clone, Copy)]
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

    fn ceiling_of(&self, ix: ResIx) -> Ceiling {
        *self.ceiling.get(ix.0 as usize).unwrap_or(&self.rest)
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

/// What every queue may have, by queue index.
pub(super) fn entitlements(state: &State, tree: &QueueTree, hierarchy: bool) -> Vec<OwedAmounts> {
    let mut all = vec![OwedAmounts::default(); tree.size()];
    let whole = match hierarchy {
        true => OwedAmounts::default(),
        false => of_cluster(state),
    };
    let tops = tree.top_down().iter().copied();
    let tops = tops.filter(|ix| tree.parent(*ix).is_none() && Some(*ix) != tree.root());
    // Queues that are cut off keep nothing back from others.
    let (cut_off, tops): (Vec<_>, Vec<_>) = tops.partition(|ix| tree.fault(*ix).is_some());
    if let Some(root) = tree.root() {
        let mut own = of_queue(state, root, &whole, &ResVec::default(), None);
        let parent = &state.queue(root).object.parent;
        if !parent.is_empty() && parent != ROOT {
            own.warnings.push(format!(
                "spec.parent \"{parent}\" of the root is not looked at; remove it"
            ));
        }
        all[root.at()] = own;
    }
    divide(state, &tops, &whole, None, &mut all);
    for ix in cut_off {
        divide(state, &[ix], &whole, None, &mut all);
    }
    for ix in tree.top_down() {
        let children = tree.children(*ix);
        if !children.is_empty() {
            let above = all[ix.at()].clone();
            divide(state, children, &above, Some(*ix), &mut all);
        }
    }
    for ix in tree.top_down() {
        if !tree.is_leaf(*ix) {
            add_up(state, *ix, tree, &mut all);
        }
    }
    all
}

/// The whole cluster, as if it were a queue above those that have no other.
fn of_cluster(state: &State) -> OwedAmounts {
    let total = &state.nodes().cluster_total;
    let ceiling = |amount| Ceiling {
        amount,
        bound: Some(Bound::Cluster),
    };
    OwedAmounts {
        ceiling: total
            .as_slice()
            .iter()
            .map(|amount| ceiling(*amount))
            .collect(),
        rest: ceiling(0),
        ..OwedAmounts::default()
    }
}

/// Gives queues with the same parent their parts of what that may have.
fn divide(
    state: &State,
    siblings: &[QueueIx],
    above: &OwedAmounts,
    parent: Option<QueueIx>,
    all: &mut [OwedAmounts],
) {
    let mut kept = ResVec::default();
    for ix in siblings {
        kept.add_saturating(&kept_for(&state.queue(*ix).guarantee, above));
    }
    for ix in siblings {
        all[ix.at()] = of_queue(state, *ix, above, &kept, parent);
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
        warnings: Vec::new(),
    };
    if parent.is_some() {
        out.rest.bound = None;
    }
    for (resource, limit) in capability::limits(state, queue) {
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
    out.warnings = warnings(state, ix, above, parent, &out);
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
    for (resource, limit) in capability::limits(state, queue) {
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

/// What the queues below one are owed together: the root has just that, another one is told where it is
/// more than its own.
fn add_up(state: &State, ix: QueueIx, tree: &QueueTree, all: &mut [OwedAmounts]) {
    let (mut deserved, mut guarantee) = (ResVec::default(), ResVec::default());
    for child in tree.children(ix) {
        deserved.add_saturating(&all[child.at()].deserved);
        guarantee.add_saturating(&all[child.at()].guarantee);
    }
    let is_root = tree.root() == Some(ix);
    let own = &mut all[ix.at()];
    if is_root {
        (own.deserved, own.guarantee) = (deserved.clone(), guarantee.clone());
    }
    let over = |sums: &ResVec, most: &dyn Fn(ResIx) -> i64| -> Vec<String> {
        let over = sums.iter().filter(|(resource, sum)| *sum > most(*resource));
        let told = over.map(|(resource, sum)| {
            let name = state.resources().name(resource);
            let most = display_amount(name, most(resource));
            format!("{name} {} of {most}", display_amount(name, sum))
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
    if !over_guarantee.is_empty() {
        own.warnings.push(format!(
            "what queues below it are guaranteed adds up to more than it has itself ({}): the surplus is \
             not kept back from queues beside it; raise its guarantee or lower theirs",
            over_guarantee.join(", ")
        ));
    }
    if !over_deserved.is_empty() {
        own.warnings.push(format!(
            "what queues below it deserve adds up to more than it has itself ({}): they cannot all have \
             that at once; raise its deserved or lower theirs",
            over_deserved.join(", ")
        ));
    }
}
