//! Cards of nodes and the tasks that hold them: chosen when a task is placed, charged and discharged with every step
//! it takes, read back from annotations once the cluster knows them.

use pumice_devices::{Load, NodeDevices, PodFacts, Settings};

use super::held_cards::HeldCards;
use crate::device::{
    ChosenDevices, CountedTasks, DeviceNote, DeviceTable, Holding, NoteAbout, QueueCharge,
    charge_of,
};
use crate::ix::{NodeIx, TaskIx};
use crate::node::Nodes;
use crate::object::{NodeObject, Pairs, PodObject};
use crate::resource::{ResVec, ResourceNames};
use crate::shape::Shapes;
use crate::state::ChangeJournal;
use crate::state::population::{Accounts, Population};
use crate::task::{Task, TaskStatus};

/// Keeps cards in step with the tasks that hold them.
pub(in crate::state) struct CardBooks<'a> {
    pub population: &'a mut Population,
    pub nodes: &'a mut Nodes,
    pub shapes: &'a Shapes,
    pub devices: &'a mut DeviceTable,
    pub resources: &'a mut ResourceNames,
    pub journal: &'a mut ChangeJournal,
}

/// What the cards of a node add to the amounts of the cluster.
fn offered(devices: &NodeDevices, resources: &mut ResourceNames) -> ResVec {
    let mut amounts = ResVec::default();
    for (name, milli) in devices.offered() {
        let ix = resources.intern(name);
        amounts.set(ix, amounts.get(ix) + milli);
    }
    amounts
}

impl CardBooks<'_> {
    fn held(&self) -> HeldCards<'_> {
        HeldCards {
            population: self.population,
            nodes: self.nodes,
            devices: self.devices,
        }
    }

    fn accounts(&mut self) -> Accounts<'_> {
        Accounts {
            population: self.population,
            shapes: self.shapes,
            devices: self.devices,
            journal: self.journal,
        }
    }

    /// Takes the device settings of a configuration. Everything that follows from them is made anew
    /// from node objects and annotations; tasks keep what they hold. Who minds, if they are news.
    pub fn set_settings(&mut self, settings: Settings) -> Option<Vec<TaskIx>> {
        let is_news = *self.devices.families().settings() != settings;
        is_news.then(|| self.remake(settings))
    }

    /// Takes a ConfigMap that configures devices, likewise.
    pub fn set_config(
        &mut self,
        namespace: &str,
        name: &str,
        text: Option<String>,
    ) -> Option<Vec<TaskIx>> {
        self.devices.set_map(namespace, name, text).then(|| {
            let settings = self.devices.families().settings().clone();
            self.remake(settings)
        })
    }

    /// Takes what a ConfigMap says that tasks ask.
    pub fn set_mix_text(&mut self, place: (String, String), text: String) {
        if self.devices.set_mix_text(place, text) {
            self.journal.changed();
        }
    }

    /// Takes what was counted of tasks by another process, if it said anything.
    pub fn set_counted_before(&mut self, text: Option<String>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let text = text.into();
        let counted = CountedTasks { text, last: None };
        self.devices.set_counted_before(counted);
        self.journal.changed();
    }

    /// Takes what a ConfigMap tells of a node. Writers repeat themselves with a new time: only what
    /// makes other cards is a change.
    pub fn set_node_report(&mut self, node: String, topic: String, text: Option<String>) {
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

    fn remake(&mut self, settings: Settings) -> Vec<TaskIx> {
        self.journal.changed();
        let minds = self
            .population
            .tasks()
            .filter(|(_, task)| task.involves_devices());
        let tasks: Vec<TaskIx> = minds.map(|(ix, _)| ix).collect();
        for ix in &tasks {
            self.write_down(*ix);
            self.step_off(*ix);
            self.population.task_mut(*ix).holding = None;
        }
        self.devices.rebuild(settings);
        self.devices.recompile(self.resources);
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
        tasks
    }

    /// The exclusivity rules are others than when the task came.
    fn learn_rules(&mut self, ix: TaskIx) {
        let (tags, old) = (
            self.held().tags(self.population.task(ix)),
            self.population.task(ix).demand,
        );
        let facts = self.devices.facts(old).clone();
        self.population.task_mut(ix).demand = self.devices.acquire(&facts, tags, self.resources);
        self.devices.release(old);
    }

    /// What a decision that is still under way will write, as if the cluster had told it.
    pub fn write_down(&mut self, ix: TaskIx) {
        let task = self.population.task(ix);
        if task.status == TaskStatus::Binding && task.records.is_none() && task.holding.is_some() {
            let records = self.held().records_of(ix);
            self.population.task_mut(ix).records = Some(Box::new(records));
        }
    }

    /// Notes what the owner of a task should know of its devices although it can be placed.
    pub fn note_device_warnings(&mut self, ix: TaskIx) {
        let task = self.population.task(ix);
        let warnings = self.devices.demand(task.demand).warnings();
        let warnings: Vec<String> = warnings.map(str::to_owned).collect();
        let notes = warnings.into_iter().map(|text| DeviceNote {
            about: self.held().about(ix),
            text,
        });
        let notes: Vec<DeviceNote> = notes.collect();
        self.devices.note(notes);
    }

    /// The node object is new: its cards are read again, and its tasks charged to them.
    pub fn read_cards(&mut self, node: NodeIx) {
        let cards = self.devices.cards(self.nodes.object(node));
        self.note_node(node, &cards);
        let there = self.nodes.tasks(node).iter().copied();
        let tasks: Vec<TaskIx> = there
            .filter(|ix| self.population.task(*ix).involves_devices())
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
    pub fn put_cards(&mut self, node: NodeIx, cards: NodeDevices) {
        let old = std::mem::replace(&mut self.nodes.devices[node.at()], cards);
        let (before, after) = (
            offered(&old, self.resources),
            offered(&self.nodes.devices[node.at()], self.resources),
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
        let task = self.population.task(ix);
        let (status, node) = (task.status, task.node);
        if let (Some(load), Some(node)) = (status.load(), node) {
            self.leave_devices(ix, load, node);
        }
        self.accounts().account(ix, status, node, -1);
    }

    /// The inverse of [`CardBooks::step_off`], reading annotations again.
    fn step_on(&mut self, ix: TaskIx) {
        let task = self.population.task(ix);
        let (status, node) = (task.status, task.node);
        if let (Some(load), Some(node)) = (status.load(), node) {
            self.enter_devices(ix, load, node, false);
        }
        self.accounts().account(ix, status, node, 1);
        self.population.touch_job_of(ix, self.journal);
    }

    /// Charges the devices of a task that enters a node: those it keeps or was placed with, or those
    /// its annotations tell.
    pub fn enter_devices(&mut self, ix: TaskIx, load: Load, node: NodeIx, keeps: bool) {
        let task = self.population.task(ix);
        if !task.involves_devices() {
            return;
        }
        let known = self.population.task_mut(ix).holding.take();
        let keeps_known = keeps
            || match self.population.task(ix).status {
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
            holding.tags = self.held().tags(self.population.task(ix));
        }
        self.devices.groups_mut().add(&holding);
        for (family, allocations) in &mut holding.parts {
            let devices = &mut self.nodes.devices[node.at()];
            devices.charge(*family, ix.0, holding.tags, load, allocations);
        }
        self.population.task_mut(ix).holding = Some(holding);
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
        self.population.task(ix).records.is_some() && known.is_some_and(lacks)
    }

    /// The exact inverse of [`CardBooks::enter_devices`]; the task still knows what it held.
    pub fn leave_devices(&mut self, ix: TaskIx, load: Load, node: NodeIx) {
        let Some(holding) = &self.population.task(ix).holding else {
            return;
        };
        self.devices.groups_mut().remove(holding);
        for (family, allocations) in &holding.parts {
            self.nodes.devices[node.at()].discharge(*family, ix.0, load, allocations);
        }
    }

    /// What a task holds once it has the devices that were chosen for it.
    pub fn holding(&mut self, ix: TaskIx, chosen: ChosenDevices) -> Box<Holding> {
        let demand = self.devices.demand(self.population.task(ix).demand);
        let ChosenDevices { parts, tags } = chosen;
        Box::new(Holding {
            charge: charge_of(demand, Some(&parts), self.resources),
            parts,
            tags,
            is_outdated: false,
        })
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
        let task = self.population.task(ix);
        let records = task.records.as_deref().unwrap_or(&nothing);
        let devices = &self.nodes.devices[node.at()];
        let (parts, problems) = self.devices.read(records, task.demand, devices);
        let tags = self.held().tags(task);
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
        holding.charge = charge_of(&demand, certain, self.resources);
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
        let about = self.held().about(ix);
        let notes = problems.into_iter().map(|text| DeviceNote {
            about: about.clone(),
            text,
        });
        let notes: Vec<DeviceNote> = notes.collect();
        self.devices.note(notes);
    }

    /// Counts one use of what a pod asks, and keeps the annotations that tell what it holds.
    pub fn learn_devices(&mut self, pod: &PodObject, task: &mut Task) {
        let tags = self.held().tags(task);
        task.demand = self.devices.acquire(&pod.facts, tags, self.resources);
        let tells = |(key, _): &&(String, String)| pumice_devices::families::records(key);
        if pod.node.is_none() {
            return;
        }
        let records: Pairs = pod.records.iter().filter(tells).cloned().collect();
        task.records = (!records.is_empty()).then(|| Box::new(records));
    }

    /// What a pod on its node asked of devices, and what it was told to have, stays so until it is gone: its
    /// annotations and labels are its user's to change, and move nothing. How far its device plugin is it may tell
    /// once.
    pub fn keep_told(&mut self, ix: TaskIx, task: &mut Task) {
        let old = self.population.task(ix);
        let Some(told) = &old.records else {
            return;
        };
        let stays = (old.node, old.lost_node) == (task.node, task.lost_node);
        let is_seen = !old.status.is_undecided() && old.status != TaskStatus::Binding;
        let is_known = old
            .holding
            .as_ref()
            .is_none_or(|holding| holding.is_certain());
        if !(stays && is_seen && is_known) {
            return;
        }
        let mut told = told.as_ref().clone();
        for (key, value) in task.records.iter().flat_map(|records| records.iter()) {
            if !pumice_devices::families::goes_on(key) || value.is_empty() {
                continue;
            }
            match told.iter_mut().find(|(known, _)| known == key) {
                Some((_, known)) if known.is_empty() => known.clone_from(value),
                Some(_) => {}
                None => told.push((key.clone(), value.clone())),
            }
        }
        told.sort();
        task.records = Some(Box::new(told));
        let (asked, now) = (
            self.devices.facts(old.demand),
            self.devices.facts(task.demand),
        );
        if (&asked.annotations, &asked.labels) != (&now.annotations, &now.labels) {
            let facts = PodFacts {
                containers: now.containers.clone(),
                ..asked.clone()
            };
            let (tags, new) = (self.held().tags(task), task.demand);
            task.demand = self.devices.acquire(&facts, tags, self.resources);
            self.devices.release(new);
        }
    }
}

/// Whether something of a node that families read has changed.
pub(in crate::state) fn device_facts_differ(old: &NodeObject, new: &NodeObject) -> bool {
    old.device_annotations != new.device_annotations
        || old.device_capacity != new.device_capacity
        || old.allocatable != new.allocatable
        || old.labels != new.labels
}
