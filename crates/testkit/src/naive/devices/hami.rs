//! NPUs of HAMi by the rules alone (spec/05 §3, P-2, P-3, P-13, P-14).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, Pairs, PodObject};

use super::super::cycle::Cycle;
use super::super::state::{Task, World, label};
use super::View;
use super::hami_kinds::{KINDS, Kind};
use super::preference::{self, Preference, Rank};
use super::shelf::{CardChoice, CardUse, Shelf};

pub const PREFIX: &str = "huawei.com/";

/// Memory or cores of a chip: no node offers them.
pub fn is_part_of_chip(resource: &str) -> bool {
    KINDS.iter().any(|kind| {
        let rest = resource.strip_prefix(PREFIX);
        let rest = rest.and_then(|rest| rest.strip_prefix(kind.name));
        matches!(rest, Some("-memory" | "-core"))
    })
}

/// What one container asks of one type.
pub struct Ask {
    kind: &'static Kind,
    count: usize,
    /// MiB of each chip; none is all.
    pub memory: Option<i64>,
    /// Percent.
    pub core: i64,
}

/// Limited by hami-core instead of templates.
pub fn is_soft(pod: &PodObject) -> bool {
    label(&pod.facts.annotations, "huawei.com/vnpu-mode") == Some("hami-core")
}

/// What a pod asks, in the order of its containers; none when that can never be.
fn asks_of(pod: &PodObject) -> Option<Vec<Ask>> {
    let soft = is_soft(pod);
    if names_unknown_type(pod) {
        return None;
    }
    let containers = pod.facts.containers.iter();
    let mut asks = Vec::new();
    for container in containers.filter(|one| one.kind == ContainerKind::Regular) {
        for kind in &KINDS {
            asks.extend(ask_of(container, kind, soft)?);
        }
    }
    let refused = !asks.is_empty() && preference::refuses(pod);
    (!refused).then_some(asks)
}

/// What a container asks of a type; `None` when that can never be.
pub fn ask_of(container: &ContainerFacts, kind: &'static Kind, soft: bool) -> Option<Option<Ask>> {
    let amount = |name: &str| container.milli(name).map(|milli| milli / 1000);
    let name = format!("{PREFIX}{}", kind.name);
    let memory = amount(&format!("{name}-memory"));
    let core = amount(&format!("{name}-core")).unwrap_or(0);
    let Some(count) = amount(&name) else {
        return (memory.unwrap_or(0) <= 0 && core <= 0).then_some(None);
    };
    if count == 0 {
        return Some(None);
    }
    let memory = match memory {
        Some(memory) if !(1..=kind.capacity).contains(&memory) => return None,
        Some(memory) if !soft => Some(kind.round_up(memory)),
        memory => memory,
    };
    let parted = memory.is_some_and(|memory| memory != kind.memory);
    if core > 100 || (!soft && (core > 0 || (count > 1 && parted))) {
        return None;
    }
    Some(Some(Ask {
        kind,
        count: count as usize,
        memory,
        core,
    }))
}

/// What a pod asks can never be.
pub fn refuses(pod: &PodObject) -> bool {
    asks_of(pod).is_none()
}

/// A pod asks for chips.
pub fn asks(pod: &PodObject) -> bool {
    asks_of(pod).is_some_and(|asks| !asks.is_empty())
}

/// A pod asks for a type that nobody knows.
fn names_unknown_type(pod: &PodObject) -> bool {
    let amounts = pod.facts.containers.iter().flat_map(|one| &one.amounts);
    let mut names = amounts.filter(|(_, amount)| *amount > 0);
    names.any(|(name, _)| {
        let is = |kind: &Kind| name.strip_prefix(PREFIX) == Some(kind.name);
        let known = is_part_of_chip(name) || KINDS.iter().any(is);
        name.starts_with("huawei.com/Ascend") && !known
    })
}

/// A pod names chips, or something of them.
pub fn names(pod: &PodObject) -> bool {
    let mut amounts = pod.facts.containers.iter().flat_map(|one| &one.amounts);
    amounts.any(|(name, amount)| *amount > 0 && name.starts_with("huawei.com/Ascend"))
}

#[derive(Clone, Default)]
struct Chip {
    kind: &'static str,
    /// Among all chips of the node.
    place: usize,
    id: String,
    index: i64,
    slots: i64,
    memory: i64,
    healthy: bool,
    numa: i64,
    /// Chips of one ring have the same.
    ring: Option<i64>,
    used_slots: i64,
    used_memory: i64,
    used_core: i64,
    /// AI cores and AI CPUs of templates.
    used_ai: (i64, i64),
    /// Pods limited by hami-core, and by templates.
    soft: bool,
    hard: bool,
}

/// The chips that a node tells of under a type.
fn register(node: &NodeObject, kind: &str) -> Vec<serde_json::Value> {
    let key = format!("hami.io/node-register-{kind}");
    let text = label(&node.device_annotations, &key).unwrap_or_default();
    let all: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
    all.into_iter().filter(|one| one["type"] == kind).collect()
}

/// The chips whose devices an annotation of a pod lists.
pub fn sizes(key: &str, node: &NodeObject) -> Vec<super::Size> {
    let kind = key.strip_prefix("hami.io/");
    let kind = kind.and_then(|rest| rest.strip_suffix("-devices-allocated"));
    let size = |chip: &serde_json::Value| {
        let id = chip["id"].as_str().unwrap_or_default();
        (id.to_owned(), chip["devmem"].as_i64().unwrap_or(0), 100)
    };
    let chips = register(node, kind.unwrap_or_default());
    chips.iter().map(size).collect()
}

/// The chips of a type on a node, idle.
fn idle_chips(node: &NodeObject, kind: &Kind) -> Vec<Chip> {
    let resource = format!("{PREFIX}{}", kind.name);
    let mut offered = node.allocatable.iter();
    if !offered.any(|(name, amount)| *name == resource && *amount > 0) {
        return Vec::new();
    }
    register(node, kind.name)
        .iter()
        .map(|one| Chip {
            kind: kind.name,
            id: one["id"].as_str().unwrap_or_default().to_owned(),
            index: one["index"].as_i64().unwrap_or(0),
            slots: one["count"].as_i64().unwrap_or(0),
            memory: one["devmem"].as_i64().unwrap_or(0),
            healthy: one["health"] == true,
            numa: one["numa"].as_i64().unwrap_or(0),
            ring: one["custominfo"]["NetworkID"].as_i64(),
            ..Chip::default()
        })
        .collect()
}

/// A task has what its annotations say.
fn hold(chips: &mut [Chip], task: &Task) {
    for kind in &KINDS {
        let key = format!("hami.io/{}-devices-allocated", kind.name);
        let held = task.held.iter().flatten().find(|(known, _)| *known == key);
        let of_kind = chips.iter_mut().filter(|chip| chip.kind == kind.name);
        let mut chips: Vec<&mut Chip> = of_kind.collect();
        let ids: Vec<String> = chips.iter().map(|chip| chip.id.clone()).collect();
        for element in held.map_or("", |(_, text)| text).split(';') {
            let pieces = element.split(':').filter(|entry| !entry.is_empty());
            let entries: Vec<Vec<&str>> = pieces.map(|one| one.split(',').collect()).collect();
            for entry in &entries {
                let has = |id: &String| entries.iter().any(|other| other[0] == id);
                let is_stray = !ids.iter().any(|id| id == entry[0]);
                for chip in &mut chips {
                    // One that the node does not tell may be any that is large enough.
                    let could_be = is_stray && !has(&chip.id) && takes(chip, kind, entry);
                    if chip.id == entry[0] || could_be {
                        charge(chip, kind, &task.pod, entry);
                    }
                }
            }
        }
    }
}

fn memory_of(entry: &[&str]) -> i64 {
    entry[2].parse().expect("memory")
}

fn takes(chip: &Chip, kind: &Kind, entry: &[&str]) -> bool {
    let memory = memory_of(entry);
    let (_, cores, cpus) = kind.template(memory).unwrap_or(("", 0, 0));
    let has_ai = cores <= kind.cores && (kind.cpus == 0 || cpus <= kind.cpus);
    chip.memory >= memory && has_ai
}

/// A pod has this of a chip.
fn charge(chip: &mut Chip, kind: &Kind, pod: &PodObject, entry: &[&str]) {
    let memory = memory_of(entry);
    chip.used_slots += 1;
    chip.used_memory += memory;
    chip.used_core += entry[3].parse::<i64>().expect("cores");
    match is_soft(pod) {
        true => chip.soft = true,
        false => chip.hard = true,
    }
    if let Some((_, cores, cpus)) = kind.template(memory).filter(|_| !is_soft(pod)) {
        chip.used_ai.0 += cores;
        chip.used_ai.1 += cpus;
    }
}

/// The chip has room, and nothing forbids it.
fn fits(chip: &Chip, ask: &Ask, task: &Task, soft_node: bool) -> bool {
    let (kind, soft) = (ask.kind, is_soft(&task.pod));
    let listed = |which: &str| {
        let key = format!("hami.io/{which}-{}-uuid", kind.name);
        let list = label(&task.pod.facts.annotations, &key)?;
        Some(list.split(',').any(|one| one.trim() == chip.id))
    };
    let memory = ask.memory.unwrap_or(chip.memory);
    let (_, cores, cpus) = kind.template(memory).unwrap_or(("", 0, 0));
    let room = match soft {
        true => {
            soft_node
                && chip.used_core + ask.core <= 100
                && !(ask.core == 100 && chip.used_slots > 0)
                && !(ask.core == 0 && chip.used_core == 100)
        }
        false => {
            chip.used_ai.0 + cores <= kind.cores
                && (kind.cpus == 0 || chip.used_ai.1 + cpus <= kind.cpus)
        }
    };
    chip.healthy
        && room
        && chip.slots > chip.used_slots
        && chip.memory - chip.used_memory >= memory
        && !(if soft { chip.hard } else { chip.soft })
        && listed("use") != Some(false)
        && listed("no-use") != Some(true)
}

fn score(chip: &Chip, policy: &str) -> f64 {
    match policy {
        "binpack" if chip.memory > 0 => 100.0 * chip.used_memory as f64 / chip.memory as f64,
        "spread" if chip.used_slots == 0 => 100.0,
        _ => 0.0,
    }
}

/// Chips one container may have, best first; those of one ring together when it asks for several.
fn in_order<'a>(
    fitting: &[&'a Chip],
    ask: &Ask,
    (preference, rings): (&Preference, bool),
) -> Vec<&'a Chip> {
    let mut order = fitting.to_vec();
    if !preference.is_by_policy() {
        let mut by_index = fitting.to_vec();
        by_index.sort_by_key(|chip| chip.index);
        let mut places: Vec<usize> = (0..by_index.len()).collect();
        preference.order(|at| rank(by_index[at], ask), &mut places);
        order = places.into_iter().map(|at| by_index[at]).collect();
    }
    if rings && ask.count > 1 {
        let ring = |chip: &Chip| {
            let same = fitting.iter().filter(|other| other.ring == chip.ring);
            let lowest = same.clone().map(|other| other.index).min();
            (std::cmp::Reverse(same.count()), lowest)
        };
        order.sort_by_key(|chip| ring(chip));
    }
    order
}

fn rank(chip: &Chip, ask: &Ask) -> Rank {
    Rank {
        memory: chip.used_memory,
        slots: chip.used_slots,
        numa: chip.numa,
        with_ask: [
            (chip.used_slots + 1, chip.slots),
            (chip.used_core + ask.core, 100),
            (
                chip.used_memory + ask.memory.unwrap_or(chip.memory),
                chip.memory,
            ),
        ],
    }
}

/// All ways to take so many of these, the first ones first.
fn ways<'a>(order: &[&'a Chip], count: usize) -> Vec<Vec<&'a Chip>> {
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

/// Chips for each container, no chip for two; an earlier container yields only where a later one
/// would have none.
fn share<'a>(
    chips: &'a [Chip],
    asks: &[&Ask],
    taken: &[&'a Chip],
    (task, soft_node): (&Task, bool),
    (preference, rings): (&Preference, bool),
) -> Option<Vec<Vec<&'a Chip>>> {
    let Some((ask, later)) = asks.split_first() else {
        return Some(Vec::new());
    };
    let free = |chip: &&Chip| !taken.iter().any(|other| other.id == chip.id);
    let fitting: Vec<&Chip> = chips
        .iter()
        .filter(free)
        .filter(|chip| fits(chip, ask, task, soft_node))
        .collect();
    let order = in_order(&fitting, ask, (preference, rings));
    ways(&order, ask.count).into_iter().find_map(|way| {
        let taken = [taken, &way].concat();
        let rest = share(chips, later, &taken, (task, soft_node), (preference, rings))?;
        Some([vec![way], rest].concat())
    })
}

/// Chips of all types of a node.
struct NpuShelf {
    chips: Vec<Chip>,
    node: Arc<NodeObject>,
}

/// The chips of a node with what is in use of them.
pub fn shelf(world: &World, node: &NodeObject, view: View) -> Box<dyn Shelf> {
    let mut chips: Vec<Chip> = KINDS
        .iter()
        .flat_map(|kind| idle_chips(node, kind))
        .collect();
    for (place, chip) in chips.iter_mut().enumerate() {
        chip.place = place;
    }
    for task in world.tasks_on(&node.name) {
        if view.counts(task.status) {
            hold(&mut chips, task);
        }
    }
    let node = Arc::new(node.clone());
    Box::new(NpuShelf { chips, node })
}

/// What the container asks that asks most chips.
fn most_asked(pod: &PodObject) -> Option<Ask> {
    let asks = asks_of(pod)?.into_iter();
    asks.rev().max_by_key(|ask| ask.count)
}

impl Shelf for NpuShelf {
    fn uses(&self) -> Vec<CardUse> {
        let of = |chip: &Chip| CardUse {
            used: chip.used_memory,
            all: chip.memory,
            holders: chip.used_slots,
            given_out: chip.healthy,
        };
        self.chips.iter().map(of).collect()
    }

    fn only(&self, at: usize) -> Box<dyn Shelf> {
        Box::new(Self {
            chips: vec![self.chips[at].clone()],
            node: self.node.clone(),
        })
    }

    fn at_once(&self, task: &Task) -> usize {
        most_asked(&task.pod).map_or(0, |ask| ask.count)
    }

    fn piece(&self, _: &Cycle, task: &Task) -> Option<Box<dyn Shelf>> {
        let mut ask = most_asked(&task.pod)?;
        ask.count = 1;
        let (chip, kind) = (&self.chips[0], ask.kind);
        if chip.kind != kind.name || !fits(chip, &ask, task, self.is_soft()) {
            return None;
        }
        let memory = ask.memory.unwrap_or(chip.memory).to_string();
        let core = ask.core.to_string();
        let mut chip = chip.clone();
        charge(&mut chip, kind, &task.pod, &["", "", &memory, &core]);
        Some(Box::new(Self {
            chips: vec![chip],
            node: self.node.clone(),
        }))
    }

    fn choose(&self, cycle: &Cycle, task: &Task, among: Option<&[usize]>) -> Option<CardChoice> {
        let asks = asks_of(&task.pod)?;
        let preference = Preference::of(&task.pod, super::policy(cycle));
        let of_node = preference.of_node(self.chips.iter().map(|chip| {
            [
                (chip.used_memory, chip.memory),
                (chip.used_slots, chip.slots),
                (chip.used_core, 100),
            ]
        }));
        let mut sum = of_node.unwrap_or(0.0);
        let (mut held, mut cards) = (Pairs::new(), Vec::new());
        for kind in &KINDS {
            let of_kind = asks.iter().filter(|ask| ask.kind.name == kind.name);
            let of_kind: Vec<&Ask> = of_kind.collect();
            if !of_kind.is_empty() {
                let of = (&preference, among);
                let (annotations, score, taken) = self.choose_of(task, of, (kind, &of_kind))?;
                held.extend(annotations);
                cards.extend(taken);
                sum += score;
            }
        }
        let score = (sum + 0.5).floor() as i64 * super::weight(cycle);
        Some(CardChoice { held, score, cards })
    }

    fn with(&self, task: &Task) -> Box<dyn Shelf> {
        let mut chips = self.chips.clone();
        hold(&mut chips, task);
        let node = self.node.clone();
        Box::new(Self { chips, node })
    }
}

impl NpuShelf {
    /// Chips may be shared by hami-core.
    fn is_soft(&self) -> bool {
        label(&self.node.device_annotations, "hami-vnpu-core") == Some("true")
    }

    fn choose_of(
        &self,
        task: &Task,
        (preference, among): (&Preference, Option<&[usize]>),
        (kind, asks): (&Kind, &[&Ask]),
    ) -> Option<(Pairs, f64, Vec<usize>)> {
        let policy = preference.policy;
        let own = self.chips.iter().filter(|chip| chip.kind == kind.name);
        let mut chips: Vec<Chip> = own.cloned().collect();
        let rings =
            kind.name.starts_with("Ascend910") && chips.iter().all(|chip| chip.ring.is_some());
        chips.retain(|chip| among.is_none_or(|set| set.contains(&chip.place)));
        let order = match policy {
            "fragmentation" => "binpack",
            policy => policy,
        };
        chips.sort_by(|a, b| {
            let by_score = score(b, order).total_cmp(&score(a, order));
            by_score.then(a.index.cmp(&b.index))
        });
        let (mut text, mut json, mut sum) = (String::new(), Vec::new(), 0.0);
        let order = (preference, rings);
        let shared = share(&chips, asks, &[], (task, self.is_soft()), order)?;
        let mut cards = Vec::new();
        for (ask, chosen) in asks.iter().zip(shared) {
            if preference.of_nodes.is_none() {
                sum += score(chosen[0], policy);
            }
            if rings {
                let mut shares: BTreeMap<Option<i64>, usize> = BTreeMap::new();
                for chip in &chosen {
                    *shares.entry(chip.ring).or_default() += 1;
                }
                let largest = shares.into_values().max().unwrap_or(0);
                sum += 10.0 * largest as f64 / chosen.len() as f64;
            }
            for chip in chosen {
                let memory = ask.memory.unwrap_or(chip.memory);
                let _ = write!(text, "{},{},{memory},{}:", chip.id, kind.name, ask.core);
                json.push(runtime(task, &chip.id, (kind, memory, ask.core)));
                cards.push(chip.place);
            }
            text.push(';');
        }
        let of = |suffix: &str| format!("hami.io/{}-devices-{suffix}", kind.name);
        let annotations = vec![
            (of("to-allocate"), text.clone()),
            (of("allocated"), text),
            (
                format!("{PREFIX}{}", kind.name),
                format!("[{}]", json.join(",")),
            ),
        ];
        Some((annotations, sum, cards))
    }
}

/// What the runtime is told of one chip.
fn runtime(task: &Task, id: &str, (kind, memory, core): (&Kind, i64, i64)) -> String {
    let mut text = format!(r#"{{"UUID":"{id}""#);
    if is_soft(&task.pod) {
        let _ = write!(text, r#","memory":{memory}"#);
        if core > 0 {
            let _ = write!(text, r#","core":{core}"#);
        }
    } else if let Some((name, ..)) = kind.template(memory) {
        let _ = write!(text, r#","temp":"{name}""#);
    }
    text + "}"
}
