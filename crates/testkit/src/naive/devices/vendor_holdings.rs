//! What pods have of cards of HAMi's vendors, by the rules alone (spec/04 §23.5).

use std::collections::BTreeMap;

use pumice_model::object::{ContainerKind, NodeObject, PodObject};

use super::super::state::{Res, Task, World, label};
use super::View;
use super::asks::{Ask, asks_at_most, asks_of};
use super::instances::{self, ToldInstance};
use super::makers::Maker;
use super::neuron;
use super::peaks::{kind, peak};
use super::slices;
use super::vendor_cards::{Card, idle_cards};
use super::vendors::{VendorsOn, device, is_cordoned};
use crate::device_texts::mig_profiles;

/// A device of a list, with the instance that is told of it.
struct Device<'a> {
    container: usize,
    id: &'a str,
    memory: i64,
    cores: i64,
    instance: Option<ToldInstance>,
    /// Cores are percent of slices.
    is_sliced: bool,
}

/// The devices of a task, those of all containers.
fn devices<'a>(task: &'a Task, maker: &Maker) -> Vec<Device<'a>> {
    let mut told = match task
        .held
        .as_ref()
        .and_then(|held| label(held, instances::KEY))
    {
        Some(text) if maker.word == "NVIDIA" => instances::told(text),
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for (container, element) in held(task, maker).split(';').enumerate() {
        for piece in element.split(':').filter(|piece| !piece.is_empty()) {
            let (id, memory, cores) = device(piece);
            if maker.word == neuron::WORD && memory == 0 {
                let (place, size) = neuron::place(cores);
                all.push(Device {
                    container,
                    id,
                    memory: size,
                    cores: size,
                    instance: Some((0, String::new(), String::new(), place)),
                    is_sliced: false,
                });
                continue;
            }
            all.push(Device {
                container,
                id,
                memory,
                cores,
                instance: instances::next(&mut told, container, id),
                is_sliced: maker.word == slices::WORD,
            });
        }
    }
    all
}

/// What a device takes of its card: that of the profile of its instance.
fn taken_by(device: &Device) -> (i64, i64) {
    if device.is_sliced {
        return (device.memory, slices::slices(device.cores));
    }
    let Some((_, _, name, _)) = &device.instance else {
        return (device.memory, device.cores);
    };
    let profiles = instances::profiles(&mig_profiles());
    let found = profiles.iter().find(|profile| profile.name == *name);
    found.map_or((device.memory, device.cores), |profile| {
        (profile.memory, profile.cores)
    })
}

fn held<'a>(task: &'a Task, maker: &Maker) -> &'a str {
    let key = maker.allocated();
    let held = task.held.as_ref();
    held.and_then(|held| label(held, &key)).unwrap_or_default()
}

/// What counts for the queue of a pod.
pub fn charge(task: &Task, amounts: &mut Res) {
    let on = task.on.vendors;
    let asks = asks_of(&task.pod, on).unwrap_or_default();
    for maker in on.makers() {
        let own: Vec<&Ask> = asks
            .iter()
            .filter(|ask| ask.maker.word == maker.word)
            .collect();
        if own.is_empty() {
            continue;
        }
        let found = devices(task, maker);
        let [memory, cores] = match found.is_empty() {
            true => expected(&task.pod, &own),
            false => charged_of(&task.pod, &found, &own),
        };
        let mut put = |name: &str, milli: i64| {
            if milli > 0 && !name.is_empty() {
                amounts.insert(name.to_owned(), milli);
            }
        };
        put(maker.memory, memory.unwrap_or(0) * 1000 / maker.unit);
        put(maker.cores, cores.unwrap_or(0) * 1000);
    }
}

/// Memory and cores, as far as they can be told without cards.
fn expected(pod: &PodObject, own: &[&Ask]) -> [Option<i64>; 2] {
    let each = |amount: fn(&Ask) -> Option<i64>| {
        let part = |ask: &&Ask| Some((ask.container, [amount(ask)? * ask.count as i64]));
        let parts: Option<Vec<_>> = own.iter().map(part).collect();
        parts.map(|parts| peak(pod, &parts)[0])
    };
    [each(|ask| ask.memory.or(ask.named)), each(|ask| ask.cores)]
}

/// Memory and cores of the cards that a pod has: of each the most at any time.
fn charged_of(pod: &PodObject, found: &[Device], own: &[&Ask]) -> [Option<i64>; 2] {
    let part = |device: &Device| {
        let (memory, cores) = taken_by(device);
        let mut asks = own.iter();
        let ask = asks.find(|ask| ask.container == device.container);
        let cores = match ask {
            _ if device.is_sliced => device.cores,
            Some(ask) if ask.maker.percent => ask.cores.unwrap_or(100),
            _ => cores,
        };
        (device.container, [memory, cores])
    };
    let mut cards: BTreeMap<&str, Vec<(usize, [i64; 2])>> = BTreeMap::new();
    let mut sum = [0, 0];
    for device in found {
        match device.instance {
            Some(_) => {
                let (_, [memory, cores]) = part(device);
                sum = [sum[0] + memory, sum[1] + cores];
            }
            None => cards.entry(device.id).or_default().push(part(device)),
        }
    }
    for parts in cards.values() {
        let most = peak(pod, parts);
        sum = [sum[0] + most[0], sum[1] + most[1]];
    }
    sum.map(Some)
}

/// The cards of a node with what is in use of them, and which its node gives out no more.
pub fn cards(world: &World, node: &NodeObject, view: View, on: VendorsOn) -> Vec<Card> {
    let mut cards: Vec<Card> = on
        .makers()
        .flat_map(|maker| idle_cards(maker, node))
        .collect();
    for card in &mut cards {
        card.usable &= !is_cordoned(card, node);
    }
    for task in world.tasks_on(&node.name) {
        if view.counts(task.status) {
            hold(&mut cards, task);
        }
    }
    cards
}

/// A task has what its annotations say.
pub fn hold(cards: &mut [Card], task: &Task) {
    let on = task.on.vendors;
    let asks = asks_at_most(&task.pod, on);
    for maker in on.makers() {
        let own = devices(task, maker);
        for ask in asks.iter().filter(|ask| ask.maker.word == maker.word) {
            let told = own
                .iter()
                .filter(|device| device.container == ask.container);
            let told: Vec<&Device> = told.collect();
            hold_untold(cards, &task.pod, (ask, &told));
        }
        let of_maker = cards.iter().filter(|card| card.word == maker.word);
        let ids: Vec<String> = of_maker.map(|card| card.id.clone()).collect();
        for card in cards.iter_mut().filter(|card| card.word == maker.word) {
            let here = own.iter().filter(|device| device.id == card.id);
            let here: Vec<&Device> = here.collect();
            take_all(card, &task.pod, &here);
            let strays = own
                .iter()
                .filter(|device| !ids.iter().any(|id| id == device.id));
            let strays = strays.filter(|stray| could_be(stray, &here));
            for stray in strays.collect::<Vec<_>>() {
                let mut asks = asks.iter();
                let ask = asks
                    .find(|ask| ask.maker.word == maker.word && ask.container == stray.container);
                let Some(ask) = ask.filter(|ask| card.memory_of(ask) <= card.memory) else {
                    continue;
                };
                card.take(&task.pod, card.memory_of(ask), card.cores_of(ask));
                if let Some(slices) = &mut card.slices {
                    slices.taken.push(None);
                }
            }
        }
    }
}

/// A container whose list tells fewer devices than it asks may have the others of any card, as far as that is not one of
/// those told.
fn hold_untold(cards: &mut [Card], pod: &PodObject, (ask, told): (&Ask, &[&Device])) {
    if told.len() >= ask.count {
        return;
    }
    for card in cards.iter_mut().filter(|card| card.word == ask.maker.word) {
        let is_told = told.iter().any(|device| device.id == card.id);
        if is_told && card.slices.is_none() {
            continue;
        }
        card.take(pod, card.memory_of(ask), card.cores_of(ask));
        if let Some(slices) = &mut card.slices {
            slices.taken.push(None);
        }
    }
}

/// A device that no card of the node is may be this one, unless its container has that for sure.
fn could_be(stray: &Device, here: &[&Device]) -> bool {
    here.iter().all(|known| known.container != stray.container)
}

/// A pod has these devices of a card.
fn take_all(card: &mut Card, pod: &PodObject, here: &[&Device]) {
    let is_init = |one: &&&Device| kind(pod, one.container) == ContainerKind::Init;
    if card.slices.is_none() && here.iter().any(|one| is_init(&one)) {
        let part = |one: &&Device| {
            let (memory, cores) = taken_by(one);
            (one.container, [1, memory, cores])
        };
        let parts: Vec<_> = here.iter().map(part).collect();
        let [slots, memory, cores] = peak(pod, &parts);
        card.used_slots += slots;
        card.used_memory += memory;
        card.used_cores += cores;
        return;
    }
    for device in here {
        let (memory, cores) = taken_by(device);
        card.take(pod, memory, cores);
        if let Some(slices) = &mut card.slices {
            let place = device.instance.as_ref().map(|(.., place)| *place);
            slices.taken.push(place);
        }
    }
}
