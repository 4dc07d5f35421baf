//! vGPUs by the rules alone (spec/04 §5 to §9, R6 to R20), for pods of which one container asks
//! for some.

use pumice_conf::{Arguments, Value};
use pumice_model::object::{NodeObject, Pairs, PodObject};

use super::super::cycle::Cycle;
use super::super::state::{Res, Task, World, label};
use super::View;
use super::granted::{Grant, size_of};
use super::shelf::{CardChoice, CardUse, Shelf};

const ALLOCATION: &str = "volcano.sh/vgpu-ids-new";
const NUMBER: &str = "volcano.sh/vgpu-number";
const MEMORY: &str = "volcano.sh/vgpu-memory";
const CORES: &str = "volcano.sh/vgpu-cores";

/// Amounts that no node offers and nobody counts.
pub const PERCENTAGE: &str = "volcano.sh/vgpu-memory-percentage";

/// Partitions of cards named `Splitter`, as the generator's configuration has them: group, and the
/// memory of its positions.
const SPLITTER: [(&str, &[i64]); 3] = [
    ("g1", &[5000, 5000, 5000]),
    ("g2", &[10_000, 5000]),
    ("g3", &[19_000]),
];

#[derive(Clone)]
struct Card {
    id: String,
    index: usize,
    slots: i64,
    memory: i64,
    kind: String,
    mode: String,
    usable: bool,
    used_slots: i64,
    used_memory: i64,
    used_cores: i64,
    units: Vec<(String, usize)>,
    /// Nobody knows which partition is in use.
    closed: bool,
    groups: Vec<String>,
    /// Labels of the pods on it.
    labels: Vec<Pairs>,
}

/// What the container asks.
struct Ask {
    count: usize,
    memory: Option<i64>,
    percentage: Option<i64>,
    cores: i64,
}

impl Ask {
    fn of(pod: &PodObject) -> Option<Self> {
        let containers = pod.facts.containers.iter();
        let container = containers.last().filter(|c| !c.amounts.is_empty())?;
        let amount = |name: &str| {
            let found = container.amounts.iter().find(|(known, _)| known == name);
            found.map(|(_, milli)| milli / 1000)
        };
        Some(Self {
            count: amount(NUMBER)? as usize,
            memory: amount(MEMORY),
            percentage: amount(PERCENTAGE),
            cores: amount(CORES).unwrap_or(0),
        })
    }

    fn need(&self, card: &Card) -> i64 {
        match (self.percentage, self.memory) {
            (Some(percentage), _) => card.memory * percentage / 100,
            (None, Some(memory)) => memory,
            (None, None) => card.memory,
        }
    }
}

/// What counts for the queue of a pod besides cpu and the like: memory and cores of all its cards
/// (spec/04 R29), as far as they are known.
pub fn charge(task: &Task, amounts: &mut Res) {
    let Some(ask) = Ask::of(&task.pod) else {
        return;
    };
    let count = ask.count as i64;
    let mut put = |name: &str, amount: i64| {
        // Cards without a share of their cores say nothing about cores.
        if amount > 0 {
            amounts.insert(name.to_owned(), 1000 * amount);
        }
    };
    if let Some(text) = held(task) {
        let devices = devices_of(text);
        put(MEMORY, devices.iter().map(|device| device.memory).sum());
        put(CORES, devices.iter().map(|device| device.cores).sum());
        return;
    }
    put(CORES, count * ask.cores);
    if let (None, Some(memory)) = (ask.percentage, ask.memory) {
        put(MEMORY, count * memory);
    }
}

/// A pod asks for cards.
pub fn asks(pod: &PodObject) -> bool {
    Ask::of(pod).is_some()
}

/// The cards of a task, as its annotation says it.
fn held(task: &Task) -> Option<&str> {
    label(task.held.as_ref()?, ALLOCATION)
}

/// The cards whose devices an annotation of a pod lists.
pub fn sizes(key: &str, node: &NodeObject) -> Vec<super::Size> {
    let register = label(&node.device_annotations, "volcano.sh/node-vgpu-register");
    let cards = register.unwrap_or_default().split(':');
    let size = |card: &str| {
        let fields: Vec<&str> = card.split(',').collect();
        (
            fields[0].to_owned(),
            fields[2].parse().expect("memory"),
            100,
        )
    };
    let cards = cards.filter(|card| key == ALLOCATION && !card.is_empty());
    cards.map(size).collect()
}

/// What the list of a pod may hold.
pub fn grants(
    key: &str,
    pod: &PodObject,
    node: &NodeObject,
) -> Option<Vec<(Option<usize>, Grant)>> {
    if key != ALLOCATION {
        return None;
    }
    let sizes = sizes(key, node);
    let grant = |ask: Ask| {
        let (memory, percentage, cores) = (ask.memory, ask.percentage, ask.cores);
        let part = move |id: &str| {
            let (all, _) = size_of(&sizes, id);
            let memory = match (percentage, memory) {
                (Some(percentage), _) => all * percentage / 100,
                (None, memory) => memory.unwrap_or(all),
            };
            (memory, cores)
        };
        let count = ask.count;
        (
            None,
            Grant {
                count,
                part: Box::new(part),
            },
        )
    };
    Some(Ask::of(pod).map(grant).into_iter().collect())
}

struct Device {
    id: String,
    unit: Option<(String, usize)>,
    memory: i64,
    cores: i64,
}

fn devices_of(text: &str) -> Vec<Device> {
    let pieces = text.split([';', ':']).filter(|piece| !piece.is_empty());
    pieces
        .map(|piece| {
            let fields: Vec<&str> = piece.split(',').collect();
            let (id, unit) = match fields[0].split_once('[') {
                Some((id, unit)) => {
                    let (group, at) = unit.trim_end_matches(']').split_once('-').expect("a unit");
                    (
                        id,
                        Some((group.to_owned(), at.parse().expect("a position"))),
                    )
                }
                None => (fields[0], None),
            };
            Device {
                id: id.to_owned(),
                unit,
                memory: fields[2].parse().expect("memory"),
                cores: fields[3].parse().expect("cores"),
            }
        })
        .collect()
}

fn unit_memory((group, at): &(String, usize)) -> i64 {
    let group = SPLITTER.iter().find(|(name, _)| name == group);
    group.expect("a group").1[*at]
}

/// The cards of a node, idle.
fn idle_cards(node: &NodeObject) -> Vec<Card> {
    let annotation = |key| label(&node.device_annotations, key).unwrap_or_default();
    let ill: Vec<&str> = annotation("volcano.sh/gpu-unhealthy-ids")
        .split(',')
        .collect();
    let register = annotation("volcano.sh/node-vgpu-register");
    let texts = register.split(':').filter(|text| !text.is_empty());
    texts
        .enumerate()
        .map(|(index, text)| {
            let fields: Vec<&str> = text.split(',').collect();
            let (kind, mode) = (fields[3].to_owned(), fields[5].to_owned());
            let splits = mode != "mig" || kind.contains("Splitter");
            Card {
                id: fields[0].to_owned(),
                index,
                slots: fields[1].parse().expect("slots"),
                memory: fields[2].parse().expect("memory"),
                usable: fields[4] == "true" && splits && !ill.contains(&index.to_string().as_str()),
                kind,
                mode,
                used_slots: 0,
                used_memory: 0,
                used_cores: 0,
                units: Vec::new(),
                closed: false,
                groups: Vec::new(),
                labels: Vec::new(),
            }
        })
        .collect()
}

/// The cards of a node with what is in use of them.
pub fn shelf(world: &World, node: &NodeObject, view: View) -> Box<dyn Shelf> {
    let mut cards = idle_cards(node);
    for task in world.tasks_on(&node.name) {
        if view.counts(task.status) {
            hold(&mut cards, task);
        }
    }
    Box::new(GpuShelf(cards))
}

/// A task has what its annotation says.
fn hold(cards: &mut [Card], task: &Task) {
    let devices = devices_of(held(task).unwrap_or_default());
    // One that the node does not tell may be any of its cards but those the pod has for sure.
    let ids: Vec<String> = cards.iter().map(|card| card.id.clone()).collect();
    for stray in devices.iter().filter(|one| !ids.contains(&one.id)) {
        let has = |card: &Card| devices.iter().any(|one| one.id == card.id);
        for card in cards.iter_mut().filter(|card| !has(card)) {
            take_stray(card, stray, &task.pod);
        }
    }
    for device in devices {
        let Some(card) = cards.iter_mut().find(|card| card.id == device.id) else {
            continue;
        };
        card.used_slots += 1;
        card.used_cores += device.cores;
        card.used_memory += device.unit.as_ref().map_or(device.memory, unit_memory);
        card.units.extend(device.unit);
        card.groups.extend(group_of(&task.pod));
        card.labels.push(task.pod.labels.clone());
    }
}

/// Cards of a node.
struct GpuShelf(Vec<Card>);

impl Shelf for GpuShelf {
    fn uses(&self) -> Vec<CardUse> {
        let of = |card: &Card| CardUse {
            used: card.used_memory,
            all: card.memory,
            holders: card.used_slots,
            given_out: card.usable,
        };
        self.0.iter().map(of).collect()
    }

    fn only(&self, at: usize) -> Box<dyn Shelf> {
        Box::new(Self(vec![self.0[at].clone()]))
    }

    fn at_once(&self, task: &Task) -> usize {
        Ask::of(&task.pod).map_or(0, |ask| ask.count)
    }

    fn piece(&self, cycle: &Cycle, task: &Task) -> Option<Box<dyn Shelf>> {
        let ask = Ask {
            count: 1,
            ..Ask::of(&task.pod)?
        };
        let choice = best(cycle, task, &self.0, &ask)?;
        Some(self.with(&task.having(choice.held)))
    }

    fn choose(&self, cycle: &Cycle, task: &Task, among: Option<&[usize]>) -> Option<CardChoice> {
        let is_among = |card: &Card| among.is_none_or(|set| set.contains(&card.index));
        let mut cards = self.0.clone();
        cards.retain(is_among);
        match super::policy(cycle) {
            "binpack" | "fragmentation" => {
                cards.sort_by_key(|card| (-card.used_memory, card.index));
            }
            "spread" => cards.sort_by_key(|card| (card.used_slots, card.index)),
            _ => cards.sort_by_key(|card| std::cmp::Reverse(card.index)),
        }
        best(cycle, task, &cards, &Ask::of(&task.pod)?)
    }

    fn with(&self, task: &Task) -> Box<dyn Shelf> {
        let mut cards = self.0.clone();
        hold(&mut cards, task);
        Box::new(Self(cards))
    }
}

/// A card that may be one the node does not tell.
fn take_stray(card: &mut Card, stray: &Device, pod: &PodObject) {
    if card.memory < stray.memory {
        return;
    }
    card.used_slots += 1;
    card.used_cores += stray.cores;
    card.used_memory += stray.memory;
    card.closed |= card.mode == "mig";
    card.groups.extend(group_of(pod));
    card.labels.push(pod.labels.clone());
}

pub fn group_of(pod: &PodObject) -> Option<String> {
    let group = pod.group.as_ref()?;
    Some(format!("{}/{group}", pod.namespace))
}

/// The free partition for a need: the smallest that is large enough, the first of those.
fn partition(card: &Card, need: i64) -> Option<(String, usize)> {
    if card.closed {
        return None;
    }
    let largest = SPLITTER.iter().flat_map(|(_, units)| units.iter()).max()?;
    let need = need.min(*largest);
    let current = card.units.first().map(|(group, _)| group);
    let mut best: Option<(i64, (String, usize))> = None;
    for (group, units) in SPLITTER {
        if current.is_some_and(|current| current != group) {
            continue;
        }
        for (at, memory) in units.iter().enumerate() {
            let unit = (group.to_owned(), at);
            let better = best.as_ref().is_none_or(|(known, _)| memory < known);
            if *memory >= need && !card.units.contains(&unit) && better {
                best = Some((*memory, unit));
            }
        }
    }
    best.map(|(_, unit)| unit)
}

/// Those of these cards that a task gets, with its annotation and the score. `None`: it does not fit.
fn best(cycle: &Cycle, task: &Task, cards: &[Card], ask: &Ask) -> Option<CardChoice> {
    let settings = Settings::of(cycle);
    let annotation = |key| label(&task.pod.facts.annotations, key);
    let mut best: Option<(f64, String, Vec<usize>)> = None;
    for mode in ["hami-core", "mps", "mig"] {
        if annotation("volcano.sh/vgpu-mode").is_some_and(|wanted| wanted != mode) {
            continue;
        }
        let found = choose_in_mode(cards, task, (mode, ask, &settings));
        if let Some((text, score, taken)) = found
            && best.as_ref().is_none_or(|(known, ..)| score > *known)
        {
            best = Some((score, text, taken));
        }
    }
    let (score, text, cards) = best?;
    let before = task.pod.facts.containers.len() - 1;
    let text = format!("{}{text}", ";".repeat(before));
    let score = (score + 0.5).floor() as i64 * super::weight(cycle);
    Some(CardChoice {
        held: vec![(ALLOCATION.to_owned(), text)],
        score,
        cards,
    })
}

fn choose_in_mode(
    cards: &[Card],
    task: &Task,
    (mode, ask, settings): (&str, &Ask, &Settings),
) -> Option<(String, f64, Vec<usize>)> {
    let (mut text, mut score, mut taken) = (String::new(), 0.0, Vec::new());
    for card in cards.iter().filter(|card| card.mode == mode) {
        let need = ask.need(card);
        if taken.len() == ask.count || !card.usable || !lets(card, task, settings) {
            continue;
        }
        let unit = partition(card, need).filter(|_| mode == "mig");
        let room = match mode {
            "mig" => unit.is_some(),
            _ => {
                card.memory - card.used_memory >= need
                    && card.used_cores + ask.cores <= 100
                    && !(ask.cores == 100 && card.used_slots > 0)
                    && !(card.used_cores == 100 && ask.cores == 0)
            }
        };
        if !room {
            continue;
        }
        taken.push(card.index);
        let charged = unit.as_ref().map_or(need, unit_memory);
        score += match settings.policy.as_str() {
            "binpack" => 100.0 * (card.used_memory + charged) as f64 / card.memory as f64,
            "spread" if card.used_slots == 0 => 100.0,
            _ => 0.0,
        };
        let unit = unit.map_or(String::new(), |(group, at)| format!("[{group}-{at}]"));
        text.push_str(&format!("{}{unit},NVIDIA,{need},{}:", card.id, ask.cores));
    }
    (taken.len() == ask.count).then_some((text, score, taken))
}

/// Everything but room.
fn lets(card: &Card, task: &Task, settings: &Settings) -> bool {
    fn of<'a>(task: &'a Task, key: &str) -> Option<&'a str> {
        label(&task.pod.facts.annotations, key)
    }
    let annotation = |key: &str| of(task, key);
    let lists = |key: &str| {
        let text = of(task, key)?.to_lowercase();
        let kind = card.kind.to_lowercase();
        let mut patterns = text.split(',').map(str::trim).filter(|p| !p.is_empty());
        Some(patterns.any(|pattern| kind.contains(pattern)))
    };
    let spreads = annotation("volcano.sh/vgpu-podgroup-policy") == Some("spread");
    let indices = annotation("volcano.sh/gpu-index");
    let index = card.index.to_string();
    let obeys = |labels: &Pairs, rule: &Pairs| {
        let has = |(key, value): &(String, String)| label(labels, key) == Some(value);
        rule.iter().all(has)
    };
    // Two pods of one rule.
    let excluded = settings.rules.iter().any(|rule| {
        obeys(&task.pod.labels, rule) && card.labels.iter().any(|labels| obeys(labels, rule))
    });
    !excluded
        && card.used_slots < card.slots
        && lists("nvidia.com/use-gputype") != Some(false)
        && lists("nvidia.com/nouse-gputype") != Some(true)
        && indices.is_none_or(|list| list.split(',').any(|one| one == index))
        && !(spreads && group_of(&task.pod).is_some_and(|group| card.groups.contains(&group)))
}

struct Settings {
    policy: String,
    /// `deviceshare.GPUExclusiveRules`.
    rules: Vec<Pairs>,
}

fn rules(arguments: &Arguments) -> Vec<Pairs> {
    let Some(Value::List(rules)) = arguments.get("deviceshare.GPUExclusiveRules") else {
        return Vec::new();
    };
    let pair = |(key, value): &(String, Value)| match value {
        Value::Str(text) => Some((key.clone(), text.clone())),
        _ => None,
    };
    let rule = |rule: &Value| match rule {
        Value::Map(pairs) => pairs.iter().filter_map(pair).collect(),
        _ => Pairs::new(),
    };
    rules.iter().map(rule).collect()
}

impl Settings {
    fn of(cycle: &Cycle) -> Self {
        let plugin = cycle.plugin("deviceshare");
        Self {
            policy: super::policy(cycle).to_owned(),
            rules: plugin.map_or(Vec::new(), |plugin| rules(&plugin.arguments)),
        }
    }
}
