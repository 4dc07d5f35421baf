//! What the scheduler knew at a time.

use std::io::Write as _;
use std::path::Path;

use pumice_record::Replay;
use serde_json::json;

use crate::bad_input::BadInput;
use crate::recordings::rfc3339;

/// Writes it as the document that `pumice simulate` reads.
pub fn state_at(replay: &Replay, configuration: Option<String>, path: &Path) -> anyhow::Result<()> {
    let Some(engine) = replay.engine() else {
        let text = "error: nothing is known at that time\n  = help: it is before the first segment, \
                    or in a part that is lost";
        return Err(BadInput(text.to_owned()).into());
    };
    let document = json!({
        "apiVersion": "pumice.sh/v1",
        "kind": "PumiceState",
        "configuration": configuration,
        "deltas": engine.state().dump(),
    });
    let text = serde_json::to_vec(&document)?;
    super::new_file(path)?.write_all(&text)?;
    let (name, at) = (path.display(), rfc3339(replay.now()));
    anstream::eprintln!("as of {at} in {name}; `pumice simulate {name}` shows it");
    Ok(())
}
