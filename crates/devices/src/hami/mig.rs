//! Instances of cards in MIG mode (spec/04 §23.8).
//!
//! A card tells its profiles, and where on it an instance of each may be. An instance is known by
//! its place: [`Partition`] has where it begins as position, and how long it is as group.

use serde_json::Value;

use crate::ledger::{Card, CardSplit, Partition, SplitPlace};
use crate::part::CardPart;
use crate::text::clip;

use super::json_fields::number;

/// Slices that no card comes near.
const MAX_SLICES: i64 = 1024;
/// Profiles that begin so have their first instance at the end of the card.
const FROM_THE_END: [&str; 2] = ["1g.", "3g."];

/// The profiles of an entry of a register, the smallest first. Of those that have as much the first has a
/// place that several tell, so that memory, cores and place say which one an instance is of.
///
/// # Errors
/// Which profile cannot be, and why.
pub fn profiles(entry: &Value) -> Result<Vec<CardSplit>, String> {
    let list = match entry.get("migProfiles") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(list) => list.as_array().ok_or("migProfiles is no list")?,
    };
    let mut all = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let found = profile(value).map_err(|why| format!("migProfiles[{at}]: {why}"))?;
        all.push((number(value, "sliceCount", 0)?, found));
    }
    all.sort_by_key(|(slices, profile)| (profile.memory, *slices));
    let mut all: Vec<CardSplit> = all.into_iter().map(|(_, profile)| profile).collect();
    for at in 1..all.len() {
        let (before, rest) = all.split_at_mut(at);
        let own = &mut rest[0];
        let alike = before.iter();
        let alike = alike.filter(|one| (one.memory, one.cores) == (own.memory, own.cores));
        let taken: Vec<SplitPlace> = alike.flat_map(|one| one.places.iter().copied()).collect();
        own.places.retain(|place| !taken.contains(place));
    }
    Ok(all)
}

fn profile(value: &Value) -> Result<CardSplit, String> {
    let name = value.get("name").and_then(Value::as_str).unwrap_or("");
    let is_odd = |c: char| c.is_control() || "\"\\".contains(c);
    if name.is_empty() || name.contains(is_odd) {
        return Err(format!("name {:?} is none", clip(name)));
    }
    let listed = value.get("placements").and_then(Value::as_array);
    let places = listed.into_iter().flatten().map(place);
    let mut places = places.collect::<Result<Vec<_>, _>>()?;
    places.sort_by_key(|place| place.start);
    if FROM_THE_END.iter().any(|start| name.starts_with(start)) {
        places.reverse();
    }
    Ok(CardSplit {
        name: name.to_owned(),
        memory: number(value, "memoryMB", 1)?,
        cores: number(value, "core", 0)?,
        places,
    })
}

fn place(value: &Value) -> Result<SplitPlace, String> {
    let slices = |key: &str, least: i64| {
        let slices = number(value, key, least)?;
        match u16::try_from(slices).ok().filter(|_| slices <= MAX_SLICES) {
            Some(slices) => Ok(slices),
            None => Err(format!("{key} of a placement is above {MAX_SLICES}")),
        }
    };
    Ok(SplitPlace {
        start: slices("start", 0)?,
        size: slices("size", 1)?,
    })
}

/// The instance at a place.
pub fn at_place(place: SplitPlace) -> Partition {
    Partition {
        group: place.size,
        position: place.start,
    }
}

/// The name of the profile that has an instance at a place, where the card tells of one.
pub fn profile_at(card: &Card, partition: Partition) -> Option<String> {
    let place = SplitPlace {
        start: partition.position,
        size: partition.group,
    };
    let profile = card.splits.iter().find(|one| one.places.contains(&place))?;
    Some(format!("{} @{}", profile.name, place.start))
}

/// Two instances, one of which may be unknown, cannot be at the same time.
pub fn overlap(one: Partition, other: Partition) -> bool {
    let end = |of: Partition| u32::from(of.position) + u32::from(of.group);
    let is_unknown = [one, other].contains(&Partition::UNKNOWN);
    is_unknown || (u32::from(one.position) < end(other) && u32::from(other.position) < end(one))
}

/// The profile of an instance that is charged so much.
pub fn profile_of(card: &Card, instance: Partition, part: CardPart) -> Option<&CardSplit> {
    let is_there = |place: &SplitPlace| at_place(*place) == instance;
    let is_as_much = |one: &CardSplit| (one.memory, one.cores) == (part.memory, part.cores);
    let mut all = card.splits.iter();
    all.find(|one| is_as_much(one) && one.places.iter().any(is_there))
}

/// An instance, as the annotation of a pod tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldInstance {
    container: i64,
    card: String,
    profile: String,
    place: SplitPlace,
}

/// Instances of a pod, and what is wrong with others.
pub fn read(text: &str) -> (Vec<ToldInstance>, Option<String>) {
    let Ok(Value::Array(list)) = serde_json::from_str(text) else {
        return (Vec::new(), Some("is no JSON list".to_owned()));
    };
    let (mut all, mut problem) = (Vec::new(), None);
    for (at, value) in list.iter().enumerate() {
        match told(value) {
            Ok(instance) => all.push(instance),
            Err(why) => problem = problem.or(Some(format!("entry {at}: {why}"))),
        }
    }
    (all, problem)
}

fn told(value: &Value) -> Result<ToldInstance, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    Ok(ToldInstance {
        container: number(value, "containerIndex", 0)?,
        card: text("gpuUUID").to_owned(),
        profile: text("profile").to_owned(),
        place: place(value.get("placement").unwrap_or(&Value::Null))?,
    })
}

/// The next instance of a container on a card, and its profile if the card has it. It is taken off
/// the list.
pub fn next<'c>(
    told: &mut Vec<ToldInstance>,
    container: u16,
    card: &'c Card,
) -> Option<(Partition, Option<&'c CardSplit>)> {
    let is_it = |one: &ToldInstance| one.container == i64::from(container) && *one.card == *card.id;
    let found = told.remove(told.iter().position(is_it)?);
    let profile = card.splits.iter().find(|one| one.name == found.profile);
    Some((at_place(found.place), profile))
}
