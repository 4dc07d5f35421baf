//! What the annotations of a pod say of the order in which cards and nodes are tried for it
//! (spec/04 §23.4).
//!
//! A policy that nobody knows counts as absent, and the owner of the pod is told: an order is a wish,
//! and no wish keeps a pod waiting. Weights that cannot be read refuse the pod, as HAMi does.

use smallvec::SmallVec;

use crate::facts::PodFacts;
use crate::settings::Policy;
use crate::text::clip;

/// Pod annotation: which cards come first, and which will do; one policy or several.
pub const POLICY: &str = "hami.io/gpu-scheduler-policy";
/// Pod annotation: which nodes come first.
pub const NODE_POLICY: &str = "hami.io/node-scheduler-policy";
/// Pod annotation: how much slots, cores and memory in use count for the order of cards.
pub const WEIGHTS: &str = "hami.io/device-scoring-weights";

/// What may stand in [`POLICY`], for messages.
const POLICIES: &str = "binpack, spread, numa, mutex or topology-aware, or several of them with \
                        commas between";

/// By what cards are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKey {
    /// Full cards first.
    Binpack,
    /// Idle cards first.
    Spread,
    /// The highest NUMA node first.
    Numa,
}

impl OrderKey {
    fn of(policy: Policy) -> Option<Self> {
        match policy {
            Policy::None => None,
            Policy::Binpack | Policy::Fragmentation => Some(Self::Binpack),
            Policy::Spread => Some(Self::Spread),
        }
    }
}

/// How much of each counts that is in use of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardWeights {
    /// Weight of the slots that are in use.
    pub slot: i64,
    /// Weight of the cores that are in use.
    pub core: i64,
    /// Weight of the memory that is in use.
    pub memory: i64,
}

impl CardWeights {
    /// How full a card is of whose slots, cores and memory so much is in use, of all that it has.
    pub fn of(self, slots: (i64, i64), cores: (i64, i64), memory: (i64, i64)) -> f64 {
        if slots.1 == 0 || cores.1 == 0 || memory.1 == 0 {
            return 0.0;
        }
        let share = |weight: i64, (used, all): (i64, i64)| weight as f64 * used as f64 / all as f64;
        share(self.slot, slots) + share(self.core, cores) + share(self.memory, memory)
    }
}

/// What a pod prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardPreference {
    /// By which cards and nodes are scored.
    pub policy: Policy,
    /// By what cards are ordered: by the first, those that are equal by the next.
    pub keys: SmallVec<[OrderKey; 3]>,
    /// Only cards nobody uses.
    pub idle_only: bool,
    /// Cards that are well linked with each other, where the node tells of links.
    pub linked: bool,
    /// How full a card is, if not by memory or by sharers alone.
    pub weights: Option<CardWeights>,
    /// Nodes by how much of their cards is in use.
    pub node: Option<Policy>,
    /// What the owner of the pod should know of its annotations.
    pub warning: Option<String>,
}

impl CardPreference {
    /// Reads the annotations of a pod; what they leave out is as configured.
    ///
    /// # Errors
    /// The weights cannot be read: what to write.
    pub fn of(pod: &PodFacts, configured: Policy) -> Result<Self, String> {
        let mut warnings: SmallVec<[String; 2]> = SmallVec::new();
        let mut found = Self::of_cards(pod, configured, &mut warnings);
        found.node = node_policy(pod, &mut warnings);
        found.weights = weights(pod)?;
        if found.weights.is_some() && found.keys.is_empty() {
            // HAMi's own default: without an order there would be nothing to weigh.
            found.keys.push(OrderKey::Spread);
        }
        found.warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        Ok(found)
    }

    fn of_cards(pod: &PodFacts, configured: Policy, warnings: &mut SmallVec<[String; 2]>) -> Self {
        let mut found = Self::default();
        let text = pod.annotation(POLICY).unwrap_or_default();
        let mut unknown: Option<&str> = None;
        for word in text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            let key = match word {
                "binpack" => OrderKey::Binpack,
                "spread" => OrderKey::Spread,
                "numa" => OrderKey::Numa,
                "mutex" => {
                    found.idle_only = true;
                    continue;
                }
                "topology-aware" => {
                    found.linked = true;
                    continue;
                }
                other => {
                    unknown.get_or_insert(other);
                    continue;
                }
            };
            if !found.keys.contains(&key) {
                found.keys.push(key);
            }
        }
        if let Some(word) = unknown {
            warnings.push(format!(
                "annotation {POLICY}: {:?} is no policy and counts as absent: write {POLICIES}",
                clip(word)
            ));
        }
        let named = found.keys.iter().find_map(|key| match key {
            OrderKey::Binpack => Some(Policy::Binpack),
            OrderKey::Spread => Some(Policy::Spread),
            OrderKey::Numa => None,
        });
        found.policy = named.unwrap_or(configured);
        if found.keys.is_empty() {
            found.keys = OrderKey::of(configured).into_iter().collect();
        }
        found
    }

    /// Cards are taken in the order of the policy that scores them, and any of them may do.
    pub fn is_plain(&self) -> bool {
        let is_limited = self.idle_only || self.linked;
        self.is_by_policy() && !is_limited && self.node.is_none()
    }

    /// Cards are taken in the order of the policy that scores them.
    pub fn is_by_policy(&self) -> bool {
        let by_policy = self.keys.as_slice() == OrderKey::of(self.policy).as_slice();
        by_policy && self.weights.is_none()
    }
}

fn node_policy(pod: &PodFacts, warnings: &mut SmallVec<[String; 2]>) -> Option<Policy> {
    match pod.annotation(NODE_POLICY).unwrap_or_default().trim() {
        "" => None,
        "binpack" => Some(Policy::Binpack),
        "spread" => Some(Policy::Spread),
        other => {
            warnings.push(format!(
                "annotation {NODE_POLICY}: {:?} is no policy and counts as absent: write binpack or \
                 spread",
                clip(other)
            ));
            None
        }
    }
}

/// Weights by name, each once.
fn weights(pod: &PodFacts) -> Result<Option<CardWeights>, String> {
    let Some(text) = pod.annotation(WEIGHTS) else {
        return Ok(None);
    };
    let wrong = |why: String| {
        format!(
            "annotation {WEIGHTS} is {:?}: {why}; write three whole numbers from 0 on, not all of them \
             0, as in slot=1,core=1,memory=3, or remove it",
            clip(text)
        )
    };
    let mut named: [Option<i64>; 3] = [None; 3];
    const NAMES: [&str; 3] = ["slot", "core", "memory"];
    for part in text.split(',').map(str::trim) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (name.trim(), value.trim());
        let Some(at) = NAMES.iter().position(|known| *known == name) else {
            return Err(wrong(format!("{:?} is no weight", clip(name))));
        };
        let weight = value.parse::<i64>().ok().filter(|weight| *weight >= 0);
        let Some(weight) = weight else {
            return Err(wrong(format!("{name} is {:?}", clip(value))));
        };
        if named[at].replace(weight).is_some() {
            return Err(wrong(format!("{name} is there twice")));
        }
    }
    match named {
        [Some(0), Some(0), Some(0)] => Err(wrong("all are 0".to_owned())),
        [Some(slot), Some(core), Some(memory)] => Ok(Some(CardWeights { slot, core, memory })),
        _ => {
            let missing = NAMES.iter().zip(named).find(|(_, value)| value.is_none());
            Err(wrong(format!(
                "{} is missing",
                missing.map_or("one", |(name, _)| name)
            )))
        }
    }
}
