//! Storms under the plugins that live from time, with clocks that are wrong (spec/06 F57): more seeds by
//! `PUMICE_SEEDS=from..to`.

use pumice_faults::objects::{group, pod};
use pumice_faults::server::Template;
use pumice_faults::{Summary, run_with_time, time_storm};
use pumice_model::object::GroupObject;

use crate::calm::CalmCluster;
use crate::{parse, seeds};

/// Seeds of each of two tests that run beside each other.
const STORMS: u64 = 40;

fn storm(seed: u64) -> Summary {
    let config = parse(&time_storm::configuration(seed));
    run_with_time(&config, seed).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Runs every second seed.
fn storms(first: u64) {
    let all = seeds(0, 2 * STORMS);
    let cases = (all.end - all.start).div_ceil(2) as u32;
    let (mut binds, mut ended, mut evictions, mut plans, mut processes) = (0, 0, 0, 0, 0);
    for seed in all.skip(first as usize).step_by(2) {
        let summary = storm(seed);
        if seed % 40 == first {
            assert_eq!(summary, storm(seed), "seed {seed} is not repeated");
        }
        binds += summary.binds;
        ended += summary.shuffled;
        evictions += summary.evictions - summary.shuffled;
        plans += summary.plans;
        processes += summary.processes;
    }
    let all = format!(
        "{cases} storms: {binds} bound, {ended} ended, {evictions} evicted, {plans} plans, {processes} processes"
    );
    println!("{all}");
    assert!(binds > 10 * cases && ended > cases, "{all}");
    assert!(evictions > cases / 4 && plans > cases, "{all}");
    assert!(processes > 2 * cases, "{all}");
}

#[test]
fn no_invariant_breaks_in_the_first_half_of_the_storms_with_clocks_that_are_wrong() {
    storms(0);
}

#[test]
fn no_invariant_breaks_in_the_second_half_of_the_storms_with_clocks_that_are_wrong() {
    storms(1);
}

const ENDING: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: runtimelimit
    arguments:
      runtimelimit.grace: 3s
"#;

/// Longer than the limit, the grace and all that is under way.
const HOUR_MS: i64 = 3_600_000;

/// A job of which a pod runs for a minute at most.
fn of_a_minute(name: &str) -> GroupObject {
    let said = ("pumice.sh/run-time-limit".to_owned(), "60s".to_owned());
    GroupObject {
        annotations: vec![said],
        ..group(name, 1, "default")
    }
}

/// Starts a process whose clock is ahead, or behind, of a pod that runs for a minute at most and is made anew when it goes;
/// says how many seconds the pods live that come then.
fn lives(ahead_ms: i64) -> Vec<u64> {
    let mut cluster = CalmCluster::new(ENDING, 1, 4000);
    cluster.0.server.put_group(of_a_minute("g"));
    cluster.0.server.add_template(Template {
        pod: pod("g-0", Some("g"), 1000, 0),
        replaced: true,
    });
    cluster.pass(20);
    assert_eq!(cluster.bound("g-"), 1);
    cluster.0.set_wall_clock(0, ahead_ms);
    cluster.pass(5);
    assert_eq!(
        cluster.bound("g-"),
        1,
        "the process goes by the clock of its start"
    );
    cluster.0.kill(0, 1000);
    let mut ends = vec![cluster.0.server.now_ms() / 1000];
    let gone = |cluster: &CalmCluster| cluster.0.evicted.landed.values().sum::<u32>() as usize;
    for _ in 0..400 {
        cluster.pass(1);
        if gone(&cluster) == ends.len() {
            ends.push(cluster.0.server.now_ms() / 1000);
        }
    }
    ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn f57_a_clock_that_is_right_ends_pods_at_their_limits_whoever_led_before() {
    let right = lives(0);
    // It ran for 25 s already, and the next process waits for the lease.
    assert!((36..42).contains(&right[0]), "{right:?}");
    let later = &right[1..];
    assert!(
        later.len() > 3 && later.iter().all(|s| (63..70).contains(s)),
        "{right:?}"
    );
}

#[test]
fn f57_who_is_ahead_ends_pods_too_early_by_that_and_who_is_behind_too_late() {
    let ahead = lives(20_000);
    assert!((15..24).contains(&ahead[0]), "{ahead:?}");
    assert!(ahead[1..].iter().all(|s| (43..50).contains(s)), "{ahead:?}");
    let behind = lives(-100_000);
    assert!((135..142).contains(&behind[0]), "{behind:?}");
    let late = lives(-HOUR_MS);
    assert!(late.is_empty(), "before the clock says so: {late:?}");
}

#[test]
fn f57_pods_whose_limit_is_less_than_a_clock_is_ahead_are_ended_until_that_is_right_and_no_longer()
{
    let ahead = lives(HOUR_MS);
    assert!(ahead.len() > 50, "{ahead:?}");
    let mut cluster = CalmCluster::new(ENDING, 1, 4000);
    cluster.0.set_wall_clock(0, HOUR_MS);
    cluster.0.kill(0, 100);
    cluster.pass(2);
    cluster.gang(of_a_minute("g"), 1, 1000);
    cluster.pass(20);
    assert_eq!(
        cluster.bound("g-"),
        0,
        "it was ended, and nobody makes it anew"
    );
    cluster.0.set_wall_clock(0, 0);
    cluster.0.kill(0, 100);
    cluster.pass(30);
    cluster.gang(of_a_minute("h"), 1, 1000);
    cluster.pass(50);
    assert_eq!(cluster.bound("h-"), 1, "its minute is not over");
    cluster.pass(20);
    assert_eq!(cluster.bound("h-"), 0);
}
