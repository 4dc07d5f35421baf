//! DeviceTaintRules: devices that are kept from claims by others than their drivers (spec/09 §2).

use pumice_claims::{DeviceTaint, DeviceToleration, TaintOperator};
use pumice_model::Delta;
use pumice_model::object::{ResourceClaimObject, TaintRuleObject, TaintedDevices};

use super::claims::{claim, cluster, lines, on_node, owning, steps, told};
use super::cluster::*;
use super::views::pod_view;

fn rule(name: &str, effect: &str, devices: Option<TaintedDevices>) -> Delta {
    TaintRuleObject {
        name: name.to_owned(),
        devices,
        taint: DeviceTaint {
            key: "example.com/broken".to_owned(),
            value: "fan".to_owned(),
            effect: effect.to_owned(),
        },
    }
    .delta()
}

/// Driver, pool and device, where they are not empty.
fn devices(driver: &str, pool: &str, device: &str) -> Option<TaintedDevices> {
    let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    Some(TaintedDevices {
        driver: named(driver),
        pool: named(pool),
        device: named(device),
    })
}

fn tolerating(mut claim: ResourceClaimObject) -> ResourceClaimObject {
    let choices = &mut claim.spec.requests[0].choices;
    choices[0].tolerations = vec![DeviceToleration {
        key: "example.com/broken".to_owned(),
        operator: TaintOperator::Exists,
        ..DeviceToleration::default()
    }];
    claim
}

fn waiting(claim: ResourceClaimObject) -> Cluster {
    cluster(&["g0", "g1"])
        .with(told(claim))
        .with(owning(pod("p", "1c")))
}

#[test]
fn a_rule_keeps_claims_from_the_devices_that_all_its_names_select() {
    let own = |count| claim("p", "p", count);
    for (effect, selected, count, given) in [
        ("NoSchedule", devices("", "", "g0"), 1, "p g1"),
        (
            "NoExecute",
            devices("gpu.example.com", "n1", "g0"),
            1,
            "p g1",
        ),
        ("NoSchedule", devices("", "", "g0"), 2, ""),
        ("NoSchedule", devices("", "n1", ""), 1, ""),
        ("NoSchedule", devices("gpu.example.com", "", ""), 1, ""),
        // An empty selector selects all, none selects nothing.
        ("NoSchedule", devices("", "", ""), 1, ""),
        ("NoSchedule", None, 1, "p g0"),
        // Every name has to fit.
        (
            "NoSchedule",
            devices("nic.example.com", "", "g0"),
            1,
            "p g0",
        ),
        (
            "NoSchedule",
            devices("gpu.example.com", "n2", "g0"),
            1,
            "p g0",
        ),
        // Effects that are not known have none.
        ("None", devices("", "", "g0"), 1, "p g0"),
        ("Later", devices("", "", "g0"), 1, "p g0"),
    ] {
        let case = format!("{effect} {selected:?} {count}");
        let mut cluster = waiting(own(count)).with(rule("fans", effect, selected));
        let given: Vec<&str> = given.split_terminator(',').collect();
        assert_eq!(lines(&steps(&mut cluster)), given, "{case}");
    }
}

#[test]
fn who_tolerates_the_taint_of_a_rule_gets_the_device_and_who_does_not_is_told_the_rule() {
    let all = || rule("fans", "NoSchedule", devices("", "", ""));
    let mut tolerant = waiting(tolerating(claim("p", "p", 1))).with(all());
    assert_eq!(lines(&steps(&mut tolerant)), ["p g0"]);
    let mut cluster = waiting(claim("p", "p", 1)).with(all());
    assert_eq!(cluster.cycle(), Vec::<String>::new());
    let message = pod_view(&cluster.engine, "p").message.expect("it waits");
    let says = "n1/g0 n1/g1 tainted example.com/broken by DeviceTaintRule fans";
    assert!(message.contains(says), "{message}");
}

#[test]
fn a_rule_that_comes_changes_or_goes_counts_at_once_and_takes_nothing_back() {
    let mut cluster = waiting(claim("p", "p", 1))
        .with(told(claim("q", "q", 1)))
        .with(owning(pod("q", "1c")));
    cluster.apply(rule("fans", "NoSchedule", devices("", "", "g1")));
    // The first has what is left, whatever happens to it.
    assert_eq!(lines(&steps(&mut cluster)), ["p g0"]);
    cluster.apply(rule("fans", "NoSchedule", devices("", "", "g0")));
    assert_eq!(lines(&steps(&mut cluster)), ["q g1"]);
    cluster.apply(rule("fans", "NoSchedule", devices("", "", "")));
    cluster.apply(told(claim("r", "r", 1)));
    cluster.apply(owning(pod("r", "1c")));
    // What a driver publishes later is selected too.
    cluster.apply(on_node("n2", &["h0"]));
    assert_eq!(lines(&steps(&mut cluster)), Vec::<String>::new());
    cluster.apply(Delta::TaintRuleDelete("fans".to_owned()));
    assert_eq!(lines(&steps(&mut cluster)), ["r h0"]);
}
