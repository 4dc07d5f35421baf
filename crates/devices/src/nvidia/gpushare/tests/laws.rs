//! What holds for every order of placements, releases, restarts and odd annotations.

use proptest::prelude::*;

use super::*;
use crate::part::CardPart;

/// One step: what the pod asks, its wish, and which earlier pod leaves before it comes.
#[derive(Clone, Debug)]
struct Step {
    amount: i64,
    wish: Option<u32>,
    leaves: Option<usize>,
    weight: Load,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let weight = prop_oneof![Just(Load::Held), Just(Load::Releasing)];
    let wish = proptest::option::weighted(0.2, 0..5_u32);
    let leaves = proptest::option::weighted(0.4, 0..8_usize);
    let step = (1..120_i64, wish, leaves, weight);
    let step = step.prop_map(|(amount, wish, leaves, weight)| Step {
        amount,
        wish,
        leaves,
        weight,
    });
    proptest::collection::vec(step, 1..30)
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        Just(Policy::None),
        Just(Policy::Binpack),
        Just(Policy::Spread)
    ]
}

/// Whether some choice of cards would do, told without the code under test.
fn can_fit(cards: &NodeCards, step: &Step, resource: &str, amount: i64) -> bool {
    let allowed = cards.cards.iter().enumerate().filter(|(_, card)| {
        let wished = step.wish.is_none_or(|index| index == card.index);
        card.is_usable() && wished
    });
    let mut allowed = allowed.map(|(at, _)| {
        let used = CardPart::used(cards, at, LedgerTime::Now);
        (
            CardPart::capacity(cards, at).memory - used.memory,
            used.sharers,
        )
    });
    match resource {
        MEMORY => allowed.any(|(free, _)| free >= amount),
        _ => allowed.filter(|(_, pods)| *pods == 0).count() as i64 >= amount,
    }
}

proptest! {
    #[test]
    fn cards_are_never_over_committed_and_a_restart_changes_nothing(
        steps in steps(),
        policy in policy(),
        shares in any::<bool>(),
    ) {
        let (settings, resource) = match shares {
            true => (memory_mode(policy), MEMORY),
            false => (number_mode(policy), NUMBER),
        };
        let family = family(&settings);
        let idle = node(&*family, &[(MEMORY, 400), (NUMBER, 4)], Some("3"));
        let mut cards = idle.clone();
        let mut here: Vec<(u32, Load, PodFacts, Allocations)> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if let Some(at) = step.leaves.filter(|at| *at < here.len()) {
                let (pod, weight, _, allocations) = here.remove(at);
                cards.discharge(pod, weight, &allocations);
            }
            let amount = if shares { step.amount } else { step.amount % 4 + 1 };
            let wish = step.wish.map(|index| index.to_string());
            let pod = pod(&[&[(resource, amount)]], wish.as_deref());
            let Some(Ok(request)) = family.request(&pod, Tags::default()) else {
                prop_assert!(!shares && wish.is_some() && amount > 1, "too few indices");
                continue;
            };
            let fits = request.fit(&cards, LedgerTime::Now).is_ok();
            prop_assert_eq!(fits, can_fit(&cards, step, resource, amount));
            let chosen = request.choose(&cards, LedgerTime::Now);
            prop_assert_eq!(fits, chosen.is_some());
            let Some(allocations) = chosen else { continue };
            let id = number as u32;
            let before = cards.clone();
            cards.charge(id, Tags::default(), step.weight, &allocations);
            let mut undone = cards.clone();
            undone.discharge(id, step.weight, &allocations);
            prop_assert_eq!(&undone, &before);
            for (at, card) in cards.cards.iter().enumerate() {
                let (all, used) = (CardPart::capacity(&cards, at), CardPart::used(&cards, at, LedgerTime::Now));
                prop_assert!(used.memory <= all.memory && used.sharers <= all.sharers);
                prop_assert!(card.is_usable() || !cards.is_in_use(at));
            }
            here.push((id, step.weight, pod, allocations));
        }
        let mut rebuilt = idle;
        for (id, weight, pod, allocations) in &here {
            let request = request(&*family, pod);
            let index = index_written(&*request, &cards, allocations);
            let held = family.decode(&pairs(&[(INDEX, &index)]), pod, &rebuilt);
            prop_assert!(held.problems.is_empty());
            rebuilt.charge(*id, Tags::default(), *weight, &held.allocations);
        }
        for at in 0..cards.cards.len() {
            for view in [LedgerTime::Now, LedgerTime::Future] {
                prop_assert_eq!(rebuilt.used(at, view), cards.used(at, view));
            }
        }
    }

    #[test]
    fn odd_annotations_and_amounts_are_refused_or_counted_never_lost(
        index in "[0-9,x \\-\\PC]{0,12}",
        unhealthy in "[0-9,x \\-\\PC]{0,12}",
        milli in prop_oneof![any::<i64>(), (0..10_i64).prop_map(|n| n * 1000)],
        capacity in prop_oneof![0..12_i64, Just(i64::MAX / 1000)],
        shares in any::<bool>(),
    ) {
        let settings = match shares {
            true => memory_mode(Policy::Binpack),
            false => number_mode(Policy::Binpack),
        };
        let family = family(&settings);
        let mut cards = node(&*family, &[(MEMORY, capacity), (NUMBER, capacity)], Some(&unhealthy));
        let mut asked = pod(&[&[]], Some(&index));
        let resource = if shares { MEMORY } else { NUMBER };
        asked.containers[0].amounts = vec![(resource.to_owned(), milli)];
        let request = family.request(&asked, Tags::default());
        prop_assert_eq!(request.is_none(), milli == 0);
        if let Some(Ok(request)) = request {
            let fits = request.fit(&cards, LedgerTime::Now);
            prop_assert_eq!(fits.is_ok(), request.choose(&cards, LedgerTime::Now).is_some());
            if let Err(failure) = fits {
                prop_assert!(usize::from(failure) < request.failures().len());
                prop_assert!(request.explain("n1", &cards, LedgerTime::Now).expect("a miss").text.contains("n1"));
            }
        }
        let held = family.decode(&pairs(&[(INDEX, &index)]), &asked, &cards);
        let counted = held.allocations.iter().any(|allocation| allocation.card.is_some());
        prop_assert!(milli == 0 || cards.cards.is_empty() || counted || !held.problems.is_empty());
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        cards.discharge(1, Load::Held, &held.allocations);
        prop_assert_eq!(cards.entries(LedgerTime::Now).count(), 0);
    }
}
