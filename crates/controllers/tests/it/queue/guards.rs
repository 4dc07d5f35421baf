//! Commands are believed where the API server asks who makes them.

use pumice_controllers::list::ControllerOptions;
use pumice_controllers::queue::QueueController;
use pumice_controllers::runtime::{ManagedKind, ManagedRef};
use serde_json::{Value, json};

use super::{GUARDS, close, command, guard, queue, state, told, world};
use crate::cluster::World;

const NAME: &str = "pumice-commands";

/// What somebody does to a policy or its binding.
type Change = fn(&mut Value);

/// Closes a queue, and says how that went.
fn closing(world: &mut World) -> (String, Vec<String>) {
    world.events.clear();
    close(world, "q");
    assert_eq!(world.server.all(ManagedKind::Command).len(), 0);
    (state(world, "q"), told(world))
}

/// A world with the queue `q`, and the policy as somebody has changed it.
fn changed(change: impl Fn(ManagedKind, &mut Value)) -> World {
    let mut world = world();
    queue(&mut world, "q", "root");
    world.settle();
    for kind in GUARDS {
        let of = ManagedRef::global(kind, NAME);
        world.server.edit(&of, |object| change(kind, object));
    }
    world.settle();
    world
}

#[test]
fn where_the_policy_is_in_force_a_command_is_obeyed() {
    let (state, told) = closing(&mut changed(|_, _| {}));
    assert_eq!(state, "Closed");
    assert_eq!(told, ["Queue q: is closed"]);
}

#[test]
fn where_the_policy_or_its_binding_is_missing_a_command_is_refused_and_told_on_itself() {
    for missing in GUARDS {
        let mut world = changed(|_, _| {});
        let of = ManagedRef::global(missing, NAME);
        world.server.delete(&of, "", false);
        let (state, told) = closing(&mut world);
        assert_eq!(state, "Open", "{missing:?}");
        let expected = format!(
            "Command ns/close-q: refused: nobody asks whether who made it may update the queue, since the {} \
             {NAME} is missing, or may not be read; install it",
            missing.path().kind
        );
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with(&expected), "{told:?}");
    }
}

#[test]
fn a_policy_that_asks_no_longer_guards_nothing() {
    let only = |wanted: ManagedKind, change: Change| {
        changed(move |kind, object| {
            if kind == wanted {
                change(object);
            }
        })
    };
    let [policy, binding] = GUARDS;
    let changes: [(ManagedKind, Change); 7] = [
        (policy, |one| one["spec"]["failurePolicy"] = json!("Ignore")),
        (policy, |one| {
            one["spec"]["validations"] = json!([{"expression": "true"}])
        }),
        (policy, |one| {
            one["spec"]["matchConditions"] = json!([{"name": "none", "expression": "false"}]);
        }),
        (policy, |one| {
            one["spec"]["matchConstraints"]["objectSelector"] =
                json!({"matchLabels": {"strict": "true"}});
        }),
        (binding, |one| {
            one["spec"]["validationActions"] = json!(["Warn", "Audit"])
        }),
        (binding, |one| one["spec"]["policyName"] = json!("another")),
        (binding, |one| {
            one["spec"]["matchResources"] = json!({"namespaceSelector": {"matchExpressions":
                [{"key": "free", "operator": "DoesNotExist"}]}});
        }),
    ];
    for (kind, change) in changes {
        let mut world = only(kind, change);
        let (state, told) = closing(&mut world);
        assert_eq!(state, "Open", "{told:?}");
        assert!(
            told[0].contains("was changed and asks no longer"),
            "{told:?}"
        );
    }
    // What the API server fills in changes nothing.
    let mut filled = only(policy, |one| {
        one["spec"]["matchConstraints"]["objectSelector"] = json!({});
        one["spec"]["matchConstraints"]["matchPolicy"] = json!("Equivalent");
    });
    assert_eq!(closing(&mut filled).0, "Closed");
}

#[test]
fn a_command_from_before_the_policy_is_not_obeyed_once_it_is_there() {
    let mut world = changed(|_, _| {});
    for kind in GUARDS {
        let of = ManagedRef::global(kind, NAME);
        world.server.delete(&of, "", false);
    }
    // Made while nobody looks: the controllers are away.
    command(&mut world, "before", "CloseQueue", "q");
    guard(&mut world);
    world.restart();
    world.events.clear();
    world.settle();
    assert_eq!(state(&world, "q"), "Open");
    let told = told(&world);
    assert!(
        told[0].contains("it was made before the policy"),
        "{told:?}"
    );
    world.pass_seconds(10);
    assert_eq!(closing(&mut world).0, "Closed");
}

#[test]
fn who_asks_for_it_has_commands_obeyed_without_the_policy() {
    let mut world = World::new(|| {
        let options = ControllerOptions {
            unguarded_queue_commands: true,
            ..ControllerOptions::default()
        };
        vec![Box::new(QueueController::new(&options))]
    });
    queue(&mut world, "q", "root");
    world.settle();
    assert_eq!(closing(&mut world).0, "Closed");
}
