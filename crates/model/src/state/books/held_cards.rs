//! What tasks hold of the cards of their nodes, and what is written of it.

use pumice_devices::{AnnotationValue, BindingAnnotations, LedgerTime, Tags};

use crate::device::{ChosenDevices, DeviceTable, NoteAbout};
use crate::intern::Sym;
use crate::ix::{NodeIx, TaskIx};
use crate::node::Nodes;
use crate::object::Pairs;
use crate::resource::ResVec;
use crate::selector::label;
use crate::state::population::Population;
use crate::task::{Task, TaskStatus};

/// Cards and who holds them, to be read.
#[derive(Clone, Copy)]
pub struct HeldCards<'a> {
    pub(in crate::state) population: &'a Population,
    pub(in crate::state) nodes: &'a Nodes,
    pub(in crate::state) devices: &'a DeviceTable,
}

impl HeldCards<'_> {
    /// The best cards of a node for a task with this request, of those that are free now or once pods are gone.
    pub(in crate::state) fn choose(
        &self,
        ix: TaskIx,
        request: &ResVec,
        (node, view): (NodeIx, LedgerTime),
    ) -> Option<Box<ChosenDevices>> {
        let task = self.population.task(ix);
        let demand = self.devices.demand(task.demand);
        let asked = (&**demand, request);
        let by_mix = self.devices.pick_by_mix(asked, self.nodes, (node, view));
        let parts = by_mix.or_else(|| demand.choose(&self.nodes.devices[node.at()], view))?;
        let tags = self.tags(task);
        Some(Box::new(ChosenDevices { parts, tags }))
    }

    /// Annotations that tell what a task holds.
    pub fn records_of(&self, ix: TaskIx) -> Pairs {
        let task = self.population.task(ix);
        if let Some(records) = &task.records {
            return records.as_ref().clone();
        }
        let written = self.binding_annotations(ix).annotations.into_iter();
        let mut records: Pairs = written
            .filter(|annotation| pumice_devices::families::records(&annotation.key))
            .filter_map(|annotation| match annotation.value {
                AnnotationValue::Text(text) => Some((annotation.key.into_owned(), text)),
                _ => None,
            })
            .collect();
        records.sort();
        records
    }

    /// Whether a task asks for devices and has none.
    pub fn lacks_devices(&self, ix: TaskIx) -> bool {
        let task = self.population.task(ix);
        task.holding.is_none() && !self.devices.demand(task.demand).parts.is_empty()
    }

    /// Why the devices a task holds are not, or no longer all, there for it, or not what it asks any more.
    pub fn lost_devices(&self, ix: TaskIx) -> Option<String> {
        let task = self.population.task(ix);
        let (Some(holding), Some(node)) = (&task.holding, task.node) else {
            return None;
        };
        if holding.is_outdated {
            return Some("what the pod asks of devices has changed".to_owned());
        }
        let devices = &self.nodes.devices[node.at()];
        holding.parts.iter().find_map(|(family, allocations)| {
            let Some(cards) = devices.family(*family) else {
                return Some("the node has no such devices any more".to_owned());
            };
            allocations
                .iter()
                .find_map(|allocation| cards.lacks(allocation))
        })
    }

    /// What the Binding of a task writes for its devices.
    pub fn binding_annotations(&self, ix: TaskIx) -> BindingAnnotations {
        let task = self.population.task(ix);
        let mut written = BindingAnnotations::default();
        let (Some(holding), Some(node)) = (&task.holding, task.node) else {
            return written;
        };
        let name = &self.nodes.object(node).name;
        let demand = self.devices.demand(task.demand);
        for (family, allocations) in &holding.parts {
            let cards = self.nodes.devices[node.at()].family(*family);
            if let (Some(request), Some(cards)) = (demand.part(*family), cards) {
                written.merge(request.annotations(name, cards, allocations));
            }
        }
        written
    }

    pub(super) fn about(&self, ix: TaskIx) -> NoteAbout {
        let task = self.population.task(ix);
        NoteAbout::Pod {
            namespace: self.population.names().text(task.namespace).to_owned(),
            name: task.name.to_string(),
            uid: task.uid.to_string(),
        }
    }

    /// What decides about sharing, besides amounts.
    pub(super) fn tags(&self, task: &Task) -> Tags {
        let settings = self.devices.families().settings();
        let rules = match settings.exclusive_rules.is_empty() {
            true => 0,
            false => settings.rules_of(|key| {
                let key = self.population.names().get(key)?;
                Some(self.population.names().text(label(&task.labels, key)?))
            }),
        };
        let has_group = task.group != Sym::default();
        Tags {
            group: task.job.filter(|_| has_group).map(|job| job.0),
            rules,
        }
    }

    /// Whether what is in use of each card of a task is the sum of what tasks hold of it.
    pub fn cards_are_balanced(&self, ix: TaskIx) -> bool {
        let task = self.population.task(ix);
        let (Some(holding), Some(node)) = (&task.holding, task.node) else {
            return true;
        };
        let devices = &self.nodes.devices[node.at()];
        holding.parts.iter().all(|(family, allocations)| {
            let cards = devices.family(*family);
            let mut own = allocations.iter().filter_map(|allocation| allocation.card);
            cards.is_none_or(|cards| own.all(|card| cards.is_balanced(usize::from(card))))
        })
    }

    /// Whether a pod whose Binding is on its way asks for other devices than these were chosen for.
    pub(in crate::state) fn asks_otherwise(&self, old: &Task, new: &Task) -> bool {
        let asks = |task: &Task| self.devices.facts(task.demand);
        new.status == TaskStatus::Binding && asks(old) != asks(new)
    }
}
