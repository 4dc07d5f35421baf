//! The naive reference scheduler and generators of random inputs, for tests.
//!
//! ```text
//!  generate::cluster(seed) ─┬─► the engine ─────► binds ─┐
//!  generate::conf_text(seed)┤                            ├─ must be equal, binding for binding
//!                           └─► naive::schedule ► binds ─┘
//! ```
//!
//! Invariant: nothing here uses the state, the plugins, the actions or the engine. Only the input
//! types (`pumice_model::object`, `pumice_model::Delta`) and the checked configuration are shared,
//! so a mistake in the fast path cannot hide in its own reference.

mod device_texts;
pub mod generate;
pub mod naive;
