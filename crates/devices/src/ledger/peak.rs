//! What containers take of a card that do not run at the same time.
//!
//! An init container ends before the next one starts, and all of them before the regular ones. So a card
//! is charged the most that is in use of it at any time, not the sum, as Kubernetes counts the resources of
//! a pod: of regular containers and sidecars together, or of one init container with the sidecars before it.

use smallvec::SmallVec;

use crate::facts::ContainerKind;

use super::{Allocation, Allocations, Portion};

/// Charges init containers of a pod only what of each card the rest of the pod leaves to be charged.
/// `kind` says when the container at a position runs. A part of a card that is split stays charged as it
/// is: whether its place is free again is not known.
pub fn charge_peak(allocations: &mut Allocations, kind: impl Fn(u16) -> ContainerKind) {
    let is_init = |one: &Allocation| {
        kind(one.container) == ContainerKind::Init && one.certain && one.partition.is_none()
    };
    if !allocations.iter().any(is_init) {
        return;
    }
    let asked: SmallVec<[Portion; 4]> = allocations.iter().map(|one| one.charged.clone()).collect();
    let mut levels: SmallVec<[Portion; 4]> = SmallVec::new();
    for at in 0..allocations.len() {
        let Allocation { id, container, .. } = &allocations[at];
        let others = |counts: &dyn Fn(usize, &Allocation) -> bool| {
            let mut sum: Portion = asked[at].iter().map(|_| 0).collect();
            for (other, one) in allocations.iter().enumerate() {
                if one.id == *id && one.certain && counts(other, one) {
                    add(&mut sum, &asked[other]);
                }
            }
            sum
        };
        let mut level = others(&|_, one| !is_init(one));
        if !is_init(&allocations[at]) {
            levels.push(level);
            continue;
        }
        let mut need = others(&|other, one| {
            kind(one.container).runs_beside_init(one.container, *container)
                || (one.container == *container && other < at)
        });
        add(&mut need, &asked[at]);
        for (known, one) in levels.iter().zip(&allocations[..at]) {
            if one.id == *id {
                raise(&mut level, known);
            }
        }
        let before = level.clone();
        raise(&mut level, &need);
        let more = level.iter().zip(&before).map(|(now, before)| now - before);
        allocations[at].charged = more.collect();
        levels.push(level);
    }
}

fn add(sum: &mut Portion, more: &Portion) {
    let all = sum.iter_mut().zip(more);
    all.for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

fn raise(level: &mut Portion, to: &Portion) {
    level
        .iter_mut()
        .zip(to)
        .for_each(|(level, to)| *level = (*level).max(*to));
}
