//! Allocation texts as the vGPU plugin reads and writes them (spec/04 §10, §13.3).

/// One device of an element: `id,kind,memory,cores`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireDevice {
    /// UUID of the card, or `uuid[group-position]`.
    pub id: String,
    /// Vendor; the plugin serves `NVIDIA` alone.
    pub kind: String,
    /// Memory of the device, in units of its plugin.
    pub memory: i64,
    /// Cores in percent.
    pub cores: i64,
}

/// Vendor the plugin serves.
pub const NVIDIA: &str = "NVIDIA";

/// Fields of a device.
const FIELDS: usize = 4;

/// Elements of an allocation text, one per container. Pieces without a comma are passed over.
///
/// # Errors
/// A device with fewer than four fields: the plugin reads past the end and crashes.
pub fn decode(text: &str) -> Result<Vec<Vec<WireDevice>>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(';').map(decode_element).collect()
}

fn decode_element(element: &str) -> Result<Vec<WireDevice>, String> {
    let pieces = element.split(':').filter(|piece| piece.contains(','));
    pieces.map(decode_device).collect()
}

fn decode_device(piece: &str) -> Result<WireDevice, String> {
    let fields: Vec<&str> = piece.split(',').collect();
    if fields.len() < FIELDS {
        return Err(format!("index out of range: {piece:?} has too few fields"));
    }
    Ok(WireDevice {
        id: fields[0].to_owned(),
        kind: fields[1].to_owned(),
        memory: number(fields[2]),
        cores: number(fields[3]),
    })
}

/// A 32-bit number; what is none counts as 0, what is too large as the largest.
fn number(text: &str) -> i64 {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match text.parse::<i32>() {
        Ok(number) => number.into(),
        Err(error) if *error.kind() == PosOverflow => i32::MAX.into(),
        Err(error) if *error.kind() == NegOverflow => i32::MIN.into(),
        Err(_) => 0,
    }
}

/// The text of elements.
pub fn encode(elements: &[Vec<WireDevice>]) -> String {
    let element = |devices: &Vec<WireDevice>| devices.iter().map(encode_device).collect::<String>();
    elements.iter().map(element).collect::<Vec<_>>().join(";")
}

fn encode_device(device: &WireDevice) -> String {
    let WireDevice {
        id,
        kind,
        memory,
        cores,
    } = device;
    format!("{id},{kind},{memory},{cores}:")
}

/// An unsigned time; missing, too long or no number at all: as late as can be.
pub fn time(text: Option<&String>) -> u64 {
    let digits = |text: &&String| text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.filter(digits);
    text.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}
