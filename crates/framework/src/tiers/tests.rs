//! Each rule against a literal model that looks at all answers at once.

use super::*;

/// All sequences of `0..kinds` of length up to `longest`.
fn sequences(kinds: usize, longest: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..longest {
        last = last
            .iter()
            .flat_map(|s| (0..kinds).map(move |k| [s.as_slice(), &[k]].concat()))
            .collect();
        all.extend(last.clone());
    }
    all
}

/// All ways to cut a sequence into two tiers.
fn two_tiers(s: &[usize]) -> Vec<[Vec<usize>; 2]> {
    (0..=s.len())
        .map(|at| [s[..at].to_vec(), s[at..].to_vec()])
        .collect()
}

#[test]
fn the_first_difference_decides_an_order() {
    let kinds = [Ordering::Less, Ordering::Equal, Ordering::Greater];
    for s in sequences(3, 4) {
        let answers: Vec<_> = s.iter().map(|k| kinds[*k]).collect();
        let different: Vec<_> = answers.iter().filter(|o| o.is_ne()).collect();
        let expected = different.first().map_or(Ordering::Equal, |o| **o);
        assert_eq!(first_difference(answers.into_iter()), expected);
    }
}

#[test]
fn all_any_first_error_and_sum_follow_their_definitions() {
    for s in sequences(2, 5) {
        let bools: Vec<_> = s.iter().map(|k| *k == 1).collect();
        assert_eq!(all(bools.iter().copied()), !bools.contains(&false));
        assert_eq!(any(bools.iter().copied()), bools.contains(&true));
        let results: Vec<_> = s
            .iter()
            .enumerate()
            .map(|(at, k)| if *k == 0 { Ok(()) } else { Err(at) })
            .collect();
        let first = s.iter().position(|k| *k == 1);
        assert_eq!(first_error(results.into_iter()).err(), first);
        let scores: Vec<_> = s
            .iter()
            .enumerate()
            .map(|(at, k)| if *k == 0 { Ok(1.5) } else { Err(at) })
            .collect();
        let expected = first.map_or(Ok(1.5 * s.len() as f64), Err);
        assert_eq!(sum(scores.into_iter()), expected);
        let options: Vec<_> = s
            .iter()
            .enumerate()
            .map(|(at, k)| (*k == 1).then_some(at))
            .collect();
        assert_eq!(first_answer(options.into_iter()), first);
    }
}

#[test]
fn a_vote_is_lost_by_one_reject_unless_an_earlier_tier_has_settled_it() {
    let kinds = [Vote::Reject, Vote::Abstain, Vote::Permit];
    for s in sequences(3, 4) {
        for tiers in two_tiers(&s) {
            let votes: Vec<Vec<Vote>> = tiers
                .iter()
                .map(|t| t.iter().map(|k| kinds[*k]).collect())
                .collect();
            let settled = |tier: &Vec<Vote>| {
                if tier.contains(&Vote::Reject) {
                    Some(false)
                } else if tier.contains(&Vote::Permit) {
                    Some(true)
                } else {
                    None
                }
            };
            let expected = settled(&votes[0]).or(settled(&votes[1])).unwrap_or(true);
            assert_eq!(
                vote(votes.iter().map(|t| t.iter().copied())),
                expected,
                "{votes:?}"
            );
        }
    }
}

#[test]
fn the_first_tier_with_an_answer_decides_about_starving() {
    for s in sequences(2, 4) {
        for tiers in two_tiers(&s) {
            let answers: Vec<Vec<bool>> = tiers
                .iter()
                .map(|t| t.iter().map(|k| *k == 1).collect())
                .collect();
            let expected = answers
                .iter()
                .find(|tier| !tier.is_empty())
                .is_some_and(|tier| !tier.contains(&false));
            assert_eq!(
                starving(answers.iter().map(|t| t.iter().copied())),
                expected
            );
        }
    }
}

/// Answers by number: abstain, or the set whose bits are `k - 1` (of victims 1 and 2), an opinion up to
/// 4, then protection, then a veto.
fn victim_answer(k: usize) -> VictimAnswer<u8> {
    if k == 0 {
        return VictimAnswer::abstains();
    }
    let bits = (k - 1) % 4;
    let allowed = [1u8, 2]
        .into_iter()
        .filter(|v| bits & usize::from(*v) != 0)
        .collect();
    let weight = [Weight::Opinion, Weight::Protection, Weight::Veto][(k - 1) / 4];
    VictimAnswer {
        allowed: Some(allowed),
        weight,
        orders: k.is_multiple_of(3),
    }
}

#[test]
fn victims_are_a_real_intersection_and_protection_is_a_veto() {
    for s in sequences(13, 3) {
        for tiers in two_tiers(&s) {
            let all: Vec<Vec<VictimAnswer<u8>>> = tiers
                .iter()
                .map(|tier| tier.iter().map(|k| victim_answer(*k)).collect())
                .collect();
            let names =
                |answer: &VictimAnswer<u8>, v: u8| answer.allowed.as_ref().unwrap().contains(&v);
            let decided = |tier: &Vec<VictimAnswer<u8>>| {
                let sets: Vec<_> = tier.iter().filter(|a| a.allowed.is_some()).collect();
                let common: Vec<u8> = [1u8, 2]
                    .into_iter()
                    .filter(|v| sets.iter().all(|a| names(a, *v)))
                    .collect();
                let is_final = sets.iter().any(|a| a.orders || a.weight != Weight::Opinion);
                let ordered = sets.iter().any(|a| a.orders);
                let decides = !sets.is_empty() && (is_final || !common.is_empty());
                decides.then_some((common, ordered))
            };
            let (mut allowed, mut ordered) =
                decided(&all[0]).or(decided(&all[1])).unwrap_or_default();
            for veto in all.iter().flatten().filter(|a| a.weight == Weight::Veto) {
                allowed.retain(|v| names(veto, *v));
                ordered |= veto.orders;
            }
            let got = victims(all.iter().cloned());
            assert_eq!(got, AllowedVictims { allowed, ordered }, "{tiers:?}");
        }
    }
}

#[test]
fn who_is_never_a_victim_is_not_named() {
    let mut certain = 0;
    for s in sequences(13, 3) {
        for tiers in two_tiers(&s) {
            let all: Vec<Vec<VictimAnswer<u8>>> = tiers
                .iter()
                .map(|tier| tier.iter().map(|k| victim_answer(*k)).collect())
                .collect();
            let never = |answer: &VictimAnswer<u8>| {
                let refuses = !answer.allowed.as_ref()?.contains(&1);
                refuses.then_some(answer.weight)
            };
            if is_never_victim(all.iter().map(|tier| tier.iter().map(never))) {
                certain += 1;
                let named = victims(all.iter().cloned()).allowed;
                assert!(!named.contains(&1), "{all:?}");
            }
        }
    }
    assert!(certain > 1000, "{certain}");
}

#[test]
fn the_first_tier_with_any_victim_gives_the_union() {
    for s in sequences(4, 4) {
        for tiers in two_tiers(&s) {
            let named = |k: &usize| -> Vec<u8> {
                [1u8, 2]
                    .into_iter()
                    .filter(|v| k & usize::from(*v) != 0)
                    .collect()
            };
            let union =
                |tier: &Vec<usize>| -> BTreeSet<u8> { tier.iter().flat_map(named).collect() };
            let expected = match union(&tiers[0]) {
                empty if empty.is_empty() => union(&tiers[1]),
                some => some,
            };
            let got = union_by_tier(tiers.iter().map(|t| t.iter().map(named)));
            assert_eq!(got.iter().copied().collect::<BTreeSet<_>>(), expected);
            assert_eq!(got.len(), expected.len(), "no repetition");
        }
    }
}
