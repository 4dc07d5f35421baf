//! Whether a pod fits, by trying everything: written from spec/04 alone, slow and plain.

use crate::ledger::{LedgerTime, NodeCards};
use crate::nvidia::config::NvidiaConfig;
use crate::nvidia::vgpu::sharing::{SharingMode, mode};
use crate::part::CardPart;

/// What a container asks; memory of each card in MiB, or percent.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub count: usize,
    pub memory: Result<i64, i64>,
    pub cores: i64,
}

#[derive(Clone)]
struct State {
    mode: SharingMode,
    memory: i64,
    slots: i64,
    used: (i64, i64, i64),
    /// Memory of all instances, by group.
    groups: Vec<Vec<i64>>,
    taken: Vec<(usize, usize)>,
}

/// Whether all containers find cards, in order, whatever they choose.
pub fn fits(
    config: &NvidiaConfig,
    cards: &NodeCards,
    view: LedgerTime,
    asks: &[Ask],
    mode: Option<SharingMode>,
) -> bool {
    let states: Vec<State> = (0..cards.cards.len())
        .map(|at| state(config, cards, view, at))
        .collect();
    container(&states, asks, mode)
}

fn state(config: &NvidiaConfig, cards: &NodeCards, view: LedgerTime, at: usize) -> State {
    let card = &cards.cards[at];
    let mut used = (0, 0, 0);
    let mut taken = Vec::new();
    for entry in cards
        .entries(view)
        .filter(|entry| usize::from(entry.card) == at)
    {
        let part = CardPart::of(&entry.held);
        used.0 += part.memory;
        used.1 += part.sharers;
        used.2 += part.cores;
        let unit = entry
            .partition
            .map(|one| (usize::from(one.group), usize::from(one.position)));
        taken.extend(unit);
    }
    let of_model = |model: &&crate::nvidia::config::ModelGeometry| {
        model
            .models
            .iter()
            .any(|name| card.kind.contains(name.as_str()))
    };
    let model = config.geometries.iter().find(of_model);
    let memories = |group: &crate::nvidia::config::Group| -> Vec<i64> {
        let each = group.instances.iter();
        each.flat_map(|i| std::iter::repeat_n(i.memory_mib, usize::from(i.count)))
            .collect()
    };
    State {
        mode: mode(card),
        memory: CardPart::capacity(cards, at).memory,
        slots: CardPart::capacity(cards, at).sharers,
        used,
        groups: model.map_or(Vec::new(), |model| {
            model.groups.iter().map(memories).collect()
        }),
        taken,
    }
}

fn container(states: &[State], asks: &[Ask], mode: Option<SharingMode>) -> bool {
    let Some((ask, rest)) = asks.split_first() else {
        return true;
    };
    SharingMode::ALL
        .into_iter()
        .filter(|of| mode.is_none_or(|mode| mode == *of))
        .any(|of| {
            cards(states.to_vec(), 0, ask.count, ask, of, &|states| {
                container(states, rest, mode)
            })
        })
}

/// Takes `left` of the cards from `at` on, in all ways.
fn cards(
    states: Vec<State>,
    at: usize,
    left: usize,
    ask: &Ask,
    mode: SharingMode,
    then: &dyn Fn(&[State]) -> bool,
) -> bool {
    if left == 0 {
        return then(&states);
    }
    let Some(card) = states.get(at) else {
        return false;
    };
    if card.mode == mode {
        for taken in ways(card, ask) {
            let mut next = states.clone();
            next[at] = taken;
            if cards(next, at + 1, left - 1, ask, mode, then) {
                return true;
            }
        }
    }
    cards(states.clone(), at + 1, left, ask, mode, then)
}

/// What the card may look like with the container on it.
fn ways(card: &State, ask: &Ask) -> Vec<State> {
    let (memory, slots, cores) = card.used;
    let need = ask
        .memory
        .unwrap_or_else(|percent| (card.memory * percent / 100).max(1));
    if slots >= card.slots {
        return Vec::new();
    }
    let with = |charged: i64| State {
        used: (memory + charged, slots + 1, cores + ask.cores),
        ..card.clone()
    };
    if card.mode == SharingMode::Mig {
        let all = card.groups.iter().flatten();
        let largest = all.max().copied().unwrap_or(0);
        if need > card.memory.max(largest) {
            return Vec::new();
        }
        let mut ways = Vec::new();
        for (group, memories) in card.groups.iter().enumerate() {
            let open = card.taken.iter().all(|(known, _)| *known == group);
            for (position, memory) in memories.iter().enumerate() {
                let free = !card.taken.contains(&(group, position));
                if open && free && *memory >= need.min(largest) {
                    let mut way = with(*memory);
                    way.taken.push((group, position));
                    ways.push(way);
                }
            }
        }
        return ways;
    }
    let on_node = card.memory - memory >= need && cores + ask.cores <= 100;
    let alone = ask.cores == 100 && slots > 0;
    let closed = cores == 100 && ask.cores == 0;
    if on_node && !alone && !closed {
        vec![with(need)]
    } else {
        Vec::new()
    }
}
