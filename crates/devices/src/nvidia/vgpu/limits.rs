//! Which cards the annotations of a pod leave to it (spec/04 §8, R10, R16, R17).

use crate::facts::PodFacts;
use crate::ledger::Card;
use crate::nvidia::indices::INDEX;
use crate::nvidia::type_list::TypeLists;
use crate::nvidia::vgpu::sharing::SharingMode;
use crate::text::clip;

/// How its cards must be shared.
pub const MODE: &str = "volcano.sh/vgpu-mode";
/// `spread` keeps the pods of a group on different cards.
pub const GROUP_POLICY: &str = "volcano.sh/vgpu-podgroup-policy";
/// The only value of [`GROUP_POLICY`].
pub const SPREAD: &str = "spread";
/// UUIDs it may use.
pub const USE_UUID: &str = "volcano.sh/vgpu-use-gpuuuid";
/// UUIDs it may not use.
pub const NO_UUID: &str = "volcano.sh/vgpu-nouse-gpuuuid";
/// HAMi's name of [`USE_UUID`].
pub const USE_UUID_ALIAS: &str = "nvidia.com/use-gpuuuid";
/// HAMi's name of [`NO_UUID`].
pub const NO_UUID_ALIAS: &str = "nvidia.com/nouse-gpuuuid";

/// What the annotations say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotationLimits {
    /// How the pod's cards must be shared ([`MODE`]); none: in any way.
    pub mode: Option<SharingMode>,
    /// Indices of the cards that the pod may use; empty: all.
    pub indices: Vec<u32>,
    /// Types of its cards.
    pub types: TypeLists,
    /// UUIDs; empty: all.
    pub use_uuids: Vec<String>,
    /// UUIDs of cards that the pod may not use.
    pub no_uuids: Vec<String>,
    /// Pods of its group must not be on its cards.
    pub spread: bool,
}

impl AnnotationLimits {
    /// Reads the annotations of a pod.
    ///
    /// # Errors
    /// A mode that is none, or indices that are none.
    pub fn read(pod: &PodFacts) -> Result<Self, String> {
        let both = |key: &str, alias: &str| {
            let mut all = list(pod, key);
            all.extend(list(pod, alias));
            all
        };
        Ok(Self {
            mode: pod.annotation(MODE).map(mode).transpose()?,
            indices: indices(pod)?,
            types: TypeLists::of(pod),
            use_uuids: both(USE_UUID, USE_UUID_ALIAS),
            no_uuids: both(NO_UUID, NO_UUID_ALIAS),
            spread: pod.annotation(GROUP_POLICY) == Some(SPREAD),
        })
    }

    /// No card is ruled out, but perhaps by its mode.
    pub fn takes_any_card(&self) -> bool {
        self.indices.is_empty() && self.types.is_empty() && !self.by_uuid() && !self.spread
    }

    /// UUIDs are restricted.
    pub fn by_uuid(&self) -> bool {
        !self.use_uuids.is_empty() || !self.no_uuids.is_empty()
    }

    /// Whether the UUID of a card is allowed.
    pub fn allow_uuid(&self, card: &Card) -> bool {
        let named = |list: &[String]| list.iter().any(|uuid| **uuid == *card.id);
        (self.use_uuids.is_empty() || named(&self.use_uuids)) && !named(&self.no_uuids)
    }

    /// Whether the index of a card is allowed.
    pub fn allow_index(&self, card: &Card) -> bool {
        self.indices.is_empty() || self.indices.contains(&card.index)
    }
}

fn list(pod: &PodFacts, key: &str) -> Vec<String> {
    let value = pod.annotation(key).unwrap_or_default();
    let parts = value.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn mode(value: &str) -> Result<SharingMode, String> {
    match SharingMode::named(value) {
        Some(mode) => Ok(mode),
        None => Err(format!(
            "annotation {MODE} is {value:?}: write hami-core, mig or mps, or remove it"
        )),
    }
}

fn indices(pod: &PodFacts) -> Result<Vec<u32>, String> {
    let text = pod.annotation(INDEX).unwrap_or_default();
    crate::nvidia::indices::indices(text).map_err(|bad| {
        format!(
            "annotation {INDEX} is {:?}, of which {bad} is no index: write indices of GPUs separated \
             by commas, such as \"0,2\", or remove it",
            clip(text)
        )
    })
}
