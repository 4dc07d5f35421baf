//! Enflame GCUs, whole ones. Tried in simulation only.

use crate::hami::kind::{CardKind, KindNames, PodLookup, whole_cards};

use super::vendor::Vendor;

/// Enflame's GCUs, as HAMi shares them.
pub const VENDOR: Vendor = Vendor {
    name: "Enflame",
    kinds: |_, _| vec![gcu()],
};

fn gcu() -> CardKind {
    let names = KindNames::new("enflame.com/gcu", "", "");
    let mut kind = CardKind::registered("GCU", "status.capacity", "enflame-gcu", names);
    kind.service = PodLookup::Kubelet;
    // What memory a card has is not told, nor needed to hand it out whole.
    kind.discover = |kind, node, problems| whole_cards(kind, node, ("GCU", 1), problems);
    kind
}
