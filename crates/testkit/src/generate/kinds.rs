//! Containers that do not all run at once: init containers and sidecars that ask devices.

use pumice_model::object::{ContainerFacts, ContainerKind, PodObject};

use super::rng::Rng;

/// When so many containers run; now and then the first of them before the others.
pub fn kinds(rng: &mut Rng, containers: usize) -> Vec<ContainerKind> {
    let mut kinds = vec![ContainerKind::Regular; containers];
    if rng.one_in(4) {
        let before = rng.between(1, containers);
        for kind in &mut kinds[..before] {
            *kind = rng.pick(&[
                ContainerKind::Init,
                ContainerKind::Init,
                ContainerKind::Sidecar,
            ]);
        }
    }
    kinds
}

/// Lets the containers of a pod run like this, which ran all at once: what it requests is less then.
pub fn put_kinds(pod: &mut PodObject, kinds: &[ContainerKind]) {
    for (container, kind) in pod.facts.containers.iter_mut().zip(kinds) {
        container.kind = *kind;
    }
    let is_regular = |one: &ContainerFacts| one.kind == ContainerKind::Regular;
    if !pod.facts.containers.iter().any(is_regular) {
        pod.facts.containers.push(ContainerFacts::default());
    }
    let containers = &pod.facts.containers;
    for (name, amount) in &mut pod.request {
        let of = |one: &ContainerFacts| super::amount(&one.amounts, name);
        let all: i64 = containers.iter().map(of).sum();
        let (mut lasting, mut most) = (0, 0);
        for container in containers {
            match container.kind {
                ContainerKind::Init => most = most.max(lasting + of(container)),
                ContainerKind::Sidecar | ContainerKind::Regular => lasting += of(container),
            }
        }
        *amount += lasting.max(most) - all;
    }
}
