//! What containers take that do not all run at once, by the rules alone (spec/04 §23.2).

use pumice_model::object::{ContainerKind, PodObject};

/// When a container runs.
pub fn kind(pod: &PodObject, container: usize) -> ContainerKind {
    let found = pod.facts.containers.get(container);
    found.map_or(ContainerKind::Regular, |one| one.kind)
}

/// The most of each amount at any time: `parts` are what containers take, those that last all together,
/// or one init container with the sidecars before it.
pub fn peak<const N: usize>(pod: &PodObject, parts: &[(usize, [i64; N])]) -> [i64; N] {
    let sum = |counts: &dyn Fn(usize) -> bool| {
        let mut sum = [0; N];
        for (_, part) in parts.iter().filter(|(container, _)| counts(*container)) {
            for (sum, more) in sum.iter_mut().zip(part) {
                *sum += more;
            }
        }
        sum
    };
    let mut most = sum(&|one| kind(pod, one) != ContainerKind::Init);
    for (init, _) in parts {
        if kind(pod, *init) != ContainerKind::Init {
            continue;
        }
        let then =
            sum(&|one| one == *init || (one < *init && kind(pod, one) == ContainerKind::Sidecar));
        for (most, then) in most.iter_mut().zip(then) {
            *most = then.max(*most);
        }
    }
    most
}
