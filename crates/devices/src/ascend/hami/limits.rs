//! Which chips the annotations of a pod leave to it (spec/05 §3.4, P-13).

use crate::facts::PodFacts;

use super::chips::VnpuConfig;

/// UUIDs by type; those without lists are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChipLimits(Vec<UuidLists>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct UuidLists {
    of: u16,
    /// Empty: all.
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl ChipLimits {
    /// Reads the annotations of a pod.
    pub fn of(pod: &PodFacts, config: &VnpuConfig) -> Self {
        let mut all = Vec::new();
        for (of, chip) in config.types.iter().enumerate() {
            let list = |key: String| -> Vec<String> {
                let value = pod.annotation(&key).unwrap_or_default();
                let parts = value.split(',').map(str::trim);
                let parts = parts.filter(|part| !part.is_empty());
                parts.map(str::to_owned).collect()
            };
            let allowed = list(format!("hami.io/use-{}-uuid", chip.word));
            let denied = list(format!("hami.io/no-use-{}-uuid", chip.word));
            if !allowed.is_empty() || !denied.is_empty() {
                all.push(UuidLists {
                    of: of as u16,
                    allowed,
                    denied,
                });
            }
        }
        Self(all)
    }

    /// Whether a chip of a type is allowed.
    pub fn admits(&self, of: u16, id: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|uuid| uuid == id);
        let lists = self.0.iter().find(|lists| lists.of == of);
        lists.is_none_or(|lists| {
            (lists.allowed.is_empty() || named(&lists.allowed)) && !named(&lists.denied)
        })
    }
}
