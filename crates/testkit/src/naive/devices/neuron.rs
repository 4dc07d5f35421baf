//! Devices of AWS Neuron by the rules alone (spec/04 §23.13): two cores in each.

use pumice_model::object::NodeObject;

use super::super::state::label;
use super::asks::Ask;
use super::instances::{Profile, Slices};
use super::makers::Maker;
use super::vendor_cards::Card;

pub const WORD: &str = "AWSNeuron";
/// Pod annotation with what it has.
pub const LIST: &str = "hami.io/aws-neuron-devices-allocated";

/// The devices of a node that has so many, with so many cores in all.
pub fn devices(node: &str, (count, cores): (i64, i64)) -> Vec<Card> {
    let profile = |name: &str, size: i64, places: &[i64]| Profile {
        name: name.to_owned(),
        memory: size,
        cores: size,
        slices: size,
        places: places.iter().map(|start| (*start, size)).collect(),
    };
    let each = cores / count.max(1);
    assert!(count == 0 || each == 2, "random clusters have two cores");
    let device = |at: i64| Card {
        word: WORD,
        id: format!("{node}-{WORD}-{at}"),
        kind: WORD.to_owned(),
        slots: each,
        memory: each,
        cores: each,
        usable: true,
        slices: Some(Slices {
            profiles: vec![profile("one", 1, &[0, 1]), profile("both", 2, &[0])],
            ..Slices::default()
        }),
        ..Card::default()
    };
    (0..count).map(device).collect()
}

/// What a container asks; `None` when that can never be.
pub fn ask(
    container: usize,
    maker: &'static Maker,
    devices: Option<i64>,
    cores: Option<i64>,
) -> Option<Option<Ask>> {
    let (count, memory, cores) = match (devices, cores.filter(|cores| *cores > 0)) {
        (Some(0), _) | (None, None) => return Some(None),
        (Some(_), Some(_)) => return None,
        (Some(count), None) => (count, None, None),
        (None, Some(cores)) => match cores {
            1 | 2 => (1, Some(cores), Some(cores)),
            _ if cores % 2 == 0 => (cores / 2, None, Some(2)),
            _ => return None,
        },
    };
    Some(Some(Ask {
        container,
        maker,
        count: count as usize,
        memory,
        cores,
        named: None,
        profile: None,
    }))
}

/// A pod asks devices in one container and cores in another.
pub fn is_mixed(asks: &[Ask], next: &Ask) -> bool {
    let is_other =
        |ask: &Ask| ask.maker.word == WORD && ask.cores.is_some() != next.cores.is_some();
    next.maker.word == WORD && asks.iter().any(is_other)
}

/// A bit for each core.
pub fn bits((start, size): (i64, i64)) -> i64 {
    (start..start + size).map(|core| 1 << core).sum()
}

/// Where cores are that have these bits, and how many they are.
pub fn place(bits: i64) -> ((i64, i64), i64) {
    match bits {
        1 => ((0, 1), 1),
        2 => ((1, 1), 1),
        _ => ((0, 2), 2),
    }
}

/// Several devices are next to each other.
pub fn row(cards: &[Card], order: &[usize], count: usize, node: &NodeObject) -> Option<Vec<usize>> {
    let number = |at: usize| -> usize {
        let last = cards[at].id.rsplit('-').next().expect("a number");
        last.parse().expect("a number")
    };
    let instance = label(&node.labels, "node.kubernetes.io/instance-type").unwrap_or_default();
    let is_ring = instance.contains("inf");
    let starts = (0..64).filter(|start| is_ring || start % count == 0);
    let mut rows = starts.map(|start| -> Vec<usize> {
        let is_in = |at: &&usize| (start..start + count).contains(&number(**at));
        let mut row: Vec<usize> = order.iter().filter(is_in).copied().collect();
        row.sort_unstable();
        row
    });
    let may = is_ring || [4, 8, 16].contains(&count);
    rows.find(|row| may && row.len() == count)
}
