//! Templates that are missing or wrong, names that are taken, servers that refuse.

use pumice_controllers::runtime::{ApiVerb, ManagedKind};
use serde_json::json;

use super::{apply, created, job, jobs, spec, world};
use crate::cluster::refusal;

#[test]
fn a_missing_or_wrong_template_is_told_and_used_when_it_is_right() {
    let mut world = world();
    apply(&mut world, json!([{"name": "a"}, {"name": "b"}]));
    let object = json!({
        "metadata": {"name": "g", "namespace": "n"},
        "spec": {"flows": [{"name": "later"}]},
    });
    world.server.apply(ManagedKind::JobFlow, object);
    world.pass_seconds(600);
    assert_eq!(
        world.reasons(),
        ["Created", "Created", "MissingJobTemplate"]
    );
    let mut wrong = json!({"metadata": {"name": "later", "namespace": "n"}, "spec": spec()});
    wrong["spec"]["minAvailable"] = json!(7);
    let of = world.server.apply(ManagedKind::JobTemplate, wrong);
    world.pass_seconds(600);
    let last = world.events.last().expect("told");
    assert_eq!(last.reason, "InvalidJobTemplate");
    assert!(
        last.message
            .contains("spec.minAvailable: 7 is more than all 2"),
        "{}",
        last.message
    );
    world
        .server
        .edit(&of, |template| template["spec"]["minAvailable"] = json!(2));
    world.settle();
    assert_eq!(jobs(&world), ["f-a", "f-b", "g-later"]);
}

#[test]
fn a_job_of_somebody_else_is_left_alone_and_its_name_is_used_when_it_is_free() {
    let mut world = world();
    let other = json!({"metadata": {"name": "f-a", "namespace": "n"}, "spec": {"tasks": []}});
    world.server.apply(ManagedKind::Job, other);
    apply(&mut world, json!([{"name": "a"}]));
    world.pass_seconds(120);
    assert_eq!(world.reasons(), ["FailedCreate"]);
    assert_eq!(created(&world), [""; 0]);
    world.server.remove(&job("f-a"));
    world.pass_seconds(60);
    assert_eq!(created(&world), ["create Job n/f-a"]);
}

#[test]
fn a_job_the_server_refuses_is_tried_again_with_its_words() {
    let mut world = world();
    world.server.refuse(|write| {
        let is_create = matches!(write.verb, ApiVerb::Create(_));
        is_create.then(|| refusal(403, "Forbidden", "exceeded quota: q"))
    });
    apply(&mut world, json!([{"name": "a"}]));
    world.pass_seconds(60);
    assert_eq!(world.events[0].reason, "FailedCreate");
    assert!(world.events[0].message.contains("exceeded quota: q"));
    let tries = created(&world).len();
    assert!((2..30).contains(&tries), "{tries} tries in a minute");
    world.server.refuse_nothing();
    world.pass_seconds(300);
    assert_eq!(jobs(&world), ["f-a"]);
}
