//! The label by which the policy on the queues of Jobs finds those that have others below them.

use pumice_api::keys;
use serde_json::{Value, json};

use super::{queue, queue_ref, world};
use crate::cluster::World;

fn label(world: &World, queue: &str) -> Value {
    let queue = world.server.get(&queue_ref(queue)).expect("a queue");
    queue["metadata"]["labels"][keys::QUEUE_BELOW].clone()
}

#[test]
fn a_queue_is_labelled_as_long_as_there_is_one_below_it() {
    let mut world = world();
    queue(&mut world, "stem", "");
    queue(&mut world, "twig", "stem");
    queue(&mut world, "leaf", "stem");
    world.settle();
    let of = |world: &World| ["root", "stem", "twig", "leaf"].map(|name| label(world, name));
    let none = || Value::Null;
    assert_eq!(of(&world), [none(), json!("leaf"), none(), none()]);
    // Who is named stays so, and another one takes its place.
    queue(&mut world, "a", "stem");
    world.settle();
    assert_eq!(label(&world, "stem"), "leaf");
    let move_to_root = |queue: &mut Value| queue["spec"]["parent"] = json!("root");
    world.server.edit(&queue_ref("leaf"), move_to_root);
    world.settle();
    assert_eq!(label(&world, "stem"), "a");
    for below in ["a", "twig"] {
        world.server.remove(&queue_ref(below));
    }
    world.settle();
    assert_eq!(label(&world, "stem"), none());
}

#[test]
fn a_name_too_long_for_a_label_leaves_it_empty() {
    let mut world = world();
    let long = "q".repeat(64);
    queue(&mut world, "stem", "");
    queue(&mut world, &long, "stem");
    world.settle();
    assert_eq!(label(&world, "stem"), "");
    queue(&mut world, "twig", "stem");
    world.settle();
    assert_eq!(label(&world, "stem"), "");
}

#[test]
fn a_label_that_somebody_else_writes_is_put_right_and_nothing_is_written_twice() {
    let mut world = world();
    queue(&mut world, "stem", "root");
    queue(&mut world, "twig", "stem");
    world.settle();
    for (name, wrong) in [
        ("stem", Value::Null),
        ("stem", json!("x")),
        ("twig", json!("y")),
    ] {
        world.server.edit(&queue_ref(name), |queue| {
            queue["metadata"]["labels"] = match &wrong {
                Value::Null => json!({}),
                wrong => json!({keys::QUEUE_BELOW: wrong}),
            };
        });
        world.settle();
        assert_eq!(label(&world, "stem"), "twig");
        assert_eq!(label(&world, "twig"), Value::Null);
    }
    world.server.log.clear();
    world.pass_seconds(10);
    world.settle();
    assert!(world.server.log.is_empty(), "{:?}", world.server.log);
}
