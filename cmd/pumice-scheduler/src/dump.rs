//! The state as a document that `pumice simulate` reads.

use pumice_engine::Engine;

/// The document: every object as the engine knows it, and what it has decided.
pub fn state(engine: &Engine) -> Vec<u8> {
    let document = serde_json::json!({
        "apiVersion": "pumice.sh/v1",
        "kind": "PumiceState",
        "deltas": engine.state().dump(),
    });
    document.to_string().into_bytes()
}
