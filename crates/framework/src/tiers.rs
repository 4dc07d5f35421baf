//! How answers of several plugins become one: a small function per rule (spec/01 §5).
//!
//! Each takes the answers as iterators, in tiers where the rule needs them, and asks no further
//! than the rule has to. Rules whose plugins come later are here already.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A plugin's vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// Yes.
    Permit,
    /// No opinion.
    Abstain,
    /// No.
    Reject,
}

/// The first comparison that is not equal decides (JobOrder, QueueOrder, TaskOrder …).
pub fn first_difference(answers: impl Iterator<Item = Ordering>) -> Ordering {
    answers
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The first failure decides (Predicate, PrePredicate, JobValid, Allocatable …).
///
/// # Errors
/// The first one.
pub fn first_error<E>(mut answers: impl Iterator<Item = Result<(), E>>) -> Result<(), E> {
    answers.try_for_each(|answer| answer)
}

/// The first answer there is (BestNode, TargetJob, gradients).
pub fn first_answer<T>(mut answers: impl Iterator<Item = Option<T>>) -> Option<T> {
    answers.find_map(|answer| answer)
}

/// Everybody must agree; nobody: yes (JobReady, Allocatable, Preemptive …).
pub fn all(mut answers: impl Iterator<Item = bool>) -> bool {
    answers.all(|answer| answer)
}

/// Anybody suffices; nobody: no (Overused).
pub fn any(mut answers: impl Iterator<Item = bool>) -> bool {
    answers.any(|answer| answer)
}

/// Scores add up; the first error voids them (NodeOrder, BatchNodeOrder, HyperNodeOrder).
///
/// # Errors
/// The first one.
pub fn sum<E>(mut answers: impl Iterator<Item = Result<f64, E>>) -> Result<f64, E> {
    answers.try_fold(0.0, |sum, score| Ok(sum + score?))
}

/// Votes by tier: one Reject is final; a tier with a Permit (and no Reject) settles it; nobody: yes.
pub fn vote<T: Iterator<Item = Vote>>(tiers: impl Iterator<Item = T>) -> bool {
    for tier in tiers {
        let mut permitted = false;
        for vote in tier {
            match vote {
                Vote::Reject => return false,
                Vote::Permit => permitted = true,
                Vote::Abstain => {}
            }
        }
        if permitted {
            return true;
        }
    }
    true
}

/// JobStarving: the first tier in which anybody answers decides, by "all"; nobody: no.
pub fn starving<T: Iterator<Item = bool>>(tiers: impl Iterator<Item = T>) -> bool {
    for tier in tiers {
        let mut answered = false;
        for starving in tier {
            if !starving {
                return false;
            }
            answered = true;
        }
        if answered {
            return true;
        }
    }
    false
}

/// How far what a plugin says about victims reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Counts in its tier.
    Opinion,
    /// Counts in its tier, and makes the tier's answer final even if that is nobody (gang, conformance).
    Protection,
    /// Counts whatever decides: who it does not name is not evicted (budgets; shares of queues in
    /// reclaim).
    Veto,
}

/// What one plugin says about victims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VictimAnswer<V> {
    /// Candidates it would allow, each subset of them too; `None` abstains.
    pub allowed: Option<Vec<V>>,
    /// How far that reaches.
    pub weight: Weight,
    /// Two jobs, or queues, can never both be named for each other.
    pub orders: bool,
}

impl<V> VictimAnswer<V> {
    /// An answer of this weight that orders nothing.
    pub fn new(weight: Weight, allowed: Vec<V>) -> Self {
        Self {
            allowed: Some(allowed),
            weight,
            orders: false,
        }
    }

    /// An answer of this weight, from a plugin whose answers put jobs, or queues, in an order.
    pub fn ordering(weight: Weight, allowed: Vec<V>) -> Self {
        Self {
            orders: true,
            ..Self::new(weight, allowed)
        }
    }

    /// No opinion.
    pub fn abstains() -> Self {
        Self {
            allowed: None,
            weight: Weight::Opinion,
            orders: false,
        }
    }
}

/// Whom the plugins allow to be evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedVictims<V> {
    /// In the order of the first answer.
    pub allowed: Vec<V>,
    /// Some answer that counted puts jobs, or queues, in an order.
    pub ordered: bool,
}

/// Victims (Preemptable, Reclaimable, UnifiedEvictable): the intersection inside a tier, in the
/// order of the first answer. An empty intersection stays empty. A tier that names victims decides;
/// one that names none decides when a plugin answered in it that protects (decision "victims across
/// tiers") or orders, otherwise the next tier is asked. Then every veto counts, in whichever tier.
pub fn victims<V: Clone + Ord>(
    tiers: impl Iterator<Item = Vec<VictimAnswer<V>>>,
) -> AllowedVictims<V> {
    let mut decided: Option<AllowedVictims<V>> = None;
    let mut vetoes: Vec<VictimAnswer<V>> = Vec::new();
    for tier in tiers {
        if decided.is_none() {
            decided = decide(&tier);
        }
        vetoes.extend(
            tier.into_iter()
                .filter(|answer| answer.weight == Weight::Veto),
        );
    }
    let mut victims = decided.unwrap_or(AllowedVictims {
        allowed: Vec::new(),
        ordered: false,
    });
    for veto in vetoes {
        if let Some(allowed) = &veto.allowed {
            victims.ordered |= veto.orders;
            keep_common(&mut victims.allowed, allowed);
        }
    }
    victims
}

/// Whether these answers of a tier settle who the victims are.
pub fn decides<V: Clone + Ord>(tier: &[VictimAnswer<V>]) -> bool {
    decide(tier).is_some()
}

/// What a tier decides, if it does.
fn decide<V: Clone + Ord>(tier: &[VictimAnswer<V>]) -> Option<AllowedVictims<V>> {
    let answers = tier
        .iter()
        .filter_map(|answer| Some((answer, answer.allowed.as_ref()?)));
    let mut common: Option<AllowedVictims<V>> = None;
    let mut is_final = false;
    for (answer, allowed) in answers {
        is_final |= answer.orders || answer.weight != Weight::Opinion;
        match &mut common {
            None => {
                common = Some(AllowedVictims {
                    allowed: allowed.clone(),
                    ordered: answer.orders,
                });
            }
            Some(common) => {
                common.ordered |= answer.orders;
                keep_common(&mut common.allowed, allowed);
            }
        }
    }
    common.filter(|victims| is_final || !victims.allowed.is_empty())
}

fn keep_common<V: Ord>(victims: &mut Vec<V>, allowed: &[V]) {
    let allowed: BTreeSet<&V> = allowed.iter().collect();
    victims.retain(|victim| allowed.contains(victim));
}

/// Whether one candidate is named by nobody who could decide: what each plugin is certain to refuse, by the
/// weight of that answer. A veto counts in whichever tier; otherwise the first tier decides that may name
/// the candidate, or whose refusal is final.
pub fn is_never_victim<T: Iterator<Item = Option<Weight>>>(tiers: impl Iterator<Item = T>) -> bool {
    let mut settled = None;
    for tier in tiers {
        let (mut refused, mut is_final) = (false, false);
        for weight in tier.flatten() {
            refused = true;
            match weight {
                Weight::Veto => return true,
                Weight::Protection => is_final = true,
                Weight::Opinion => {}
            }
        }
        if !refused || is_final {
            settled.get_or_insert(refused);
        }
    }
    settled.unwrap_or(true)
}

/// VictimTasks: the union of a tier's answers without repetition; the first tier that names any
/// decides.
pub fn union_by_tier<V: Clone + Ord, T: Iterator<Item = Vec<V>>>(
    tiers: impl Iterator<Item = T>,
) -> Vec<V> {
    for tier in tiers {
        let mut seen = BTreeSet::new();
        let union: Vec<V> = tier
            .flatten()
            .filter(|victim| seen.insert(victim.clone()))
            .collect();
        if !union.is_empty() {
            return union;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
