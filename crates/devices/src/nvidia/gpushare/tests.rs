//! gpushare: the examples of spec/04 §20 (rows 31–35), and what goes wrong.

mod bad_input;
mod examples;
mod laws;

use super::*;
use crate::facts::{ContainerFacts, ContainerKind};
use crate::fixture::laws::assert_pieces;
use crate::ledger::Load;
use crate::settings::Policy;

/// Node of the examples: 8 cards with 11178 MiB each.
const N6: &[(&str, i64)] = &[(MEMORY, 89_424), (NUMBER, 8)];

fn memory_mode(policy: Policy) -> Settings {
    Settings {
        configured: true,
        gpu_memory: true,
        policy,
        ..Settings::default()
    }
}

fn number_mode(policy: Policy) -> Settings {
    Settings {
        configured: true,
        gpu_number: true,
        policy,
        ..Settings::default()
    }
}

fn family(settings: &Settings) -> Box<dyn Family> {
    (SPEC.make)(settings, &DeviceConfig::default())
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let own = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    pairs.iter().map(own).collect()
}

fn node(family: &dyn Family, capacity: &[(&str, i64)], unhealthy: Option<&str>) -> NodeCards {
    let annotations = pairs(
        &unhealthy
            .map(|list| (UNHEALTHY, list))
            .into_iter()
            .collect::<Vec<_>>(),
    );
    let milli = |(name, amount): &(&str, i64)| (name.to_string(), amount * 1000);
    let capacity: Vec<(String, i64)> = capacity.iter().map(milli).collect();
    family.cards(&NodeFacts {
        name: "n1",
        labels: &[],
        annotations: &annotations,
        allocatable: &[],
        capacity: &capacity,
        reports: &[],
    })
}

/// A pod with one regular container per list of amounts.
fn pod(containers: &[&[(&str, i64)]], index: Option<&str>) -> PodFacts {
    let kinds: Vec<_> = containers
        .iter()
        .map(|amounts| (ContainerKind::Regular, *amounts))
        .collect();
    PodFacts {
        annotations: pairs(
            &index
                .map(|index| (INDEX, index))
                .into_iter()
                .collect::<Vec<_>>(),
        ),
        ..pod_of(&kinds)
    }
}

fn pod_of(containers: &[(ContainerKind, &[(&str, i64)])]) -> PodFacts {
    let milli = |(name, amount): &(&str, i64)| (name.to_string(), amount * 1000);
    let container = |(kind, amounts): &(ContainerKind, &[(&str, i64)])| ContainerFacts {
        kind: *kind,
        amounts: amounts.iter().map(milli).collect(),
    };
    PodFacts {
        containers: containers.iter().map(container).collect(),
        ..PodFacts::default()
    }
}

fn request(family: &dyn Family, pod: &PodFacts) -> Arc<dyn FamilyRequest> {
    let request = family.request(pod, Tags::default());
    request.expect("a request").expect("a valid one")
}

fn refusal(settings: &Settings, pod: &PodFacts) -> String {
    let request = family(settings).request(pod, Tags::default());
    request.expect("a request").err().expect("a refusal")
}

/// Charges pods that hold these cards: index list and amounts of the only container.
fn load(family: &dyn Family, cards: &mut NodeCards, pods: &[(&str, &[(&str, i64)])]) {
    for (number, (index, amounts)) in pods.iter().enumerate() {
        let records = pairs(&[(INDEX, index)]);
        let held = family.decode(&records, &pod(&[amounts], None), cards);
        assert_eq!(held.problems, Vec::<String>::new());
        cards.charge(
            1000 + number as u32,
            Tags::default(),
            Load::Held,
            &held.allocations,
        );
    }
}

fn index_written(
    request: &dyn FamilyRequest,
    cards: &NodeCards,
    allocations: &Allocations,
) -> String {
    let marks = request.annotations("n1", cards, allocations);
    let keys: Vec<_> = marks.annotations.iter().map(|mark| &*mark.key).collect();
    assert_eq!(keys, [INDEX, TIME], "exactly the two annotations");
    assert_eq!(marks.annotations[1].value, AnnotationValue::Nanos);
    match &marks.annotations[0].value {
        AnnotationValue::Text(text) => {
            let guard = marks.guard.expect("the plugin guesses its pod");
            assert_eq!((guard.waits, &guard.content), (true, text));
            text.clone()
        }
        other => panic!("{other:?}"),
    }
}

/// What is chosen and its score, or the text of the failure and whether evictions help.
fn outcome(
    request: &dyn FamilyRequest,
    cards: &NodeCards,
) -> Result<(String, i64), (String, bool)> {
    assert_pieces(request, cards, LedgerTime::Now);
    let chosen = request.choose(cards, LedgerTime::Now);
    match request.fit(cards, LedgerTime::Now) {
        Ok(score) => {
            let allocations = chosen.expect("what fits is chosen");
            let text = index_written(request, cards, &allocations);
            Ok((text, (score + 0.5).floor() as i64))
        }
        Err(failure) => {
            assert_eq!(chosen, None, "what does not fit is not chosen");
            let failure = &request.failures()[usize::from(failure)];
            Err((failure.text.clone(), failure.evictions_help))
        }
    }
}

#[test]
fn a_pod_that_the_plugin_serves_in_part_is_placed_with_a_warning() {
    for (containers, warned) in [(1, false), (2, true)] {
        let one = ContainerFacts {
            kind: ContainerKind::Regular,
            amounts: vec![(MEMORY.to_owned(), 1_000_000)],
        };
        let pod = PodFacts {
            containers: vec![one; containers],
            ..PodFacts::default()
        };
        let family = (SPEC.make)(&memory_mode(Policy::None), &DeviceConfig::default());
        let request = family
            .request(&pod, Tags::default())
            .expect("asks")
            .expect("can be");
        assert_eq!(request.warning().is_some(), warned);
    }
}
