//! Containers of pods.

use pumice_model::object::{ContainerFacts, ContainerKind, PodObject};

/// Gives a pod containers that ask these amounts, in thousandths.
pub(super) fn put_containers(pod: &mut PodObject, containers: &[Vec<(String, i64)>]) {
    let kind = ContainerKind::Regular;
    for amounts in containers {
        for (name, milli) in amounts {
            match pod.request.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += milli,
                None => pod.request.push((name.clone(), *milli)),
            }
        }
        let amounts = amounts.clone();
        pod.facts.containers.push(ContainerFacts { kind, amounts });
    }
    pod.request.retain(|(_, amount)| *amount > 0);
    pod.request.sort();
}
