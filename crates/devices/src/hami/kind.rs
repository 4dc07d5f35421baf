//! What a kind of cards is: what its vendor calls things, and the few rules that are its own.

use crate::binding::{Annotation, NodeLock};
use crate::facts::{NodeFacts, PodFacts};
use crate::ledger::{Allocation, NodeCards};
use crate::text::Bounded;

use super::registered_card::HamiCard;

/// Names of resources; an empty one is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindNames {
    /// Cards, whole or shared.
    pub count: String,
    /// Resource that asks for memory of each card, in units of the kind.
    pub memory: String,
    /// Memory of each card in percent.
    pub percentage: String,
    /// Resource that asks for cores of each card.
    pub cores: String,
}

impl KindNames {
    /// These, and no percentage.
    pub fn new(count: &str, memory: &str, cores: &str) -> Self {
        Self {
            count: count.to_owned(),
            memory: memory.to_owned(),
            percentage: String::new(),
            cores: cores.to_owned(),
        }
    }

    /// Those of parts of a card, which no node has as such.
    pub fn parts(&self) -> impl Iterator<Item = &String> + Clone {
        let parts = [&self.memory, &self.percentage, &self.cores];
        parts.into_iter().filter(|name| !name.is_empty())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        [&self.count].into_iter().chain(self.parts())
    }
}

/// What a number of memory means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryUnit {
    /// So many MiB of each card.
    Mib(i64),
    /// So many MiB of all cards together. One card gives these amounts only.
    Together(i64, &'static [i64]),
    /// GiB, or bytes where it is written with a unit; of each card.
    Bytes,
    /// MiB of each card, raised to the next of these amounts.
    Sizes(&'static [i64]),
}

impl MemoryUnit {
    /// MiB in a unit, as queues count it.
    pub fn mib(self) -> i64 {
        match self {
            Self::Mib(mib) | Self::Together(mib, _) => mib,
            Self::Bytes => 1024,
            Self::Sizes(_) => 1,
        }
    }
}

/// What several cards of a container are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// Parts, if so asked.
    Parts,
    /// Whole ones.
    Whole,
}

/// Rules of a kind beside those that all have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnRules {
    /// There are none.
    #[default]
    None,
    /// Those of MetaX sGPUs ([`super::terms`], [`super::sgpu`]).
    Sgpu {
        /// Links between cards count for the node of a pod that says nothing of them.
        heeds_links: bool,
    },
    /// Nodes tell what so many cards together are worth ([`super::ratings`]).
    Rated,
    /// Nodes tell how well each two cards are linked ([`super::pairs`]).
    Paired,
    /// Those of AWS Neuron: cores of a device are given out singly, and devices in a row ([`super::neuron`]).
    Neuron,
    /// Those of Enflame: cards are given out in slices, by profiles ([`super::slices`]).
    Slices,
    /// Eight cards of a node are in two wings ([`super::wings`]).
    Wings {
        /// They are handed out whole.
        whole: bool,
    },
}

/// How the device plugin finds the pod it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodLookup {
    /// By HAMi's lock and phase.
    Hami,
    /// By a lock of its own; it answers in annotations of its own.
    OwnLock(NodeLock),
    /// By what the vendor's annotations say of pods that do not run yet; it answers nothing.
    Pending,
    /// Not at all: kubelet chooses the cards.
    Kubelet,
}

/// Keys of pod annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindKeys {
    /// What is to be handed out, where the plugin takes from it.
    pub to_allocate: Option<String>,
    /// What the pod has.
    pub allocated: String,
    /// Parts of names of types that may do, and that may not.
    pub types: Option<(&'static str, &'static str)>,
    /// UUIDs that may do, and that may not: each pair of keys counts.
    pub uuids: Vec<(String, String)>,
    /// How cards have to be shared.
    pub mode: Option<&'static str>,
    /// Instances the pod has of cards that are split.
    pub instances: Option<&'static str>,
    /// Whether all cards of a container have to be near one NUMA node.
    pub numa: Option<&'static str>,
}

/// A pod that has its cards, as its vendor's annotations need it.
pub struct Marking<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Cards of the node that the pod is on.
    pub cards: &'a NodeCards,
    /// The pod's cards of this kind, in the order of containers.
    pub own: &'a [&'a Allocation],
}

impl Marking<'_> {
    /// The index of a card among those of its node.
    pub fn index(&self, one: &Allocation) -> u32 {
        let card = one
            .card
            .and_then(|at| self.cards.cards.get(usize::from(at)));
        card.map_or(0, |card| card.index)
    }

    /// Indices of all its cards.
    pub fn indices(&self) -> Vec<String> {
        let own = self.own.iter();
        own.map(|one| self.index(one).to_string()).collect()
    }
}

/// A kind of cards.
#[derive(Clone)]
pub struct CardKind {
    /// Name of the kind in allocations.
    pub word: String,
    /// Where the cards of a node are told, for messages.
    pub source: String,
    /// Resources.
    pub names: KindNames,
    /// Keys of the annotations of nodes and pods.
    pub keys: KindKeys,
    /// Unit of memory.
    pub unit: MemoryUnit,
    /// MiB of a container that names no memory; 0 for a whole card.
    pub default_memory: i64,
    /// Cores of a container that names none but a part of the memory.
    pub default_cores: i64,
    /// Cores of a container that names none and takes all of the memory.
    pub default_cores_of_whole: i64,
    /// Cores of a card: what a request may name at most.
    pub cores: i64,
    /// They are asked in percent of a card, which counts them in units of its own.
    pub cores_in_percent: bool,
    /// Lists name the type of each card in place of the word.
    pub lists_types: bool,
    /// Containers take a slot, and nothing is known of more.
    pub by_slots: bool,
    /// What several cards are.
    pub several: Several,
    /// The device plugin of the kind serves one container of a pod.
    pub one_container: bool,
    /// Rules of its own.
    pub rules: OwnRules,
    /// Whose turn it is.
    pub service: PodLookup,
    /// Reads the cards of a node.
    pub discover: fn(&CardKind, &NodeFacts, &mut Bounded) -> Vec<HamiCard>,
    /// What the vendor's own software reads besides.
    pub marks: fn(&Marking) -> Vec<Annotation>,
    /// Why a pod with these annotations cannot be served.
    pub refuses: fn(&PodFacts) -> Option<String>,
}

impl CardKind {
    /// A kind of cards that share memory and cores by percent, told in a register of HAMi and handed out
    /// by one of its plugins.
    pub fn registered(word: &str, source: &str, stem: &str, names: KindNames) -> Self {
        Self {
            word: word.to_owned(),
            source: source.to_owned(),
            names,
            keys: KindKeys {
                to_allocate: Some(super::protocol::to_allocate(stem)),
                allocated: super::protocol::allocated(stem),
                types: None,
                uuids: Vec::new(),
                mode: None,
                numa: None,
                instances: None,
            },
            unit: MemoryUnit::Mib(1),
            default_memory: 0,
            default_cores: 0,
            default_cores_of_whole: 0,
            cores: 100,
            cores_in_percent: false,
            lists_types: false,
            by_slots: false,
            several: Several::Whole,
            one_container: false,
            rules: OwnRules::None,
            service: PodLookup::Hami,
            discover: registered,
            marks: |_| Vec::new(),
            refuses: |_| None,
        }
    }

    /// Keys of pod annotations with UUIDs that may do, and that may not, where these are named by the word of a kind.
    pub fn uuid_keys(word: &str) -> (String, String) {
        let (yes, no) = ("hami.io/use", "hami.io/no-use");
        (format!("{yes}-{word}-uuid"), format!("{no}-{word}-uuid"))
    }

    /// Lets pods say by UUID which cards will do and which will not: pairs of keys of their annotations, of which each
    /// counts.
    pub fn heeds_uuids(&mut self, keys: &[(&str, &str)]) {
        let owned = |(yes, no): &(&str, &str)| ((*yes).to_owned(), (*no).to_owned());
        self.keys.uuids = keys.iter().map(owned).collect();
    }

    /// A kind of cards of which only slots are counted.
    pub fn by_slots(word: &str, source: &str, names: KindNames) -> Self {
        Self {
            by_slots: true,
            several: Several::Parts,
            ..Self::registered(word, source, word, names)
        }
    }
}

/// Cards of the annotation [`CardKind::source`].
pub fn registered(kind: &CardKind, node: &NodeFacts, problems: &mut Bounded) -> Vec<HamiCard> {
    let text = node.annotation(&kind.source);
    text.map_or_else(Vec::new, |text| {
        super::register::read(text, &kind.source, problems)
    })
}

/// So many units of an extended resource that a node has in all.
pub fn capacity(node: &NodeFacts, name: &str) -> i64 {
    node.capacity_milli(name).unwrap_or(0) / 1000
}

/// The cards of a node that tells how many there are; each is for one container. `mib` are in each.
pub fn whole_cards(
    kind: &CardKind,
    node: &NodeFacts,
    (id, mib): (&str, i64),
    problems: &mut Bounded,
) -> Vec<HamiCard> {
    let count = capacity(node, &kind.names.count);
    let most = super::registered_card::MAX_CARDS as i64;
    if count > most {
        let name = &kind.names.count;
        problems.tell(|| format!("capacity: of {count} {name} only {most} are used"));
    }
    let card = |at: i64| HamiCard {
        id: format!("{}-{id}-{at}", node.name),
        index: at as u32,
        slots: 1,
        memory: mib,
        cores: 100,
        kind: kind.word.clone(),
        healthy: true,
        ..HamiCard::default()
    };
    (0..count.min(most)).map(card).collect()
}

/// The cards of a node that tells cores and memory of all together: `cores` and `mib` of each unit.
pub fn by_capacity(
    kind: &CardKind,
    node: &NodeFacts,
    (id, cores, mib): (&str, i64, i64),
    problems: &mut Bounded,
) -> Vec<HamiCard> {
    const SLOTS: i64 = 100;
    let all = capacity(node, &kind.names.cores);
    let (count, memory) = (all / cores, capacity(node, &kind.names.memory));
    if node.capacity_milli(&kind.names.cores).is_none() {
        return Vec::new();
    }
    let each = i128::from(memory) * i128::from(mib) * i128::from(cores) / i128::from(all.max(1));
    let each = i64::try_from(each).ok().filter(|mib| {
        (1..=i64::from(i32::MAX)).contains(mib) && count <= super::registered_card::MAX_CARDS as i64
    });
    let Some(each) = each.filter(|_| count > 0) else {
        problems.tell(|| {
            let KindNames { memory, cores, .. } = &kind.names;
            format!(
                "capacity: {cores} {all} and {memory} {} make no cards; restart the device plugin",
                capacity(node, memory)
            )
        });
        return Vec::new();
    };
    let card = |at: i64| HamiCard {
        id: format!("{}-{id}-{at}", node.name),
        index: at as u32,
        slots: SLOTS,
        memory: each,
        cores,
        kind: kind.word.clone(),
        healthy: true,
        ..HamiCard::default()
    };
    (0..count).map(card).collect()
}
