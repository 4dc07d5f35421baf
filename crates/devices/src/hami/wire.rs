//! What a pod got, as HAMi writes it (spec/04 §18.2).
//!
//! ```text
//! allocation = *( container ";" )
//! container  = *( uuid "," word "," MiB "," cores ":" )
//! ```

use std::fmt::Write as _;

use super::registered_card::MAX_CARDS;

/// A device as read; what is no possible number is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadDevice<'a> {
    /// The piece of text.
    pub piece: &'a str,
    /// UUID.
    pub id: &'a str,
    /// MiB.
    pub memory: Option<i64>,
    /// Percent of the card, or its own units.
    pub cores: Option<i64>,
}

impl ReadDevice<'_> {
    /// Memory in MiB and cores.
    pub fn amounts(&self) -> Option<(i64, i64)> {
        self.memory.zip(self.cores)
    }
}

/// Adds a device to an element.
pub fn push_device(text: &mut String, id: &str, word: &str, memory: i64, cores: i64) {
    // A text takes whatever is written.
    let _ = write!(text, "{id},{word},{memory},{cores}:");
}

/// Ends an element.
pub fn end_element(text: &mut String) {
    text.push(';');
}

/// Reads the devices of every element, empty ones too; `most_cores` is the most a device may have.
///
/// # Errors
/// There are more devices than a node has: what that means.
pub fn elements(
    text: &str,
    most_cores: i64,
) -> Result<impl Iterator<Item = Vec<ReadDevice<'_>>>, String> {
    let pieces = text.split([';', ':']);
    let count = pieces.filter(|piece| !piece.trim().is_empty()).count();
    match count > MAX_CARDS {
        true => Err(format!(
            "tells {count} devices, and no node has more than {MAX_CARDS}: nothing of it is read"
        )),
        false => Ok(text.split(';').map(move |one| devices(one, most_cores))),
    }
}

fn devices(element: &str, most_cores: i64) -> Vec<ReadDevice<'_>> {
    let pieces = element.split(':').map(str::trim);
    let pieces = pieces.filter(|piece| !piece.is_empty());
    pieces.map(|piece| read(piece, most_cores)).collect()
}

fn read(piece: &str, most_cores: i64) -> ReadDevice<'_> {
    let mut fields = piece.split(',').map(str::trim);
    let id = fields.next().unwrap_or_default();
    let _word = fields.next();
    let mut number = |most: i64| {
        let number = fields.next()?.parse::<i64>().ok()?;
        (0..=most).contains(&number).then_some(number)
    };
    ReadDevice {
        piece,
        id,
        memory: number(i32::MAX.into()),
        cores: number(most_cores),
    }
}
