//! By what it is told apart what is known of classes, and whether it still holds.

/// Number of what plugins tell a class apart by; 0 for nothing.
pub type SignatureIx = u32;

/// When something is known that depends on what volumes and devices of claims offer, and on what tasks ask of
/// cards: epochs of all three.
pub type SuppliesEpoch = (u64, u64, u64);
