//! What the tests of this crate share beside the objects of `pumice-fixtures`.

use pumice_conf::{ActionSpec, Arg, ArgSpec, Registry};
use pumice_framework::{Class, CycleInfo, Plugin};
use pumice_model::{JobIx, QueueIx, State, TaskIx};

pub use pumice_fixtures::*;

const ARGUMENTS: &[ArgSpec] = &[Arg::switch(
    "predicateErrorCacheEnable",
    true,
    "Any argument of an action.",
)
.spec()];

const fn action(name: &'static str) -> ActionSpec {
    ActionSpec {
        name,
        summary: "An action.",
        args: ARGUMENTS,
    }
}

/// The plugins, and actions for them to be configured with.
pub static REGISTRY: Registry = Registry {
    plugins: crate::SPECS,
    actions: &[action("enqueue"), action("allocate"), action("backfill")],
};

/// The plugin after it has seen the cycle open.
pub fn opened<P: Plugin>(mut plugin: P, state: &State) -> P {
    plugin.open(state, &CycleInfo::default());
    plugin
}

pub fn job(state: &State, name: &str) -> JobIx {
    state.population().job_by_key("ns", name).expect("a job")
}

pub fn queue_ix(state: &State, name: &str) -> QueueIx {
    state.population().queue_by_name(name).expect("a queue")
}

pub fn task(state: &State, uid: &str) -> TaskIx {
    state.population().task_by_uid(uid).expect("a task")
}

/// The class of a pod.
pub fn class(state: &State, uid: &str) -> Class {
    Class::of(state, task(state, uid))
}

/// Names of tasks, in their order.
pub fn names(state: &State, tasks: &[TaskIx]) -> String {
    let names: Vec<&str> = tasks.iter().map(|ix| &*state.task(*ix).name).collect();
    names.join(" ")
}
