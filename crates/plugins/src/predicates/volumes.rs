//! The volume filters: VolumeRestrictions, NodeVolumeLimits, VolumeZone, VolumeBinding
//! (spec/02 §6.7, §6.8).
//!
//! What a node says depends on storage objects and on volumes that were given away; both end the
//! life of the class's index, so it is computed once here. Only what is attached to a node is read
//! as it changes.

use std::ops::Range;

use pumice_framework::points::{Class, NodeFilter};
use pumice_framework::{ReasonId, ReasonKind, ReasonTable};
use pumice_model::object::{CsiNodeObject, Disk, NodeObject, VolumeSource};
use pumice_model::selector::pair;
use pumice_model::volume::{Conflicts, ExclusiveUse};
use pumice_model::{LoadMoment, NeedIx, NodeIx, Nodes, State, VolumeNeed, Volumes};
use rustc_hash::FxHashMap;

/// Which of the filters are on; VolumeRestrictions always is.
#[derive(Clone, Copy, Debug)]
pub struct VolumeSwitches {
    /// `predicate.NodeVolumeLimitsEnable`.
    pub limits: bool,
    /// `predicate.VolumeZoneEnable`.
    pub zone: bool,
    /// `predicate.VolumeBindingEnable`.
    pub binding: bool,
}

/// Texts of spec/02 §6.7 and §6.8.
#[derive(Clone)]
pub struct VolumeReasons {
    disk: ReasonId,
    exclusive: ReasonId,
    limit: ReasonId,
    driver: ReasonId,
    zone: ReasonId,
    /// With the conflict each stands for.
    binding: [(Conflicts, ReasonId); 4],
}

impl VolumeReasons {
    /// Interns the reasons.
    pub fn new(table: &mut ReasonTable) -> Self {
        let (soft, hard) = (ReasonKind::Unschedulable, ReasonKind::Unresolvable);
        let mut hard = |text| table.intern(text, hard);
        let binding = [
            (
                Conflicts::GONE,
                hard("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"),
            ),
            (
                Conflicts::AFFINITY,
                hard("node(s) didn't match PersistentVolume's node affinity"),
            ),
            (
                Conflicts::BINDING,
                hard("node(s) didn't find available persistent volumes to bind"),
            ),
            (
                Conflicts::SPACE,
                hard("node(s) did not have enough free storage"),
            ),
        ];
        let driver = hard("node(s) did not have the CSI driver of the pod's volumes");
        let zone = hard("node(s) had no available volume zone");
        Self {
            disk: table.intern("node(s) had no available disk", soft),
            exclusive: table.intern(
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access \
                 mode already in-use by another pod",
                soft,
            ),
            limit: table.intern("node(s) exceed max volume count", soft),
            driver,
            zone,
            binding,
        }
    }
}

/// The first reason against pods of this need on every node.
pub fn refusal(switches: VolumeSwitches, need: &VolumeNeed) -> Option<String> {
    let by = |plugin: &str, text: &String| format!("plugin {plugin} pre-predicates failed {text}");
    if let Some(text) = &need.missing {
        let plugin = match switches {
            VolumeSwitches { binding: true, .. } => "VolumeBinding",
            VolumeSwitches { zone: true, .. } => "VolumeZone",
            VolumeSwitches { limits: true, .. } => "NodeVolumeLimits",
            _ => return None,
        };
        return Some(by(plugin, text));
    }
    let binding = need.refusal.as_ref().filter(|_| switches.binding);
    let zone = need.zone_refusal.as_ref();
    // With VolumeBinding on, a volume that is gone is its verdict on every node.
    let zone = zone.filter(|_| switches.zone && !switches.binding);
    binding
        .map(|text| by("VolumeBinding", text))
        .or_else(|| zone.map(|text| by("VolumeZone", text)))
}

/// The filters of a class, in the order they are asked.
pub fn filters(
    switches: VolumeSwitches,
    reasons: &VolumeReasons,
    state: &State,
    class: &Class,
) -> Vec<Box<dyn NodeFilter>> {
    if class.key.volumes == NeedIx::NONE {
        return Vec::new();
    }
    let need = &class.volumes;
    let mut filters: Vec<Box<dyn NodeFilter>> = Vec::new();
    if !need.disks.is_empty() {
        filters.push(Box::new(FreeDisks {
            wanted: need.disks.clone(),
            reason: reasons.disk,
        }));
    }
    match need.exclusive_use {
        ExclusiveUse::Free => {}
        ExclusiveUse::Releasing => {
            let reason = reasons.exclusive;
            filters.push(Box::new(StillInUse { reason }));
        }
        ExclusiveUse::InUse => {
            let verdict = vec![Some(reasons.exclusive); state.nodes().len()];
            filters.push(Box::new(Known { verdict }));
        }
    }
    let mut settled = vec![false; state.nodes().len()];
    if switches.limits {
        let new = state.supplies().volumes().new_volumes(need);
        let of_drivers = by_driver(&new);
        let verdict = without_driver(reasons.driver, state, &of_drivers);
        push_known(&mut filters, verdict, &mut settled);
        let limits = of_drivers
            .iter()
            .filter_map(|(driver, new)| DriverLimit::new(reasons.limit, state, driver, new));
        filters.extend(limits.map(|limit| Box::new(limit) as Box<dyn NodeFilter>));
    }
    if switches.zone {
        push_known(&mut filters, zones(reasons.zone, state, need), &mut settled);
    }
    if switches.binding {
        let conflicts = state.supplies().volumes().conflicts(need, state.nodes());
        for (conflict, reason) in &reasons.binding {
            let has = conflicts.iter().zip(&settled);
            let verdict: VolumeVerdict = has
                .map(|(c, settled)| (c.has(*conflict) && !settled).then_some(*reason))
                .collect();
            if verdict.iter().any(Option::is_some) {
                filters.push(Box::new(Known { verdict }));
            }
        }
    }
    filters
}

type VolumeVerdict = Vec<Option<ReasonId>>;

/// Adds verdicts that end the search on their nodes, where nothing has ended it yet.
fn push_known(
    filters: &mut Vec<Box<dyn NodeFilter>>,
    mut verdict: VolumeVerdict,
    settled: &mut [bool],
) {
    for (reason, settled) in verdict.iter_mut().zip(&mut *settled) {
        if *settled {
            *reason = None;
        }
        *settled |= reason.is_some();
    }
    if verdict.iter().any(Option::is_some) {
        filters.push(Box::new(Known { verdict }));
    }
}

/// Verdicts that were computed before.
struct Known {
    verdict: VolumeVerdict,
}

impl NodeFilter for Known {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(
        &self,
        _state: &State,
        range: Range<usize>,
        _moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        for (out, reason) in out.iter_mut().zip(&self.verdict[range]) {
            if reason.is_some() {
                *out = *reason;
            }
        }
    }
}

/// Who uses a claim that only one pod may have is on its way out, wherever it is.
struct StillInUse {
    reason: ReasonId,
}

impl NodeFilter for StillInUse {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(
        &self,
        _state: &State,
        _range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        if moment == LoadMoment::Now {
            out.fill(Some(self.reason));
        }
    }

    fn counts_released(&self) -> bool {
        true
    }
}

/// A disk is in use in a way that excludes the wanted one.
struct FreeDisks {
    wanted: Vec<Disk>,
    reason: ReasonId,
}

impl NodeFilter for FreeDisks {
    fn before_static(&self) -> bool {
        false
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        let nodes = state.nodes();
        for (node, out) in range.zip(out) {
            let mut taken = nodes.disks(NodeIx(node as u32), moment);
            if taken.any(|taken| self.wanted.iter().any(|wanted| wanted.conflicts(taken))) {
                *out = Some(self.reason);
            }
        }
    }

    fn counts_released(&self) -> bool {
        true
    }
}

/// New volumes by driver, in order of first use.
fn by_driver(new: &[VolumeSource]) -> Vec<(&str, Vec<&VolumeSource>)> {
    let mut all: Vec<(&str, Vec<&VolumeSource>)> = Vec::new();
    for source in new {
        match all.iter_mut().find(|(driver, _)| *driver == source.driver) {
            Some((_, sources)) => sources.push(source),
            None => all.push((&source.driver, vec![source])),
        }
    }
    all
}

/// A volume of an in-tree plugin is a CSI volume only where the node says so.
fn counts(source: &VolumeSource, migrated: &[String]) -> bool {
    source.migrated_from.is_empty() || migrated.contains(&source.migrated_from)
}

/// Nodes that have a CSINode without a driver the pod needs (spec/01 §3.8). A node without a CSINode
/// is unknown and passes; so do drivers nobody has heard of, which are no CSI drivers.
fn without_driver(
    reason: ReasonId,
    state: &State,
    drivers: &[(&str, Vec<&VolumeSource>)],
) -> VolumeVerdict {
    let known =
        |driver: &&(&str, Vec<&VolumeSource>)| state.supplies().volumes().csi().is_driver(driver.0);
    let needed: Vec<_> = drivers.iter().filter(known).collect();
    let lacks = |node: &NodeObject| {
        let node = state.supplies().volumes().csi().node(&node.name)?;
        let has = |driver: &str| node.drivers.iter().any(|d| d.name == driver);
        let lacks = needed.iter().any(|(driver, sources)| {
            !has(driver) && sources.iter().any(|s| counts(s, &node.migrated))
        });
        lacks.then_some(reason)
    };
    if needed.is_empty() {
        return vec![None; state.nodes().len()];
    }
    let nodes = state.nodes().indices();
    nodes
        .map(|node| lacks(state.nodes().object(node)))
        .collect()
}

/// The limit of one driver on every node.
struct DriverLimit {
    driver: String,
    reason: ReasonId,
    /// Volumes that may be there already.
    named: Vec<VolumeSource>,
    /// Volumes that are on no node, by the in-tree plugin they come from.
    fresh: Vec<VolumeSource>,
    /// Most volumes and migrated plugins, where there is a limit.
    limits: Vec<Option<(i64, Vec<String>)>>,
    /// Volumes attached to a node as the API server says.
    attachments: FxHashMap<u32, Vec<VolumeSource>>,
}

impl DriverLimit {
    /// `None` when no node has a limit for the driver.
    fn new(reason: ReasonId, state: &State, driver: &str, new: &[&VolumeSource]) -> Option<Self> {
        let limit = |node: &CsiNodeObject| {
            let driver = node.drivers.iter().find(|d| d.name == driver)?;
            Some((driver.limit?, node.migrated.clone()))
        };
        let of_node = |node| {
            limit(
                state
                    .supplies()
                    .volumes()
                    .csi()
                    .node(&state.nodes().object(node).name)?,
            )
        };
        let limits: Vec<_> = state.nodes().indices().map(of_node).collect();
        if limits.iter().all(Option::is_none) {
            return None;
        }
        let (fresh, named) = new
            .iter()
            .map(|source| (*source).clone())
            .partition(|source: &VolumeSource| source.handle.is_empty());
        let mut attachments: FxHashMap<u32, Vec<VolumeSource>> = FxHashMap::default();
        for (node, source) in state.supplies().volumes().attachments(driver) {
            if let Some(node) = state.nodes().find(node) {
                let there = attachments.entry(node.0).or_default();
                if !there.contains(source) {
                    there.push(source.clone());
                }
            }
        }
        Some(Self {
            driver: driver.to_owned(),
            reason,
            named,
            fresh,
            limits,
            attachments,
        })
    }

    fn exceeds(
        &self,
        nodes: &Nodes,
        node: NodeIx,
        moment: LoadMoment,
        limit: i64,
        migrated: &[String],
    ) -> bool {
        let mine =
            |source: &&VolumeSource| source.driver == self.driver && counts(source, migrated);
        let there: Vec<&VolumeSource> = nodes.attached(node, moment).filter(mine).collect();
        let besides = self.attachments.get(&node.0);
        let besides = besides.into_iter().flatten().filter(mine);
        let besides = besides.filter(|source| !there.contains(source));
        let used = there.len() + besides.count();
        let new = self.named.iter().filter(mine);
        // One that is attached already, used by a pod or not, is not new.
        let is_there = |source: &VolumeSource| {
            let attached = self.attachments.get(&node.0);
            there.contains(&source) || attached.is_some_and(|all| all.contains(source))
        };
        let new =
            new.filter(|source| !is_there(source)).count() + self.fresh.iter().filter(mine).count();
        new > 0 && (used + new) as i64 > limit
    }
}

impl NodeFilter for DriverLimit {
    fn before_static(&self) -> bool {
        false
    }

    fn counts_released(&self) -> bool {
        true
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        moment: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        let nodes = state.nodes();
        for (node, out) in range.zip(out) {
            let Some((limit, migrated)) = &self.limits[node] else {
                continue;
            };
            if self.exceeds(nodes, NodeIx(node as u32), moment, *limit, migrated) {
                *out = Some(self.reason);
            }
        }
    }
}

const ZONE_KEYS: [(&str, &str); 4] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("topology.kubernetes.io/zone", ""),
    ("topology.kubernetes.io/region", ""),
];

/// Zone and region labels of bound volumes: key, the key that may stand for it, and values.
fn zone_labels<'a>(
    volumes: &'a Volumes,
    need: &'a VolumeNeed,
) -> Vec<(&'static str, &'static str, Vec<&'a str>)> {
    let mut all = Vec::new();
    for volume in need.bound().filter_map(|name| volumes.pv(name)) {
        for (key, newer) in ZONE_KEYS {
            if let Some(values) = pair(&volume.labels, key) {
                all.push((key, newer, values.split("__").map(str::trim).collect()));
            }
        }
    }
    all
}

/// VolumeZone: nodes that say where they are must be where the volumes are.
fn zones(reason: ReasonId, state: &State, need: &VolumeNeed) -> VolumeVerdict {
    let wanted = zone_labels(state.supplies().volumes(), need);
    if wanted.is_empty() {
        return vec![None; state.nodes().len()];
    }
    let verdict = |node: NodeIx| {
        let labels = &state.nodes().object(node).labels;
        let mut keys = ZONE_KEYS.iter();
        let says_nothing = keys.all(|(key, _)| pair(labels, key).is_none());
        let in_place = |(key, newer, values): &(&str, &str, Vec<&str>)| {
            let value = pair(labels, key).or_else(|| pair(labels, newer));
            value.is_some_and(|value| values.contains(&value))
        };
        (!says_nothing && !wanted.iter().all(in_place)).then_some(reason)
    };
    state.nodes().indices().map(verdict).collect()
}
