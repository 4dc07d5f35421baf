//! What the engine has noted of something.

use pumice_engine::Engine;
use pumice_model::NoteAbout;

/// What was noted of something and not told yet.
pub(crate) fn noted(engine: &Engine, about: &NoteAbout) -> Vec<String> {
    let notes = engine.state().supplies().device_notes();
    let of_it = notes.filter(|note| note.about == *about);
    of_it.map(|note| note.text.clone()).collect()
}
