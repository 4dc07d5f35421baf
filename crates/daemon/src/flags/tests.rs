//! The command lines Volcano's users have.

use std::time::Duration;

use super::CommandLine;

fn read(words: &[&str]) -> CommandLine {
    let words = ["pumice-scheduler"].iter().chain(words);
    CommandLine::read(words.map(Into::into)).expect("a valid command line")
}

#[test]
fn the_arguments_of_volcanos_chart_are_accepted() {
    let line = read(&[
        "--logtostderr",
        "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf",
        "--enable-healthz=true",
        "--enable-metrics=true",
        "--leader-elect=false",
        "--leader-elect-resource-namespace=volcano-system",
        "--kube-api-qps=2000",
        "--kube-api-burst=2000",
        "--schedule-period=1s",
        "--node-worker-threads=20",
        "--percentage-nodes-to-find=50",
        "--feature-gates=A=true,B=false",
        "--ignored-provisioners=a,b",
        "-v=3",
        "2>&1",
    ]);
    let flags = line.flags;
    assert!(flags.serving.enable_healthz && flags.serving.enable_metrics);
    assert!(!flags.lease.leader_elect);
    assert_eq!(flags.serving.verbosity, 3);
    assert_eq!(flags.scheduling.schedule_period, Duration::from_secs(1));
    assert_eq!(flags.scheduling.ignored_provisioners, ["a", "b"]);
    assert_eq!(flags.scheduling.feature_gates, ["A=true", "B=false"]);
    let idle: Vec<_> = line.idle.iter().map(|(name, _)| *name).collect();
    assert_eq!(idle, ["percentage-nodes-to-find", "node-worker-threads"]);
}

#[test]
fn defaults_are_those_of_the_peer() {
    let flags = read(&[]).flags;
    assert_eq!(flags.scheduling.scheduler_name, ["volcano"]);
    assert_eq!(flags.scheduling.default_queue, "default");
    assert!(flags.lease.leader_elect && flags.scheduling.priority_class);
    assert_eq!(flags.lease.leader_elect_resource_name, "volcano");
    assert_eq!(
        flags.lease.leader_elect_lease_duration,
        Duration::from_secs(15)
    );
    assert_eq!(flags.serving.listen_address, ":8080");
    assert_eq!(flags.serving.secure_address, ":8443");
    assert!(!flags.serving.debug_open);
    assert!(!flags.serving.enable_metrics && !flags.serving.enable_healthz);
}

#[test]
fn names_repeat_without_commas_and_underscores_are_dashes() {
    let flags = read(&[
        "--scheduler_name=a,b",
        "--scheduler-name",
        "c",
        "--leader_elect=F",
    ])
    .flags;
    assert_eq!(flags.scheduling.scheduler_name, ["a,b", "c"]);
    assert!(!flags.lease.leader_elect);
}

#[test]
fn a_boolean_takes_its_value_only_behind_an_equals_sign() {
    let flags = read(&["--leader-elect", "false"]).flags;
    assert!(flags.lease.leader_elect);
    assert_eq!(flags.stray, ["false"]);
}

#[test]
fn what_does_not_fit_is_refused_with_the_flags_name() {
    for (word, said) in [
        ("--no-such-flag", "--no-such-flag"),
        ("--leader-elect=maybe", "write true or false"),
        ("--schedule-period=1", "the unit is missing"),
        ("--schedule-period=-1s", "write 0 or more"),
        ("--kube-api-burst=-1", "--kube-api-burst"),
        ("--enable-pprof=maybe", "write true or false"),
    ] {
        let words = ["pumice-scheduler", word].map(Into::into);
        let error = CommandLine::read(words).expect_err(word).to_string();
        assert!(error.contains(said), "{word}: {error}");
    }
}
