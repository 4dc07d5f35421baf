//! PodGroups of Kubernetes itself beside those of Volcano (spec/03 §B10): statuses of which only conditions are kept, an
//! API that is served in another version from now on, and one that is not served at all for a while.

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::object::{GroupObject, GroupStatus, NATIVE_GROUP, NativeTraits, PodObject};

use super::Simulation;
use super::claim_oracle::MAX_BREAK_MS;
use super::invariant::{Broken, Invariant};
use super::rng::Rng;
use super::server::VirtualServer;
use super::server_kind::ServerKind;
use super::trees_of_groups::TreesOfGroups;

/// What becomes of them in a simulation.
#[derive(Clone, Debug)]
pub(super) struct NativeGroups {
    rng: Rng,
    /// Groups by `namespace/name` while the server does not serve them, and until when it does not.
    hidden: Option<(u64, BTreeMap<String, GroupObject>)>,
    /// UIDs of those that have said that they were placed.
    placed: BTreeSet<String>,
    /// How often the API was served otherwise.
    pub(super) changes: u32,
    /// Bindings of pods of such groups.
    pub(super) binds: u32,
    /// Some of them are parts of trees.
    pub(super) trees: Option<TreesOfGroups>,
}

impl NativeGroups {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            hidden: None,
            placed: BTreeSet::new(),
            changes: 0,
            binds: 0,
            trees: None,
        }
    }

    /// As many of them as can be are parts of trees.
    pub(super) fn in_trees(seed: u64) -> Self {
        Self {
            trees: Some(TreesOfGroups::new(!seed)),
            ..Self::new(seed)
        }
    }

    /// A pod was bound.
    pub(super) fn note_bind(&mut self, server: &VirtualServer, pod: &PodObject) {
        self.binds += u32::from(is_member(pod));
        if let Some(trees) = &mut self.trees {
            trees.note_bind(server, pod);
        }
    }

    /// Groups that the server does not serve now, by `namespace/name`.
    pub(super) fn hidden(&self) -> impl Iterator<Item = (&String, &GroupObject)> {
        self.hidden.iter().flat_map(|(_, groups)| groups)
    }

    /// Makes a PodGroup and its pods those of Kubernetes itself, or leaves them as they are: half of all while they
    /// are served, most where there are trees of them.
    pub(super) fn mark(&mut self, group: &mut GroupObject, pod: &mut PodObject) {
        let spared = if self.trees.is_some() { 20 } else { 50 };
        if self.hidden.is_some() || self.rng.percent(spared) {
            return;
        }
        group.name = format!("{NATIVE_GROUP}{}", group.name);
        group.is_native = true;
        group.status = GroupStatus::of_native(Vec::new());
        group.native = NativeTraits {
            goes_whole: self.rng.percent(30),
            never_preempts: self.rng.percent(20),
            ..NativeTraits::default()
        };
        pod.group = Some(group.name.clone());
        if let Some(trees) = &mut self.trees {
            trees.join(group);
        }
    }
}

/// Whether a pod names such a group.
fn is_member(pod: &PodObject) -> bool {
    let name = pod.group.as_deref();
    name.is_some_and(|name| name.starts_with(NATIVE_GROUP))
}

/// Now and then the server serves these groups in another version, or not at all for a while.
pub(super) fn change_native_api(simulation: &mut Simulation) {
    let now_ms = simulation.server.now_ms();
    let Some(natives) = &mut simulation.natives else {
        return;
    };
    if let Some((until_ms, _)) = natives.hidden {
        if now_ms >= until_ms {
            serve_natives(simulation);
        }
        return;
    }
    match natives.rng.below(100) {
        0..2 => {
            natives.changes += 1;
            let of_it = |(_, group): &(&String, &GroupObject)| group.is_native;
            let all = simulation.server.groups.iter().filter(of_it);
            let all = all.map(|(key, group)| (key.clone(), group.clone()));
            let all: BTreeMap<String, GroupObject> = all.collect();
            let for_ms = natives.rng.between(500, 8_000);
            all.keys()
                .for_each(|key| simulation.server.remove_group(key));
            natives.hidden = Some((now_ms + for_ms, all));
            simulation
                .history
                .push(format!("native groups are not served for {for_ms} ms"));
            break_native_watches(simulation);
        }
        2..4 => {
            natives.changes += 1;
            simulation
                .history
                .push("native groups are served in another version".to_owned());
            break_native_watches(simulation);
        }
        _ => {}
    }
}

/// The server serves these groups again.
pub(super) fn serve_natives(simulation: &mut Simulation) {
    let natives = simulation.natives.as_mut();
    let Some((_, groups)) = natives.and_then(|natives| natives.hidden.take()) else {
        return;
    };
    simulation
        .history
        .push("native groups are served".to_owned());
    simulation.server.native_groups_came_ms = Some(simulation.server.now_ms());
    for group in groups.into_values() {
        simulation.server.put_group(group);
    }
    break_native_watches(simulation);
}

/// Everybody has to list them again, each after a while of its own.
fn break_native_watches(simulation: &mut Simulation) {
    let now_ms = simulation.server.now_ms();
    let Some(natives) = &mut simulation.natives else {
        return;
    };
    for process in simulation
        .slots
        .iter_mut()
        .filter_map(|slot| slot.process.as_mut())
    {
        let for_ms = natives.rng.between(100, MAX_BREAK_MS);
        process
            .watches
            .break_off(ServerKind::NativeGroup, now_ms, for_ms);
    }
}

/// Remembers which groups say that they were placed.
pub(super) fn note_placed(simulation: &mut Simulation) {
    if let Some(natives) = &mut simulation.natives {
        let groups = simulation.server.groups.values();
        let placed = groups.filter(|group| group.is_native && group.status.says_placed());
        natives.placed.extend(placed.map(|group| group.uid.clone()));
    }
}

/// Who has said that it was placed says so for ever, but while a request that landed late has taken it back.
///
/// # Errors
/// A group that does not.
pub(super) fn check_placed(simulation: &Simulation) -> Result<(), Broken> {
    let Some(natives) = &simulation.natives else {
        return Ok(());
    };
    for (key, group) in &simulation.server.groups {
        if natives.placed.contains(&group.uid) && !group.status.says_placed() {
            let text = format!("{key} has said that it was placed, and says so no more");
            return Err(Invariant::Placed.broken(text));
        }
    }
    Ok(())
}
