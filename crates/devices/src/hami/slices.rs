//! Slices of Enflame's GCUs (spec/04 §23.14).
//!
//! A card has slices and memory, and profiles say how much of both a container gets. A container names the size of a
//! profile, or memory and cores, of which the smallest profile has as much. The profiles of a card stand where those of
//! cards in MIG mode do, but without places: only how much is left counts.

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use crate::binding::{Annotation, AnnotationValue};
use crate::facts::ContainerFacts;
use crate::ledger::{Allocation, Card, CardSplit, Portion};
use crate::part::CardPart;
use crate::text::grouped;

use super::check::Taken;
use super::kind::{CardKind, Marking};
use super::own::HamiRequest;
use super::share::{self, CardCores, CardMemory, CardNeed, CardShare};
use super::variant::{CardMode, CardVariant};
use super::vendor_cards::{PodOnCards, VendorCards};
use super::wire::ReadDevice;

/// MiB in a unit of memory.
pub const GIB: i64 = 1024;

/// Pod annotation: the device plugin has served the pod.
pub const ASSIGNED: &str = "enflame.com/gcu-assigned";
/// Pod annotation: when its card was chosen.
pub const TIME: &str = "enflame.com/gcu-assigned-time";
/// Pod annotation: what each container gets, by name.
const CONTAINERS: &str = "assigned-containers";
/// Pod annotations: index of its card.
const INDICES: [&str; 2] = [
    "enflame.com/gcu-assigned-index",
    "enflame.com/gcu-assigned-id",
];
/// Pod annotation: minor number of its card.
const MINOR: &str = "enflame.com/gcu-assigned-minor";
/// Pod annotation: slices of the first container.
const SIZE: &str = "enflame.com/gcu-request-size";

/// Which profile a container asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileAsk {
    /// The smallest with so many slices.
    Size(u32),
    /// The smallest that has so much.
    Least {
        /// GiB, or MiB where that is more than twice what the largest profile has in GiB; 0 for any.
        units: u32,
        /// Percent of the slices of the largest profile; 0 for any.
        percent: u8,
    },
}

impl ProfileAsk {
    /// Units of memory that are asked, in MiB, where the largest profile has so many.
    fn mib(self, largest: i64) -> i64 {
        let Self::Least { units, .. } = self else {
            return 0;
        };
        let gib = match i64::from(units) > 2 * largest / GIB {
            true => units.div_ceil(GIB as u32),
            false => units,
        };
        i64::from(gib) * GIB
    }

    /// The profile of a card.
    fn of(self, profiles: &[CardSplit]) -> Option<&CardSplit> {
        let largest = profiles.last()?;
        let mib = self.mib(largest.memory);
        profiles.iter().find(|one| match self {
            Self::Size(size) => one.cores == i64::from(size),
            Self::Least { percent, .. } => {
                one.memory >= mib && percent_of(one.cores, profiles) >= i64::from(percent)
            }
        })
    }

    /// The resource that is asked.
    pub fn resource(self, kind: &CardKind) -> &str {
        match self {
            Self::Size(_) => &kind.names.count,
            Self::Least { units: 0, .. } => &kind.names.cores,
            Self::Least { .. } => &kind.names.memory,
        }
    }
}

impl CardShare {
    /// What a profile has.
    fn of_profile(ask: ProfileAsk) -> Self {
        Self {
            memory: CardMemory::Profile(ask),
            cores: CardCores::All,
            named: None,
        }
    }

    /// The profile that is asked, if one is.
    pub fn profile(self) -> Option<ProfileAsk> {
        match self.memory {
            CardMemory::Profile(ask) => Some(ask),
            CardMemory::Mib(_) | CardMemory::Percent(_) => None,
        }
    }
}

/// Percent of the slices of the largest of all profiles, rounded up as HAMi writes it into lists.
fn percent_of(slices: i64, profiles: &[CardSplit]) -> i64 {
    let all = profiles.last().map_or(1, |largest| largest.cores);
    (slices * 100 + all - 1).div_euclid(all.max(1))
}

/// What a container asks of cards.
///
/// # Errors
/// The resource that cannot be, and what to write.
pub fn ask(
    container: &ContainerFacts,
    kind: &CardKind,
) -> Result<Option<(u32, CardShare)>, String> {
    let names = &kind.names;
    let most = i64::from(i32::MAX);
    let size = container.whole(&names.count, most)?;
    let percent = container.whole(&names.cores, 100)?;
    let unit = ("1 GiB, or 1 MiB from thousands on", Some(1));
    let units = share::memory(container, &names.memory, unit, most, share::NOUN)?;
    let zero = [
        (size, &names.count, "the slices of a profile"),
        (units, &names.memory, "GiB"),
        (percent, &names.cores, "percent of a card"),
    ];
    if let Some((_, name, what)) = zero.iter().find(|(amount, ..)| *amount == Some(0)) {
        return Err(format!(
            "{name} is 0: write {what}, 1 or more, or leave it out"
        ));
    }
    let ask = match (size, units, percent) {
        (None, None, None) => return Ok(None),
        (Some(size), None, None) => ProfileAsk::Size(u32::try_from(size).unwrap_or(u32::MAX)),
        (Some(_), units, _) => {
            let other = match units {
                Some(_) => &names.memory,
                None => &names.cores,
            };
            return Err(format!(
                "asks {} and {other}: name the size of a profile, or memory and cores of which the smallest profile \
                 has as much, not both",
                names.count
            ));
        }
        (None, units, percent) => ProfileAsk::Least {
            units: u32::try_from(units.unwrap_or(0)).unwrap_or(u32::MAX),
            percent: u8::try_from(percent.unwrap_or(0)).unwrap_or(100),
        },
    };
    Ok(Some((1, CardShare::of_profile(ask))))
}

/// How many cards a container has at most whose request cannot be read.
pub fn at_most(container: &ContainerFacts, kind: &CardKind) -> u32 {
    let mut names = kind.names.all();
    u32::from(names.any(|name| container.milli(name) > Some(0)))
}

/// What a profile takes of a card, if the card has one that will do.
pub fn part(ask: ProfileAsk, card: &Card) -> Option<CardPart> {
    let profile = ask.of(&card.splits)?;
    Some(CardPart {
        memory: profile.memory,
        sharers: 1,
        cores: profile.cores,
    })
}

/// What a list tells of a part of a card.
fn listed(part: CardPart, card: &Card) -> CardPart {
    CardPart {
        cores: percent_of(part.cores, &card.splits),
        ..part
    }
}

impl PodOnCards<'_> {
    /// A container of the pod has some of another card: the device plugin is told one card of a pod.
    pub fn is_elsewhere(&self, need: &CardNeed, at: usize, own: &[Taken]) -> bool {
        let is_other = |one: &Taken| {
            let card = usize::from(one.card);
            card != at && CardVariant::of(&self.cards.cards[card]).kind == need.kind
        };
        need.share.profile().is_some() && own.iter().any(is_other)
    }

    /// What a list tells of a part of a card where a profile is asked.
    pub fn listed(&self, need: &CardNeed, at: usize, part: CardPart) -> Option<CardPart> {
        need.share.profile()?;
        Some(listed(part, &self.cards.cards[at]))
    }

    /// What a container has of a card on which no profile will do any more: what the list tells, as far as the card
    /// has it, and at least what is asked. Nothing where a profile will do; else what is charged, what is listed, and
    /// what is wrong.
    pub fn as_told(
        &self,
        need: &CardNeed,
        at: usize,
        device: &ReadDevice,
    ) -> Option<(Portion, Portion, String)> {
        let ask = need.share.profile()?;
        let card = &self.cards.cards[at];
        let all = CardPart::capacity(self.cards, at);
        let largest = card.splits.last()?;
        if ask.of(&card.splits).is_some() {
            return None;
        }
        let told = device.amounts();
        let told = told.filter(|(memory, percent)| *memory > 0 && *percent > 0);
        let Some((memory, percent)) = told else {
            let part = CardPart { sharers: 1, ..all };
            let why = "has a profile that the card does not tell, and no amounts: all of the card counts as used";
            return Some((part.portion(), listed(part, card).portion(), why.to_owned()));
        };
        let cores = match ask {
            ProfileAsk::Size(size) => i64::from(size),
            ProfileAsk::Least { percent: least, .. } => {
                (percent.max(least.into()) * largest.cores / 100).max(1)
            }
        };
        let part = CardPart {
            memory: memory.max(ask.mib(largest.memory)).min(all.memory),
            sharers: 1,
            cores: cores.min(all.cores),
        };
        let why = "has a profile that the card does not tell: its amounts count".to_owned();
        Some((part.portion(), listed(part, card).portion(), why))
    }

    /// Why no profile of a card will do.
    pub fn no_profile(&self, ask: ProfileAsk, at: usize) -> String {
        let profiles = &self.cards.cards[at].splits;
        let asked = match ask {
            ProfileAsk::Size(size) => format!("no profile of size {size}"),
            ProfileAsk::Least { percent, .. } => {
                let largest = profiles.last().map_or(0, |largest| largest.memory);
                let mib = grouped(ask.mib(largest));
                match percent {
                    0 => format!("no profile has {mib} MiB"),
                    _ => format!("no profile has {mib} MiB and {percent} % of the cores"),
                }
            }
        };
        let all: Vec<&str> = profiles.iter().map(name).collect();
        let slices = CardPart::capacity(self.cards, at).cores;
        format!("{asked}; {slices} slices, profiles {}", all.join(", "))
    }

    /// How many slices are missing.
    pub fn too_few_slices(&self, need: &CardNeed, at: usize, own: &[Taken]) -> String {
        let all = CardPart::capacity(self.cards, at).cores;
        let free = (all - self.used(at, own).cores).max(0);
        format!("{} slices asked, {free} free", self.part(need, at).cores)
    }
}

/// A profile with its name and the number that the device plugin knows it by.
pub fn profile(name: &str, id: &str, (slices, memory): (i64, i64)) -> CardSplit {
    CardSplit {
        name: format!("{name} {id}"),
        memory,
        cores: slices,
        places: Vec::new(),
    }
}

/// The name of a profile.
fn name(profile: &CardSplit) -> &str {
    profile.name.split_once(' ').map_or("", |(name, _)| name)
}

/// The name of the profile that somebody has who holds so much of a card.
pub fn profile_name(card: &Card, held: &[i64]) -> Option<String> {
    if CardVariant::of(card).mode != CardMode::Slices {
        return None;
    }
    let held = CardPart::of(held);
    let is_it = |one: &&CardSplit| (one.memory, one.cores) == (held.memory, held.cores);
    card.splits
        .iter()
        .find(is_it)
        .map(|one| name(one).to_owned())
}

/// What a container gets, as the device plugin reads it.
#[derive(Serialize)]
struct AssignedSlices<'a> {
    allocated: bool,
    #[serde(rename = "profileID")]
    profile_id: &'a str,
    #[serde(rename = "profileName")]
    profile_name: &'a str,
    request: i64,
}

/// Containers of a pod, as an object of JSON.
struct ByName<'a>(&'a [(String, AssignedSlices<'a>)]);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, slices)| (name, slices)))
    }
}

/// What the device plugin reads of a pod that has parts of a card.
pub fn marks(pod: &HamiRequest<VendorCards>, has: &Marking) -> Vec<Annotation> {
    let text = AnnotationValue::Text;
    let mut marks = vec![
        Annotation::new(ASSIGNED, text("false".to_owned())),
        Annotation::new(TIME, AnnotationValue::NanoSequence),
    ];
    let parts = has.own.iter().filter_map(|one| {
        let card = has.cards.cards.get(usize::from(one.card?))?;
        let asked = CardPart::of(&one.asked);
        let mut profiles = card.splits.iter();
        let profile = profiles.find(|profile| {
            let percent = percent_of(profile.cores, &card.splits);
            (profile.memory, percent) == (asked.memory, asked.cores)
        })?;
        Some((*one, card, profile))
    });
    let parts: SmallVec<[(&Allocation, &Card, &CardSplit); 2]> = parts.collect();
    let containers = parts.iter().map(|(one, _, profile)| {
        let (profile_name, profile_id) = profile.name.split_once(' ').unwrap_or_default();
        let slices = AssignedSlices {
            allocated: false,
            profile_id,
            profile_name,
            request: profile.cores,
        };
        (pod.name(one.container), slices)
    });
    let mut containers: SmallVec<[(String, AssignedSlices<'_>); 2]> = containers.collect();
    containers.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    let containers = serde_json::to_string(&ByName(&containers)).unwrap_or_default();
    marks.push(Annotation::new(CONTAINERS, text(containers)));
    if let Some((_, card, profile)) = parts.first() {
        for key in INDICES {
            marks.push(Annotation::new(key, text(card.index.to_string())));
        }
        marks.push(Annotation::new(MINOR, text(card.details.get().to_string())));
        marks.push(Annotation::new(SIZE, text(profile.cores.to_string())));
    }
    marks
}
