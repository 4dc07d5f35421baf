//! What a pod got, as text (spec/05 §3.8).
//!
//! ```text
//! hami.io/<type>-devices-allocated = *( container ";" )      only containers with chips, in order
//! container                        = *( uuid "," type "," MiB "," cores ":" )
//! huawei.com/<type>                = JSON: [{"UUID":…,"temp":…}, …]
//! ```

use super::chips::ChipType;
use super::needs::ChipShare;

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

/// A device as read; what is no possible number is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadChip<'a> {
    /// The piece of text.
    pub piece: &'a str,
    /// UUID.
    pub id: &'a str,
    /// MiB.
    pub memory: Option<i64>,
    /// Percent of the chip.
    pub cores: Option<i64>,
}

/// Writes the chips of each container.
pub fn devices_text(word: &str, elements: &[Vec<ChipGrant>]) -> String {
    let mut text = String::new();
    for element in elements {
        for device in element {
            let ChipGrant {
                id, memory, cores, ..
            } = device;
            text.push_str(&format!("{id},{word},{memory},{cores}:"));
        }
        text.push(';');
    }
    text
}

/// Reads the chips of each container that has some.
pub fn decode(text: &str) -> Vec<Vec<ReadChip<'_>>> {
    let elements = text.split(';').map(devices);
    elements.filter(|element| !element.is_empty()).collect()
}

fn devices(element: &str) -> Vec<ReadChip<'_>> {
    let pieces = element.split(':').map(str::trim);
    pieces.filter(|piece| !piece.is_empty()).map(read).collect()
}

fn read(piece: &str) -> ReadChip<'_> {
    let mut fields = piece.split(',').map(str::trim);
    let id = fields.next().unwrap_or_default();
    let _type = fields.next();
    let mut number = |most: i64| {
        let number = fields.next()?.parse::<i64>().ok()?;
        (0..=most).contains(&number).then_some(number)
    };
    ReadChip {
        piece,
        id,
        memory: number(i32::MAX.into()),
        cores: number(100),
    }
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
