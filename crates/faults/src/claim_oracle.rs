//! What must hold of claims and devices (spec/06 INV-16, INV-17), found out from the virtual API server alone.

use std::collections::{BTreeMap, BTreeSet};

use pumice_claims::{AllocatedDevice, Counters, DeviceCount, DeviceKey, Quantity};
use pumice_model::Delta;
use pumice_model::object::{ClaimAllocation, PodObject, ResourceClaimObject};
use pumice_model::selector::node_term_holds;

use super::claim_writer::CHANGE_MS;
use super::claims::is_done;
use super::drivers::LOCAL;
use super::invariant::{Broken, Invariant, WINDOW_MS};
use super::process::Process;
use super::server::{VirtualServer, key};

/// Longest time for which the watch of a kind is broken, milliseconds.
pub const MAX_BREAK_MS: u64 = 5_000;

/// Longest time from a change of a slice to the last allocation that may be made without it: slices do not
/// protect, and an allocation may be tried for a while.
const SLICE_WINDOW_MS: u64 = WINDOW_MS + MAX_BREAK_MS + 2 * CHANGE_MS;

/// Who has a device.
#[derive(Default)]
struct DeviceUse<'a> {
    whole: Vec<&'a str>,
    parts: Vec<&'a str>,
    consumed: BTreeMap<&'a str, Quantity>,
}

fn uses(server: &VirtualServer) -> BTreeMap<&DeviceKey, DeviceUse<'_>> {
    let mut uses: BTreeMap<&DeviceKey, DeviceUse<'_>> = BTreeMap::new();
    for (name, claim) in &server.devices.claims {
        let allocation = claim.object.allocation.iter();
        let given = allocation.flat_map(|allocation| &allocation.devices.devices);
        for given in given.filter(|given| !given.admin_access) {
            let entry = uses.entry(&given.key).or_default();
            match &given.share {
                None => entry.whole.push(name),
                Some((_, consumed)) => {
                    entry.parts.push(name);
                    for (capacity, amount) in consumed {
                        let sum = entry.consumed.entry(capacity).or_default();
                        *sum = sum.plus(*amount);
                    }
                }
            }
        }
    }
    uses
}

/// No device is given twice, and no capacity is overdrawn.
///
/// # Errors
/// One is.
pub(super) fn check_devices(server: &VirtualServer) -> Result<(), Broken> {
    let broken = |text: String| Err(Invariant::Devices.broken(text));
    let uses = uses(server);
    for (key, entry) in &uses {
        if entry.whole.len() > 1 || (!entry.whole.is_empty() && !entry.parts.is_empty()) {
            return broken(format!(
                "{key} is given to {:?} and {:?}",
                entry.whole, entry.parts
            ));
        }
        let Some(record) = server.devices.catalog.get(*key) else {
            return broken(format!("{key} was never published and is given"));
        };
        for (name, amount) in &entry.consumed {
            let size = record.device.capacity.get(*name);
            if size.is_none_or(|size| *amount > size.value) {
                return broken(format!(
                    "{amount} {name} of {key} are given to {:?}",
                    entry.parts
                ));
            }
        }
    }
    Ok(())
}

/// A claim has been given devices: they were there, untainted or tolerated, and as many as it asks for.
///
/// # Errors
/// One was not.
pub(super) fn check_allocation(
    server: &VirtualServer,
    claim: &ResourceClaimObject,
) -> Result<(), Broken> {
    let Some(allocation) = &claim.allocation else {
        return Ok(());
    };
    let broken = |text: String| Err(Invariant::Devices.broken(format!("{}: {text}", claim.name)));
    let recent = |at: Option<u64>| at.is_some_and(|at| at + SLICE_WINDOW_MS >= server.now_ms());
    for given in &allocation.devices.devices {
        let Some(record) = server.devices.catalog.get(&given.key) else {
            return broken(format!("{} was never published", given.key));
        };
        if record.since_ms.is_none() && !recent(record.last_ms) {
            return broken(format!("{} is not published any more", given.key));
        }
        let repels = record.device.repelled_by(&given.tolerations).is_some();
        if repels && !recent(record.untainted_ms) {
            return broken(format!("{} is tainted", given.key));
        }
    }
    let wrong = check_counts(claim, &allocation.devices.devices);
    wrong
        .or_else(|| overdrawn(server, allocation))
        .map_or(Ok(()), broken)
}

/// A counter of the pools of a new allocation of which more is used than there is. A device that was not published all the time does not count:
/// what else uses its counters may have been given meanwhile.
fn overdrawn(server: &VirtualServer, new: &ClaimAllocation) -> Option<String> {
    let given = new.devices.devices.iter();
    let given = given.filter(|given| !given.admin_access);
    let pools: BTreeSet<&str> = given.map(|given| given.key.pool.as_str()).collect();
    let mut counted: BTreeMap<(&str, &str), Counters> = BTreeMap::new();
    for key in uses(server)
        .into_keys()
        .filter(|key| pools.contains(&*key.pool))
    {
        let record = server.devices.catalog.get(key)?;
        let since_ms = record.since_ms.unwrap_or(u64::MAX);
        if since_ms.saturating_add(SLICE_WINDOW_MS) >= server.now_ms() {
            continue;
        }
        for used in &record.device.uses {
            let set = counted.entry((&key.pool, &used.set)).or_default();
            for (name, amount) in &used.counters {
                let sum = set.entry(name.clone()).or_default();
                *sum = sum.plus(*amount);
            }
        }
    }
    counted.into_iter().find_map(|((pool, set), counters)| {
        let most = server
            .devices
            .counters
            .get(&(pool.to_owned(), set.to_owned()))?;
        let mut over = counters.into_iter();
        let over = over.find(|(name, amount)| most.get(name).is_none_or(|most| amount > most));
        over.map(|(name, amount)| format!("{amount} of {set}/{name} of pool {pool} are used"))
    })
}

/// What is wrong with the number of devices of a claim.
fn check_counts(claim: &ResourceClaimObject, devices: &[AllocatedDevice]) -> Option<String> {
    for request in &claim.spec.requests {
        let names: Vec<String> = (0..request.choices.len())
            .map(|choice| request.name_of(choice))
            .collect();
        let of = |name: &String| {
            devices
                .iter()
                .filter(|given| given.request == *name)
                .count()
        };
        let counts: Vec<usize> = names.iter().map(of).collect();
        let chosen = counts.iter().filter(|count| **count > 0).count();
        let served = counts
            .iter()
            .zip(&request.choices)
            .find(|(count, _)| **count > 0);
        let fits = served.is_some_and(|(count, choice)| match choice.count {
            DeviceCount::Exactly(wanted) => *count as u64 == wanted,
            DeviceCount::All => true,
        });
        if chosen != 1 || !fits {
            return Some(format!("request {} has {counts:?} devices", request.name));
        }
    }
    None
}

/// How much of a resource of a queue, `deviceclass/CLASS` or `CAPACITY.deviceclass/CLASS`, pods have by their
/// claims, of claims that they share each once (spec/09 §7).
pub(super) fn held_devices<'a>(
    server: &VirtualServer,
    pods: impl Iterator<Item = &'a PodObject>,
    resource: &str,
) -> i64 {
    let of_pod = |pod: &'a PodObject| {
        let names = pod
            .resource_claims
            .iter()
            .filter_map(|entry| entry.claim.as_ref());
        names.map(|name| key(&pod.namespace, name))
    };
    let claims: BTreeSet<String> = pods.flat_map(of_pod).collect();
    let claims = claims.iter().filter_map(|claim| server.claim(claim));
    claims.map(|claim| held_by(claim, resource)).sum()
}

fn held_by(claim: &ResourceClaimObject, resource: &str) -> i64 {
    let allocation = claim.allocation.iter();
    let given = allocation.flat_map(|allocation| &allocation.devices.devices);
    let amount = |given: &AllocatedDevice| {
        let mut requests = claim.spec.requests.iter().flat_map(|request| {
            let choices = request.choices.iter().enumerate();
            choices.map(|(at, choice)| (request.name_of(at), choice))
        });
        let (_, choice) = requests.find(|(name, _)| *name == given.request)?;
        match resource.split_once("deviceclass/")? {
            (_, class) if class != choice.class => None,
            ("", _) => Some(1),
            (capacity, _) => {
                let taken = given.share.as_ref().map(|(_, consumed)| consumed);
                let amounts = taken.unwrap_or(&choice.capacity);
                let amount = amounts.get(capacity.strip_suffix('.')?)?;
                Some(amount.whole_ceil())
            }
        }
    };
    let given = given.filter(|given| !given.admin_access);
    given.filter_map(amount).sum()
}

/// A pod was bound: its claims have devices that its node reaches, and are reserved for it.
///
/// # Errors
/// One is not.
pub(super) fn check_bind(server: &VirtualServer, pod: &PodObject) -> Result<(), Broken> {
    let broken = |text: String| Err(Invariant::Claims.broken(format!("{}: {text}", pod.uid)));
    for entry in &pod.resource_claims {
        let Some(name) = &entry.claim else {
            return broken(format!("claim {} is not made", entry.entry));
        };
        let Some(claim) = server.claim(&key(&pod.namespace, name)) else {
            return broken(format!("claim {name} does not exist"));
        };
        let Some(allocation) = &claim.allocation else {
            return broken(format!("claim {name} has no devices"));
        };
        let group = pod.group.as_ref().map(|name| key(&pod.namespace, name));
        let group = group.and_then(|group| server.groups.get(&group));
        let is_for_group = group.is_some_and(|group| {
            let mut claims = group.native.claims.iter();
            let named = (&entry.entry, &entry.claim);
            claims.any(|own| (&own.entry, &own.claim) == named)
        });
        let consumer = group
            .filter(|_| is_for_group)
            .map_or(&pod.uid, |group| &group.uid);
        if !claim.reserved_for.contains(consumer) {
            return broken(format!(
                "claim {name} is reserved for {:?}",
                claim.reserved_for
            ));
        }
        if entry.template.is_some() && claim.owner_uid != pod.uid {
            return broken(format!("claim {name} belongs to {}", claim.owner_uid));
        }
        if !is_reached(server, pod, allocation) {
            return broken(format!("claim {name} is not reached from {:?}", pod.node));
        }
    }
    Ok(())
}

fn is_reached(server: &VirtualServer, pod: &PodObject, allocation: &ClaimAllocation) -> bool {
    // That the node is there is looked at elsewhere.
    let Some(node) = pod.node.as_ref().and_then(|node| server.nodes.get(node)) else {
        return true;
    };
    let mut devices = allocation.devices.devices.iter();
    let is_local = devices.all(|given| given.key.driver != LOCAL || given.key.pool == node.name);
    let terms = allocation.nodes.as_deref();
    is_local && terms.is_none_or(|terms| terms.iter().any(|term| node_term_holds(term, node)))
}

/// When everything has settled: nothing of a bind that failed is left on a claim, but for what a process that
/// ended could not take back, and the engine knows of claims what the server does.
///
/// # Errors
/// Something is left, or known otherwise.
pub(super) fn check_settled(
    process: &Process,
    server: &VirtualServer,
    left: &BTreeSet<String>,
) -> Result<(), Broken> {
    let broken = |text: String| Err(Invariant::Claims.broken(text));
    for (key, claim) in &server.devices.claims {
        let claim = &claim.object;
        let pods = claim
            .reserved_for
            .iter()
            .filter(|uid| !server.has_group(uid));
        let mut users = pods.map(|uid| server.pods.get(uid));
        if users.clone().any(|pod| pod.is_none_or(is_done)) {
            return broken(format!("{key} is reserved for pods that are gone"));
        }
        if claim.reserved_for.is_empty() && claim.allocation.is_some() {
            return broken(format!("{key} has devices, and nobody uses it"));
        }
        if left.contains(&claim.uid) {
            continue;
        }
        if users.any(|pod| pod.is_some_and(|pod| pod.node.is_none())) {
            return broken(format!("{key} is reserved for a pod whose bind has failed"));
        }
        if claim.is_protected && claim.allocation.is_none() {
            return broken(format!("{key} has the finalizer and no devices"));
        }
    }
    let dump = process.decider.engine().state().dump().into_iter();
    let known = dump.filter_map(|delta| match delta {
        Delta::ResourceClaimApply(claim) => Some((key(&claim.namespace, &claim.name), claim)),
        _ => None,
    });
    let known: BTreeMap<String, Box<ResourceClaimObject>> = known.collect();
    for (key, claim) in &server.devices.claims {
        let ours = known.get(key).map(|claim| &**claim);
        if ours != Some(&claim.object) {
            let text = format!("claim {key} is {:?}, and known as {ours:?}", claim.object);
            return Err(Invariant::Ledger.broken(text));
        }
    }
    match known.len() == server.devices.claims.len() {
        true => Ok(()),
        false => Err(Invariant::Memory.broken("claims are known that are gone".to_owned())),
    }
}
