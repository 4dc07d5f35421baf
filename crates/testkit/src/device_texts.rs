//! Texts of device plugins that generators write and the naive scheduler reads.
//!
//! Both stand on this module, so that the naive scheduler imports nothing from the generators.

use sha2::{Digest, Sha256};

/// What the writers of ConfigMaps write beside a text.
pub fn check_code(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The profiles of cards in MIG mode, as a register has them.
const MIG_PROFILES: &str = r#"[
    {"name":"1g.4gb","memoryMB":3840,"core":25,"sliceCount":1,
     "placements":[{"start":0,"size":1},{"start":1,"size":1},{"start":2,"size":1},{"start":3,"size":1}]},
    {"name":"4g.16gb","memoryMB":16128,"core":100,"sliceCount":4,"placements":[{"start":0,"size":4}]},
    {"name":"2g.8gb","memoryMB":7936,"core":50,"sliceCount":2,
     "placements":[{"start":0,"size":2},{"start":2,"size":2}]}]"#;

/// An entry of a register with the profiles that cards in MIG mode have.
pub fn mig_profiles() -> serde_json::Value {
    let profiles: serde_json::Value = serde_json::from_str(MIG_PROFILES).expect("JSON");
    serde_json::json!({ "migProfiles": profiles })
}
