//! What claimed devices count for queues (spec/09 §7), as sums over everybody.

use std::collections::BTreeSet;

use pumice_claims::{DeviceCount, RequestedDevices};
use pumice_model::object::{PodObject, ResourceClaimObject};

use super::{Claims, GivenDevice, Key, group_of};
use crate::naive::claims::expressions::whole;
use crate::naive::state::{Res, Status, Task, World, add};

/// Claims that a pod names, each once; whether it is its own.
fn named(world: &World, pod: &PodObject) -> Vec<(Key, bool)> {
    let claims = &world.claims;
    let mut all: Vec<(Key, bool)> = Vec::new();
    let mut seen = BTreeSet::new();
    for entry in &pod.resource_claims {
        let Some(name) = &entry.claim else { continue };
        let key = (pod.namespace.clone(), name.clone());
        if !seen.insert(key.clone()) {
            continue;
        }
        let Some(claim) = claims.claim(&key) else {
            continue;
        };
        let of_group =
            group_of(world, pod, entry).is_some_and(|group| claim.owner_uid == group.uid);
        let is_own = entry.template.is_some() && claim.owner_uid == pod.uid;
        if is_own || of_group || entry.template.is_none() {
            all.push((key, is_own));
        }
    }
    all
}

/// The request, or alternative of a request, that a result names.
fn requested<'a>(claim: &'a ResourceClaimObject, name: &str) -> Option<&'a RequestedDevices> {
    let requests = claim.spec.requests.iter();
    let mut choices = requests.flat_map(|request| {
        let numbered = request.choices.iter().enumerate();
        numbered.map(|(at, choice)| (request.name_of(at), choice))
    });
    choices
        .find(|(known, _)| known == name)
        .map(|(_, choice)| choice)
}

fn of_device(claim: &ResourceClaimObject, device: &GivenDevice) -> Res {
    let Some(choice) = requested(claim, &device.request).filter(|_| !device.admin_access) else {
        return Res::new();
    };
    let mut amounts = match &device.consumed {
        Some(consumed) => consumed.clone(),
        None => {
            let asked = choice.capacity.iter();
            asked
                .map(|(name, amount)| (name.clone(), whole(*amount)))
                .collect()
        }
    };
    amounts = amounts
        .into_iter()
        .map(|(name, amount)| (format!("{name}.deviceclass/{}", choice.class), amount))
        .collect();
    amounts.insert(format!("deviceclass/{}", choice.class), 1);
    amounts
}

/// What a claim counts: the devices it has, else what is certain of those it asks.
fn of_claim(claims: &Claims, key: &Key) -> Res {
    let claim = &claims.objects.claims[key];
    let mut sum = Res::new();
    if let Some((devices, _)) = claims.has(key) {
        for device in &devices {
            add(&mut sum, &of_device(claim, device));
        }
        return sum;
    }
    for request in &claim.spec.requests {
        if request.choices.len() != 1 || request.choices[0].admin_access {
            continue;
        }
        let choice = &request.choices[0];
        if !claims.objects.classes.contains_key(&choice.class) {
            continue;
        }
        let number = match choice.count {
            DeviceCount::Exactly(number) => number.min(32) as i64,
            DeviceCount::All => 1,
        };
        let slices = claims.objects.slices.values();
        let devices: Vec<_> = slices.flat_map(|slice| &slice.devices).collect();
        let is_there = |name: &String| {
            let mut devices = devices.iter();
            devices.any(|published| published.device.capacity.contains_key(name))
        };
        let mut amounts: Res = choice
            .capacity
            .iter()
            .filter(|(name, _)| is_there(name))
            .map(|(name, amount)| {
                let name = format!("{name}.deviceclass/{}", choice.class);
                (name, number * whole(*amount))
            })
            .collect();
        amounts.insert(format!("deviceclass/{}", choice.class), number);
        add(&mut sum, &amounts);
    }
    sum
}

fn in_queue<'a>(world: &'a World, queue: &'a str) -> impl Iterator<Item = &'a Task> {
    world.tasks.values().filter(move |task| {
        let job = task.job.as_ref().and_then(|job| world.jobs.get(job));
        let has_place = task.status.is_allocated() || task.status == Status::Pipelined;
        has_place && job.is_some_and(|job| job.queue == queue)
    })
}

/// Claims with devices that are reserved for groups of a queue, whatever becomes of their pods.
fn held_by_groups(world: &World, queue: &str) -> BTreeSet<Key> {
    let groups = world.jobs.values().filter(|job| job.queue == queue);
    let groups = groups
        .map(|job| &job.group)
        .filter(|group| !group.native.claims.is_empty());
    let uids: BTreeSet<&String> = groups.map(|group| &group.uid).collect();
    let claims = world.claims.objects.claims.iter().filter(|(_, claim)| {
        let mut users = claim.reserved_for.iter();
        claim.allocation.is_some() && users.any(|uid| uids.contains(uid))
    });
    claims.map(|(key, _)| key.clone()).collect()
}

/// What groups of a queue hold, and its pods have that have a place: of claims that they share each once.
pub fn held(world: &World, queue: &str) -> Res {
    let (mut sum, mut shared) = (Res::new(), held_by_groups(world, queue));
    for key in &shared {
        add(&mut sum, &of_claim(&world.claims, key));
    }
    for task in in_queue(world, queue) {
        for (key, is_own) in named(world, &task.pod) {
            if is_own || shared.insert(key.clone()) {
                add(&mut sum, &of_claim(&world.claims, &key));
            }
        }
    }
    sum
}

/// What a queue has only because of this pod, or would have.
pub fn counted(world: &World, task: &Task) -> Res {
    let mut sum = Res::new();
    if task.pod.resource_claims.is_empty() {
        return sum;
    }
    let job = task.job.as_ref().and_then(|job| world.jobs.get(job));
    let mut others = BTreeSet::new();
    others.extend(job.iter().flat_map(|job| held_by_groups(world, &job.queue)));
    for other in job.iter().flat_map(|job| in_queue(world, &job.queue)) {
        if other.pod.uid != task.pod.uid {
            let named = named(world, &other.pod).into_iter();
            others.extend(named.filter(|(_, is_own)| !is_own).map(|(key, _)| key));
        }
    }
    for (key, is_own) in named(world, &task.pod) {
        if is_own || !others.contains(&key) {
            add(&mut sum, &of_claim(&world.claims, &key));
        }
    }
    sum
}
