//! What a pod got, as text (spec/05 §3.8).
//!
//! ```text
//! hami.io/<type>-devices-allocated = *( container ";" )      only containers with chips, in order
//! container                        = *( uuid "," type "," MiB "," cores ":" )
//! huawei.com/<type>                = JSON: [{"UUID":…,"temp":…}, …]
//! ```

use crate::hami::wire::{ReadDevice, elements, end_element, push_device};

use super::chips::ChipType;
use super::needs::ChipShare;

/// Percent of a chip.
const ALL_CORES: i64 = 100;

/// One chip of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipGrant {
    /// UUID.
    pub id: String,
    /// MiB.
    pub memory: i64,
    /// Percent of the chip.
    pub cores: i64,
    /// What was asked.
    pub share: ChipShare,
}

/// Writes the chips of each container.
pub fn devices_text(word: &str, elements: &[Vec<ChipGrant>]) -> String {
    let mut text = String::new();
    for element in elements {
        for device in element {
            let ChipGrant {
                id, memory, cores, ..
            } = device;
            push_device(&mut text, id, word, *memory, *cores);
        }
        end_element(&mut text);
    }
    text
}

/// Reads the chips of each container that has some.
///
/// # Errors
/// There are more than a node has: what that means.
pub fn decode(text: &str) -> Result<Vec<Vec<ReadDevice<'_>>>, String> {
    let elements = elements(text, ALL_CORES)?;
    Ok(elements.filter(|element| !element.is_empty()).collect())
}

/// Writes what the container runtime is told. Identities are such that nothing needs escaping.
pub fn runtime_text(chip: &ChipType, elements: &[Vec<ChipGrant>]) -> String {
    let all = elements.iter().flatten();
    let entries: Vec<String> = all.map(|device| runtime(chip, device)).collect();
    format!("[{}]", entries.join(","))
}

fn runtime(chip: &ChipType, device: &ChipGrant) -> String {
    let mut fields = vec![format!("\"UUID\":\"{}\"", device.id)];
    match device.share {
        ChipShare::Whole => {}
        ChipShare::Template(at) => {
            let name = &chip.templates[usize::from(at)].name;
            fields.push(format!("\"temp\":\"{name}\""));
        }
        ChipShare::Soft { .. } => {
            let amounts = [("memory", device.memory), ("core", device.cores)];
            let amounts = amounts.iter().filter(|(_, amount)| *amount > 0);
            fields.extend(amounts.map(|(key, amount)| format!("\"{key}\":{amount}")));
        }
    }
    format!("{{{}}}", fields.join(","))
}
