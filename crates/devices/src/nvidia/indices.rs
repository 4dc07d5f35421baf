//! Lists of cards by index, as users write them: those a pod may have, and those of a node that are
//! not well.

use crate::ledger::Card;
use crate::text::shorten;

/// Pod annotation: indices of cards. While the pod waits, those it may have.
pub(crate) const INDEX: &str = "volcano.sh/gpu-index";
/// Node annotation: cards that must not be given out.
pub(crate) const UNHEALTHY: &str = "volcano.sh/gpu-unhealthy-ids";

/// Indices in ascending order, each once; blanks and empty entries do not count.
///
/// # Errors
/// The first entry that is no index, shortened.
pub(crate) fn indices(text: &str) -> Result<Vec<u32>, String> {
    let mut read = Vec::new();
    for entry in text.split(',').map(str::trim) {
        if entry.is_empty() {
            continue;
        }
        let is_plain = entry.bytes().all(|byte| byte.is_ascii_digit());
        match entry.parse() {
            Ok(index) if is_plain => read.push(index),
            _ => return Err(shorten(entry)),
        }
    }
    read.sort_unstable();
    read.dedup();
    Ok(read)
}

/// Takes cards out that a list names by index or identity. The entries that name none.
pub(crate) fn set_aside<'a>(cards: &mut [Card], list: &'a str, why: &str) -> Vec<&'a str> {
    let mut unknown = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        let index = entry.parse::<u32>().ok();
        let named = |card: &&mut Card| Some(card.index) == index || *card.id == *entry;
        match cards.iter_mut().find(named) {
            Some(card) => {
                card.unusable.get_or_insert_with(|| why.into());
            }
            None => unknown.push(entry),
        }
    }
    unknown
}
