//! Command lines and environments that start, and those that do not.

use pumice_decider::Sharding;

use super::{ConfSource, DaemonSettings, ShardMember};
use crate::flags::CommandLine;

fn check(words: &[&str], env: &[(&str, &str)]) -> anyhow::Result<DaemonSettings> {
    let words = ["pumice-scheduler"].iter().chain(words);
    let line = CommandLine::read(words.map(Into::into)).expect("a command line");
    let find = |name: &str| env.iter().find(|(key, _)| *key == name);
    DaemonSettings::check(line, |name| {
        find(name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn a_command_line_that_cannot_work_says_what_to_write() {
    let conflict = ["--scheduler-conf=a", "--scheduler-configmap=b/c"];
    let cases: [(&[&str], &str); 11] = [
        (
            &["--leader-elect-lease-duration=5s"],
            "must be greater than",
        ),
        (&["--leader-elect-retry-period=9s"], "1.2 times"),
        (&["--leader-elect-retry-period=0"], "greater than zero"),
        (&["--leader-elect-resource-name="], "must not be empty"),
        (&["--disable-default-scheduler-config"], "--scheduler-conf"),
        (&["--scheduler-configmap=x"], "NAMESPACE/NAME"),
        (&["--scheduler-configmap=a/b/"], "NAMESPACE/NAME/KEY"),
        (&["--scheduler-configmap=a/b/c/d"], "NAMESPACE/NAME/KEY"),
        (&conflict, "not both"),
        (&["--feature-gates=A"], "A=true"),
        (&["--plugins-dir=/no/such/folder"], "/no/such/folder"),
    ];
    for (words, said) in cases {
        let error = check(words, &[]).expect_err(words[0]).to_string();
        assert!(error.contains(said), "{words:?}: {error}");
    }
}

#[test]
fn lease_values_do_not_matter_without_leader_election() {
    let words = ["--leader-elect=false", "--leader-elect-lease-duration=1s"];
    assert!(check(&words, &[]).is_ok());
}

#[test]
fn a_directory_with_go_plugins_is_refused_and_an_empty_one_is_not() {
    let folder = std::env::temp_dir().join(format!("pumice-plugins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let flag = format!("--plugins-dir={}", folder.display());
    assert!(check(&[&flag], &[]).is_ok());
    std::fs::write(folder.join("magic.so"), "").expect("a file");
    let error = check(&[&flag], &[]).expect_err("a Go plugin").to_string();
    std::fs::remove_dir_all(&folder).expect("removed");
    assert!(
        error.contains("magic.so") && error.contains("extender"),
        "{error}"
    );
}

#[test]
fn entries_that_mean_nothing_are_ignored_with_a_warning() {
    let words = [
        "--node-selector=zone:a, pool:b ,broken,empty:",
        "--scheduler-sharding-mode=maybe",
        "--feature-gates=CSIStorage=true,WorkLoadSupport=false,ResourceTopology=false",
    ];
    let settings = check(&words, &[]).expect("settings");
    let pairs = [("zone", "a"), ("pool", "b")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    assert_eq!(settings.node_selector, pairs);
    assert_eq!(settings.sharding, Sharding::None);
    assert!(!settings.workloads && settings.priority_classes && !settings.numatopologies);
    assert_eq!(settings.warnings.len(), 4, "{:?}", settings.warnings);
}

#[test]
fn membership_comes_from_the_environment() {
    let on = ("MULTI_SCHEDULER_ENABLE", "true");
    let name = ("SCHEDULER_POD_NAME", "volcano-scheduler-1");
    let settings = check(&[], &[on, name, ("SCHEDULER_NUM", "3")]).expect("settings");
    let member = ShardMember {
        name: "volcano-scheduler-1".to_owned(),
        count: 3,
    };
    assert_eq!(settings.member, Some(member));
    let error = check(&[], &[on, ("SCHEDULER_POD_NAME", "x")]).expect_err("no ordinal");
    assert!(error.to_string().contains("SCHEDULER_POD_NAME"), "{error}");
    assert_eq!(check(&[], &[name]).expect("settings").member, None);
}

#[test]
fn the_configuration_comes_from_one_place() {
    let map = |key: Option<&str>| {
        ConfSource::ConfigMap("a".to_owned(), "b".to_owned(), key.map(str::to_owned))
    };
    for (words, source) in [
        (vec![], ConfSource::BuiltIn),
        (
            vec!["--scheduler-conf=/x/y"],
            ConfSource::File("/x/y".into()),
        ),
        (vec!["--scheduler-configmap=a/b"], map(None)),
        (
            vec!["--scheduler-configmap=a/b/volcano-scheduler-ci.conf"],
            map(Some("volcano-scheduler-ci.conf")),
        ),
    ] {
        assert_eq!(check(&words, &[]).expect("settings").conf, source);
    }
}

#[test]
fn events_and_the_lease_are_named_as_the_peer_names_them() {
    let names = ["--scheduler-name=a", "--scheduler-name=b"];
    assert_eq!(
        check(&names, &[]).expect("settings").event_source(),
        "volcano"
    );
    let settings = check(&names[..1], &[]).expect("settings");
    assert_eq!(settings.event_source(), "a");
    assert_eq!(settings.flags.lease.namespace(), "volcano-system");
    let settings = check(&["--lock-object-namespace=here"], &[]).expect("settings");
    assert_eq!(settings.flags.lease.namespace(), "here");
}
