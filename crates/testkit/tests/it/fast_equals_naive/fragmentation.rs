//! Nodes and cards by what of the rest is of use (spec/10), as by the naive loop.

use pumice_model::Delta;
use pumice_testkit::generate::{
    fragmentation_conf_text, npu_cluster, vendor_cluster, vgpu_cluster, vgpu_network_cluster,
};
use pumice_testkit::naive;

use super::{check_under, fast};
use crate::run;

/// Clusters of each kind.
const CASES: u64 = 60;

/// Others of them that told the two apart once.
const VGPUS_FOUND: &[u64] = &[132, 181, 199, 688];

/// Such clusters with NPUs.
const NPUS_FOUND: &[u64] = &[
    63, 76, 91, 146, 162, 163, 170, 227, 310, 361, 565, 640, 674, 721, 1621, 2275, 2900, 5501,
];

/// Such clusters with cards of HAMi's vendors.
const VENDORS_FOUND: &[u64] = &[68, 73, 86, 127, 145, 152, 153, 316];

/// Holds both against each other. Of so many clusters in which cards are chosen by the measure some go otherwise than
/// by binpack.
fn check_all(cluster: fn(u64) -> Vec<Delta>, found: &[u64]) {
    let (mut holders, mut decided) = (0, 0);
    let seeds = run::seeds(0, CASES);
    let cases = seeds.end - seeds.start;
    for seed in seeds.chain(found.iter().copied()) {
        let (text, objects) = (fragmentation_conf_text(seed), cluster(seed));
        let cycles = 1 + u32::from(seed % 4 == 0);
        let outcome = check_under(&text, seed, &objects, cycles);
        let without = text.replace("Policy: fragmentation", "Policy: binpack");
        if without != text {
            let mut moments = naive::seconds(cycles);
            let other = fast(&run::config(&without), &objects, &mut moments);
            decided += u64::from(other.devices != outcome.devices);
        }
        holders += outcome.devices.len() as u64;
    }
    // The cases are not trivial.
    assert!(2 * holders > cases, "{holders} pods were given devices");
    assert!(decided > cases / 60, "decided {decided} times");
}

#[test]
fn what_is_left_of_vgpus_is_measured_as_by_the_naive_loop() {
    check_all(vgpu_cluster, VGPUS_FOUND);
}

#[test]
fn what_is_left_of_npus_is_measured_as_by_the_naive_loop() {
    check_all(npu_cluster, NPUS_FOUND);
}

#[test]
fn what_is_left_of_cards_of_hamis_vendors_is_measured_as_by_the_naive_loop() {
    check_all(vendor_cluster, VENDORS_FOUND);
}

/// Gangs that ask for a place in the network: domains are compared by all that a gang leaves of each.
#[test]
fn what_gangs_leave_of_domains_is_measured_as_by_the_naive_loop() {
    check_all(vgpu_network_cluster, &[]);
}
