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

/// What one plugin says about victims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VictimAnswer<V> {
    /// Candidates it would allow; `None` abstains.
    pub allowed: Option<Vec<V>>,
    /// It protects pods (gang, conformance, pdb): its tier's answer is final, even an empty one.
    pub protects: bool,
}

/// Victims (Preemptable, Reclaimable, UnifiedEvictable): the intersection inside a tier, in the
/// order of the first answer. An empty intersection stays empty. A tier that names victims decides;
/// one that names none decides when a protecting plugin answered in it (decision "victims across
/// tiers"), otherwise the next tier is asked.
pub fn victims<V: Clone + Ord, T: Iterator<Item = VictimAnswer<V>>>(
    tiers: impl Iterator<Item = T>,
) -> Vec<V> {
    for tier in tiers {
        let mut chosen: Option<Vec<V>> = None;
        let mut protected = false;
        for answer in tier {
            let Some(allowed) = answer.allowed else {
                continue;
            };
            protected |= answer.protects;
            chosen = Some(match chosen {
                None => allowed,
                Some(before) => {
                    let allowed: BTreeSet<V> = allowed.into_iter().collect();
                    before
                        .into_iter()
                        .filter(|victim| allowed.contains(victim))
                        .collect()
                }
            });
        }
        match chosen {
            Some(victims) if !victims.is_empty() || protected => return victims,
            _ => {}
        }
    }
    Vec::new()
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
