//! Vastai cards, shared by slots alone. Tried in simulation only.

use crate::hami::kind::{CardKind, KindNames};

use super::vendor::Vendor;

/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("vastaitech.com/use-gpuuuid", "vastaitech.com/nouse-gpuuuid");

/// Vastai's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Vastai",
    kinds: |_, _| {
        let names = KindNames::new("vastaitech.com/va", "", "");
        let mut kind = CardKind::by_slots("Vastai", "hami.io/node-va-register", names);
        kind.heeds_uuids(&[UUIDS]);
        vec![kind]
    },
};
