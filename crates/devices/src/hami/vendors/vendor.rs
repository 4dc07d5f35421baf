//! What a vendor is to the list of vendors.

use crate::config::DeviceConfig;
use crate::hami::kind::CardKind;
use crate::settings::Settings;

/// A vendor whose cards HAMi shares, and what kinds of cards it has.
pub struct Vendor {
    /// Name of the vendor, as the argument has it in any case.
    pub name: &'static str,
    /// Makes the vendor's kinds of cards from settings and the device configuration.
    pub kinds: fn(&Settings, &DeviceConfig) -> Vec<CardKind>,
}
