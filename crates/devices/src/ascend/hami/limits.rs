//! Which chips the annotations of a pod leave to it, and in which order it takes them (spec/05 §3.4, P-13).

use crate::facts::PodFacts;
use crate::hami::preference::{CardPreference, POLICY};
use crate::hami::uuid_lists::UuidLists;
use crate::settings::Policy;

use super::chips::VnpuConfig;

/// What the annotations of a pod say of its chips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChipLimits {
    /// Which chips and nodes come first.
    pub preference: CardPreference,
    /// UUIDs by type; those without lists are left out.
    uuids: Vec<(u16, UuidLists)>,
}

impl ChipLimits {
    /// Reads the annotations of a pod.
    ///
    /// # Errors
    /// Weights that cannot be read.
    pub fn of(pod: &PodFacts, config: &VnpuConfig, policy: Policy) -> Result<Self, String> {
        let types = config.types.iter().enumerate();
        let lists = types.map(|(of, chip)| {
            let allowed = format!("hami.io/use-{}-uuid", chip.word);
            let denied = format!("hami.io/no-use-{}-uuid", chip.word);
            (of as u16, UuidLists::of(pod, &allowed, &denied))
        });
        Ok(Self {
            preference: preference(pod, policy)?,
            uuids: lists.filter(|(_, lists)| !lists.is_empty()).collect(),
        })
    }

    /// Whether a chip of a type is allowed.
    pub fn admits(&self, of: u16, id: &str) -> bool {
        let lists = self.uuids.iter().find(|(known, _)| *known == of);
        lists.is_none_or(|(_, lists)| lists.admits(id))
    }
}

/// What cards of other vendors may be kept from counts for no NPU, as in HAMi.
fn preference(pod: &PodFacts, policy: Policy) -> Result<CardPreference, String> {
    let mut found = CardPreference::of(pod, policy)?;
    if found.idle_only || found.linked {
        (found.idle_only, found.linked) = (false, false);
        let told = format!("annotation {POLICY}: mutex and topology-aware do not count for NPUs");
        let others = found.warning.take().into_iter();
        let all: Vec<String> = others.chain([told]).collect();
        found.warning = Some(all.join("; "));
    }
    Ok(found)
}
