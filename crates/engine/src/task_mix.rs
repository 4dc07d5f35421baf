//! What a ConfigMap says that tasks ask: taken as far as it can be read, and told where it cannot.

use pumice_model::device::CountedTasks;
use pumice_model::{Delta, DeviceNote, NoteAbout, State};
pub use pumice_plugins::fragmentation::{kept_mix_fault, mix_text_faults};

use crate::knowledge::Knowledge;

/// Key of the ConfigMap.
pub const MIX_KEY: &str = "mix";

/// What is to be applied of a mix: nothing, where no class of it can be read. What is wrong with it is noted.
pub(crate) fn readable_mix(state: &mut State, delta: Delta) -> Option<Delta> {
    let Delta::TaskMix {
        namespace,
        name,
        text,
    } = &delta
    else {
        return Some(delta);
    };
    let (classes, mut faults) = mix_text_faults(text);
    if classes == 0 && faults.is_empty() {
        faults.push("there is no line with a class of tasks".to_owned());
    }
    let then = match classes {
        0 => "what was known before stays in use",
        _ => "the other lines count",
    };
    if !faults.is_empty() {
        let faults = faults.join("; ");
        state.supplies_mut().note_device(DeviceNote {
            about: NoteAbout::ConfigMap(namespace.clone(), name.clone()),
            text: format!(
                "{MIX_KEY}: {faults}; {then}; write a class a line, as in `{}`",
                "30 cpu=8 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8000 on gpu=A100"
            ),
        });
    }
    (classes > 0).then_some(delta)
}

impl Knowledge<'_> {
    /// The tasks that were counted for the mix, for plugins that come after those that are there.
    pub(crate) fn counted_tasks(&self) -> Option<CountedTasks> {
        let keeper = self.plugins.task_mix()?;
        keeper.counted(self.state)
    }
}
