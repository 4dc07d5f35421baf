//! The state as a document that `pumice simulate` reads.

use pumice_engine::Engine;

/// The document: every object as the engine knows it, what it has decided, and the text of the
/// configuration in use.
pub fn state(engine: &Engine, configuration: Option<&str>) -> Vec<u8> {
    let document = serde_json::json!({
        "apiVersion": "pumice.sh/v1",
        "kind": "PumiceState",
        "configuration": configuration,
        "deltas": engine.state().dump(),
    });
    document.to_string().into_bytes()
}
