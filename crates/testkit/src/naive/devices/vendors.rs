//! Cards of HAMi's vendors by the rules alone (spec/04 §23).

use std::fmt::Write as _;

use pumice_conf::{PluginConf, Value};
use pumice_model::object::{NodeObject, Pairs, PodObject};

use super::super::Cycle;
use super::super::state::{Res, Task, World, label};
use super::asks::{Ask, asks_of};
use super::makers::{MAKERS, Maker, Told};
use super::sgpu::{Holder, Terms, Traits};
use super::{View, sgpu};

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

#[derive(Clone, Default)]
pub struct Card {
    pub word: &'static str,
    id: String,
    kind: String,
    slots: i64,
    memory: i64,
    cores: i64,
    pub usable: bool,
    pub used_slots: i64,
    used_memory: i64,
    used_cores: i64,
    /// Of sGPUs: what is told of it, and who is on it.
    pub traits: Traits,
    pub holders: Vec<Holder>,
}

impl Card {
    fn memory_of(&self, ask: &Ask) -> i64 {
        ask.memory.unwrap_or(self.memory)
    }

    fn cores_of(&self, ask: &Ask) -> i64 {
        ask.cores.unwrap_or(self.cores)
    }

    fn take(&mut self, pod: &PodObject, memory: i64, cores: i64) {
        self.used_slots += 1;
        self.used_memory += memory;
        self.used_cores += cores;
        if self.word == sgpu::WORD {
            self.holders.push(Holder {
                pod: format!("{}/{}", pod.namespace, pod.name),
                cores,
                terms: Terms::of(pod),
            });
        }
    }
}

fn idle_cards(maker: &'static Maker, node: &NodeObject) -> Vec<Card> {
    let offered = node.allocatable.iter();
    let has = |list: &[(String, i64)], name: &str| {
        list.iter()
            .find(|(known, _)| known == name)
            .map_or(0, |(_, milli)| milli / 1000)
    };
    if offered
        .filter(|(name, milli)| name == maker.count && *milli > 0)
        .count()
        == 0
    {
        return Vec::new();
    }
    let plain = |id: &str, at: i64, memory: i64, slots: i64| Card {
        word: maker.word,
        id: format!("{}-{id}-{at}", node.name),
        kind: maker.word.to_owned(),
        slots,
        memory,
        cores: maker.all_cores,
        usable: true,
        ..Card::default()
    };
    let capacity = |name: &str| has(&node.device_capacity, name);
    match maker.told {
        Told::Register(key) => {
            let text = label(&node.device_annotations, key).unwrap_or_default();
            let lines = text.split(':').filter(|line| !line.is_empty());
            let card = |line: &str| {
                let fields: Vec<&str> = line.split(',').collect();
                let number = |at: usize| fields[at].parse::<i64>().expect("a number");
                Card {
                    word: maker.word,
                    id: fields[0].to_owned(),
                    kind: fields[4].to_owned(),
                    slots: number(1),
                    memory: number(2),
                    cores: number(3),
                    usable: fields[6] == "true",
                    ..Card::default()
                }
            };
            lines.map(card).collect()
        }
        Told::Capacity(id, cores, mib) => {
            let all = capacity(maker.cores);
            let each = capacity(maker.memory) * mib * cores / all.max(1);
            (0..all / cores)
                .map(|at| plain(id, at, each, 100))
                .collect()
        }
        Told::Count(id, mib) => (0..capacity(maker.count))
            .map(|at| plain(id, at, mib, 1))
            .collect(),
        Told::Sgpus => {
            let card = |(told, traits): (serde_json::Value, Traits)| Card {
                word: maker.word,
                id: told["uuid"].as_str().expect("an id").to_owned(),
                slots: told["totalDevCount"].as_i64().expect("slots"),
                memory: told["totalVRam"].as_i64().expect("memory"),
                cores: told["totalCompute"].as_i64().expect("cores"),
                usable: told["healthy"] == true,
                traits,
                ..Card::default()
            };
            sgpu::entries(node).into_iter().map(card).collect()
        }
    }
}

/// Memory and cores of the cards that are given out, where the node does not tell them itself.
pub fn offered(on: VendorsOn, node: &NodeObject) -> Res {
    let mut amounts = Res::new();
    for maker in on.makers() {
        let mut cards = idle_cards(maker, node);
        cards.retain(|card| card.usable && !is_cordoned(card, node));
        let memory: i64 = cards.iter().map(|card| card.memory).sum();
        let cores: i64 = cards.iter().map(|card| card.cores).sum();
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

/// MiB and cores of each device of a list.
pub fn devices(text: &str) -> Vec<(&str, i64, i64)> {
    let pieces = text.split([';', ':']).filter(|piece| !piece.is_empty());
    let device = |piece| {
        let fields: Vec<&str> = str::split(piece, ',').collect();
        let number = |at: usize| fields[at].parse().expect("a number");
        (fields[0], number(2), number(3))
    };
    pieces.map(device).collect()
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
        let found = devices(held(task, maker));
        let (memory, cores) = match found.is_empty() {
            false => (
                Some(found.iter().map(|(_, memory, _)| memory).sum::<i64>()),
                Some(found.iter().map(|(.., cores)| cores).sum::<i64>()),
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
            for (id, memory, cores) in devices(held(task, maker)) {
                if let Some(card) = cards.iter_mut().find(|card| card.id == id) {
                    card.take(&task.pod, memory, cores);
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
    card.word == ask.maker.word
        && card.usable
        && allowed(ask.maker.types, &has_part)
        && allowed(ask.maker.uuids, &|id| *id == card.id)
        && ask.named.is_none_or(|named| named >= card.memory)
        && card.used_slots < card.slots
        && !(idle_only && card.used_slots > 0)
        && card.memory - card.used_memory >= memory
        && (ask.maker.word != sgpu::WORD || sgpu::joins(card, ask, &Terms::of(pod)))
        && (is_online(ask, pod) || has_cores(card, cores))
}

fn is_online(ask: &Ask, pod: &PodObject) -> bool {
    ask.maker.word == sgpu::WORD && Terms::of(pod).is_online()
}

fn has_cores(card: &Card, cores: i64) -> bool {
    card.cores - card.used_cores >= cores
        && !(card.cores == 100 && cores == 100 && card.used_slots > 0)
        && !(card.used_cores >= card.cores && cores == 0)
}

/// All sets of so many cards, those with earlier ones first.
fn ways(order: &[usize], count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in order.iter().enumerate() {
        for rest in ways(&order[at + 1..], count - 1) {
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
    ways(&order, ask.count).into_iter().find_map(|way| {
        let mut cards = cards.to_vec();
        for at in &way {
            let (memory, cores) = (cards[*at].memory_of(ask), cards[*at].cores_of(ask));
            cards[*at].take(pod, memory, cores);
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
    let mut elements = vec![vec![String::new(); task.pod.facts.containers.len()]; MAKERS.len()];
    for (ask, way) in asks.iter().zip(&chosen) {
        let maker = MAKERS
            .iter()
            .position(|maker| maker.word == ask.maker.word)?;
        for at in way {
            let card = &mut cards[*at];
            let (memory, cores) = (card.memory_of(ask), card.cores_of(ask));
            score += match policy {
                "binpack" => 100.0 * (card.used_memory + memory) as f64 / card.memory as f64,
                "spread" if card.used_slots == 0 => 100.0,
                _ => 0.0,
            };
            card.take(&task.pod, memory, cores);
            let text = &mut elements[maker][ask.container];
            let _ = write!(text, "{},{},{memory},{cores}:", card.id, card.word);
        }
    }
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
    Some((held, (score + 0.5).floor() as i64 * super::weight(cycle)))
}
