//! Devices of tasks: chosen when a task is placed, charged and discharged with every step it takes,
//! read back from annotations once the cluster knows them.

use pumice_devices::{
    AnnotationValue, BindingAnnotations, LedgerTime, Load, NodeDevices, Settings, Tags,
};
use std::borrow::Cow;

use super::State;
use crate::device::{DeviceNote, Holding, NoteAbout, QueueCharge, charge_of};
use crate::intern::Sym;
use crate::ix::{JobIx, NodeIx, TaskIx};
use crate::object::{NodeObject, Pairs, PodObject};
use crate::resource::{ResIx, ResVec, ResourceNames};
use crate::selector::label;
use crate::task::{Task, TaskStatus};

/// What the cards of a node add to the amounts of the cluster.
fn offered(devices: &NodeDevices, resources: &mut ResourceNames) -> ResVec {
    let mut amounts = ResVec::default();
    for (name, milli) in devices.offered() {
        let ix = resources.intern(name);
        amounts.set(ix, amounts.get(ix) + milli);
    }
    amounts
}

impl State {
    /// Takes the device settings of a configuration. Everything that follows from them is made anew
    /// from node objects and annotations; tasks keep what they hold.
    pub fn set_device_settings(&mut self, settings: Settings) {
        if *self.devices.families().settings() != settings {
            self.remake_devices(settings);
        }
    }

    pub(super) fn set_device_config(&mut self, namespace: &str, name: &str, text: Option<String>) {
        if self.devices.set_map(namespace, name, text) {
            let settings = self.devices.families().settings().clone();
            self.remake_devices(settings);
        }
    }

    /// Takes what a ConfigMap tells of a node. Writers repeat themselves with a new time: only what
    /// makes other cards is a change.
    pub(super) fn set_node_report(&mut self, node: String, topic: String, text: Option<String>) {
        if !self.devices.set_report(&node, topic, text) {
            return;
        }
        let Some(node) = self.nodes.find(&node) else {
            return;
        };
        let cards = self.devices.cards(self.nodes.object(node));
        if !cards.has_cards_of(&self.nodes.devices[node.at()]) {
            self.journal.changed();
            self.read_cards(node);
            self.nodes.forget_verdicts();
        }
    }

    fn remake_devices(&mut self, settings: Settings) {
        self.journal.changed();
        let minds = self.tasks().filter(|(_, task)| task.involves_devices());
        let tasks: Vec<TaskIx> = minds.map(|(ix, _)| ix).collect();
        for ix in &tasks {
            self.write_down(*ix);
            self.step_off(*ix);
            self.tasks[ix.at()].holding = None;
        }
        self.devices.rebuild(settings);
        self.devices.recompile(&mut self.resources);
        for node in self.nodes.indices() {
            let object = self.nodes.object(node);
            if self.nodes.find(&object.name) != Some(node) {
                // It is gone, and what it offered is taken out of the sums already.
                continue;
            }
            let cards = self.devices.cards(object);
            self.note_node(node, &cards);
            self.put_cards(node, cards);
        }
        self.nodes.forget_verdicts();
        for ix in &tasks {
            self.learn_rules(*ix);
            self.step_on(*ix);
        }
        let left_out = self.devices.families().ignored_resources();
        if self.shapes.leave_out(left_out) {
            let jobs: Vec<JobIx> = self.jobs().map(|(ix, _)| ix).collect();
            self.count_anew(&tasks, &jobs);
        }
    }

    /// The exclusivity rules are others than when the task came.
    fn learn_rules(&mut self, ix: TaskIx) {
        let (tags, old) = (self.tags(self.task(ix)), self.task(ix).demand);
        let facts = self.devices.facts(old).clone();
        self.tasks[ix.at()].demand = self.devices.acquire(&facts, tags, &mut self.resources);
        self.devices.release(old);
    }

    /// What a decision that is still under way will write, as if the cluster had told it.
    pub(super) fn write_down(&mut self, ix: TaskIx) {
        let task = self.task(ix);
        if task.status == TaskStatus::Binding && task.records.is_none() && task.holding.is_some() {
            let records = self.records_of(ix);
            self.tasks[ix.at()].records = Some(Box::new(records));
        }
    }

    /// Annotations that tell what a task holds.
    pub(super) fn records_of(&self, ix: TaskIx) -> Pairs {
        let task = self.task(ix);
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
        let task = self.task(ix);
        task.holding.is_none() && !self.devices.demand(task.demand).parts.is_empty()
    }

    /// Why the devices a task holds are not, or no longer all, there for it, or not what it asks any more.
    pub fn lost_devices(&self, ix: TaskIx) -> Option<String> {
        let task = self.task(ix);
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
        let task = self.task(ix);
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

    /// Notes what the owner of a task should know of its devices although it can be placed.
    pub fn note_device_warnings(&mut self, ix: TaskIx) {
        let task = self.task(ix);
        let warnings = self.devices.demand(task.demand).warnings();
        let warnings: Vec<String> = warnings.map(str::to_owned).collect();
        let notes = warnings.into_iter().map(|text| DeviceNote {
            about: self.about(ix),
            text,
        });
        let notes: Vec<DeviceNote> = notes.collect();
        self.devices.note(notes);
    }

    fn about(&self, ix: TaskIx) -> NoteAbout {
        let task = self.task(ix);
        NoteAbout::Pod {
            namespace: self.names.text(task.namespace).to_owned(),
            name: task.name.to_string(),
            uid: task.uid.to_string(),
        }
    }

    /// Notes on devices since they were last taken.
    pub fn take_device_notes(&mut self) -> Vec<DeviceNote> {
        std::mem::take(&mut self.devices.notes).into()
    }

    /// Notes that were not taken yet.
    pub fn device_notes(&self) -> impl Iterator<Item = &DeviceNote> {
        self.devices.notes.iter()
    }

    /// What decides about sharing, besides amounts.
    pub(super) fn tags(&self, task: &Task) -> Tags {
        let settings = self.devices.families().settings();
        let rules = match settings.exclusive_rules.is_empty() {
            true => 0,
            false => settings.rules_of(|key| {
                let key = self.names.get(key)?;
                Some(self.names.text(label(&task.labels, key)?))
            }),
        };
        let has_group = task.group != Sym::default();
        Tags {
            group: task.job.filter(|_| has_group).map(|job| job.0),
            rules,
        }
    }

    /// The node object is new: its cards are read again, and its tasks charged to them.
    pub(super) fn read_cards(&mut self, node: NodeIx) {
        let cards = self.devices.cards(self.nodes.object(node));
        self.note_node(node, &cards);
        let there = self.nodes.tasks(node).iter().copied();
        let tasks: Vec<TaskIx> = there
            .filter(|ix| self.task(*ix).involves_devices())
            .collect();
        for ix in &tasks {
            // The text can name what the new reading does not tell.
            self.write_down(*ix);
            self.step_off(*ix);
        }
        self.put_cards(node, cards);
        for ix in &tasks {
            self.step_on(*ix);
        }
    }

    /// The cards of a node are these now; the cluster has what they offer, and not what those before did.
    pub(super) fn put_cards(&mut self, node: NodeIx, cards: NodeDevices) {
        let old = std::mem::replace(&mut self.nodes.devices[node.at()], cards);
        let (before, after) = (
            offered(&old, &mut self.resources),
            offered(&self.nodes.devices[node.at()], &mut self.resources),
        );
        self.nodes.cluster_total.sub(&before);
        self.nodes.cluster_total.add(&after);
    }

    fn note_node(&mut self, node: NodeIx, cards: &NodeDevices) {
        let old = &self.nodes.devices[node.at()];
        let told: Vec<&String> = old.families().flat_map(|(_, c)| &c.problems).collect();
        let new = cards.families().flat_map(|(_, c)| &c.problems);
        let name = &self.nodes.object(node).name;
        let notes = new
            .filter(|text| !told.contains(text))
            .map(|text| DeviceNote {
                about: NoteAbout::Node(name.clone()),
                text: text.clone(),
            });
        let notes: Vec<DeviceNote> = notes.collect();
        self.devices.note(notes);
    }

    /// Takes a task with devices off the cards of its node, and its amounts off its queue.
    fn step_off(&mut self, ix: TaskIx) {
        let task = self.task(ix);
        let (status, node) = (task.status, task.node);
        if let (Some(load), Some(node)) = (status.load(), node) {
            self.leave_devices(ix, load, node);
        }
        self.account(ix, status, node, -1);
    }

    /// The inverse of [`State::step_off`], reading annotations again.
    fn step_on(&mut self, ix: TaskIx) {
        let task = self.task(ix);
        let (status, node) = (task.status, task.node);
        if let (Some(load), Some(node)) = (status.load(), node) {
            self.enter_devices(ix, load, node, false);
        }
        self.account(ix, status, node, 1);
        self.touch_job_of(ix);
    }

    /// Charges the devices of a task that enters a node: those it keeps or was placed with, or those
    /// its annotations tell.
    pub(super) fn enter_devices(&mut self, ix: TaskIx, load: Load, node: NodeIx, keeps: bool) {
        let task = &self.tasks[ix.at()];
        if !task.involves_devices() {
            return;
        }
        let known = self.tasks[ix.at()].holding.take();
        let keeps_known = keeps
            || match self.tasks[ix.at()].status {
                TaskStatus::Allocated | TaskStatus::Pipelined => true,
                TaskStatus::Binding => {
                    known.is_some() && !self.is_renamed(ix, node, known.as_deref())
                }
                _ => false,
            };
        let holding = match keeps_known {
            true => known,
            false => self.read_devices(ix, node, known),
        };
        let Some(mut holding) = holding else { return };
        if !keeps {
            // It may have come to another group while it is on its way.
            holding.tags = self.tags(&self.tasks[ix.at()]);
        }
        self.devices.groups_mut().add(&holding);
        for (family, allocations) in &mut holding.parts {
            let devices = &mut self.nodes.devices[node.at()];
            devices.charge(*family, ix.0, holding.tags, load, allocations);
        }
        self.tasks[ix.at()].holding = Some(holding);
    }

    /// Cards that a task on its way was placed with are not on its node by these ids any more: what it will
    /// write tells as much of them as anybody knows.
    fn is_renamed(&self, ix: TaskIx, node: NodeIx, known: Option<&Holding>) -> bool {
        let devices = &self.nodes.devices[node.at()];
        let has = |family: u8, id: &str| {
            let cards = devices.family(family);
            cards.is_some_and(|cards| cards.find(id).is_some())
        };
        let lacks = |known: &Holding| {
            let mut parts = known.parts.iter();
            parts.any(|(family, all)| all.iter().any(|one| !has(*family, &one.id)))
        };
        let known = known.filter(|known| !known.is_outdated);
        self.tasks[ix.at()].records.is_some() && known.is_some_and(lacks)
    }

    /// The exact inverse of [`State::enter_devices`]; the task still knows what it held.
    pub(super) fn leave_devices(&mut self, ix: TaskIx, load: Load, node: NodeIx) {
        let Some(holding) = &self.tasks[ix.at()].holding else {
            return;
        };
        self.devices.groups_mut().remove(holding);
        for (family, allocations) in &holding.parts {
            self.nodes.devices[node.at()].discharge(*family, ix.0, load, allocations);
        }
    }

    /// The best cards of a node for a task, of those that are free now or once pods are gone.
    pub(super) fn choose_devices(
        &mut self,
        ix: TaskIx,
        node: NodeIx,
        later: bool,
    ) -> Option<Box<Holding>> {
        let task = self.task(ix);
        let view = match later {
            true => LedgerTime::Future,
            false => LedgerTime::Now,
        };
        let demand = self.devices.demand(task.demand).clone();
        let parts = demand.choose(&self.nodes.devices[node.at()], view)?;
        let tags = self.tags(task);
        let charge = charge_of(&demand, Some(&parts), &mut self.resources);
        Some(Box::new(Holding {
            parts,
            tags,
            charge,
            is_outdated: false,
        }))
    }

    /// What annotations tell. What was known before is believed more than annotations that cannot be
    /// read.
    fn read_devices(
        &mut self,
        ix: TaskIx,
        node: NodeIx,
        known: Option<Box<Holding>>,
    ) -> Option<Box<Holding>> {
        let nothing = Pairs::new();
        let task = &self.tasks[ix.at()];
        let records = task.records.as_deref().unwrap_or(&nothing);
        let devices = &self.nodes.devices[node.at()];
        let (parts, problems) = self.devices.read(records, task.demand, devices);
        let tags = self.tags(task);
        let demand = self.devices.demand(task.demand).clone();
        self.note_pod(ix, problems);
        let mut holding = Holding {
            parts,
            tags,
            charge: QueueCharge::new(),
            is_outdated: false,
        };
        if !holding.is_certain() && known.as_ref().is_some_and(|known| known.is_certain()) {
            return known;
        }
        if holding.is_empty() {
            return None;
        }
        let certain = holding.is_certain().then_some(&holding.parts[..]);
        holding.charge = charge_of(&demand, certain, &mut self.resources);
        Some(Box::new(holding))
    }

    fn note_pod(&mut self, ix: TaskIx, problems: Vec<String>) {
        if problems.is_empty() {
            self.devices.pod_problems.remove(&ix);
            return;
        }
        let told = self.devices.pod_problems.insert(ix, problems.clone());
        if told.as_ref() == Some(&problems) {
            return;
        }
        let about = self.about(ix);
        let notes = problems.into_iter().map(|text| DeviceNote {
            about: about.clone(),
            text,
        });
        let notes: Vec<DeviceNote> = notes.collect();
        self.devices.note(notes);
    }

    /// Amounts that count for the queue of a task instead of those of its request.
    fn device_charge<'a>(&'a self, task: &'a Task) -> &'a [(ResIx, i64)] {
        match &task.holding {
            Some(holding) if task.node.is_some() => &holding.charge,
            _ => self.devices.charge(task.demand),
        }
    }

    /// What counts for the queue of a task.
    pub fn charged(&self, ix: TaskIx) -> Cow<'_, ResVec> {
        let task = self.task(ix);
        self.request_but(task, self.device_charge(task))
    }

    /// What counts for the queue of a task as long as it has no devices.
    pub fn charged_before(&self, ix: TaskIx) -> Cow<'_, ResVec> {
        let task = self.task(ix);
        self.request_but(task, self.devices.charge(task.demand))
    }

    fn request_but(&self, task: &Task, instead: &[(ResIx, i64)]) -> Cow<'_, ResVec> {
        let mut amounts = Cow::Borrowed(&self.shapes.get(task.shape).request);
        for (resource, amount) in instead {
            amounts.to_mut().set(*resource, *amount);
        }
        amounts
    }

    /// Counts one use of what a pod asks, and keeps the annotations that tell what it holds.
    pub(super) fn learn_devices(&mut self, pod: &PodObject, task: &mut Task) {
        let tags = self.tags(task);
        task.demand = self.devices.acquire(&pod.facts, tags, &mut self.resources);
        let tells = |(key, _): &&(String, String)| pumice_devices::families::records(key);
        if pod.node.is_none() {
            return;
        }
        let records: Pairs = pod.records.iter().filter(tells).cloned().collect();
        task.records = (!records.is_empty()).then(|| Box::new(records));
    }
}

/// Whether something of a node that families read has changed.
pub(super) fn device_facts_differ(old: &NodeObject, new: &NodeObject) -> bool {
    old.device_annotations != new.device_annotations
        || old.device_capacity != new.device_capacity
        || old.allocatable != new.allocatable
        || old.labels != new.labels
}
