//! Cards of HAMi's vendors by the rules alone (spec/04 §23).

use std::fmt::Write as _;
use std::sync::Arc;

use pumice_conf::{PluginConf, Value};
use pumice_model::object::{ContainerKind, NodeObject, Pairs, PodObject};

use super::super::cycle::Cycle;
use super::super::state::{Res, Task, World, label};
use super::asks::{Ask, asks_at_most, asks_of, is_bound};
use super::granted::Grant;
use super::instances;
use super::makers::{MAKERS, Maker};
use super::peaks::kind;
use super::preference::{Preference, Rank};
use super::sgpu::Terms;
use super::shelf::{CardChoice, CardUse, Shelf};
use super::vendor_cards::{Card, idle_cards};
use super::vendor_holdings::{cards, hold};
use super::{View, neuron, sgpu, slices, wings};

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

/// A task asks for cards.
pub fn asks(task: &Task) -> bool {
    asks_of(&task.pod, task.on.vendors).is_some_and(|asks| !asks.is_empty())
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

pub fn is_cordoned(card: &Card, node: &NodeObject) -> bool {
    let list = label(&node.device_annotations, "hami.io/device-cordon").unwrap_or_default();
    list.split(',').any(|id| id == card.id)
}

/// What the elements of a list of a pod may hold.
pub fn grants(
    key: &str,
    pod: &PodObject,
    node: &NodeObject,
    on: VendorsOn,
) -> Option<Vec<(Option<usize>, Grant)>> {
    let is_of = |maker: &&'static Maker| key == maker.allocated();
    on.makers().find(|maker| is_of(maker))?;
    let asks = asks_at_most(pod, on).into_iter();
    let own = asks.filter(|ask| is_of(&ask.maker));
    let grant = |ask: Ask| {
        let cards = idle_cards(ask.maker, node);
        let (container, count) = (ask.container, ask.count);
        let part = move |id: &str| {
            let largest = cards.iter().max_by_key(|card| card.memory);
            let card = cards.iter().find(|card| card.id == id).or(largest);
            card.map_or((0, 0), |card| {
                (card.memory_of(&ask), card.listed_cores(&ask))
            })
        };
        (
            Some(container),
            Grant {
                count,
                part: Box::new(part),
            },
        )
    };
    Some(own.map(grant).collect())
}

/// The id of a device of a list, its MiB and cores.
pub fn device(piece: &str) -> (&str, i64, i64) {
    let fields: Vec<&str> = piece.split(',').collect();
    let number = |at: usize| fields[at].parse().expect("a number");
    (fields[0], number(2), number(3))
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
    let idle_only = Preference::of(pod, "").idle_only;
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
        && (!wings::has(ask) || allowed(Some(wings::UUIDS), &|id| *id == card.id))
        && ask.profile.is_none_or(|wanted| slices::has(card, wanted))
        && (ask.maker.word != "XPU" || card.used_memory == card.used_slots * memory)
        && ask
            .named
            .is_none_or(|named| is_all_of(card, ask.maker, named))
        && card.used_slots < card.slots
        && !(idle_only && card.used_slots > 0)
        && (ask.maker.word != sgpu::WORD || sgpu::joins(card, ask, &Terms::of(pod)))
        && has_room
}

/// Whether memory that is named is all of a card, as it has to be of several whole cards.
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
pub fn ways(cards: &[Card], order: &[usize], count: usize) -> Vec<Vec<usize>> {
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

/// A pod, its node, what it prefers, and the cards it may have, where not all.
type VendorPlace<'a> = (
    &'a PodObject,
    &'a NodeObject,
    &'a Preference<'a>,
    Option<&'a [usize]>,
);

/// Cards for each container in turn, the best of those that leave enough to the ones after it.
///
/// `with` are the cards with what the containers before have taken that last, and with what sidecars have.
fn share(
    with: (&[Card], &[Card]),
    asks: &[Ask],
    (pod, node, preference, among): VendorPlace,
) -> Option<Vec<Vec<usize>>> {
    let Some((ask, later)) = asks.split_first() else {
        return Some(Vec::new());
    };
    let runs = kind(pod, ask.container);
    let cards = match runs {
        ContainerKind::Init => with.1,
        ContainerKind::Sidecar | ContainerKind::Regular => with.0,
    };
    let mut order: Vec<usize> = (0..cards.len()).collect();
    let is_among = |at: &usize| among.is_none_or(|set| set.contains(at));
    order.retain(|at| is_among(at) && fits(&cards[*at], ask, pod));
    preference.order(|at| Rank::of(&cards[at], ask), &mut order);
    if ask.maker.word == sgpu::WORD {
        sgpu::order(cards, ask, &Terms::of(pod), &mut order);
    }
    if wings::has(ask) {
        order = wings::chosen(cards, &order, ask.count)?;
    }
    if ask.maker.word == neuron::WORD && ask.count > 1 {
        order = neuron::row(cards, &order, ask.count, node)?;
    }
    let mut all = Vec::new();
    for mut set in sets(cards, order, is_bound(pod, ask)) {
        preference.link(cards, ask, node, &mut set);
        all.extend(ways(cards, &set, ask.count));
    }
    all.into_iter().find_map(|way| {
        let mut cards = cards.to_vec();
        for at in &way {
            if !fits(&cards[*at], ask, pod) {
                return None;
            }
            cards[*at].give(pod, ask)?;
        }
        let (mut all, mut sidecars) = (with.0.to_vec(), with.1.to_vec());
        for at in &way {
            // Places of instances are never had by two.
            let is_split = cards[*at].slices.is_some();
            if is_split || runs != ContainerKind::Init {
                all[*at].give(pod, ask)?;
            }
            if is_split || runs == ContainerKind::Sidecar {
                sidecars[*at].give(pod, ask)?;
            }
            if ask.maker.word == slices::WORD {
                slices::close_others(&mut all, *at);
                slices::close_others(&mut sidecars, *at);
            }
        }
        let rest = share((&all, &sidecars), later, (pod, node, preference, among))?;
        Some([vec![way], rest].concat())
    })
}

/// The cards of each NUMA node, that of the best card first; all of them where that is no matter.
fn sets(cards: &[Card], order: Vec<usize>, by_numa: bool) -> Vec<Vec<usize>> {
    if !by_numa {
        return vec![order];
    }
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for at in order {
        let is_own = |set: &&mut Vec<usize>| cards[set[0]].numa == cards[at].numa;
        match sets.iter_mut().find(is_own) {
            Some(set) => set.push(at),
            None => sets.push(vec![at]),
        }
    }
    sets
}

/// Cards of all vendors on a node.
struct VendorShelf {
    cards: Vec<Card>,
    node: Arc<NodeObject>,
}

/// The cards of a node with what is in use of them.
pub fn shelf(world: &World, node: &NodeObject, view: View) -> Box<dyn Shelf> {
    Box::new(VendorShelf {
        cards: cards(world, node, view, world.on.vendors),
        node: Arc::new(node.clone()),
    })
}

/// What the container asks that asks most cards.
fn most_asked(task: &Task) -> Option<Ask> {
    let asks = asks_of(&task.pod, task.on.vendors)?.into_iter();
    asks.rev().max_by_key(|ask| ask.count)
}

impl Shelf for VendorShelf {
    fn uses(&self) -> Vec<CardUse> {
        let of = |card: &Card| CardUse {
            used: card.used_memory,
            all: card.memory,
            holders: card.used_slots,
            given_out: card.usable,
        };
        self.cards.iter().map(of).collect()
    }

    fn only(&self, at: usize) -> Box<dyn Shelf> {
        Box::new(Self {
            cards: vec![self.cards[at].clone()],
            node: self.node.clone(),
        })
    }

    fn at_once(&self, task: &Task) -> usize {
        most_asked(task).map_or(0, |ask| ask.count)
    }

    fn piece(&self, _: &Cycle, task: &Task) -> Option<Box<dyn Shelf>> {
        let ask = Ask {
            count: 1,
            ..most_asked(task)?
        };
        let mut card = self.cards[0].clone();
        let name = format!("{} of {}", card.used_slots, task.pod.name);
        let pod = PodObject {
            name,
            ..PodObject::clone(&task.pod)
        };
        if !fits(&card, &ask, &pod) {
            return None;
        }
        card.give(&pod, &ask)?;
        Some(Box::new(Self {
            cards: vec![card],
            node: self.node.clone(),
        }))
    }

    fn choose(&self, cycle: &Cycle, task: &Task, among: Option<&[usize]>) -> Option<CardChoice> {
        choose(self, cycle, task, among)
    }

    fn with(&self, task: &Task) -> Box<dyn Shelf> {
        let mut cards = self.cards.clone();
        hold(&mut cards, task);
        let node = self.node.clone();
        Box::new(Self { cards, node })
    }
}

/// Those of some cards that a task gets: its lists, and the score. `None`: it does not fit.
fn choose(
    shelf: &VendorShelf,
    cycle: &Cycle,
    task: &Task,
    among: Option<&[usize]>,
) -> Option<CardChoice> {
    let asks = asks_of(&task.pod, task.on.vendors)?;
    let preference = Preference::of(&task.pod, super::policy(cycle));
    let policy = preference.policy;
    let (mut cards, node) = (shelf.cards.clone(), &*shelf.node);
    let place = (&*task.pod, node, &preference, among);
    let chosen = share((&cards, &cards), &asks, place)?;
    let pairs: Vec<(&Ask, &Vec<usize>)> = asks.iter().zip(&chosen).collect();
    let gpus = pairs
        .iter()
        .filter(|(ask, _)| ask.maker.word == "Metax-GPU");
    let gpus: usize = gpus.map(|(ask, _)| ask.count).sum();
    let told = sgpu::rating(node, gpus, preference.of_nodes.unwrap_or(policy));
    let told = told + wings::score(&cards, &pairs);
    let mut score = (told + sgpu::score(&cards, &pairs, &Terms::of(&task.pod))) as f64;
    let of_node = preference.of_node(cards.iter().map(|card| {
        [
            (card.used_memory, card.memory),
            (card.used_slots, card.slots),
            (card.used_cores, card.cores),
        ]
    }));
    score += of_node.unwrap_or(0.0);
    let mut split = Vec::new();
    let mut elements = vec![vec![String::new(); task.pod.facts.containers.len()]; MAKERS.len()];
    let lasts = |ask: &Ask| kind(&task.pod, ask.container) != ContainerKind::Init;
    let counts = |ask: &Ask| lasts(ask) || !asks.iter().any(lasts);
    let mut scored = cards.clone();
    for (ask, way) in asks.iter().zip(&chosen) {
        let maker = MAKERS
            .iter()
            .position(|maker| maker.word == ask.maker.word)?;
        for (device, at) in way.iter().enumerate() {
            let card = &mut cards[*at];
            let (memory, listed) = (card.memory_of(ask), card.listed_cores(ask));
            let (taken, instance) = match card.slices.is_some() {
                true => card.give(&task.pod, ask)?,
                false => (memory, None),
            };
            if counts(ask) && of_node.is_none() {
                score += worth(policy, &mut scored[*at], taken);
            }
            let cores_of = instance.as_ref().map(|(_, place)| *place);
            let is_neuron = ask.maker.word == neuron::WORD;
            if let Some((profile, place)) = instance.filter(|_| !is_neuron) {
                let of = (ask.container, device);
                split.push(instances::entry(of, &card.id, &profile, place));
            }
            let text = &mut elements[maker][ask.container];
            let word = if ask.maker.percent {
                &card.kind
            } else {
                card.word
            };
            let (memory, cores) = match cores_of.filter(|_| is_neuron) {
                Some(place) => (0, neuron::bits(place)),
                None => (memory, listed),
            };
            let _ = write!(text, "{},{word},{memory},{cores}:", card.id);
        }
    }
    let mut held = lists(elements);
    if !split.is_empty() {
        let text = format!("[{}]", split.join(","));
        held.insert(0, (instances::KEY.to_owned(), text));
    }
    Some(CardChoice {
        held,
        score: (score + 0.5).floor() as i64 * super::weight(cycle),
        cards: chosen.concat(),
    })
}

/// What a card that takes so much adds to the score of its node.
fn worth(policy: &str, card: &mut Card, memory: i64) -> f64 {
    let idle = card.used_slots == 0;
    card.used_memory += memory;
    card.used_slots += 1;
    match policy {
        "binpack" => 100.0 * card.used_memory as f64 / card.memory as f64,
        "spread" if idle => 100.0,
        _ => 0.0,
    }
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
        if !["Mthreads", "kunlun", neuron::WORD, slices::WORD].contains(&maker.word) {
            held.push((
                format!("hami.io/{}-devices-to-allocate", maker.list),
                text.clone(),
            ));
        }
        held.push((maker.allocated(), text));
    }
    held
}
