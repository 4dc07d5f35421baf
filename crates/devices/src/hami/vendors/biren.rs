//! Biren GPUs, shared by slots alone. Tried in simulation only.

use crate::hami::kind::{CardKind, KindNames};

use super::vendor::Vendor;

/// Annotations of a pod: UUIDs of the cards it may use, and of those it may not.
pub const UUIDS: (&str, &str) = ("birentech.com/use-gpuuuid", "birentech.com/nouse-gpuuuid");

/// Biren's cards, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Biren",
    kinds: |_, _| {
        let names = KindNames::new("birentech.com/gpu", "", "");
        let mut kind = CardKind::by_slots("Biren", "hami.io/node-biren-register", names);
        kind.heeds_uuids(&[UUIDS]);
        vec![kind]
    },
};
