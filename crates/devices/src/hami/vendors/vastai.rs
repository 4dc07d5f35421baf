//! Vastai cards, shared by slots alone. Tried in simulation only.

use crate::hami::kind::{CardKind, KindNames};

use super::vendor::Vendor;

/// UUIDs.
pub const UUIDS: (&str, &str) = ("vastaitech.com/use-gpuuuid", "vastaitech.com/nouse-gpuuuid");

/// The vendor.
pub const VENDOR: Vendor = Vendor {
    name: "Vastai",
    kinds: |_, _| {
        let names = KindNames::new("vastaitech.com/va", "", "");
        let mut kind = CardKind::by_slots("Vastai", "hami.io/node-va-register", names);
        kind.keys.uuids = Some((UUIDS.0.to_owned(), UUIDS.1.to_owned()));
        vec![kind]
    },
};
