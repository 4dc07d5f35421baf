//! Resource claims as spec/09 words them: pools, expressions by a table of what they mean, and the first
//! assignment that keeps every rule.

mod api_server;
mod assign;
mod expressions;
pub mod quota;
mod returns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_claims::{DeviceKey, DraDevice};
use pumice_conf::PluginConf;
use pumice_model::ClaimReturn;
use pumice_model::delta::Delta;
use pumice_model::object::{
    ClaimAllocation, DeviceClassObject, GroupObject, NodeAccess, NodeObject, NodeTerm, PodObject,
    PodResourceClaim, ResourceClaimObject, SliceObject, TaintRuleObject,
};

use super::filters::matches_term;
use super::state::{Status, Task, World};

pub use api_server::{ApiServer, freed};
pub use expressions::EXPRESSIONS;
pub use returns::decide as decide_returns;

/// Namespace and name of a claim.
type Key = (String, String);

/// How many pods may use a claim.
const MAX_USERS: usize = 256;

/// Objects of resource.k8s.io as given, and what cycles made of them.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    objects: Arc<Objects>,
    /// What claims were given that have nothing yet.
    given: BTreeMap<Key, Given>,
    /// Claims whose devices do not count as held.
    going: BTreeSet<Key>,
    /// Devices that are being given back.
    returns: returns::Returns,
}

#[derive(Clone, Debug, Default)]
struct Objects {
    claims: BTreeMap<Key, ResourceClaimObject>,
    classes: BTreeMap<String, DeviceClassObject>,
    slices: BTreeMap<String, SliceObject>,
    taint_rules: BTreeMap<String, TaintRuleObject>,
}

/// What a claim has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Devices that the claim has.
    pub devices: Vec<GivenDevice>,
    /// Nodes that reach them all; `None` for every node.
    nodes: Option<NodeTerm>,
    /// They are for a pod that waits until others are gone, and nobody can use them before.
    is_promised: bool,
}

/// A device of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GivenDevice {
    /// For which request, or alternative of a request.
    pub request: String,
    /// Which.
    pub key: DeviceKey,
    /// For administration.
    pub admin_access: bool,
    /// What it takes of the capacities of a shared device.
    pub consumed: Option<BTreeMap<String, i64>>,
}

/// What an allocation says, amounts as whole numbers, without ids of shares.
#[must_use]
pub fn devices_of(allocation: &ClaimAllocation) -> Vec<GivenDevice> {
    let devices = allocation.devices.devices.iter();
    let given = devices.map(|device| GivenDevice {
        request: device.request.clone(),
        key: device.key.clone(),
        admin_access: device.admin_access,
        consumed: device.share.as_ref().map(|(_, consumed)| {
            let amounts = consumed.iter();
            amounts
                .map(|(name, amount)| (name.clone(), expressions::whole(*amount)))
                .collect()
        }),
    });
    given.collect()
}

/// Names of the nodes on which pods of the claim may be.
#[must_use]
pub fn nodes_of<'a>(
    allocation: &ClaimAllocation,
    nodes: impl Iterator<Item = &'a NodeObject>,
) -> Vec<String> {
    let allowed = nodes.filter(|node| {
        let terms = allocation.nodes.as_ref();
        terms.is_none_or(|terms| terms.iter().any(|term| matches_term(term, node)))
    });
    allowed.map(|node| node.name.clone()).collect()
}

/// What the controller makes of a claim when a pod is gone: nothing, if the claim was the pod's own; if it
/// was its last user the devices are free again.
#[must_use]
pub fn without_user(claim: &ResourceClaimObject, uid: &str) -> Option<ResourceClaimObject> {
    let mut claim = claim.clone();
    claim.version += 1;
    claim.reserved_for.retain(|user| user != uid);
    if claim.reserved_for.is_empty() {
        claim.allocation = None;
        claim.is_protected = false;
    }
    (claim.owner_uid != uid).then_some(claim)
}

impl Claims {
    /// Takes in an object of resource.k8s.io.
    pub fn take(&mut self, object: &Delta) {
        let all = Arc::make_mut(&mut self.objects);
        match object.clone() {
            Delta::ResourceClaimApply(claim) => {
                let key = (claim.namespace.clone(), claim.name.clone());
                self.returns.told(&claim);
                all.claims.insert(key, *claim);
            }
            Delta::DevicesKept(refused) => self.returns.kept(&refused),
            Delta::DeviceClassApply(class) => {
                all.classes.insert(class.name.clone(), *class);
            }
            Delta::TaintRuleApply(rule) => {
                all.taint_rules.insert(rule.name.clone(), *rule);
            }
            Delta::SliceApply(slice) => {
                all.slices.insert(slice.name.clone(), *slice);
            }
            _ => {}
        }
    }

    fn claim(&self, key: &Key) -> Option<&ResourceClaimObject> {
        self.objects.claims.get(key)
    }

    fn knows_classes_of(&self, claim: &ResourceClaimObject) -> bool {
        let choices = claim.spec.requests.iter().flat_map(|r| &r.choices);
        let mut classes = choices.map(|choice| &choice.class);
        classes.all(|class| self.objects.classes.contains_key(class))
    }

    /// Devices of a claim and its nodes.
    fn has(&self, key: &Key) -> Option<(Vec<GivenDevice>, Option<Vec<NodeTerm>>)> {
        let written = self.claim(key)?.allocation.as_ref();
        let written = written.map(|written| (devices_of(written), written.nodes.clone()));
        written.or_else(|| {
            let given = self.given.get(key)?;
            let nodes = given.nodes.clone().map(|term| vec![term]);
            Some((given.devices.clone(), nodes))
        })
    }

    /// Devices that claims have.
    fn held(&self) -> Vec<GivenDevice> {
        let all = self.objects.claims.keys();
        let all = all.filter(|key| !self.going.contains(key));
        let held = all.filter_map(|key| self.has(key));
        held.flat_map(|(devices, _)| devices).collect()
    }
}

/// The claims of a pod, each once; an entry without claim has none yet.
fn keys(pod: &PodObject) -> Vec<Option<Key>> {
    let mut keys: Vec<Option<Key>> = Vec::new();
    for entry in &pod.resource_claims {
        let name = entry.claim.clone();
        let key = name.map(|name| (pod.namespace.clone(), name));
        if key.is_none() || !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The plugin looks at claims.
pub fn are_looked_at(plugin: &PluginConf) -> bool {
    let on = plugin
        .arguments
        .bool("predicate.DynamicResourceAllocationEnable");
    plugin.enabled.predicate && on.unwrap_or(true)
}

/// The claims of the pod let it onto the node.
pub fn pass(world: &World, plugin: &PluginConf, pod: &PodObject, node: &NodeObject) -> bool {
    pod.resource_claims.is_empty()
        || (are_looked_at(plugin) && usable(world, pod, node) && choose(world, pod, node).is_some())
}

/// The claims are there, and there to stay, for this pod.
fn are_made(world: &World, pod: &PodObject) -> bool {
    pod.resource_claims.iter().all(|entry| {
        let name = entry.claim.clone();
        let key = name.map(|name| (pod.namespace.clone(), name));
        let claim = key.and_then(|key| world.claims.claim(&key));
        let group = group_of(world, pod, entry);
        let own = |claim: &&ResourceClaimObject| {
            entry.template.is_none()
                || claim.owner_uid == pod.uid
                || group.is_some_and(|group| claim.owner_uid == group.uid)
        };
        claim.filter(own).is_some_and(|claim| !claim.deleting)
    })
}

/// Every claim can be used by the pod, those with devices on this node.
fn usable(world: &World, pod: &PodObject, node: &NodeObject) -> bool {
    let all = &world.claims;
    are_made(world, pod)
        && !has_promises(world, pod)
        && keys(pod).into_iter().flatten().all(|key| {
            let claim = &all.objects.claims[&key];
            match all.has(&key) {
                _ if all.returns.are_under_way(&key) => false,
                None => all.knows_classes_of(claim),
                Some((_, nodes)) => {
                    let mut terms = nodes.iter().flatten();
                    has_room(world, &key, pod)
                        && (nodes.is_none() || terms.any(|term| matches_term(term, node)))
                }
            }
        })
}

/// The group of the pod, if it has a claim that the pod names in the same words.
fn group_of<'a>(
    world: &'a World,
    pod: &PodObject,
    entry: &PodResourceClaim,
) -> Option<&'a GroupObject> {
    let key = format!("{}/{}", pod.namespace, pod.group.as_ref()?);
    let group = &world.jobs.get(&key)?.group;
    let mut claims = group.native.claims.iter();
    let is_same = |own: &PodResourceClaim| match &entry.template {
        Some(template) => own.template.as_ref() == Some(template),
        None => own.template.is_none() && own.claim == entry.claim,
    };
    let has = claims.any(|own| own.entry == entry.entry && is_same(own));
    has.then_some(group)
}

/// UIDs of those for whom a claim is reserved when the pod uses it: its group, if the claim is the group's, else the pod.
fn consumers(world: &World, pod: &PodObject, key: &Key) -> Vec<String> {
    let entries = pod.resource_claims.iter();
    let entries = entries.filter(|entry| entry.claim.as_ref() == Some(&key.1));
    let consumer = |entry: &PodResourceClaim| {
        let claim = world.claims.claim(key);
        let is_own =
            entry.template.is_some() && claim.is_some_and(|claim| claim.owner_uid == pod.uid);
        let group = group_of(world, pod, entry).filter(|_| !is_own);
        group.map_or(&pod.uid, |group| &group.uid).clone()
    };
    entries.map(consumer).collect()
}

/// What a claim of the pod has was only promised.
fn has_promises(world: &World, pod: &PodObject) -> bool {
    let mut keys = keys(pod).into_iter().flatten();
    keys.any(|key| {
        let given = world.claims.given.get(&key);
        given.is_some_and(|given| given.is_promised)
    })
}

/// The pod may use the claim beside those that do.
fn has_room(world: &World, key: &Key, pod: &PodObject) -> bool {
    let own = consumers(world, pod, key);
    let others = users(world, key, &world.claims.objects.claims[key]);
    others.iter().filter(|user| !own.contains(user)).count() < MAX_USERS
}

/// UIDs of the pods and groups that use a claim: it is reserved for them, or pods were placed in this cycle.
fn users(world: &World, key: &Key, claim: &ResourceClaimObject) -> BTreeSet<String> {
    let here = world.tasks.values().filter(|task| {
        let placed = [Status::Allocated, Status::Pipelined, Status::Binding];
        placed.contains(&task.status) && keys(&task.pod).contains(&Some(key.clone()))
    });
    let here = here.flat_map(|task| consumers(world, &task.pod, key));
    here.chain(claim.reserved_for.iter().cloned()).collect()
}

/// What the claims of the pod that have no devices would get on the node.
fn choose(world: &World, pod: &PodObject, node: &NodeObject) -> Option<Vec<(Key, Given)>> {
    let all = &world.claims;
    let keys = keys(pod).into_iter().flatten();
    let open: Vec<Key> = keys.filter(|key| all.has(key).is_none()).collect();
    let claims = open
        .iter()
        .map(|key| all.claim(key).filter(|claim| all.knows_classes_of(claim)));
    let claims: Vec<&ResourceClaimObject> = claims.collect::<Option<_>>()?;
    let given = assign::first(&all.objects, &all.held(), &claims, node)?;
    Some(open.into_iter().zip(given).collect())
}

/// The pod was put on the node: its claims get their devices, of those that are free, or will be.
pub fn decide(world: &mut World, pod: &PodObject, node: &NodeObject, is_idle: bool) {
    if !is_idle {
        release(world);
    }
    let mut claims = keys(pod).into_iter().flatten();
    if are_made(world, pod)
        && claims.all(|key| world.claims.has(&key).is_none() || has_room(world, &key, pod))
        && let Some(given) = choose(world, pod, node)
    {
        for (key, mut given) in given {
            given.is_promised = !is_idle;
            world.claims.given.insert(key, given);
        }
    }
    world.claims.going.clear();
}

/// Devices count as free that will be once all pods are gone that are being released: of claims that are
/// reserved for such pods alone, and that no other pod with a place names.
pub fn release(world: &mut World) {
    let is_there = |node: &String| world.nodes.contains_key(node);
    let goes =
        |task: &Task| task.status == Status::Releasing && task.node.as_ref().is_some_and(is_there);
    let ended = [Status::Pending, Status::Succeeded, Status::Failed];
    let going = world.claims.objects.claims.iter().filter(|(key, claim)| {
        let is_going = |uid: &String| world.tasks.get(uid).is_some_and(goes);
        let mut others = world.tasks.values().filter(|task| {
            let names = keys(&task.pod).contains(&Some((*key).clone()));
            names && !ended.contains(&task.status) && !goes(task)
        });
        claim.allocation.is_some()
            && !claim.reserved_for.is_empty()
            && claim.reserved_for.iter().all(is_going)
            && others.next().is_none()
    });
    let going: BTreeSet<Key> = going.map(|(key, _)| key.clone()).collect();
    world.claims.going = going;
}

/// Whoever is being released is gone: what was promised is there.
pub fn keep_promises(world: &mut World) {
    release(world);
    let given = world.claims.given.values_mut();
    given.for_each(|given| given.is_promised = false);
}

/// Pods have lost their places: so have their claims what they were given, unless others use them.
pub fn take_back(world: &mut World) {
    let placed = [Status::Allocated, Status::Pipelined, Status::Binding];
    let tasks = world.tasks.values();
    let users = tasks.filter(|task| placed.contains(&task.status));
    let used: BTreeSet<Key> = users
        .flat_map(|task| keys(&task.pod).into_iter().flatten())
        .collect();
    world.claims.given.retain(|key, _| used.contains(key));
}

/// All claims of the pod have devices.
pub fn are_served(world: &World, pod: &PodObject) -> bool {
    let has = |key: &Option<Key>| key.as_ref().and_then(|key| world.claims.has(key)).is_some();
    !has_promises(world, pod) && keys(pod).iter().all(has)
}

/// Tasks that were bound in this cycle.
fn bound(world: &World) -> impl Iterator<Item = &Task> {
    let tasks = world.tasks.values();
    tasks.filter(|task| task.status == Status::Binding)
}

/// What claims of pods that were bound in this cycle were given, as lines, by `namespace/name`.
pub fn allocations(world: &World) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for task in bound(world) {
        for key in keys(&task.pod).into_iter().flatten() {
            if let Some(given) = world.claims.given.get(&key) {
                let terms = given.nodes.as_ref();
                let nodes = world
                    .nodes
                    .values()
                    .filter(|node| terms.is_none_or(|term| matches_term(term, node)));
                let nodes = nodes.map(|node| node.name.clone()).collect();
                let name = format!("{}/{}", key.0, key.1);
                all.insert(name, lines(&given.devices, nodes));
            }
        }
    }
    all
}

/// An allocation as lines, to be compared.
#[must_use]
pub fn lines(devices: &[GivenDevice], nodes: Vec<String>) -> Vec<String> {
    let devices = devices.iter().map(|device| {
        let GivenDevice {
            request,
            key,
            admin_access,
            consumed,
        } = device;
        format!("{request}: {key}, admin {admin_access}, consumes {consumed:?}")
    });
    devices.chain([format!("on {}", nodes.join(" "))]).collect()
}

/// Between two cycles: what pods were bound with is written, the rest forgotten.
pub fn next_cycle(world: &mut World) {
    let mut users: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    for task in bound(world) {
        for key in keys(&task.pod).into_iter().flatten() {
            let new = consumers(world, &task.pod, &key);
            users.entry(key).or_default().extend(new);
        }
    }
    let given = std::mem::take(&mut world.claims.given);
    let all = Arc::make_mut(&mut world.claims.objects);
    for (key, users) in users {
        let Some(claim) = all.claims.get_mut(&key) else {
            continue;
        };
        if let Some(given) = given.get(&key) {
            claim.allocation = Some(assign::written(given));
            claim.is_protected = true;
        }
        for uid in users {
            claim.version += 1;
            if !claim.reserved_for.contains(&uid) {
                claim.reserved_for.push(uid);
            }
        }
        world.claims.returns.told(claim);
    }
}

/// What an API server makes of returns, before the cycle of that number.
pub fn answer_returns(
    world: &mut World,
    server: &mut ApiServer,
    asked: &[ClaimReturn],
    cycle: u32,
) {
    let all = Arc::make_mut(&mut world.claims.objects);
    let told = server.answer(asked, &mut all.claims, cycle);
    told.iter().for_each(|delta| world.claims.take(delta));
}

/// A pod is gone, and its claims are told.
pub fn leave(world: &mut World, pod: &PodObject) {
    let all = Arc::make_mut(&mut world.claims.objects);
    for key in keys(pod).into_iter().flatten() {
        if let Some(claim) = all.claims.remove(&key) {
            let left = without_user(&claim, &pod.uid);
            left.iter()
                .for_each(|claim| world.claims.returns.told(claim));
            all.claims.extend(left.map(|claim| (key, claim)));
        }
    }
}

/// A pool of which a node reaches something.
struct Pool<'a> {
    driver: &'a str,
    name: &'a str,
    /// It is complete and valid.
    usable: bool,
    /// Slices of the newest generation, by name.
    slices: Vec<&'a SliceObject>,
    /// Devices that the node reaches, in order.
    devices: Vec<(&'a SliceObject, usize)>,
}

/// The device can be reached from the node.
fn reaches(access: &NodeAccess, node: &NodeObject) -> bool {
    match access {
        NodeAccess::Nowhere | NodeAccess::PerDevice => false,
        NodeAccess::Node(name) => *name == node.name,
        NodeAccess::Everywhere => true,
        NodeAccess::Selected(terms) => terms.iter().any(|term| matches_term(term, node)),
    }
}

/// Where a device can be reached.
fn access_of(slice: &SliceObject, device: usize) -> &NodeAccess {
    match &slice.access {
        NodeAccess::PerDevice => &slice.devices[device].access,
        access => access,
    }
}

/// The pools that the node reaches, by driver and name.
fn pools<'a>(objects: &'a Objects, node: &NodeObject) -> Vec<Pool<'a>> {
    let mut by_name: BTreeMap<(&str, &str), Vec<&SliceObject>> = BTreeMap::new();
    for slice in objects.slices.values() {
        let pool = by_name.entry((&slice.driver, &slice.pool)).or_default();
        pool.push(slice);
    }
    let mut pools = Vec::new();
    for ((driver, name), mut slices) in by_name {
        let newest = slices.iter().map(|slice| slice.generation).max();
        slices.retain(|slice| Some(slice.generation) == newest);
        let number = slices.len() as i64;
        let names = slices.iter().flat_map(|slice| &slice.devices);
        let names: Vec<&String> = names.map(|published| &published.device.name).collect();
        let distinct: BTreeSet<&&String> = names.iter().collect();
        let numbered = slices
            .iter()
            .flat_map(|slice| (0..slice.devices.len()).map(|at| (*slice, at)));
        let devices: Vec<(&SliceObject, usize)> = numbered
            .filter(|(slice, at)| reaches(access_of(slice, *at), node))
            .collect();
        let is_reached = slices.iter().any(|slice| reaches(&slice.access, node));
        if is_reached || !devices.is_empty() {
            pools.push(Pool {
                driver,
                name,
                usable: slices.iter().all(|slice| slice.slice_count == number)
                    && distinct.len() == names.len(),
                slices,
                devices,
            });
        }
    }
    pools
}

fn device_at(at: (&SliceObject, usize)) -> &DraDevice {
    &at.0.devices[at.1].device
}
