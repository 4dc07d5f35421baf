//! What tests of several families need: pods, and what a family makes of them.

pub mod laws;

use std::sync::Arc;

use crate::facts::{ContainerFacts, ContainerKind, Pairs, PodFacts};
use crate::family::Family;
use crate::ledger::Tags;
use crate::request::FamilyRequest;

/// Sorted pairs.
pub fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let mut pairs: Pairs = pairs.iter().map(own).collect();
    pairs.sort();
    pairs
}

/// A container with these limits in whole units.
pub fn container(kind: ContainerKind, limits: &[(&str, i64)]) -> ContainerFacts {
    let amount = |(name, units): &(&str, i64)| ((*name).to_owned(), units * 1000);
    let mut amounts: Vec<_> = limits.iter().map(amount).collect();
    amounts.sort();
    ContainerFacts { kind, amounts }
}

/// A pod of these containers.
pub fn pod_of(containers: Vec<ContainerFacts>, annotations: &[(&str, &str)]) -> PodFacts {
    PodFacts {
        containers,
        annotations: pairs(annotations),
        ..PodFacts::default()
    }
}

/// The request of a pod that has one.
pub fn request(family: &dyn Family, pod: &PodFacts) -> Arc<dyn FamilyRequest> {
    match family.request(pod, Tags::default()) {
        Some(Ok(request)) => request,
        Some(Err(refusal)) => panic!("refused: {refusal}"),
        None => panic!("asks nothing"),
    }
}

/// Why a pod cannot be served.
pub fn refusal(family: &dyn Family, pod: &PodFacts) -> String {
    match family.request(pod, Tags::default()) {
        Some(Err(refusal)) => refusal,
        Some(Ok(_)) => panic!("accepted"),
        None => panic!("asks nothing"),
    }
}
