//! HyperNodes: found by labels of nodes, and how many nodes are below them (spec/03 C7).
//!
//! ```text
//!  configuration ─► conf::parse_discovery ─┐
//!  nodes ─► discovery::topology_of ◄───────┘ ─► create, patch, delete those with the source label
//!  nodes, HyperNodes ─► count::node_counts ─► status.nodeCount, where it differs
//! ```
//!
//! HyperNodes without the label `volcano.sh/network-topology-source: label` are never touched but
//! for their count. A configuration that cannot be read leaves everything as it is.

mod conf;
mod count;
mod discovery;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::HyperNode;
use serde_json::{Value, json};

pub use conf::{TopologyDiscovery, TopologyType, parse_discovery};
pub use count::node_counts;
pub use discovery::{FoundTopology, LABEL_SOURCE, topology_of};

use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, ObjectEvent,
    Observed, Reconciliation, StandingEvents, WriteOutcome,
};

/// The controller of HyperNodes.
#[derive(Default)]
pub struct HyperNodeController {
    /// Where the configuration stands, and its UID.
    at: Option<(ManagedRef, String)>,
    discovery: TopologyDiscovery,
    /// Why the newest configuration is not in use.
    refused: Vec<String>,
    standing: StandingEvents,
}

impl HyperNodeController {
    /// Name in `--controllers`.
    pub const NAME: &'static str = "hyperNode-controller";

    /// Makes it for the list of controllers.
    pub fn make(_: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self::default())
    }

    /// Makes HyperNodes what the labels of nodes say, and tells what is wrong.
    fn discover(&mut self, at: &ManagedRef, uid: &str, cache: &ObjectCache) -> Reconciliation {
        let mut found = Reconciliation::nothing();
        let mut standing = Vec::new();
        let mut tell = |reason: &'static str, message: String| {
            standing.push(ObjectEvent {
                about: at.clone(),
                uid: uid.to_owned(),
                warning: true,
                reason,
                message,
            });
        };
        if !self.refused.is_empty() {
            let message = format!(
                "the configuration is not used, what was in use stays: {}",
                self.refused.join("; ")
            );
            tell("InvalidConfiguration", message);
        }
        for warning in &self.discovery.warnings {
            tell("UnsupportedConfiguration", warning.clone());
        }
        if let Some(types) = &self.discovery.by_labels {
            let existing: Vec<&HyperNode> = all_hyper_nodes(cache).collect();
            let topology = topology_of(types, all_nodes(cache), &existing);
            found.writes = differences(&topology, &existing);
            for conflict in topology.conflicts {
                tell("ContradictoryLabels", conflict);
            }
        }
        found.events = self.standing.news(uid, standing);
        found
    }
}

/// All counts are looked at together: a node may be below many.
fn counts_key() -> ManagedRef {
    ManagedRef::global(ManagedKind::HyperNode, "")
}

impl Controller for HyperNodeController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, _: &ObjectCache) -> Vec<ManagedRef> {
        let is_new = match change.of.kind {
            ManagedKind::Node => labels(change.before) != labels(change.after),
            ManagedKind::HyperNode => true,
            _ => false,
        };
        if !is_new {
            return Vec::new();
        }
        let discovery = self.discovery.by_labels.as_ref().and(self.at.as_ref());
        let discovery = discovery.map(|(at, _)| at.clone());
        std::iter::once(counts_key()).chain(discovery).collect()
    }

    fn reconcile(&mut self, of: &ManagedRef, cache: &ObjectCache, _: Timestamp) -> Reconciliation {
        match self.at.clone() {
            Some((at, uid)) if at == *of => self.discover(&at, &uid, cache),
            _ if *of == counts_key() => count(cache),
            _ => Reconciliation::nothing(),
        }
    }

    fn failed(
        &mut self,
        _: &ManagedRef,
        write: &ApiWrite,
        outcome: &WriteOutcome,
        cache: &ObjectCache,
    ) -> Vec<ObjectEvent> {
        let WriteOutcome::Refused { message, .. } = outcome else {
            return Vec::new();
        };
        // Of one that could not be made there is nothing to tell: the configuration is told.
        let (about, uid) = match (cache.hyper_node(&write.of.name), &self.at) {
            (Some(known), _) => (
                write.of.clone(),
                known.metadata.uid.clone().unwrap_or_default(),
            ),
            (None, Some((at, uid))) => (at.clone(), uid.clone()),
            (None, None) => return Vec::new(),
        };
        vec![ObjectEvent {
            about,
            uid,
            warning: true,
            reason: "FailedWrite",
            message: format!("{}: {message}", write.of),
        }]
    }

    fn configured(&mut self, at: &ManagedRef, uid: &str, text: &str) -> Vec<ManagedRef> {
        self.at = Some((at.clone(), uid.to_owned()));
        match parse_discovery(text) {
            Ok(discovery) => {
                self.discovery = discovery;
                self.refused.clear();
            }
            Err(problems) => self.refused = problems,
        }
        vec![at.clone()]
    }
}

fn labels(side: Option<&Observed>) -> Option<Option<&std::collections::BTreeMap<String, String>>> {
    side.map(|object| object.meta().and_then(|meta| meta.labels.as_ref()))
}

fn all_hyper_nodes(cache: &ObjectCache) -> impl Iterator<Item = &HyperNode> {
    let all = cache.all(ManagedKind::HyperNode);
    all.filter_map(|object| match object {
        Observed::HyperNode(hyper_node) => Some(&**hyper_node),
        _ => None,
    })
}

fn all_nodes(cache: &ObjectCache) -> impl Iterator<Item = &ObjectMeta> + Clone {
    let all: Vec<&Observed> = cache.all(ManagedKind::Node).collect();
    all.into_iter().filter_map(Observed::meta)
}

/// What makes the HyperNodes of the source those that were found.
fn differences(topology: &FoundTopology, existing: &[&HyperNode]) -> Vec<ApiWrite> {
    let name = |meta: &ObjectMeta| meta.name.clone().unwrap_or_default();
    let mut writes = Vec::new();
    for (wanted_name, wanted) in &topology.hyper_nodes {
        let mut known = existing.iter();
        match known.find(|known| name(&known.metadata) == *wanted_name) {
            None => writes.push(ApiWrite::create_of(ManagedKind::HyperNode, wanted)),
            Some(known) => writes.extend(patch(known, wanted)),
        }
    }
    for known in existing.iter().filter(|one| discovery::is_from_labels(one)) {
        let meta = &known.metadata;
        if !topology.hyper_nodes.contains_key(&name(meta)) && meta.deletion_timestamp.is_none() {
            let of = ManagedRef::global(ManagedKind::HyperNode, &name(meta));
            writes.push(ApiWrite::delete(
                of,
                meta.uid.as_deref().unwrap_or_default(),
            ));
        }
    }
    writes
}

/// What has to be written into an object that is there; labels of others stay.
fn patch(known: &HyperNode, wanted: &HyperNode) -> Option<ApiWrite> {
    let has = |(key, value): (&String, &String)| {
        let labels = known.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(key)) == Some(value)
    };
    let mut labels = wanted.metadata.labels.iter().flatten();
    if known.spec == wanted.spec && labels.all(has) {
        return None;
    }
    let spec = serde_json::to_value(&wanted.spec).unwrap_or_default();
    let patch = json!({
        "metadata": {"uid": known.metadata.uid, "labels": wanted.metadata.labels},
        "spec": spec,
    });
    Some(merge(known, patch, false))
}

fn merge(known: &HyperNode, patch: Value, status: bool) -> ApiWrite {
    let name = known.metadata.name.as_deref().unwrap_or_default();
    ApiWrite {
        of: ManagedRef::global(ManagedKind::HyperNode, name),
        verb: ApiVerb::Merge { patch, status },
    }
}

/// Writes the counts that differ.
fn count(cache: &ObjectCache) -> Reconciliation {
    let counts = node_counts(all_hyper_nodes(cache), all_nodes(cache));
    let mut found = Reconciliation::nothing();
    for hyper_node in all_hyper_nodes(cache) {
        let meta = &hyper_node.metadata;
        let name = meta.name.as_deref().unwrap_or_default();
        let count = counts.get(name).copied().unwrap_or(0);
        if hyper_node.status.node_count == Some(count) || meta.deletion_timestamp.is_some() {
            continue;
        }
        let patch = json!({"metadata": {"uid": meta.uid}, "status": {"nodeCount": count}});
        found.writes.push(merge(hyper_node, patch, true));
    }
    found
}
