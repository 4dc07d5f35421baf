//! What a vendor is to the list of vendors.

use crate::config::DeviceConfig;
use crate::hami::kind::CardKind;
use crate::settings::Settings;

/// A vendor.
pub struct Vendor {
    /// Its name, as the argument has it in any case.
    pub name: &'static str,
    /// Its kinds of cards.
    pub kinds: fn(&Settings, &DeviceConfig) -> Vec<CardKind>,
}
