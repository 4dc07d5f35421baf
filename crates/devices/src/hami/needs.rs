//! What the containers of a pod ask (spec/04 §23.2, spec/05 §3.3).

use crate::facts::{ContainerFacts, PodFacts, container_name};

use super::device_need::DeviceNeed;
use super::kind::CardKind;
use super::own::{HamiFamily, HamiRules, NeedOf};

/// What all containers ask, in their order; nothing if none asks.
///
/// # Errors
/// The container and the resource that cannot be, and what to write.
pub fn needs<F: HamiFamily>(
    pod: &PodFacts,
    rules: &HamiRules<F>,
) -> Result<Vec<NeedOf<F>>, String> {
    let mut needs = Vec::new();
    for (at, container, of, kind) in named(pod, &rules.kinds) {
        let found = rules.own.ask(pod, container, (of, kind));
        let found =
            found.map_err(|why| format!("{}: {why}", container_name(&pod.containers, at)))?;
        let Some(asked) = found else {
            continue;
        };
        let need = need::<F>((at, container), of, asked);
        if let Some(why) = F::refuses(pod, &rules.kinds, &needs, &need) {
            return Err(why);
        }
        needs.push(need);
    }
    Ok(needs)
}

/// What containers of a pod on a node ask: of one whose request cannot be read all of as many cards as it counts.
pub fn needs_at_most<F: HamiFamily>(pod: &PodFacts, rules: &HamiRules<F>) -> Vec<NeedOf<F>> {
    let mut needs = Vec::new();
    for (at, container, of, kind) in named(pod, &rules.kinds) {
        let asked = match rules.own.ask(pod, container, (of, kind)) {
            Ok(Some(asked)) => asked,
            Ok(None) => continue,
            Err(_) => {
                let count = rules.own.count_at_most(container, kind);
                (count, rules.own.ask_at_most(pod, kind))
            }
        };
        if asked.0 > 0 {
            needs.push(need::<F>((at, container), of, asked));
        }
    }
    needs
}

/// The containers that name a resource of a kind, each with the kind.
fn named<'a>(
    pod: &'a PodFacts,
    kinds: &'a [CardKind],
) -> impl Iterator<Item = (usize, &'a ContainerFacts, usize, &'a CardKind)> {
    let containers = pod.containers.iter().enumerate();
    let all = containers.flat_map(move |(at, container)| {
        let of_kind = move |(of, kind): (usize, &'a CardKind)| (at, container, of, kind);
        kinds.iter().enumerate().map(of_kind)
    });
    all.filter(|(_, container, _, kind)| {
        let mut names = kind.names.all();
        names.any(|name| container.milli(name).is_some())
    })
}

fn need<F: HamiFamily>(
    (at, container): (usize, &ContainerFacts),
    of: usize,
    (count, share): (u32, F::Share),
) -> NeedOf<F> {
    DeviceNeed {
        container: at as u16,
        kind: of as u16,
        runs: container.kind,
        count,
        share,
    }
}
