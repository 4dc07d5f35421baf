//! Cards of HAMi's vendors as their nodes tell them (spec/04 §23.1).

use pumice_model::object::{NodeObject, PodObject};

use super::super::state::label;
use super::asks::Ask;
use super::instances::{self, Slices};
use super::makers::{Maker, Told};
use super::neuron;
use super::sgpu::{self, Holder, Terms, Traits};
use super::slices;

/// A profile, and where an instance of it is.
pub type NamedPlace = (String, (i64, i64));

/// A card, and what is in use of it.
#[derive(Clone, Default)]
pub struct Card {
    pub word: &'static str,
    pub id: String,
    pub kind: String,
    pub slots: i64,
    pub memory: i64,
    pub cores: i64,
    /// NUMA node.
    pub numa: String,
    pub usable: bool,
    /// In mode mig.
    pub slices: Option<Slices>,
    /// Slices and MiB of the profiles of Enflame, the smallest first.
    pub profiles: Vec<(i64, i64)>,
    pub used_slots: i64,
    pub used_memory: i64,
    pub used_cores: i64,
    /// What is told of an sGPU, and who is on it.
    pub traits: Traits,
    pub holders: Vec<Holder>,
}

impl Card {
    pub fn memory_of(&self, ask: &Ask) -> i64 {
        let profile = ask.profile.and_then(|wanted| slices::profile(self, wanted));
        let memory = profile.map(|(_, mib)| mib);
        memory.or(ask.memory).unwrap_or(self.memory)
    }

    /// Cores as a list of the pod tells them.
    pub fn listed_cores(&self, ask: &Ask) -> i64 {
        match self.word {
            slices::WORD => slices::percent(self, self.cores_of(ask)),
            _ => self.cores_of(ask),
        }
    }

    pub fn cores_of(&self, ask: &Ask) -> i64 {
        let profile = ask.profile.and_then(|wanted| slices::profile(self, wanted));
        if let Some((size, _)) = profile {
            return size;
        }
        match ask.cores {
            Some(percent) if ask.maker.percent => (self.cores * percent / 100).max(1),
            cores => cores.unwrap_or(self.cores),
        }
    }

    /// Memory and cores that a container takes of it, and its instance where it is split.
    pub fn offer(&self, ask: &Ask) -> Option<(i64, i64, Option<NamedPlace>)> {
        let Some(slices) = &self.slices else {
            return Some((self.memory_of(ask), self.cores_of(ask), None));
        };
        let left = (self.memory - self.used_memory, self.cores - self.used_cores);
        let (profile, place) = slices.free(ask.memory, left)?;
        let instance = Some((profile.name.clone(), place));
        Some((profile.memory, profile.cores, instance))
    }

    /// A container takes what is offered to it; memory, and its instance.
    pub fn give(&mut self, pod: &PodObject, ask: &Ask) -> Option<(i64, Option<NamedPlace>)> {
        let (memory, cores, instance) = self.offer(ask)?;
        self.take(pod, memory, cores);
        if let (Some(slices), Some((_, place))) = (&mut self.slices, &instance) {
            slices.taken.push(Some(*place));
        }
        Some((memory, instance))
    }

    pub fn take(&mut self, pod: &PodObject, memory: i64, cores: i64) {
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

/// The cards that a node tells of.
pub fn idle_cards(maker: &'static Maker, node: &NodeObject) -> Vec<Card> {
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
            match text.starts_with('[') {
                true => of_json(maker, text),
                false => of_lines(maker, text),
            }
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
        Told::Neuron => neuron::devices(&node.name, (capacity(maker.count), capacity(maker.cores))),
        Told::Slices => slices::cards(node),
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

/// A register in lines.
fn of_lines(maker: &'static Maker, text: &str) -> Vec<Card> {
    let lines = text.split(':').filter(|line| !line.is_empty());
    let card = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<i64>().expect("a number");
        Card {
            word: maker.word,
            id: fields[0].to_owned(),
            kind: fields[4].to_owned(),
            numa: fields[5].to_owned(),
            slots: number(1),
            memory: number(2),
            cores: number(3),
            usable: fields[6] == "true",
            ..Card::default()
        }
    };
    lines.map(card).collect()
}

/// A register in JSON.
fn of_json(maker: &'static Maker, text: &str) -> Vec<Card> {
    let list: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let card = |value: &serde_json::Value| {
        let number = |key: &str| value[key].as_i64().unwrap_or(0);
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let is_split = value["mode"] == "mig";
        let profiles = instances::profiles(value);
        Card {
            word: maker.word,
            id: text("id"),
            kind: text("type"),
            slots: number("count"),
            memory: number("devmem"),
            cores: number("devcore"),
            numa: number("numa").to_string(),
            usable: value["health"] == true && !(is_split && profiles.is_empty()),
            slices: is_split.then(|| Slices {
                profiles,
                ..Slices::default()
            }),
            ..Card::default()
        }
    };
    list.as_array().into_iter().flatten().map(card).collect()
}
