//! How much of each card of a vendor a container asks (spec/04 §23.2).

use crate::facts::{ContainerFacts, amount_text};

use super::device_need::DeviceNeed;
use super::kind::{CardKind, KindNames, MemoryUnit, Several};
use super::slices::ProfileAsk;

/// What a card is called.
pub const NOUN: &str = "card";

/// Memory of each card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardMemory {
    /// So many MiB.
    Mib(i64),
    /// Percent of the card.
    Percent(i64),
    /// What a profile of the card has.
    Profile(ProfileAsk),
}

/// Cores of each card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardCores {
    /// All of them.
    All,
    /// In the units of the card.
    Units(i64),
    /// Percent of the card, at least a unit of its own.
    Percent(i64),
}

impl CardCores {
    /// In the units of a card that has so many in all.
    pub fn of(self, all: i64) -> i64 {
        match self {
            Self::All => all,
            Self::Units(units) => units,
            Self::Percent(percent) => (all * percent / 100).max(all.min(1)),
        }
    }
}

/// How much of each card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardShare {
    /// Memory that is asked of each card.
    pub memory: CardMemory,
    /// Cores that are asked of each card.
    pub cores: CardCores,
    /// What the pod names although it gets whole cards.
    pub named: Option<NamedMemory>,
}

/// MiB that a pod names of cards that it gets whole: a card has as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedMemory {
    /// A card may have less by a part of a unit, and if all cards are named together by more.
    pub least: i64,
    /// No card may have more.
    pub most: i64,
}

impl CardShare {
    /// All of a card.
    pub const WHOLE: Self = Self {
        memory: CardMemory::Percent(100),
        cores: CardCores::All,
        named: None,
    };
}

/// What one container asks of one kind of cards.
pub type CardNeed = DeviceNeed<CardShare>;

/// What a container asks of a kind.
///
/// # Errors
/// The resource that cannot be, and what to write.
pub fn ask(
    container: &ContainerFacts,
    kind: &CardKind,
) -> Result<Option<(u32, CardShare)>, String> {
    let names = &kind.names;
    let count = container.whole(&names.count, i64::from(i32::MAX))?;
    if count == Some(0) {
        return Ok(None);
    }
    let percent = container
        .whole(&names.percentage, 100)?
        .filter(|percent| *percent > 0);
    let units = units(container, kind)?.filter(|units| *units > 0);
    let Some(count) = number(container, names, count, NOUN)? else {
        return Ok(None);
    };
    let whole = kind.several == Several::Whole && count > 1;
    let together = matches!(kind.unit, MemoryUnit::Together(..));
    let most = match together || whole {
        true => kind.cores.saturating_mul(count.into()),
        false => kind.cores,
    };
    let cores = container.whole(&names.cores, most)?;
    if kind.cores_in_percent && cores == Some(0) {
        return Err(format!(
            "{} is 0: write an integer from 1 to {most}, or leave it out for all",
            names.cores
        ));
    }
    let named = match units {
        Some(units) => Some(mib(kind, units, count)?),
        None => None,
    };
    if whole {
        return whole_cards(kind, (count, together), (cores, named)).map(Some);
    }
    Ok(Some((count, share(kind, cores, named, percent))))
}

/// Several cards, where these are whole ones (spec/04 §23.2). Cores are those of each, or of all together.
fn whole_cards(
    kind: &CardKind,
    (count, together): (u32, bool),
    (cores, named): (Option<i64>, Option<i64>),
) -> Result<(u32, CardShare), String> {
    let all = match together {
        true => kind.cores.saturating_mul(count.into()),
        false => kind.cores,
    };
    if let Some(part) = cores.filter(|cores| *cores < all) {
        let name = &kind.names.cores;
        return Err(format!(
            "{} {count} takes whole cards: {name} {part} is not possible; leave it out, or ask for \
             one card",
            kind.names.count
        ));
    }
    let named = named.map(|most| NamedMemory {
        least: match kind.unit {
            // HAMi's webhook writes the most that any card has.
            MemoryUnit::Together(..) => 0,
            MemoryUnit::Mib(_) | MemoryUnit::Bytes | MemoryUnit::Sizes(_) => {
                most - kind.unit.mib() + 1
            }
        },
        most,
    });
    let share = CardShare {
        named,
        ..CardShare::WHOLE
    };
    Ok((count, share))
}

fn share(kind: &CardKind, cores: Option<i64>, mib: Option<i64>, percent: Option<i64>) -> CardShare {
    if kind.by_slots {
        return CardShare {
            memory: CardMemory::Mib(0),
            cores: CardCores::Units(0),
            named: None,
        };
    }
    // Memory wins over its percentage.
    let memory = match (mib, percent) {
        (Some(mib), _) => CardMemory::Mib(mib),
        (None, Some(percent)) => CardMemory::Percent(percent),
        (None, None) if kind.default_memory > 0 => CardMemory::Mib(kind.default_memory),
        (None, None) => CardMemory::Percent(100),
    };
    let default = match (memory, kind.unit) {
        // As many cores of a card as memory.
        (CardMemory::Mib(mib), MemoryUnit::Sizes(&[.., all])) => (100 * mib / all).min(100),
        (CardMemory::Percent(100), _) => kind.default_cores_of_whole,
        _ => kind.default_cores,
    };
    let cores = cores.unwrap_or(default);
    CardShare {
        memory,
        cores: match kind.cores_in_percent {
            true => CardCores::Percent(cores),
            false => CardCores::Units(cores),
        },
        named: None,
    }
}

/// MiB of each card.
fn mib(kind: &CardKind, units: i64, count: u32) -> Result<i64, String> {
    let name = &kind.names.memory;
    Ok(match kind.unit {
        MemoryUnit::Mib(each) => units * each,
        MemoryUnit::Bytes if units < 1 << 20 => units << 10,
        MemoryUnit::Bytes => units >> 20,
        MemoryUnit::Sizes(sizes) => {
            let mut larger = sizes.iter().copied().filter(|size| units <= *size);
            larger.next().unwrap_or(units)
        }
        MemoryUnit::Together(each, sizes) => {
            if count == 1 && !sizes.contains(&units) {
                let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
                return Err(format!(
                    "{name} is {units}, which is no part of a card: the unit is {each} MiB, write \
                     one of {}",
                    sizes.join(", ")
                ));
            }
            units.saturating_mul(each) / i64::from(count)
        }
    })
}

/// The number of cards that a container asks, where it has read as `count`; none if it names nothing.
///
/// # Errors
/// It names parts of cards without a number of them: what to write.
pub fn number(
    container: &ContainerFacts,
    names: &KindNames,
    count: Option<i64>,
    noun: &str,
) -> Result<Option<u32>, String> {
    if let Some(count) = count.and_then(|count| u32::try_from(count).ok()) {
        return Ok(Some(count));
    }
    let mut parts = names.parts();
    let Some(asked) = parts.find(|name| container.milli(name) > Some(0)) else {
        return Ok(None);
    };
    let count = &names.count;
    Err(format!(
        "{asked} is asked without {count}: add the number of {noun}s, such as {count}: 1"
    ))
}

/// Units of memory.
fn units(container: &ContainerFacts, kind: &CardKind) -> Result<Option<i64>, String> {
    let (unit, mib, most) = match kind.unit {
        MemoryUnit::Mib(mib) | MemoryUnit::Together(mib, _) => {
            (format!("{mib} MiB"), Some(mib), i64::from(i32::MAX) / mib)
        }
        MemoryUnit::Sizes(sizes) => {
            let most = sizes.last().copied().unwrap_or(i64::from(i32::MAX));
            ("1 MiB".to_owned(), Some(1), most)
        }
        MemoryUnit::Bytes => {
            let unit = "GiB without a letter".to_owned();
            (unit, None, i64::from(i32::MAX) << 20)
        }
    };
    let unit = (unit.as_str(), mib);
    memory(container, &kind.names.memory, unit, most, NOUN)
}

/// Units of memory that a container names: at most so many, of so many MiB where that is told.
///
/// # Errors
/// No card has as much: what to write.
pub fn memory(
    container: &ContainerFacts,
    name: &str,
    (unit, mib): (&str, Option<i64>),
    most: i64,
    noun: &str,
) -> Result<Option<i64>, String> {
    let Some(milli) = container.milli(name).filter(|_| !name.is_empty()) else {
        return Ok(None);
    };
    let units = milli / 1000;
    if milli % 1000 == 0 && (0..=most).contains(&units) {
        return Ok(Some(units));
    }
    let hint = match (milli % (1000 << 20), units >> 20, mib) {
        (0, asked, Some(mib)) if asked > 0 => {
            format!("; for {asked}Mi write {}", (asked + mib - 1) / mib)
        }
        _ => String::new(),
    };
    Err(format!(
        "{name} is {}, which is no amount a {noun} has: the unit is {unit}, write an integer from 1 \
         to {most}{hint}",
        amount_text(milli)
    ))
}
