//! Which chips the annotations of a pod leave to it (spec/05 §3.4, P-13).

use crate::facts::PodFacts;
use crate::hami::uuid_lists::UuidLists;

use super::chips::VnpuConfig;

/// UUIDs by type; those without lists are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChipLimits(Vec<(u16, UuidLists)>);

impl ChipLimits {
    /// Reads the annotations of a pod.
    pub fn of(pod: &PodFacts, config: &VnpuConfig) -> Self {
        let types = config.types.iter().enumerate();
        let lists = types.map(|(of, chip)| {
            let allowed = format!("hami.io/use-{}-uuid", chip.word);
            let denied = format!("hami.io/no-use-{}-uuid", chip.word);
            (of as u16, UuidLists::of(pod, &allowed, &denied))
        });
        Self(lists.filter(|(_, lists)| !lists.is_empty()).collect())
    }

    /// Whether a chip of a type is allowed.
    pub fn admits(&self, of: u16, id: &str) -> bool {
        let lists = self.0.iter().find(|(known, _)| *known == of);
        lists.is_none_or(|(_, lists)| lists.admits(id))
    }
}
