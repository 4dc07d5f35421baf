//! The cards of HAMi's vendors as a family: what its parts are parts of. What the family does is in
//! [`super::cards`].

use super::own::PodOnDevices;

/// The cards of HAMi's vendors.
pub struct VendorCards;

/// A node, seen by a pod that asks cards of vendors.
pub type PodOnCards<'a> = PodOnDevices<'a, VendorCards>;
