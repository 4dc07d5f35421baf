//! A gang that claims devices and comes to a cluster in which there are some.

use std::collections::BTreeMap;

use pumice_claims::{ClaimRequest, ClaimSpec, DeviceCount, RequestedDevices};
use pumice_model::Delta;
use pumice_model::object::{GroupObject, PodObject, PodResourceClaim, ResourceClaimObject};

use super::rng::Rng;
use super::{MIB, claims};

/// Namespace and name of the gang.
const GANG: (&str, &str) = ("ns", "asked");

/// Whose a claim of the gang is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimOwner {
    /// Each pod has one, of a template.
    Pod,
    /// All of them share one.
    Gang,
}

/// The PodGroup, its pods, and their claims as far as these are made: seldom one of a template is not.
#[must_use]
pub fn gang_that_claims(seed: u64, objects: &[Delta]) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 74);
    let queues: Vec<String> = objects.iter().filter_map(queue_name).collect();
    let count = rng.between(1, 4);
    let group = GroupObject {
        namespace: GANG.0.to_owned(),
        name: GANG.1.to_owned(),
        uid: GANG.1.to_owned(),
        queue: match queues.is_empty() {
            true => String::new(),
            false => rng.pick(&queues),
        },
        min_member: rng.between(1, count) as i32,
        priority_class: rng.pick(&["", "low", "high", "high"]).to_owned(),
        ..GroupObject::default()
    };
    let asked: Vec<(ClaimOwner, ClaimSpec)> = (0..rng.pick(&[1, 1, 2]))
        .map(|_| {
            (
                rng.pick(&[ClaimOwner::Pod, ClaimOwner::Pod, ClaimOwner::Gang]),
                spec(&mut rng),
            )
        })
        .collect();
    let cpu_milli = rng.pick(&[10, 10, 10, 500]);
    let mut made = BTreeMap::new();
    let mut told = Vec::new();
    for index in 0..count {
        let mut pod = pod(index, cpu_milli, &group.priority_class);
        for (at, (owner, spec)) in asked.iter().enumerate() {
            let entry = format!("c{at}");
            let name = match owner {
                ClaimOwner::Pod => format!("{}-{entry}", pod.name),
                ClaimOwner::Gang => format!("{}-{entry}", GANG.1),
            };
            let is_own = *owner == ClaimOwner::Pod;
            let is_made = !is_own || !rng.one_in(40);
            pod.resource_claims.push(PodResourceClaim {
                entry,
                claim: is_made.then(|| name.clone()),
                template: is_own.then(|| "template".to_owned()),
            });
            if is_made {
                let owner_uid = if is_own {
                    pod.uid.clone()
                } else {
                    String::new()
                };
                made.insert(name.clone(), claim(name, owner_uid, spec));
            }
        }
        told.push(Delta::PodApply(Box::new(pod)));
    }
    let made = made
        .into_values()
        .map(|claim| Delta::ResourceClaimApply(Box::new(claim)));
    let group = Delta::GroupApply(Box::new(group));
    [group].into_iter().chain(told).chain(made).collect()
}

fn queue_name(object: &Delta) -> Option<String> {
    match object {
        Delta::QueueApply(queue) => Some(queue.name.clone()),
        _ => None,
    }
}

fn pod(index: usize, cpu_milli: i64, priority_class: &str) -> PodObject {
    let name = format!("{}-{index}", GANG.1);
    PodObject {
        namespace: GANG.0.to_owned(),
        uid: name.clone(),
        name,
        group: Some(GANG.1.to_owned()),
        ours: true,
        priority_class: priority_class.to_owned(),
        container_count: 1,
        request: [("cpu", cpu_milli), ("memory", 64 * MIB), ("pods", 1)]
            .map(|(name, amount)| (name.to_owned(), amount))
            .into(),
        nonzero_cpu_milli: cpu_milli,
        nonzero_memory_bytes: 64 * MIB,
        ..PodObject::default()
    }
}

fn claim(name: String, owner_uid: String, spec: &ClaimSpec) -> ResourceClaimObject {
    ResourceClaimObject {
        namespace: GANG.0.to_owned(),
        uid: format!("uid-{name}"),
        name,
        owner_uid,
        spec: spec.clone(),
        version: 1,
        ..ResourceClaimObject::default()
    }
}

/// Mostly one or two devices that are there.
fn spec(rng: &mut Rng) -> ClaimSpec {
    if rng.one_in(5) {
        return claims::spec(rng);
    }
    let choice = RequestedDevices {
        name: String::new(),
        class: rng.pick(&["gpu", "gpu", "gpu", "nic", "any"]).to_owned(),
        selectors: Vec::new(),
        count: DeviceCount::Exactly(rng.pick(&[1, 1, 1, 2])),
        admin_access: false,
        tolerations: Vec::new(),
        capacity: BTreeMap::new(),
    };
    let request = ClaimRequest {
        name: "r0".to_owned(),
        choices: vec![choice],
    };
    ClaimSpec {
        requests: vec![request],
        ..ClaimSpec::default()
    }
}
