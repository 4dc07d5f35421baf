//! What a pod got, as text: `volcano.sh/vgpu-ids-new` and `volcano.sh/devices-to-allocate`
//! (spec/04 §9.2, §10).
//!
//! ```text
//! allocation = container *( ";" container )
//! container  = *( device ":" )
//! device     = id "," "NVIDIA" "," memory "," cores
//! id         = uuid / uuid "[" group "-" position "]"
//! ```
//!
//! The device plugin hands the first element that is not empty to the container that kubelet
//! prepares next, and looks up the name of the container by the number of the element among the
//! regular ones: an element beyond them makes it crash. Kubelet prepares init containers before
//! regular ones. So the element of a regular container has its number, and elements of init containers,
//! sidecars among them, take empty places before that of the first regular container with vGPU
//! ([`layout`]).

use std::borrow::Cow;
use std::fmt::Write;

use crate::facts::{ContainerFacts, ContainerKind};
use crate::ledger::Partition;
use crate::nvidia::vgpu::containers::ContainerRequest;
use crate::nvidia::vgpu::partitions::PartitionTable;

/// The word of the vendor; the plugin does not see devices with another.
pub const VENDOR: &str = "NVIDIA";

/// One device of an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device<'a> {
    /// UUID, or partition of it.
    pub id: Cow<'a, str>,
    /// Memory in units of the register annotation, as asked.
    pub memory: u32,
    /// Percent of a card.
    pub cores: u32,
}

/// A device as read; what is not a number, or too large a number, is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read<'a> {
    /// The piece of text.
    pub piece: &'a str,
    /// UUID, or partition of it.
    pub id: &'a str,
    /// It has the word of the vendor.
    pub vendor: bool,
    /// Memory of the device that the container has.
    pub memory: Option<u32>,
    /// Cores of the device that the container has, in percent.
    pub cores: Option<u32>,
}

/// Room for the text of one device, which most pods have.
const DEVICE_BYTES: usize = 64;

/// Writes an allocation; empty elements at the end are left out.
pub fn encode<'a, Element>(elements: impl IntoIterator<Item = Element>) -> String
where
    Element: IntoIterator<Item = Device<'a>>,
{
    let mut text = String::with_capacity(DEVICE_BYTES);
    for element in elements {
        for Device { id, memory, cores } in element {
            text.push_str(&id);
            // Writing to a string does not fail.
            let _ = write!(text, ",{VENDOR},{memory},{cores}:");
        }
        text.push(';');
    }
    text.truncate(text.trim_end_matches(';').len());
    text
}

/// Reads an allocation: the devices of every element. A piece without any comma is kept too, as a
/// device of which nothing is known.
pub fn decode(text: &str) -> Vec<Vec<Read<'_>>> {
    let elements = text.split(';');
    elements
        .map(|element| pieces(element).map(read).collect())
        .collect()
}

fn pieces(element: &str) -> impl Iterator<Item = &str> {
    element
        .split(':')
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
}

fn read(piece: &str) -> Read<'_> {
    let mut fields = piece.split(',').map(str::trim);
    let id = fields.next().unwrap_or_default();
    let vendor = fields.next() == Some(VENDOR);
    let mut number = |most: u32| {
        let text = fields.next()?;
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.filter(|number| *number <= most)
    };
    Read {
        piece,
        id,
        vendor,
        memory: number(i32::MAX as u32),
        cores: number(100),
    }
}

/// The UUID of an id, and its partition as written.
pub fn split_id(id: &str) -> (&str, Option<&str>) {
    match id.split_once('[') {
        Some((uuid, partition)) => (uuid, Some(partition)),
        None => (id, None),
    }
}

/// The partition of an id, without the UUID and the bracket before it; with its memory in MiB.
pub fn unit(table: &PartitionTable, partition: &str) -> Option<(Partition, i64)> {
    let (group, position) = partition.strip_suffix(']')?.split_once('-')?;
    table.unit(group, position)
}

/// The id of a partition.
pub fn mig_id(uuid: &str, table: &PartitionTable, partition: Partition) -> Option<String> {
    let group = table.group_name(partition)?;
    Some(format!("{uuid}[{group}-{}]", partition.position))
}

/// The position of the container behind each element, as this crate writes them; `None` for an
/// empty element.
///
/// # Errors
/// Init containers with vGPU have no place before the first regular container with vGPU.
pub fn layout(
    needs: &[ContainerRequest],
    containers: &[ContainerFacts],
) -> Result<Vec<Option<u16>>, String> {
    let asks = |at: usize| needs.iter().any(|need| usize::from(need.container) == at);
    let all = containers.iter().enumerate();
    let regular = all.filter(|(_, container)| container.kind == ContainerKind::Regular);
    let element = |(at, _): (usize, &ContainerFacts)| asks(at).then_some(at as u16);
    let mut elements: Vec<Option<u16>> = regular.map(element).collect();
    let is_regular = |need: &&ContainerRequest| {
        let container = containers.get(usize::from(need.container));
        container.is_some_and(|container| container.kind == ContainerKind::Regular)
    };
    let mut sidecars = needs
        .iter()
        .filter(|need| !is_regular(need))
        .map(|need| need.container);
    for element in &mut elements {
        if element.is_some() {
            break;
        }
        *element = sidecars.next();
    }
    match sidecars.count() {
        0 => Ok(elements),
        left => Err(format!(
            "the device plugin can serve {left} of the init containers and sidecars with vGPU only if as \
             many containers without vGPU come before the first container with vGPU: move the vGPU into \
             one container"
        )),
    }
}

/// Elements as Volcano writes them: only those of regular containers with vGPU.
pub fn packed(needs: &[ContainerRequest], containers: &[ContainerFacts]) -> Vec<Option<u16>> {
    let regular = |need: &&ContainerRequest| {
        let container = containers.get(usize::from(need.container));
        container.is_none_or(|container| container.kind == ContainerKind::Regular)
    };
    needs
        .iter()
        .filter(regular)
        .map(|need| Some(need.container))
        .collect()
}
