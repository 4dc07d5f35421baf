//! What the vGPU plugin says of its node: the register annotation, the handshake of its older
//! generations, and the amounts kubelet shows (spec/04 §5, §13.2).

use std::collections::BTreeMap;

use super::vgpu::Generation;

/// Cards of the node.
pub const REGISTER: &str = "volcano.sh/node-vgpu-register";
/// Sign of life of older generations.
pub const HANDSHAKE: &str = "volcano.sh/node-vgpu-handshake";

/// Units of `volcano.sh/vgpu-cores` of one card.
const CORES: u64 = 100;

/// A card as its driver shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalCard {
    /// UUID that the driver gives the card.
    pub uuid: String,
    /// Product name, as in `NVIDIA A100-PCIE-40GB`.
    pub product: String,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Minor number of its device file.
    pub minor: u32,
    /// It works.
    pub healthy: bool,
}

/// How the plugin of a node is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Generation of the node's GPUs.
    pub generation: Generation,
    /// `operatingmode`.
    pub mode: String,
    /// `devicesplitcount`: containers per card.
    pub slots: u64,
    /// `gpuMemoryFactor`: MiB per unit of memory.
    pub memory_factor: u64,
    /// `devicecorescaling`, in percent.
    pub core_scaling_percent: u64,
    /// `filterdevices.uuid`: cards that are left alone.
    pub filtered: Vec<String>,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            generation: Generation::Latest,
            mode: "hami-core".to_owned(),
            slots: 10,
            memory_factor: 1,
            core_scaling_percent: 100,
            filtered: Vec::new(),
        }
    }
}

/// The plugin of a node.
#[derive(Clone, Debug)]
pub struct NodePlugin {
    config: NodeConfig,
    cards: Vec<PhysicalCard>,
    /// Cards that have been seen broken. Only a restart makes it look again.
    broken: Vec<String>,
}

/// Amounts by resource.
pub type AmountsByResource = BTreeMap<&'static str, u64>;

impl NodePlugin {
    /// A plugin that has just been started on a node with these cards.
    pub fn new(config: NodeConfig, cards: Vec<PhysicalCard>) -> Self {
        let mut plugin = Self {
            config,
            cards,
            broken: Vec::new(),
        };
        plugin.look();
        plugin
    }

    /// How the plugin of this node is configured.
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// The cards now are these; what was broken stays so until the next restart.
    pub fn see(&mut self, cards: Vec<PhysicalCard>) {
        self.cards = cards;
        self.look();
    }

    /// Starts it anew. All it forgets is which cards were broken.
    pub fn restart(&mut self) {
        self.broken.clear();
        self.look();
    }

    fn look(&mut self) {
        let broken = self.cards.iter().filter(|card| !card.healthy);
        self.broken.extend(broken.map(|card| card.uuid.clone()));
    }

    fn is_healthy(&self, card: &PhysicalCard) -> bool {
        !self.broken.contains(&card.uuid)
    }

    /// Cards it serves, in the order it lists them.
    fn served(&self) -> Vec<&PhysicalCard> {
        let filtered = &self.config.filtered;
        let served = |card: &&PhysicalCard| !filtered.contains(&card.uuid);
        let mut cards: Vec<&PhysicalCard> = self.cards.iter().filter(served).collect();
        if self.config.generation.sorts_cards() {
            cards.sort_by_key(|card| card.minor);
        }
        cards
    }

    /// Text of the register annotation.
    pub fn register(&self) -> String {
        let card = |card: &PhysicalCard| {
            let memory = card.memory_mib / self.config.memory_factor;
            let (slots, mode) = (self.config.slots, &self.config.mode);
            let healthy = self.is_healthy(card);
            let PhysicalCard { uuid, product, .. } = card;
            format!("{uuid},{slots},{memory},NVIDIA-{product},{healthy},{mode}:")
        };
        self.served().into_iter().map(card).collect()
    }

    /// Annotations it sets on its node with the report of every 30 seconds; `now` is the time as it
    /// prints it.
    pub fn report(&self, node: &BTreeMap<String, String>, now: &str) -> BTreeMap<String, String> {
        let mut changes = BTreeMap::new();
        let text = self.register();
        if self.config.generation.shakes_hands() {
            changes.insert(HANDSHAKE.to_owned(), format!("Reported {now}"));
            changes.insert(REGISTER.to_owned(), text);
        } else if node.get(REGISTER) != Some(&text) {
            changes.insert(REGISTER.to_owned(), text);
        }
        changes
    }

    /// `status.capacity` of its resources.
    pub fn capacity(&self) -> AmountsByResource {
        self.amounts(|_| true)
    }

    /// `status.allocatable` of its resources.
    pub fn allocatable(&self) -> AmountsByResource {
        self.amounts(|card| self.is_healthy(card))
    }

    /// `status.allocatable` of its resources while it does not run.
    pub fn allocatable_while_stopped(&self) -> AmountsByResource {
        self.amounts(|_| false)
    }

    fn amounts(&self, counts: impl Fn(&PhysicalCard) -> bool) -> AmountsByResource {
        let cards: Vec<_> = self.served().into_iter().filter(|c| counts(c)).collect();
        let number = cards.len() as u64;
        let memory = |card: &&PhysicalCard| card.memory_mib / self.config.memory_factor;
        let cores = CORES * self.config.core_scaling_percent / 100;
        AmountsByResource::from([
            (super::vgpu::NUMBER, number * self.config.slots),
            ("volcano.sh/vgpu-memory", cards.iter().map(memory).sum()),
            ("volcano.sh/vgpu-cores", number * cores),
        ])
    }
}
