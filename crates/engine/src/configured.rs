//! The actions that a configuration names, and what they may do.

use pumice_actions::{Action, Kernel};
use pumice_conf::{Arguments, Config};
use pumice_framework::line::WaitingLine;
use pumice_framework::{Evicts, Observer, Session, Stage};
use pumice_model::TaskId;

use crate::follow_up::nominations::Nominations;

/// The actions of a checked configuration, each with its arguments.
pub(crate) fn actions(config: &Config) -> Vec<(&'static Action, Arguments)> {
    let named = config.actions.iter();
    let arguments = |name: &String| config.configuration(name).cloned().unwrap_or_default();
    named
        .filter_map(|name| Some((pumice_actions::find(name)?, arguments(name))))
        .collect()
}

/// Whether one of these actions is among them.
pub(crate) fn has_action(actions: &[(&'static Action, Arguments)], names: &[&str]) -> bool {
    let mut actions = actions.iter().map(|(action, _)| action.spec.name);
    actions.any(|name| names.contains(&name))
}

/// Which of the actions evict.
pub(crate) fn evicts(actions: &[(&'static Action, Arguments)]) -> Evicts {
    Evicts {
        preempt: has_action(actions, &["preempt", "gangpreempt"]),
        reclaim: has_action(actions, &["reclaim", "gangreclaim"]),
        reclaim_passes_marks: actions
            .iter()
            .any(|(action, arguments)| pumice_actions::passes_marks(action.spec.name, arguments)),
    }
}

/// Whether queues that ask for it have their order kept.
pub(crate) fn keep_line(actions: &[(&'static Action, Arguments)]) -> bool {
    actions
        .iter()
        .any(|(action, arguments)| pumice_actions::keeps_line(action.spec.name, arguments))
}

/// What the actions of a cycle may do.
pub(crate) fn set_up(session: &mut Session, actions: &[(&'static Action, Arguments)]) {
    session.evicts = evicts(actions);
    session.line = WaitingLine::new(keep_line(actions));
}

/// What comes before the actions, whichever these are: pods whose time is over are evicted, so that nobody is bound for
/// a gang that loses one of them, then nominees are placed. Returns the pods whose nominations end.
pub(crate) fn before_actions(
    session: &mut Session,
    kernel: &mut Kernel,
    nominations: &mut Nominations,
) -> Vec<TaskId> {
    pumice_actions::end_whose_time_is_over(session);
    nominations.renew(session, kernel)
}

/// Runs the actions in their order.
pub(crate) fn run_actions(
    actions: &[(&'static Action, Arguments)],
    session: &mut Session,
    kernel: &mut Kernel,
    observer: &mut dyn Observer,
) {
    for (action, arguments) in actions {
        let stage = Stage::Action(action.spec.name);
        observer.begin(stage);
        (action.run)(session, kernel, arguments);
        observer.end(stage);
    }
}
