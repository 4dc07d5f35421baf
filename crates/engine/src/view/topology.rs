//! The network as a tree of domains: what is free in each, and for how many pods like those of a job it has room.

use std::ops::Deref;

use pumice_model::network::CLUSTER;
use pumice_model::resource::{PODS, display_amount};
use pumice_model::{DomainIx, NodeIx, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::find::Absent;
use super::node_map::is_none;
use super::room::NodePlaces;
use crate::view::pages::Pages;

/// Domains told of at once.
pub const MAX_DOMAINS: usize = 100;

/// What is asked of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyAsk {
    /// Part of the name of a domain; empty for any.
    pub search: String,
    /// Tier to which domains are narrowed.
    pub tier: Option<i64>,
    /// `namespace/name` of a job for whose pods room is counted; empty for none.
    pub job: String,
    /// Pods there have to be room for; 0 for as many as the job needs.
    pub pods: u64,
    /// How many domains are passed over.
    pub from: usize,
}

/// The tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyView {
    /// What makes the domains.
    pub made_of: DomainSource,
    /// Tiers there are besides the cluster, lowest first.
    pub tiers: Vec<TierView>,
    /// For what room is counted; `None` where nothing was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_for: Option<RoomFor>,
    /// Domains that are asked for.
    pub total: usize,
    /// How many of them are passed over.
    pub from: usize,
    /// The first [`MAX_DOMAINS`] after those: the cluster, then what is in it, each before what is in itself.
    pub domains: Vec<DomainView>,
    /// What is left out of the tree, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The last cycle.
    pub cycle: u64,
}

/// What makes domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DomainSource {
    /// There are HyperNodes, and only they count.
    HyperNodes,
    /// Labels of nodes (`hypernode.labels`).
    Labels,
    /// There is nothing that would: the cluster is the only domain.
    #[default]
    Nothing,
}

/// A tier of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TierView {
    /// Lower is faster.
    pub tier: i64,
    /// Domains of the tier.
    pub domains: usize,
}

/// For what room is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomFor {
    /// `namespace/name` of the job.
    pub job: String,
    /// The pod that stands for the others.
    pub pod: String,
    /// Pods there have to be room for.
    pub pods: u64,
    /// Domains with room for all of them, of those that are asked for.
    pub enough_in: usize,
    /// Domains of which it is not known, since counting was stopped.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unknown_in: usize,
}

/// A domain of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainView {
    /// Name of its HyperNode, or label and values; of the cluster as PodGroups are told it.
    pub name: String,
    /// Lower is faster.
    pub tier: i64,
    /// Name of the tier; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tier_name: String,
    /// The smallest domain that it is within; `None` of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// How many domains it is within.
    pub depth: usize,
    /// Nodes of the domain.
    pub nodes: usize,
    /// Nodes of it that take pods.
    pub schedulable: usize,
    /// What is free on nodes that take pods.
    pub free: Vec<FreeAmount>,
    /// Shared cards there are.
    pub cards: usize,
    /// Shared cards that nobody uses and that may be given out, on nodes that take pods.
    pub cards_free: usize,
    /// Pods it has room for; `None` where no job was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<DomainRoom>,
}

/// How much of a resource is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreeAmount {
    /// Name of the resource.
    pub resource: String,
    /// Free, as a quantity.
    pub free: String,
    /// There is, as a quantity.
    pub allocatable: String,
}

/// For how many pods a domain has room, each by what it asks of resources and cards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainRoom {
    /// Pods that have room.
    pub pods: u64,
    /// There may be room for more: counting was stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Whether as many as there have to be have room.
    pub enough: EnoughRoom,
}

/// Whether there is room for as many as there have to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EnoughRoom {
    /// There is.
    Yes,
    /// There is not.
    #[default]
    No,
    /// Counting was stopped before there was.
    Unknown,
}

/// What domains are told of a node.
#[derive(Clone, Copy, Default)]
struct SeenNode {
    takes_pods: bool,
    cards: usize,
    /// Those that nobody uses and that may be given out, if it takes pods.
    cards_free: usize,
}

/// What is counted for one question.
struct CountedRoom {
    places: FxHashMap<NodeIx, NodePlaces>,
    pods: u64,
}

impl CountedRoom {
    fn on(&self, nodes: &[NodeIx]) -> DomainRoom {
        let here = nodes.iter().filter_map(|node| self.places.get(node));
        let (pods, at_least) = here.fold((0_u64, false), |(pods, at_least), here| {
            (pods.saturating_add(here.pods), at_least || here.at_least)
        });
        DomainRoom {
            pods,
            at_least,
            enough: match (pods >= self.pods, at_least) {
                (true, _) => EnoughRoom::Yes,
                (false, true) => EnoughRoom::Unknown,
                (false, false) => EnoughRoom::No,
            },
        }
    }
}

/// The tree, for whoever asks about it.
#[derive(Clone, Copy)]
pub(crate) struct DomainPages<'a>(Pages<'a>);

impl<'a> Deref for DomainPages<'a> {
    type Target = Pages<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Pages<'a> {
    /// What people ask about domains of the network.
    pub(crate) fn domains(&self) -> DomainPages<'a> {
        DomainPages(*self)
    }
}

impl DomainPages<'_> {
    pub(super) fn topology_view(&self, ask: &TopologyAsk) -> Result<TopologyView, Absent> {
        let network = self.state.ground().network();
        let (mut room_for, room) = match self.asked_room(ask)? {
            Some((room_for, room)) => (Some(room_for), Some(room)),
            None => (None, None),
        };
        let found = |(ix, _): &(DomainIx, usize)| {
            let domain = network.domain(*ix);
            domain.name.contains(&ask.search) && ask.tier.is_none_or(|tier| domain.tier == tier)
        };
        let all: Vec<(DomainIx, usize)> = self.tree().into_iter().filter(found).collect();
        if let (Some(told), Some(room)) = (&mut room_for, &room) {
            for (ix, _) in &all {
                match room.on(network.nodes(*ix)).enough {
                    EnoughRoom::Yes => told.enough_in += 1,
                    EnoughRoom::Unknown => told.unknown_in += 1,
                    EnoughRoom::No => {}
                }
            }
        }
        let shown = all.iter().skip(ask.from).take(MAX_DOMAINS);
        let seen = self.seen_nodes();
        let faults = network.faults().iter().take(MAX_DOMAINS);
        Ok(TopologyView {
            made_of: match (network.has_domains(), network.objects().next()) {
                (false, _) => DomainSource::Nothing,
                (true, Some(_)) => DomainSource::HyperNodes,
                (true, None) => DomainSource::Labels,
            },
            tiers: self.tiers(),
            room_for,
            total: all.len(),
            from: ask.from,
            domains: shown
                .map(|(ix, depth)| self.domain_view((*ix, *depth), &seen, room.as_ref()))
                .collect(),
            faults: faults
                .map(|fault| format!("HyperNode {}: {}", fault.hyper_node, fault.message))
                .collect(),
            cycle: self.cycle,
        })
    }

    /// Tiers by number, the cluster left out.
    fn tiers(&self) -> Vec<TierView> {
        let domains = self.state.ground().network().domains();
        let mut tiers: Vec<TierView> = Vec::new();
        for domain in domains.iter().take(domains.len().saturating_sub(1)) {
            match tiers.last_mut().filter(|last| last.tier == domain.tier) {
                Some(last) => last.domains += 1,
                None => tiers.push(TierView {
                    tier: domain.tier,
                    domains: 1,
                }),
            }
        }
        tiers
    }

    /// The smallest domain of a higher tier that one is within; none of the cluster.
    fn within(&self, ix: DomainIx) -> Option<DomainIx> {
        let network = self.state.ground().network();
        let tier = network.domain(ix).tier;
        let around = network.around(ix).iter().copied();
        around
            .filter(|outer| *outer != ix)
            .find(|outer| network.domain(*outer).tier > tier)
    }

    /// All domains with how deep they are, each before those within it, by tier and name.
    fn tree(&self) -> Vec<(DomainIx, usize)> {
        let network = self.state.ground().network();
        let count = network.domains().len();
        let mut inner: Vec<Vec<DomainIx>> = vec![Vec::new(); count];
        let mut open = Vec::new();
        for ix in (0..count as u32).rev().map(DomainIx) {
            match self.within(ix) {
                Some(outer) => inner[outer.at()].push(ix),
                None => open.push((ix, 0)),
            }
        }
        let mut all = Vec::with_capacity(count);
        while let Some((ix, depth)) = open.pop() {
            all.push((ix, depth));
            // Those pushed last come first, and they are in turned order.
            open.extend(inner[ix.at()].iter().map(|inner| (*inner, depth + 1)));
        }
        all
    }

    fn asked_room(&self, ask: &TopologyAsk) -> Result<Option<(RoomFor, CountedRoom)>, Absent> {
        if ask.job.is_empty() {
            return Ok(None);
        }
        let (namespace, name) = ask.job.split_once('/').unwrap_or(("default", &ask.job));
        let ix = self.find_job(namespace, name)?;
        let job = self.state.job(ix);
        let population = self.state.population();
        let pods = match ask.pods {
            0 => u64::from(job.min_available.max(1).unsigned_abs()),
            pods => pods,
        };
        let waits = |task: &TaskIx| self.state.task(*task).status == TaskStatus::Pending;
        let first = self.first_pods(ix).into_iter().find(waits);
        let sample = first.or_else(|| job.tasks.first().copied());
        let places = sample.map(|task| self.places_for(task));
        let room_for = RoomFor {
            job: population.job_key(ix),
            pod: sample.map_or_else(String::new, |task| population.task_key(task)),
            pods,
            ..RoomFor::default()
        };
        let places = places.unwrap_or_default();
        Ok(Some((room_for, CountedRoom { places, pods })))
    }

    /// What domains are told of their nodes, asked of each node once, however many domains hold it.
    fn seen_nodes(&self) -> Vec<SeenNode> {
        let nodes = self.state.nodes();
        let mut seen = vec![SeenNode::default(); nodes.len()];
        for node in nodes.indices() {
            let takes_pods = self.node_status(node) == "Ready";
            let mut cards_free = 0;
            for (_, of) in nodes.devices[node.at()].families().filter(|_| takes_pods) {
                let each = of.cards.iter().enumerate();
                let free = each.filter(|(at, card)| card.is_usable() && !of.is_in_use(*at));
                cards_free += free.count();
            }
            seen[node.at()] = SeenNode {
                takes_pods,
                cards: self.card_counts(node).all,
                cards_free,
            };
        }
        seen
    }

    fn domain_view(
        &self,
        (ix, depth): (DomainIx, usize),
        seen: &[SeenNode],
        room: Option<&CountedRoom>,
    ) -> DomainView {
        let network = self.state.ground().network();
        let domain = network.domain(ix);
        let takes = |node: &&NodeIx| seen[node.at()].takes_pods;
        let ready: Vec<NodeIx> = domain.nodes.iter().filter(takes).copied().collect();
        let of_nodes = domain.nodes.iter().map(|node| seen[node.at()]);
        let (cards, cards_free) = of_nodes.fold((0, 0), |(cards, free), of| {
            (cards + of.cards, free + of.cards_free)
        });
        let is_cluster = &*domain.name == CLUSTER;
        DomainView {
            name: domain.name.to_string(),
            tier: domain.tier,
            tier_name: self.tier_name(&domain.name),
            within: self
                .within(ix)
                .map(|ix| network.domain(ix).name.to_string()),
            depth: if is_cluster { 0 } else { depth },
            nodes: domain.nodes.len(),
            schedulable: ready.len(),
            free: self.free_on(&ready),
            cards,
            cards_free,
            room: room.map(|room| room.on(&domain.nodes)),
        }
    }

    fn tier_name(&self, domain: &str) -> String {
        let network = self.state.ground().network();
        match network.object(domain) {
            Some(object) => object.tier_name.clone(),
            None => {
                let keys = network.labels().iter();
                let key = domain.split_once('=').map_or("", |(key, _)| key);
                keys.filter(|known| *known == key).cloned().collect()
            }
        }
    }

    /// Sums over nodes, of resources that there are.
    fn free_on(&self, ready: &[NodeIx]) -> Vec<FreeAmount> {
        let (nodes, resources) = (self.state.nodes(), self.state.resources());
        let shown = resources.in_order().iter().filter(|ix| **ix != PODS);
        let sums = shown.filter_map(|ix| {
            let (mut free, mut all) = (0_i64, 0_i64);
            for node in ready {
                free = free.saturating_add(nodes.idle.get(*ix, *node).max(0));
                all = all.saturating_add(nodes.allocatable.get(*ix, *node));
            }
            let name = resources.name(*ix);
            (all > 0).then(|| FreeAmount {
                resource: name.to_owned(),
                free: display_amount(name, free),
                allocatable: display_amount(name, all),
            })
        });
        sums.collect()
    }
}
