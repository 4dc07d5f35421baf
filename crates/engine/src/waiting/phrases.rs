//! Phrases that stand in more than one kind of message.

use pumice_conf::did_you_mean;

/// Everything from here on names one node and amounts: the nearest miss.
pub(super) const NEAREST_MISS: &str = " Nearest miss: ";

/// Which known name may have been meant; empty if none is near.
pub(super) fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    did_you_mean(name, known).map_or(String::new(), |asked| format!(", {asked}"))
}
