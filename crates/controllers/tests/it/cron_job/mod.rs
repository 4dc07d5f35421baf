//! CronJobs, as users see them.

mod schedules;

use pumice_controllers::cron_job::CronJobController;
use pumice_controllers::runtime::{ApiVerb, ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::{Dice, World, refusal};

fn world() -> World {
    World::new(|| vec![Box::new(CronJobController::new())])
}

fn cron_job(schedule: &str) -> Value {
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {
            "schedule": schedule,
            "concurrencyPolicy": "Allow",
            "suspend": false,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {
                "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
                "spec": {"queue": "default", "maxRetry": 3, "minAvailable": 1, "tasks": [{
                    "name": "t", "replicas": 1,
                    "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
                }]},
            },
        },
    })
}

fn with(schedule: &str, fields: Value) -> Value {
    let mut object = cron_job(schedule);
    crate::cluster::merge(&mut object["spec"], &fields);
    object
}

fn of() -> ManagedRef {
    ManagedRef::new(ManagedKind::CronJob, "n", "c")
}

fn apply(world: &mut World, object: Value) {
    world.server.apply(ManagedKind::CronJob, object);
    world.settle();
}

/// A Job is named by the minute of its run: 00:00 of the first day of these tests.
const MIDNIGHT: i64 = 29_453_760;

fn name(minutes: i64) -> String {
    format!("c-{}", MIDNIGHT + minutes)
}

fn jobs(world: &World) -> Vec<String> {
    let names = world.server.names(ManagedKind::Job);
    names.into_iter().map(|of| of.name).collect()
}

fn end(world: &mut World, minutes: i64, phase: &str) {
    let of = ManagedRef::new(ManagedKind::Job, "n", &name(minutes));
    let now = crate::cluster::seconds(world.now);
    world.server.edit(&of, |job| {
        job["status"] = json!({"state": {"phase": phase, "lastTransitionTime": now}});
    });
    world.settle();
}

fn status(world: &World) -> &Value {
    &world.server.get(&of()).expect("there")["status"]
}

fn creations(world: &World) -> usize {
    let written = world.written();
    let created = written.iter().filter(|w| w.starts_with("create Job"));
    created.count()
}

/// Whom admission took for the requester of the CronJob, not whom its template names.
#[test]
fn a_job_has_the_requester_of_its_cron_job() {
    let key = "pumice.sh/requester";
    for (of_cron_job, expected) in [
        (json!({key: "jane"}), json!("jane")),
        (json!({}), Value::Null),
    ] {
        let mut world = world();
        let mut object = cron_job("*/10 * * * *");
        object["metadata"]["annotations"] = of_cron_job;
        object["spec"]["jobTemplate"]["metadata"]["annotations"][key] = json!("eve");
        apply(&mut world, object);
        world.pass_seconds(600);
        let job = ManagedRef::new(ManagedKind::Job, "n", &name(10));
        let job = world.server.get(&job).expect("there");
        assert_eq!(job["metadata"]["annotations"][key], expected);
        assert_eq!(job["metadata"]["annotations"]["note"], "b");
    }
}

#[test]
fn a_job_is_started_on_the_minute_and_named_after_it() {
    let mut world = world();
    apply(&mut world, cron_job("*/10 * * * *"));
    assert_eq!(jobs(&world), [""; 0]);
    world.pass_seconds(599);
    assert_eq!(jobs(&world), [""; 0]);
    world.pass_seconds(1);
    assert_eq!(jobs(&world), [name(10)]);
    let job = ManagedRef::new(ManagedKind::Job, "n", &name(10));
    let job = world.server.get(&job).expect("there");
    assert_eq!(job["metadata"]["labels"]["team"], "a");
    let annotations = &job["metadata"]["annotations"];
    assert_eq!(annotations["note"], "b");
    let scheduled = &annotations["volcano.sh/cronjob-scheduled-timestamp"];
    assert_eq!(*scheduled, "2026-01-01T00:10:00Z");
    let owner = &job["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "CronJob");
    assert_eq!(owner["apiVersion"], "batch.volcano.sh/v1alpha1");
    assert_eq!(owner["controller"], true);
    assert_eq!(job["spec"]["tasks"][0]["name"], "t");

    assert_eq!(status(&world)["lastScheduleTime"], "2026-01-01T00:10:00Z");
    assert_eq!(status(&world)["active"][0]["name"], name(10));
    assert_eq!(world.reasons(), ["SuccessfulCreate"]);

    world.pass_seconds(60);
    end(&mut world, 10, "Completed");
    assert_eq!(status(&world)["active"], Value::Null);
    assert_eq!(status(&world)["lastSuccessfulTime"], "2026-01-01T00:11:00Z");
    assert_eq!(world.reasons(), ["SuccessfulCreate", "SawCompletedJob"]);
    world.pass_seconds(600);
    assert_eq!(jobs(&world), [name(10), name(20)]);
}

#[test]
fn the_time_zone_decides_when_and_stands_in_the_annotation() {
    let mut world = world();
    apply(
        &mut world,
        with("30 9 * * *", json!({"timeZone": "Asia/Tokyo"})),
    );
    world.pass_seconds(24 * 3_600);
    assert_eq!(jobs(&world), [name(30)]);
    let job = ManagedRef::new(ManagedKind::Job, "n", &name(30));
    let annotations = &world.server.get(&job).expect("there")["metadata"]["annotations"];
    assert_eq!(
        annotations["volcano.sh/cronjob-scheduled-timestamp"],
        "2026-01-01T09:30:00+09:00"
    );
    assert_eq!(status(&world)["lastScheduleTime"], "2026-01-01T00:30:00Z");
}

#[test]
fn a_zone_in_the_schedule_works_and_is_warned_of() {
    let mut world = world();
    apply(&mut world, cron_job("CRON_TZ=Asia/Tokyo 30 9 * * *"));
    world.pass_seconds(3_600);
    assert_eq!(jobs(&world), [name(30)]);
    assert_eq!(world.reasons()[0], "UnsupportedSchedule");
}

#[test]
fn what_cannot_run_is_told_once_and_waits_for_an_edit() {
    let cases = [
        (
            json!({"schedule": "61 * * * *"}),
            "UnparseableSchedule",
            "61 is not between 0 and 59",
        ),
        (
            json!({"timeZone": "Mars/Base"}),
            "UnknownTimeZone",
            "\"Mars/Base\"",
        ),
        (json!({"timeZone": "Local"}), "UnknownTimeZone", "\"Local\""),
        (
            json!({"schedule": "TZ=UTC * * * * *", "timeZone": "Etc/UTC"}),
            "UnparseableSchedule",
            "leave out the one in the schedule",
        ),
        (
            json!({"jobTemplate": {"spec": {"minAvailable": 9}}}),
            "InvalidJobTemplate",
            "spec.minAvailable: 9 is more than all 1 replicas",
        ),
    ];
    for (wrong, reason, words) in cases {
        let mut world = world();
        apply(&mut world, with("* * * * *", wrong.clone()));
        world.pass_seconds(3_600);
        world.server.edit(&of(), |object| {
            object["metadata"]["labels"] = json!({"a": "b"})
        });
        world.pass_seconds(3_600);
        assert_eq!(jobs(&world), [""; 0], "{wrong}");
        assert_eq!(world.written(), [""; 0], "{wrong}");
        assert_eq!(world.reasons(), [reason], "{wrong}");
        let message = &world.events[0].message;
        assert!(
            world.events[0].warning && message.contains(words),
            "{message}"
        );

        // At once, and only the latest of those missed.
        world.server.edit(&of(), |object| {
            object["spec"] = cron_job("* * * * *")["spec"].clone();
        });
        world.settle();
        assert_eq!(jobs(&world), [name(120)], "{wrong}");
    }
}

#[test]
fn after_a_pause_the_latest_missed_run_starts_and_too_many_are_told() {
    let mut world = world();
    apply(&mut world, cron_job("0 * * * *"));
    world.set_time(world.now + jiff::SignedDuration::from_mins(5 * 60 + 30));
    world.restart();
    world.settle();
    assert_eq!(jobs(&world), [name(300)]);
    assert_eq!(world.reasons(), ["SuccessfulCreate"]);

    world.set_time(world.now + jiff::SignedDuration::from_hours(101));
    world.restart();
    world.settle();
    assert_eq!(jobs(&world), [name(300), name(300 + 60 * 101)]);
    assert_eq!(world.reasons()[1], "TooManyMissedTimes");
}

#[test]
fn a_run_beyond_its_deadline_is_left_out() {
    let mut world = world();
    apply(
        &mut world,
        with("0 * * * *", json!({"startingDeadlineSeconds": 600})),
    );
    let late = world.now + jiff::SignedDuration::from_mins(75);
    world.set_time(late);
    world.restart();
    world.settle();
    assert_eq!(jobs(&world), [""; 0]);
    assert_eq!(world.reasons(), ["MissSchedule"]);
    assert!(world.events[0].message.contains("2026-01-01T01:00:00Z"));
    world.set_time(late + jiff::SignedDuration::from_mins(50));
    world.restart();
    world.settle();
    assert_eq!(jobs(&world), [name(120)], "five minutes late is in time");
}

#[test]
fn forbid_waits_for_the_end_and_then_starts_what_is_due() {
    let mut world = world();
    apply(
        &mut world,
        with("*/10 * * * *", json!({"concurrencyPolicy": "Forbid"})),
    );
    world.pass_seconds(1_500);
    assert_eq!(jobs(&world), [name(10)]);
    assert_eq!(world.reasons(), ["SuccessfulCreate", "JobAlreadyActive"]);
    end(&mut world, 10, "Failed");
    assert_eq!(jobs(&world), [name(10), name(20)]);
    assert_eq!(status(&world)["lastScheduleTime"], "2026-01-01T00:20:00Z");
}

#[test]
fn an_aborted_job_still_goes_on_since_it_may_be_resumed() {
    let mut world = world();
    apply(
        &mut world,
        with("*/10 * * * *", json!({"concurrencyPolicy": "Forbid"})),
    );
    world.pass_seconds(600);
    end(&mut world, 10, "Aborted");
    world.pass_seconds(600);
    assert_eq!(jobs(&world), [name(10)]);
}

#[test]
fn replace_deletes_what_goes_on_and_keeps_what_has_ended() {
    let mut world = world();
    apply(
        &mut world,
        with("*/10 * * * *", json!({"concurrencyPolicy": "Replace"})),
    );
    world.pass_seconds(600);
    end(&mut world, 10, "Completed");
    world.pass_seconds(600);
    assert_eq!(jobs(&world), [name(10), name(20)]);
    world.pass_seconds(600);
    assert_eq!(jobs(&world), [name(10), name(30)]);
    assert_eq!(status(&world)["active"].as_array().map(Vec::len), Some(1));
    assert!(world.reasons().contains(&"SuccessfulDelete"));
}

#[test]
fn a_suspended_one_starts_nothing_until_it_is_resumed() {
    let mut world = world();
    apply(&mut world, with("*/10 * * * *", json!({"suspend": true})));
    world.pass_seconds(3_000);
    assert_eq!(jobs(&world), [""; 0]);
    world
        .server
        .edit(&of(), |object| object["spec"]["suspend"] = json!(false));
    world.settle();
    assert_eq!(jobs(&world), [name(50)]);
}

#[test]
fn the_oldest_ended_jobs_go_terminated_ones_among_the_failed() {
    let mut world = world();
    apply(&mut world, cron_job("*/10 * * * *"));
    let ends = [
        "Completed",
        "Failed",
        "Completed",
        "Terminated",
        "Completed",
        "Completed",
        "Completed",
    ];
    for (nth, phase) in (1_i64..).zip(ends) {
        world.pass_seconds(600);
        end(&mut world, nth * 10, phase);
    }
    assert_eq!(jobs(&world), [40, 50, 60, 70].map(name));
    world.server.edit(&of(), |object| {
        object["spec"]["successfulJobsHistoryLimit"] = json!(0);
        object["spec"]["failedJobsHistoryLimit"] = json!(0);
    });
    world.settle();
    assert_eq!(jobs(&world), [""; 0]);
    assert_eq!(status(&world)["lastSuccessfulTime"], "2026-01-01T01:10:00Z");
    assert_eq!(status(&world)["lastScheduleTime"], "2026-01-01T01:10:00Z");
}

#[test]
fn a_deleted_job_does_not_run_again() {
    let mut world = world();
    apply(&mut world, cron_job("*/10 * * * *"));
    world.pass_seconds(600);
    let job = ManagedRef::new(ManagedKind::Job, "n", &name(10));
    world.server.remove(&job);
    world.pass_seconds(300);
    assert_eq!(jobs(&world), [""; 0]);
    assert_eq!(world.reasons(), ["SuccessfulCreate", "MissingJob"]);
    assert_eq!(status(&world)["active"], Value::Null);
}

#[test]
fn a_job_of_the_name_that_belongs_to_somebody_else_is_left_alone() {
    let mut world = world();
    let other = json!({"metadata": {"name": name(10), "namespace": "n"}, "spec": {"tasks": []}});
    world.server.apply(ManagedKind::Job, other);
    apply(&mut world, cron_job("*/10 * * * *"));
    world.pass_seconds(900);
    assert_eq!(world.written(), [""; 0]);
    assert_eq!(world.reasons(), ["FailedCreate"]);
    world.pass_seconds(300);
    assert_eq!(jobs(&world), [name(10), name(20)]);
}

#[test]
fn a_job_the_server_refuses_is_tried_again_with_its_words() {
    let mut world = world();
    apply(&mut world, cron_job("*/10 * * * *"));
    world.server.refuse(|write| {
        let is_create = matches!(write.verb, ApiVerb::Create(_));
        is_create.then(|| refusal(403, "Forbidden", "exceeded quota: q"))
    });
    world.pass_seconds(660);
    let refused = creations(&world);
    assert!((2..30).contains(&refused), "{refused} tries in a minute");
    assert!(world.events[0].message.contains("exceeded quota: q"));
    assert_eq!(world.events[0].reason, "FailedCreate");
    world.server.refuse_nothing();
    world.pass_seconds(300);
    assert_eq!(jobs(&world), [name(10)]);
}

#[test]
fn an_idle_cron_job_writes_nothing() {
    let mut world = world();
    apply(&mut world, cron_job("0 0 1 1 *"));
    world.pass_seconds(30 * 24 * 3_600);
    assert_eq!(world.written(), [""; 0]);
}

#[test]
fn every_counts_from_the_creation_and_no_run_is_made_twice() {
    let mut world = world();
    world.pass_seconds(17);
    apply(
        &mut world,
        with("@every 90s", json!({"successfulJobsHistoryLimit": 0})),
    );
    for minutes in [1, 3, 4] {
        world.pass_seconds(90);
        assert_eq!(jobs(&world), [name(minutes)]);
        end(&mut world, minutes, "Completed");
        assert_eq!(jobs(&world), [""; 0]);
    }
    assert_eq!(creations(&world), 3);
}

#[test]
fn killed_at_any_moment_every_run_starts_once() {
    for seed in 0..60 {
        let mut world = world();
        let mut dice = Dice::new(seed);
        world
            .server
            .apply(ManagedKind::CronJob, cron_job("*/10 * * * *"));
        for minute in [10_i64, 20, 30, 40] {
            world.settle();
            let due = "2026-01-01T00:00:00Z"
                .parse::<jiff::Timestamp>()
                .expect("a time")
                + jiff::SignedDuration::from_mins(minute);
            world.set_time(due);
            for _ in 0..dice.roll(8) {
                world.step(&mut dice);
            }
            world.kill(&mut dice);
            world.settle();
            if jobs(&world).contains(&name(minute)) {
                end(&mut world, minute, "Completed");
            }
        }
        world.pass_seconds(60);
        let created = world
            .written()
            .into_iter()
            .filter(|w| w.starts_with("create Job"));
        let mut created: Vec<String> = created.collect();
        created.sort();
        let expected = [10, 20, 30, 40].map(|minute| format!("create Job n/{}", name(minute)));
        assert_eq!(created, expected, "seed {seed}");
        assert_eq!(
            status(&world)["lastScheduleTime"],
            "2026-01-01T00:40:00Z",
            "seed {seed}"
        );
        assert_eq!(jobs(&world), [20, 30, 40].map(name), "seed {seed}");
    }
}
