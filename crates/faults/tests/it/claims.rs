//! Claims of devices under faults, one cluster at a time (spec/06 INV-16, INV-17, spec/09 §6).

use std::collections::BTreeMap;

use pumice_claims::{ClaimRequest, ClaimSpec, DeviceCount, RequestedDevices};
use pumice_faults::Simulation;
use pumice_faults::network::RequestFate;
use pumice_faults::objects::{group, node, pod, queue, slice};
use pumice_faults::server::Template;
use pumice_model::object::{DeviceClassObject, PodResourceClaim, ResourceClaimObject};

use crate::config;
use crate::scenarios::{bound, settle};

/// One node with room for all and so many devices.
fn cluster(devices: usize) -> Simulation {
    let mut simulation = Simulation::new(&config(), 1, 1);
    let server = &mut simulation.server;
    server.put_queue(queue("root", 0));
    server.put_queue(queue("default", 0));
    server.put_node(node("n0", 8000, 0));
    server.has_devices = true;
    server.put_class(DeviceClassObject {
        name: "gpu".to_owned(),
        selectors: vec!["device.driver == 'gpu.example.com'".to_owned()],
        ..DeviceClassObject::default()
    });
    server.put_slice(slice("n0", devices));
    server.devices.templates.insert("ns/one".to_owned(), one());
    simulation
}

/// One device.
fn one() -> ClaimSpec {
    ClaimSpec {
        requests: vec![ClaimRequest {
            name: "gpu".to_owned(),
            choices: vec![RequestedDevices {
                name: String::new(),
                class: "gpu".to_owned(),
                selectors: Vec::new(),
                count: DeviceCount::Exactly(1),
                admin_access: false,
                tolerations: Vec::new(),
                capacity: BTreeMap::new(),
            }],
        }],
        ..ClaimSpec::default()
    }
}

fn share(simulation: &mut Simulation) {
    simulation.server.put_claim(ResourceClaimObject {
        namespace: "ns".to_owned(),
        name: "shared".to_owned(),
        uid: "shared#1".to_owned(),
        spec: one(),
        ..ResourceClaimObject::default()
    });
}

/// A gang whose pods have claims of their own, or share one.
fn add_gang(simulation: &mut Simulation, name: &str, size: usize, shares: bool) {
    let min = i32::try_from(size).expect("small");
    simulation.server.put_group(group(name, min, "default"));
    for at in 0..size {
        let mut member = pod(&format!("{name}-{at}"), Some(name), 1000, 0);
        member.resource_claims = vec![PodResourceClaim {
            entry: "gpu".to_owned(),
            claim: shares.then(|| "shared".to_owned()),
            template: (!shares).then(|| "one".to_owned()),
        }];
        simulation.server.add_template(Template {
            pod: member,
            replaced: true,
        });
    }
}

fn steps(simulation: &mut Simulation, count: usize, ms: u64) {
    for _ in 0..count {
        let done = simulation.step(ms);
        done.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// All pods and what makes them anew.
fn delete_all(simulation: &mut Simulation) {
    simulation.server.templates.clear();
    let uids: Vec<String> = simulation.server.pods.keys().cloned().collect();
    uids.iter()
        .for_each(|uid| simulation.server.delete_pod(uid));
}

#[test]
fn f10_an_update_of_a_claim_without_an_answer_is_found_out_about() {
    for fate in [RequestFate::Lost, RequestFate::AnswerLost] {
        for first in 0..4 {
            let mut simulation = cluster(2);
            let fates = (0..8).map(|at| if at < first { RequestFate::Fine } else { fate });
            simulation.network.next_claims = fates.collect();
            add_gang(&mut simulation, "g", 2, false);
            settle(&mut simulation);
            assert_eq!(bound(&simulation, "g"), 2, "{fate:?} after {first}");
        }
    }
}

#[test]
fn f36_a_bind_that_is_refused_leaves_its_device_to_others() {
    for refused in 1..4 {
        let mut simulation = cluster(1);
        simulation.network.next_binds = vec![RequestFate::Refused; refused];
        for name in ["a", "b", "c"] {
            add_gang(&mut simulation, name, 1, false);
        }
        settle(&mut simulation);
        let all = ["a", "b", "c"].map(|name| bound(&simulation, name));
        assert_eq!(all.iter().sum::<usize>(), 1, "{all:?}, {refused} refused");
    }
}

#[test]
fn f36_of_pods_that_share_a_claim_the_last_whose_bind_is_refused_gives_the_devices_back() {
    for slowness_ms in [0, 150, 400] {
        let mut simulation = cluster(1);
        share(&mut simulation);
        steps(&mut simulation, 10, 100);
        simulation.network.slowness_ms = slowness_ms;
        simulation.network.next_binds = vec![RequestFate::Refused; 60];
        add_gang(&mut simulation, "g", 3, true);
        steps(&mut simulation, 100, 100);
        delete_all(&mut simulation);
        simulation.network.next_binds.clear();
        // In need of the only device.
        add_gang(&mut simulation, "h", 1, false);
        settle(&mut simulation);
        assert_eq!(bound(&simulation, "h"), 1, "{slowness_ms} ms");
    }
}

#[test]
fn f20_a_pod_that_goes_while_its_claim_is_written_takes_no_device_with_it() {
    for after in 0..12 {
        for shares in [false, true] {
            let mut simulation = cluster(1);
            share(&mut simulation);
            steps(&mut simulation, 20, 100);
            simulation.network.slowness_ms = 300;
            add_gang(&mut simulation, "g", 1, shares);
            steps(&mut simulation, after, 150);
            delete_all(&mut simulation);
            add_gang(&mut simulation, "h", 1, false);
            settle(&mut simulation);
            assert_eq!(
                bound(&simulation, "h"),
                1,
                "{after} steps, shared: {shares}"
            );
        }
    }
}

#[test]
fn f47_after_the_end_between_finalizer_allocation_and_binding_the_next_process_goes_on() {
    for after in 0..24 {
        let mut simulation = cluster(2);
        steps(&mut simulation, 20, 100);
        simulation.network.slowness_ms = 300;
        add_gang(&mut simulation, "g", 2, false);
        steps(&mut simulation, after, 100);
        simulation.kill(0, 300);
        add_gang(&mut simulation, "h", 1, false);
        settle(&mut simulation);
        let all = ["g", "h"].map(|name| bound(&simulation, name));
        // Whose claims are made first.
        let either = all == [2, 0] || all == [0, 1];
        assert!(either, "{all:?}, killed after {after} steps");
    }
}

/// A gang whose group has the claim `shared`, which all of its pods name.
fn add_sharing_group(simulation: &mut Simulation, name: &str, size: usize) {
    add_gang(simulation, name, size, true);
    let mut group = simulation.server.groups[&format!("ns/{name}")].clone();
    group.is_native = true;
    group.native.claims = vec![PodResourceClaim {
        entry: "gpu".to_owned(),
        claim: Some("shared".to_owned()),
        template: None,
    }];
    simulation.server.put_group(group);
}

/// For whom the shared claim is reserved, where it has devices.
fn reserved(simulation: &Simulation) -> Option<Vec<String>> {
    let claim = simulation.server.claim("ns/shared").expect("the claim");
    let has = claim.allocation.is_some();
    has.then(|| claim.reserved_for.clone())
}

#[test]
fn a_gang_with_a_claim_of_its_group_is_bound_with_it_however_often_binds_and_updates_fail() {
    for fate in [
        RequestFate::Refused,
        RequestFate::Lost,
        RequestFate::AnswerLost,
    ] {
        for first in 0..4 {
            let mut simulation = cluster(1);
            share(&mut simulation);
            let fates = (0..8).map(|at| if at < first { RequestFate::Fine } else { fate });
            let fates: Vec<RequestFate> = fates.collect();
            if fate == RequestFate::Refused {
                simulation.network.next_binds.clone_from(&fates);
            } else {
                simulation.network.next_claims.clone_from(&fates);
            }
            add_sharing_group(&mut simulation, "g", 3);
            settle(&mut simulation);
            assert_eq!(bound(&simulation, "g"), 3, "{fate:?} after {first}");
            assert_eq!(reserved(&simulation), Some(vec!["group-g".to_owned()]));
        }
    }
}

#[test]
fn a_device_that_refused_binds_left_with_a_group_is_nobody_elses_until_the_group_is_gone() {
    for slowness_ms in [0, 150, 400] {
        let mut simulation = cluster(1);
        share(&mut simulation);
        steps(&mut simulation, 10, 100);
        simulation.network.slowness_ms = slowness_ms;
        simulation.network.next_binds = vec![RequestFate::Refused; 60];
        add_sharing_group(&mut simulation, "g", 3);
        steps(&mut simulation, 100, 100);
        assert_eq!(bound(&simulation, "g"), 0);
        let left = reserved(&simulation).expect("binds were tried");
        assert_eq!(left, ["group-g"]);
        delete_all(&mut simulation);
        simulation.network.next_binds.clear();
        add_gang(&mut simulation, "h", 1, false);
        settle(&mut simulation);
        assert_eq!(bound(&simulation, "h"), 0, "{slowness_ms} ms");
        simulation.server.remove_group("ns/g");
        settle(&mut simulation);
        assert_eq!(bound(&simulation, "h"), 1, "{slowness_ms} ms");
    }
}
