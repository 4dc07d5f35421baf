//! Random storms: 1,000 seeds, in four tests that run beside each other.

use pumice_faults::{
    run, run_with_bad_input, run_with_claims, run_with_native_groups, run_with_topology,
    run_with_trees_of_groups,
};

use crate::{config, evicting, limiting, seeds};

/// Runs every fourth seed; each of some twice.
fn storms(first: u64) {
    let config = config();
    let mut binds = 0;
    for seed in (first..1000).step_by(4) {
        let summary = run(&config, seed).unwrap_or_else(|failure| panic!("{failure}"));
        binds += summary.binds;
        if seed % 20 == first {
            let again = run(&config, seed).expect("as before");
            assert_eq!(
                summary, again,
                "seed {seed} is not repeated (spec/06 INV-10)"
            );
        }
    }
    assert!(binds > 1000, "{binds} pods bound");
}

#[test]
fn no_invariant_breaks_in_the_first_quarter_of_a_thousand_storms() {
    storms(0);
}

#[test]
fn no_invariant_breaks_in_the_second_quarter_of_a_thousand_storms() {
    storms(1);
}

#[test]
fn no_invariant_breaks_in_the_third_quarter_of_a_thousand_storms() {
    storms(2);
}

#[test]
fn no_invariant_breaks_in_the_last_quarter_of_a_thousand_storms() {
    storms(3);
}

/// Seeds beyond the thousand that have found something.
const FOUND: [u64; 1] = [
    // Who took a released lease did not know yet what had been bound right before.
    910_365,
];

#[test]
fn no_invariant_breaks_in_the_storms_that_have_broken_one() {
    for seed in FOUND {
        run(&config(), seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// Seeds with HyperNodes.
const NETWORK_STORMS: u64 = 300;

#[test]
fn gangs_in_hard_mode_stay_within_their_tier_while_hyper_nodes_change() {
    let (mut binds, mut processes) = (0, 0);
    for seed in 0..NETWORK_STORMS {
        let config = match seed % 2 {
            0 => config(),
            _ => evicting(),
        };
        let summary = run_with_topology(&config, seed);
        let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
        binds += summary.domain_binds;
        processes += summary.processes;
    }
    assert!(u64::from(binds) > 2 * NETWORK_STORMS, "{binds} pods bound");
    assert!(u64::from(processes) > 2 * NETWORK_STORMS, "{processes}");
}

/// Seeds with devices and claims.
const CLAIM_STORMS: u64 = 150;

#[test]
fn no_device_is_given_twice_while_slices_classes_and_claims_change() {
    let (mut binds, mut processes) = (0, 0);
    for seed in 0..CLAIM_STORMS {
        let config = match seed % 2 {
            0 => config(),
            _ => evicting(),
        };
        let summary = run_with_claims(&config, seed);
        let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
        binds += summary.claim_binds;
        processes += summary.processes;
    }
    assert!(u64::from(binds) > 2 * CLAIM_STORMS, "{binds} pods bound");
    assert!(u64::from(processes) > 2 * CLAIM_STORMS, "{processes}");
}

/// Seeds with devices that queues limit.
const LIMITED_STORMS: u64 = 60;

#[test]
fn queues_have_no_more_devices_than_they_may_while_that_changes_too() {
    let mut binds = 0;
    for seed in 0..LIMITED_STORMS {
        let summary = run_with_claims(&limiting(seed), seed);
        let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
        binds += summary.claim_binds;
    }
    assert!(u64::from(binds) > 2 * LIMITED_STORMS, "{binds} pods bound");
}

/// Seeds with PodGroups of Kubernetes itself beside those of Volcano.
const NATIVE_STORMS: u64 = 200;

/// Seeds beyond those that have found something: what a leader wrote on such a group was not read by the one that stood
/// by, a status that landed late took back that the group was placed, and a Binding of a pod that was gone landed late.
const FOUND_NATIVE: [u64; 3] = [936, 3332, 4690];

#[test]
fn gangs_of_kubernetes_itself_are_never_bound_in_part_while_their_api_comes_and_goes() {
    let (mut binds, mut changes, mut runs) = (0, 0, 0);
    for seed in seeds(0, NATIVE_STORMS).chain(FOUND_NATIVE) {
        let config = match seed % 2 {
            0 => config(),
            _ => evicting(),
        };
        let summary = run_with_native_groups(&config, seed);
        let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
        binds += u64::from(summary.native_binds);
        changes += u64::from(summary.native_changes);
        runs += 1;
    }
    assert!(binds > 2 * runs, "{binds} pods bound");
    assert!(changes > runs, "{changes} changes of the API");
}

/// Seeds with trees of such groups.
const TREE_STORMS: u64 = 150;

/// Seeds beyond those that have found something: pods of a tree that a new leader had found on their nodes counted as bound
/// by others, so that the tree stayed bound in part, a PodGroup that had said that it was placed was told to say
/// otherwise once a pod of it had gone, and a tree with one group of one pod left was no gang any more.
const FOUND_IN_TREES: [u64; 4] = [200, 330, 352, 3671];

#[test]
fn trees_of_groups_are_never_bound_in_part_for_good_while_their_parts_come_change_and_go() {
    let (mut binds, mut in_part, mut runs) = (0, 0, 0);
    for seed in seeds(0, TREE_STORMS).chain(FOUND_IN_TREES) {
        let config = match seed % 2 {
            0 => config(),
            _ => evicting(),
        };
        let summary = run_with_trees_of_groups(&config, seed);
        let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
        binds += u64::from(summary.tree_binds);
        in_part += u64::from(summary.trees_in_part);
        runs += 1;
    }
    assert!(binds > 2 * runs, "{binds} pods bound in {runs} storms");
    assert!(
        in_part > runs / 20,
        "{in_part} bound in part in {runs} storms"
    );
}

#[test]
fn bad_objects_change_no_decision_about_others() {
    for seed in 0..20 {
        run_with_bad_input(&config(), seed).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
