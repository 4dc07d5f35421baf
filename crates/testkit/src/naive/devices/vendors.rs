//! Cards of HAMi's vendors by the rules alone (spec/04 §23).

use std::fmt::Write as _;

use pumice_conf::{PluginConf, Value};
use pumice_model::object::{NodeObject, Pairs, PodObject};

use super::super::cycle::Cycle;
use super::super::state::{Res, Task, World, label};
use super::asks::{Ask, asks_of, is_bound};
use super::instances::{self, ToldInstance};
use super::makers::{MAKERS, Maker};
use super::sgpu::Terms;
use super::vendor_cards::{Card, idle_cards};
use super::{View, sgpu};
use crate::device_texts::mig_profiles;

/// Vendors that are on.
#[derive(Clone, Copy, Debug, Default)]
pub struct VendorsOn([bool; MAKERS.len()]);

impl VendorsOn {
    /// As the arguments say it.
    pub fn of(plugin: Option<&PluginConf>) -> Self {
        let value = plugin.and_then(|plugin| plugin.arguments.get("deviceshare.HAMiVendors"));
        let names: Vec<&str> = match value {
            Some(Value::List(names)) => names.iter().filter_map(Value::str).collect(),
            _ => Vec::new(),
        };
        Self(std::array::from_fn(|at| {
            names.contains(&MAKERS[at].argument)
        }))
    }

    /// Rows of §23.1.
    pub fn makers(self) -> impl Iterator<Item = &'static Maker> {
        let all = MAKERS.iter().zip(self.0);
        all.filter(|(_, on)| *on).map(|(maker, _)| maker)
    }
}

/// Memory and cores are no amounts of nodes.
pub fn is_uncounted(on: VendorsOn, resource: &str) -> bool {
    on.makers()
        .any(|maker| [maker.memory, maker.cores].contains(&resource))
}

/// What a pod asks can never be.
pub fn refuses(pod: &PodObject, on: VendorsOn) -> bool {
    asks_of(pod, on).is_none()
}

/// Memory and cores of the cards that are given out, where the node does not tell them itself.
pub fn offered(on: VendorsOn, node: &NodeObject) -> Res {
    let mut amounts = Res::new();
    for maker in on.makers() {
        let mut cards = idle_cards(maker, node);
        cards.retain(|card| card.usable && !is_cordoned(card, node));
        let memory: i64 = cards.iter().map(|card| card.memory).sum();
        let cores = |card: &Card| if maker.percent { 100 } else { card.cores };
        let cores: i64 = cards.iter().map(cores).sum();
        for (name, milli) in [
            (maker.memory, memory * 1000 / maker.unit),
            (maker.cores, cores * 1000),
        ] {
            let mut told = node.allocatable.iter().map(|(name, _)| name);
            if !name.is_empty() && milli > 0 && !told.any(|told| told == name) {
                amounts.insert(name.to_owned(), milli);
            }
        }
    }
    amounts
}

fn is_cordoned(card: &Card, node: &NodeObject) -> bool {
    let list = label(&node.device_annotations, "hami.io/device-cordon").unwrap_or_default();
    list.split(',').any(|id| id == card.id)
}

/// A device of a list, with the instance that is told of it.
struct Device<'a> {
    id: &'a str,
    memory: i64,
    cores: i64,
    instance: Option<ToldInstance>,
}

/// The cards whose devices an annotation of a pod lists.
pub fn sizes(key: &str, node: &NodeObject) -> Vec<super::Size> {
    let is_of = |maker: &&Maker| key == format!("hami.io/{}-devices-allocated", maker.list);
    let cards = MAKERS.iter().filter(is_of);
    let cards = cards.flat_map(|maker| idle_cards(maker, node));
    cards
        .map(|card| (card.id, card.memory, card.cores))
        .collect()
}

/// The id of a device of a list, its MiB and cores.
pub fn device(piece: &str) -> (&str, i64, i64) {
    let fields: Vec<&str> = piece.split(',').collect();
    let number = |at: usize| fields[at].parse().expect("a number");
    (fields[0], number(2), number(3))
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
            all.push(Device {
                id,
                memory,
                cores,
                instance: instances::next(&mut told, container, id),
            });
        }
    }
    all
}

/// What a device takes of its card: that of the profile of its instance.
fn taken_by(device: &Device) -> (i64, i64) {
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
    let key = format!("hami.io/{}-devices-allocated", maker.list);
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
        let (memory, cores) = match found.is_empty() {
            false => (
                Some(found.iter().map(|device| taken_by(device).0).sum::<i64>()),
                Some(found.iter().map(|device| taken_by(device).1).sum::<i64>()),
            ),
            true => {
                let each = |ask: &&Ask, one: Option<i64>| one.map(|one| one * ask.count as i64);
                (
                    own.iter()
                        .map(|ask| each(ask, ask.memory.or(ask.named)))
                        .sum(),
                    own.iter().map(|ask| each(ask, ask.cores)).sum(),
                )
            }
        };
        let asked = own.iter().map(|ask| Some(ask.cores? * ask.count as i64));
        let cores = if maker.percent { asked.sum() } else { cores };
        let mut put = |name: &str, milli: i64| {
            if milli > 0 && !name.is_empty() {
                amounts.insert(name.to_owned(), milli);
            }
        };
        put(maker.memory, memory.unwrap_or(0) * 1000 / maker.unit);
        put(maker.cores, cores.unwrap_or(0) * 1000);
    }
}

/// The cards of a node with what is in use of them, and which its node gives out no more.
fn cards(world: &World, node: &NodeObject, view: View, on: VendorsOn) -> Vec<Card> {
    let mut cards: Vec<Card> = on
        .makers()
        .flat_map(|maker| idle_cards(maker, node))
        .collect();
    for card in &mut cards {
        card.usable &= !is_cordoned(card, node);
    }
    for task in world.tasks_on(&node.name) {
        if !view.counts(task.status) {
            continue;
        }
        for maker in on.makers() {
            for device in devices(task, maker) {
                let Some(card) = cards.iter_mut().find(|card| card.id == device.id) else {
                    continue;
                };
                let (memory, cores) = taken_by(&device);
                card.take(&task.pod, memory, cores);
                if let Some(slices) = &mut card.slices {
                    let place = device.instance.map(|(.., place)| place);
                    slices.taken.push(place);
                }
            }
        }
    }
    cards
}

/// §23.3, in any order.
fn fits(card: &Card, ask: &Ask, pod: &PodObject) -> bool {
    let annotation = |key: &str| label(&pod.facts.annotations, key);
    let parts = |key: &str| -> Vec<String> {
        let text = annotation(key).unwrap_or_default();
        let parts = text.split(',').map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    };
    let has_part = |part: &String| card.kind.to_lowercase().contains(&part.to_lowercase());
    let allowed = |keys: Option<(&str, &str)>, matches: &dyn Fn(&String) -> bool| {
        keys.is_none_or(|(yes, no)| {
            let yes = parts(yes);
            (yes.is_empty() || yes.iter().any(matches)) && !parts(no).iter().any(matches)
        })
    };
    let idle_only = annotation("hami.io/gpu-scheduler-policy") == Some("mutex");
    let (memory, cores) = (card.memory_of(ask), card.cores_of(ask));
    let has_room = match card.slices {
        Some(_) => card.offer(ask).is_some(),
        None => {
            card.memory - card.used_memory >= memory
                && (is_online(ask, pod) || has_cores(card, cores))
        }
    };
    card.word == ask.maker.word
        && card.usable
        && allowed(ask.maker.types, &has_part)
        && allowed(ask.maker.uuids, &|id| *id == card.id)
        && ask
            .named
            .is_none_or(|named| is_all_of(card, ask.maker, named))
        && card.used_slots < card.slots
        && !(idle_only && card.used_slots > 0)
        && (ask.maker.word != sgpu::WORD || sgpu::joins(card, ask, &Terms::of(pod)))
        && has_room
}

/// Of several whole cards: memory that is named has to be all of each.
fn is_all_of(card: &Card, maker: &Maker, named: i64) -> bool {
    // HAMi's webhook names the most that any card of Moore Threads has.
    let is_enough = maker.word == "Mthreads" || named - maker.unit < card.memory;
    is_enough && card.memory <= named
}

fn is_online(ask: &Ask, pod: &PodObject) -> bool {
    ask.maker.word == sgpu::WORD && Terms::of(pod).is_online()
}

fn has_cores(card: &Card, cores: i64) -> bool {
    card.cores - card.used_cores >= cores
        && !(card.cores == 100 && cores == 100 && card.used_slots > 0)
        && !(card.used_cores >= card.cores && cores == 0)
}

/// All sets of so many cards, those with earlier ones first. A card that is split may be there several times.
fn ways(cards: &[Card], order: &[usize], count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in order.iter().enumerate() {
        let next = at + usize::from(cards[*first].slices.is_none());
        for rest in ways(cards, &order[next..], count - 1) {
            all.push([vec![*first], rest].concat());
        }
    }
    all
}

/// Cards for each container in turn, the best of those that leave enough to the ones after it.
fn share(
    cards: &[Card],
    asks: &[Ask],
    (pod, policy): (&PodObject, &str),
) -> Option<Vec<Vec<usize>>> {
    let Some((ask, later)) = asks.split_first() else {
        return Some(Vec::new());
    };
    let mut order: Vec<usize> = (0..cards.len()).collect();
    order.retain(|at| fits(&cards[*at], ask, pod));
    match policy {
        "binpack" => order.sort_by_key(|at| (-cards[*at].used_memory, *at)),
        "spread" => order.sort_by_key(|at| (cards[*at].used_slots, *at)),
        _ => order.reverse(),
    }
    if ask.maker.word == sgpu::WORD {
        sgpu::order(cards, ask, &Terms::of(pod), &mut order);
    }
    let mut all = ways(cards, &order, ask.count);
    if is_bound(pod, ask) {
        let numa = |at: &usize| &cards[*at].numa;
        let is_one = |way: &Vec<usize>| way.iter().all(|at| numa(at) == numa(&way[0]));
        all.retain(is_one);
        // Of the NUMA node with the best card first.
        all.sort_by_key(|way| order.iter().position(|at| numa(at) == numa(&way[0])));
    }
    all.into_iter().find_map(|way| {
        let mut cards = cards.to_vec();
        for at in &way {
            if !fits(&cards[*at], ask, pod) {
                return None;
            }
            cards[*at].give(pod, ask)?;
        }
        let rest = share(&cards, later, (pod, policy))?;
        Some([vec![way], rest].concat())
    })
}

/// Cards for a task on a node: its lists, and the score. `None`: it does not fit.
pub fn choose(cycle: &Cycle, task: &Task, node: &NodeObject, view: View) -> Option<(Pairs, i64)> {
    let on = task.on.vendors;
    let asks = asks_of(&task.pod, on)?;
    if asks.is_empty() {
        return Some((Pairs::new(), 0));
    }
    let said = label(&task.pod.facts.annotations, "hami.io/gpu-scheduler-policy");
    let policy = match said {
        Some(said @ ("binpack" | "spread")) => said,
        _ => super::policy(cycle),
    };
    let mut cards = cards(&cycle.world, node, view, on);
    let chosen = share(&cards, &asks, (&task.pod, policy))?;
    let pairs: Vec<(&Ask, &Vec<usize>)> = asks.iter().zip(&chosen).collect();
    let gpus = pairs
        .iter()
        .filter(|(ask, _)| ask.maker.word == "Metax-GPU");
    let gpus: usize = gpus.map(|(ask, _)| ask.count).sum();
    let told = sgpu::rating(node, gpus, policy);
    let mut score = (told + sgpu::score(&cards, &pairs, &Terms::of(&task.pod))) as f64;
    let mut split = Vec::new();
    let mut elements = vec![vec![String::new(); task.pod.facts.containers.len()]; MAKERS.len()];
    for (ask, way) in asks.iter().zip(&chosen) {
        let maker = MAKERS
            .iter()
            .position(|maker| maker.word == ask.maker.word)?;
        for (device, at) in way.iter().enumerate() {
            let card = &mut cards[*at];
            let (memory, cores) = (card.memory_of(ask), card.cores_of(ask));
            let (used, sharers) = (card.used_memory, card.used_slots);
            let (taken, instance) = card.give(&task.pod, ask)?;
            score += match policy {
                "binpack" => 100.0 * (used + taken) as f64 / card.memory as f64,
                "spread" if sharers == 0 => 100.0,
                _ => 0.0,
            };
            if let Some((profile, place)) = instance {
                let of = (ask.container, device);
                split.push(instances::entry(of, &card.id, &profile, place));
            }
            let text = &mut elements[maker][ask.container];
            let word = if ask.maker.percent {
                &card.kind
            } else {
                card.word
            };
            let _ = write!(text, "{},{word},{memory},{cores}:", card.id);
        }
    }
    let mut held = lists(elements);
    if !split.is_empty() {
        let text = format!("[{}]", split.join(","));
        held.insert(0, (instances::KEY.to_owned(), text));
    }
    Some((held, (score + 0.5).floor() as i64 * super::weight(cycle)))
}

/// What is written of the cards of each maker, an element for each container.
fn lists(elements: Vec<Vec<String>>) -> Pairs {
    let mut held = Pairs::new();
    for (maker, elements) in MAKERS.iter().zip(elements) {
        if elements.iter().all(String::is_empty) {
            continue;
        }
        if maker.word == sgpu::WORD {
            held.push(sgpu::written(&elements));
        }
        let text: String = elements
            .iter()
            .map(|element| format!("{element};"))
            .collect();
        if maker.word != "Mthreads" {
            held.push((
                format!("hami.io/{}-devices-to-allocate", maker.list),
                text.clone(),
            ));
        }
        held.push((format!("hami.io/{}-devices-allocated", maker.list), text));
    }
    held
}
