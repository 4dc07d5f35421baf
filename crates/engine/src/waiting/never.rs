//! Pods no node could take even if it were idle. Whatever their queue says, this is what their
//! owner has to know.

use pumice_devices::LedgerTime;
use pumice_framework::reason::NO_NODES;
use pumice_model::resource::{AmountUnit, display_amount};
use pumice_model::{JobIx, NodeIx, ResIx, TaskIx, TaskStatus};

use super::phrases::hint;
use crate::knowledge::Knowledge;
use crate::knowledge::Wording;

/// Where nothing more exact is known.
pub(super) const NOT_EVEN_IDLE: &str = "no node could serve it, even if it were idle";

/// So many resources are told of one pod.
const MAX_RESOURCES: usize = 8;

/// What is told of resources, the first of them.
pub(crate) fn join(mut told: Vec<String>) -> String {
    let more = told.len().saturating_sub(MAX_RESOURCES);
    told.truncate(MAX_RESOURCES);
    if more > 0 {
        told.push(format!("and so for {more} more resources"));
    }
    told.join("; ")
}

impl<'a> Knowledge<'a> {
    /// Why a pod could be placed on no node whatever: what it asks of devices is never served. More
    /// to the point than what its queue says of it.
    pub(crate) fn unserved(&self, ix: TaskIx) -> Option<&'a str> {
        let demand = self.state.task(ix).demand;
        self.state
            .supplies()
            .devices()
            .demand(demand)
            .refusal
            .as_deref()
    }

    /// No node could take the pod even if it were idle, as far as is known of a pod that was not
    /// tried.
    pub(crate) fn never_fits(&self, ix: TaskIx) -> bool {
        self.state.nodes().is_empty() || self.exceeds_nodes(ix) || self.lacks_cards(ix)
    }

    /// The pod asks more of a resource than any node has in all.
    pub(crate) fn exceeds_nodes(&self, ix: TaskIx) -> bool {
        let largest = self.state.nodes().largest();
        let mut request = self.state.shape(ix).request.iter();
        request.any(|(resource, asked)| asked > largest.get(resource))
    }

    pub(super) fn lacks_cards(&self, ix: TaskIx) -> bool {
        let serviceable = &self.follow_up.serviceable;
        serviceable.is_hopeless(self.state, ix)
    }

    /// The pod asks cards of a family of which no node has any.
    pub(super) fn tells_no_card(&self, ix: TaskIx) -> bool {
        let demand = self
            .state
            .supplies()
            .devices()
            .demand(self.state.task(ix).demand);
        let (nodes, families) = (
            &self.state.nodes().devices,
            self.state.supplies().devices().families(),
        );
        let has_none = |family: u8| {
            nodes.iter().all(|node| {
                let cards = node.family(family);
                cards.is_none_or(|cards| families.is_untold(family, cards))
            })
        };
        demand.parts.iter().any(|(family, _)| has_none(*family))
    }

    /// The first waiting pod of a job, by name, that no node could take.
    pub(crate) fn hopeless_member(&self, ix: JobIx) -> Option<TaskIx> {
        let members = self.state.job(ix).tasks.iter().copied();
        let hopeless = members.filter(|task| {
            self.state.task(*task).status == TaskStatus::Pending && self.never_fits(*task)
        });
        hopeless.min_by_key(|task| &self.state.task(*task).name)
    }
}

impl Wording<'_> {
    /// What is said of a pod that no node could take.
    pub(crate) fn never_text(&self, ix: TaskIx) -> String {
        let nodes = self.state.nodes().len();
        if nodes == 0 {
            return NO_NODES.to_owned();
        }
        if let Some(why) = self.claimable(ix) {
            return format!("0/{nodes} nodes are unavailable: {why}.");
        }
        let cards = || {
            self.lacks_cards(ix)
                .then(|| self.missing_cards(ix))
                .flatten()
        };
        let unread = self.unread_of(ix);
        let unread = unread.map_or_else(String::new, |why| format!(" {why}."));
        if let Some(why) = self.untold(ix) {
            return format!(
                "0/{nodes} nodes are unavailable: not known yet whether the pod ever fits: \
                 {why}{unread}"
            );
        }
        let why = self.excess(ix).or_else(cards);
        let why = why.unwrap_or_else(|| NOT_EVEN_IDLE.to_owned());
        format!("0/{nodes} nodes are unavailable: the pod never fits: {why}.{unread}")
    }

    /// What device plugins, or ClusterD, have yet to tell before anybody can say that the pod never fits:
    /// an extended resource that no node has any of, or cards of which no node tells one. Absent where
    /// what is known is enough for that.
    pub(crate) fn untold(&self, ix: TaskIx) -> Option<String> {
        let largest = self.state.nodes().largest();
        let shape = self.state.shape(ix);
        let mut told = Vec::new();
        for (resource, name, asked) in shape.asked(self.state.resources()) {
            let most = largest.get(resource);
            if asked > most && (most > 0 || !is_told_by_plugins(name)) {
                return None;
            }
            if asked > most {
                let asked = display_amount(name, asked);
                told.push(format!(
                    "it asks {asked} {name}{}",
                    self.hint_of_resource(name)
                ));
            }
        }
        told.sort();
        if !told.is_empty() {
            return Some(format!(
                "{}, and no node has told any; is the device plugin running on the nodes?",
                join(told)
            ));
        }
        self.tells_no_card(ix).then(|| {
            "no node has told any card of the kind it asks; is the device plugin running on the nodes?"
                .to_owned()
        })
    }

    /// The nearest name of what nodes have, for one that none has.
    fn hint_of_resource(&self, name: &str) -> String {
        let largest = self.state.nodes().largest();
        let resources = self.state.resources();
        let there = resources.in_order().iter();
        let there = there.filter(|resource| largest.get(**resource) > 0);
        let names = there.map(|resource| resources.name(*resource));
        hint(name, names.filter(|name| is_told_by_plugins(name)))
    }

    /// Says that devices which nodes offer by claims alone are asked for as a resource, which Kubernetes'
    /// own scheduler serves by making a claim (KEP-5004).
    pub(crate) fn claimable(&self, ix: TaskIx) -> Option<String> {
        let largest = self.state.nodes().largest();
        let mut asked = self.state.shape(ix).asked(self.state.resources());
        asked.find_map(|(resource, name, asked)| {
            if asked == 0 || largest.get(resource) > 0 {
                return None;
            }
            let class = self.state.supplies().resource_claims().stock().class_for_resource(name)?;
            Some(format!(
                "it asks {} {name}, which no node has as a resource: DeviceClass {class} serves it through \
                 resource claims, and this scheduler makes none for a resource; ask for a claim of that \
                 class in spec.resourceClaims instead",
                display_amount(name, asked)
            ))
        })
    }

    /// What a pod asks more of than any node has in all.
    pub(crate) fn excess(&self, ix: TaskIx) -> Option<String> {
        let largest = self.state.nodes().largest();
        let asked = self.state.shape(ix).asked(self.state.resources());
        let beyond = asked.filter(|(resource, _, asked)| *asked > largest.get(*resource));
        let told = beyond.map(|(resource, name, asked)| self.excess_of(resource, name, asked));
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| join(told))
    }

    fn excess_of(&self, resource: ResIx, name: &str, asked: i64) -> String {
        let most = self.state.nodes().largest().get(resource);
        let unit = AmountUnit::of(name, &[asked, most]);
        let asked = unit.show(asked);
        let total = &self.state.nodes().total;
        let mut nodes = self.state.nodes().indices();
        match nodes.find(|node: &NodeIx| most > 0 && total.get(resource, *node) == most) {
            Some(node) => format!(
                "it asks {asked} {name}, and the largest node, {}, has {} in all",
                self.state.nodes().object(node).name,
                unit.show(most)
            ),
            None => format!("it asks {asked} {name}, and no node has any"),
        }
    }

    /// What the nearest node lacks of devices even when it is idle.
    fn missing_cards(&self, ix: TaskIx) -> Option<String> {
        let demand = self
            .state
            .supplies()
            .devices()
            .demand(self.state.task(ix).demand);
        let nodes = self.state.nodes();
        let misses = nodes.indices().filter_map(|node| {
            let name = &nodes.object(node).name;
            demand.explain(name, &nodes.devices[node.at()], LedgerTime::Idle)
        });
        let nearest = misses.min_by_key(|miss| miss.distance)?;
        Some(nearest.text)
    }
}

/// A resource that device plugins announce, which may begin at any time.
fn is_told_by_plugins(name: &str) -> bool {
    name.contains('/') && !name.starts_with("kubernetes.io/")
}
