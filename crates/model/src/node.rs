//! The nodes as columns: one dense array per resource and quantity, indexed by [`NodeIx`].
//!
//! After [`Nodes::seal`] the dense order *is* the name order, so the lowest index among equals is
//! the first name. Every change of a node's load is written to a *touch log*, from which indexes
//! over the nodes catch up by looking at the touched nodes only.

use pumice_devices::{Load, NodeDevices};
use rustc_hash::FxHashMap;

use crate::ix::{NodeIx, TaskIx};
use crate::numa::{ExpectedPod, NodeCpus};
use crate::object::{Disk, HostPort, NodeObject, NodeUsage, VolumeSource};
use crate::resource::{ResIx, ResVec};
use crate::shared::SharedVec;
use crate::volume::{Attached, Held, OnNode};

/// Nodes that are looked at in one go: as many as a loop over their columns needs to pay off.
pub const BLOCK: usize = 64;

/// One quantity of every resource for every node.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    by_resource: Vec<Vec<i64>>,
}

impl Columns {
    /// Column of a resource; `None` when no node has ever had any.
    pub fn column(&self, ix: ResIx) -> Option<&[i64]> {
        self.by_resource.get(ix.0 as usize).map(Vec::as_slice)
    }

    /// One amount.
    pub fn get(&self, ix: ResIx, node: NodeIx) -> i64 {
        self.by_resource
            .get(ix.0 as usize)
            .map_or(0, |column| column[node.at()])
    }

    /// All amounts of one node.
    pub fn row(&self, node: NodeIx) -> ResVec {
        let mut row = ResVec::default();
        for (at, column) in self.by_resource.iter().enumerate() {
            row.set(ResIx(at as u16), column[node.at()]);
        }
        row
    }

    fn grow(&mut self, dimensions: usize, nodes: usize) {
        while self.by_resource.len() < dimensions {
            self.by_resource.push(vec![0; nodes]);
        }
    }

    fn push(&mut self, row: &ResVec, nodes: usize) {
        self.grow(row.as_slice().len(), nodes);
        for (at, column) in self.by_resource.iter_mut().enumerate() {
            column.push(row.get(ResIx(at as u16)));
        }
    }

    fn add(&mut self, node: NodeIx, amounts: &ResVec, nodes: usize) {
        self.grow(amounts.as_slice().len(), nodes);
        for (column, amount) in self.by_resource.iter_mut().zip(amounts.as_slice()) {
            column[node.at()] = column[node.at()].wrapping_add(*amount);
        }
    }

    fn sub(&mut self, node: NodeIx, amounts: &ResVec, nodes: usize) {
        self.grow(amounts.as_slice().len(), nodes);
        for (column, amount) in self.by_resource.iter_mut().zip(amounts.as_slice()) {
            column[node.at()] = column[node.at()].wrapping_sub(*amount);
        }
    }

    fn permute(&mut self, order: &[u32]) {
        for column in &mut self.by_resource {
            *column = order.iter().map(|old| column[*old as usize]).collect();
        }
    }
}

/// What one task puts on a node.
pub struct Burden<'a> {
    /// Request in stored units.
    pub request: &'a ResVec,
    /// cpu with defaults, milli-cores.
    pub nonzero_cpu_milli: i64,
    /// memory with defaults, bytes.
    pub nonzero_memory_bytes: i64,
    /// Host ports.
    pub ports: &'a [HostPort],
    /// Volumes and disks, of those that have any.
    pub volumes: Option<&'a OnNode>,
}

/// When: what pods on their way out hold is there now, and not any more once they are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMoment {
    /// As it is.
    Now,
    /// Once everything that is being released is free.
    Released,
}

/// All nodes.
#[derive(Default)]
pub struct Nodes {
    objects: SharedVec<NodeObject>,
    by_name: FxHashMap<String, NodeIx>,
    unsorted: bool,
    gone: Vec<NodeIx>,
    /// `status.allocatable`.
    pub allocatable: Columns,
    /// Allocatable and oversubscription together.
    pub total: Columns,
    /// Total − used.
    pub idle: Columns,
    /// Requests of held and releasing tasks.
    pub used: Columns,
    /// Requests of releasing tasks.
    pub releasing: Columns,
    /// Requests of pipelined tasks.
    pub pipelined: Columns,
    /// cpu of all tasks with defaults, milli-cores.
    pub nonzero_cpu_milli: Vec<i64>,
    /// memory of all tasks with defaults, bytes.
    pub nonzero_memory_bytes: Vec<i64>,
    /// Number of tasks, whatever their load.
    pub pod_count: Vec<i64>,
    /// Number of tasks that are being released.
    pub releasing_count: Vec<i64>,
    /// Shared devices.
    pub devices: SharedVec<NodeDevices>,
    usage: Vec<Option<NodeUsage>>,
    cpus: Vec<Option<Box<NodeCpus>>>,
    usage_epoch: u64,
    /// No usage is old before that, seconds since the epoch; none where nothing is known.
    usage_old_from_s: Option<i64>,
    ports: Vec<Held<HostPort>>,
    attached: Vec<Attached>,
    tasks: SharedVec<Vec<TaskIx>>,
    /// Sum of `total` over all nodes.
    pub cluster_total: ResVec,
    largest: (u64, ResVec),
    /// Number of tasks with load `Releasing` or `Pipelined`: 0 means idle = future idle everywhere.
    pub in_transit: u32,
    static_epoch: u64,
    touch_log: Vec<NodeIx>,
    touch_base: u64,
    last_touch: Vec<u64>,
    /// By node; see [`Nodes::revision`].
    revisions: Vec<u64>,
    /// The newest of them.
    revision: u64,
    /// By block of [`BLOCK`] nodes.
    last_block_touch: Vec<u64>,
}

impl Nodes {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// All indices, in name order once sealed.
    pub fn indices(&self) -> impl Iterator<Item = NodeIx> + use<> {
        (0..self.objects.len() as u32).map(NodeIx)
    }

    /// The node object.
    #[inline]
    pub fn object(&self, node: NodeIx) -> &NodeObject {
        &self.objects[node.at()]
    }

    /// The objects of all nodes, those that are gone among them, by index.
    pub fn objects(&self) -> impl Iterator<Item = &NodeObject> {
        self.objects.iter()
    }

    /// Objects of all nodes that are not gone, by name.
    pub fn known(&self) -> Vec<&NodeObject> {
        let known = self.by_name.values().map(|node| self.object(*node));
        let mut known: Vec<&NodeObject> = known.collect();
        known.sort_by_key(|node| &node.name);
        known
    }

    /// Index by name.
    pub fn find(&self, name: &str) -> Option<NodeIx> {
        self.by_name.get(name).copied()
    }

    /// Tasks on a node, in no particular order.
    pub fn tasks(&self, node: NodeIx) -> &[TaskIx] {
        &self.tasks[node.at()]
    }

    /// Host ports in use on a node.
    pub fn ports(&self, node: NodeIx, moment: LoadMoment) -> impl Iterator<Item = &HostPort> {
        self.ports[node.at()].at(moment)
    }

    /// Volumes that count against the limits of a node.
    pub fn attached(
        &self,
        node: NodeIx,
        moment: LoadMoment,
    ) -> impl Iterator<Item = &VolumeSource> {
        self.attached[node.at()].sources.at(moment)
    }

    /// In-line disks on a node.
    pub fn disks(&self, node: NodeIx, moment: LoadMoment) -> impl Iterator<Item = &Disk> {
        self.attached[node.at()].disks.at(moment)
    }

    /// Idle + releasing − pipelined of one resource.
    pub fn future_idle(&self, ix: ResIx, node: NodeIx) -> i64 {
        self.idle
            .get(ix, node)
            .saturating_add(self.releasing.get(ix, node))
            .saturating_sub(self.pipelined.get(ix, node))
    }

    /// What was measured of its use, if that is known.
    pub fn usage(&self, node: NodeIx) -> Option<NodeUsage> {
        self.usage[node.at()]
    }

    /// What the node tells of its CPUs, and who is about to have some.
    pub fn cpus(&self, node: NodeIx) -> Option<&NodeCpus> {
        self.cpus[node.at()].as_deref()
    }

    pub(crate) fn cpus_mut(&mut self, node: NodeIx) -> Option<&mut NodeCpus> {
        self.cpus[node.at()].as_deref_mut()
    }

    /// Takes in what the node tells, with nobody on it.
    pub(crate) fn set_cpus(&mut self, node: NodeIx, cpus: Option<NodeCpus>) {
        self.cpus[node.at()] = cpus.map(Box::new);
        self.touch(node);
    }

    /// Chooses CPUs anew for those who are there, in this order; whether others are free than before.
    pub(crate) fn settle_cpus(&mut self, node: NodeIx, order: Vec<ExpectedPod<'_>>) -> bool {
        let cpus = self.cpus[node.at()].as_deref_mut();
        let changed = cpus.is_some_and(|cpus| cpus.settle(order));
        if changed {
            self.touch(node);
        }
        changed
    }

    /// Changes whenever what was measured of some node changes.
    pub fn usage_epoch(&self) -> u64 {
        self.usage_epoch
    }

    /// Takes in what was measured; false where that was known.
    pub(crate) fn set_usage(&mut self, node: NodeIx, usage: Option<NodeUsage>) -> bool {
        if self.usage[node.at()] == usage {
            return false;
        }
        self.usage[node.at()] = usage;
        self.usage_epoch += 1;
        let old_from_s = usage.map(|usage| usage.is_old_from_s());
        let all = self.usage_old_from_s.into_iter().chain(old_from_s);
        self.usage_old_from_s = all.min();
        self.touch(node);
        true
    }

    /// When some usage may become old, seconds since the epoch.
    pub fn usage_old_from_s(&self) -> Option<i64> {
        self.usage_old_from_s
    }

    /// Forgets what is old at `now_s`, seconds since the epoch; whether anything was.
    pub(crate) fn forget_old_usage(&mut self, now_s: i64) -> bool {
        if self.usage_old_from_s.is_none_or(|old_s| old_s > now_s) {
            return false;
        }
        let old_from_s = |usage: Option<NodeUsage>| usage.map(|usage| usage.is_old_from_s());
        let mut forgot = false;
        for at in 0..self.usage.len() {
            if old_from_s(self.usage[at]).is_some_and(|old_s| old_s <= now_s) {
                forgot |= self.set_usage(NodeIx(at as u32), None);
            }
        }
        let known = self.usage.iter().copied();
        self.usage_old_from_s = known.filter_map(old_from_s).min();
        forgot
    }

    /// Changes whenever a node appears, goes, or changes in more than its load.
    pub fn static_epoch(&self) -> u64 {
        self.static_epoch
    }

    /// Adds or replaces a node. `allocatable` and `oversubscription` are its amounts as vectors.
    /// True when anything changed; the caller must [`Nodes::seal`] before deciding.
    pub fn apply(
        &mut self,
        object: NodeObject,
        allocatable: ResVec,
        oversubscription: &ResVec,
    ) -> bool {
        let mut total = allocatable.clone();
        total.add(oversubscription);
        match self.by_name.get(&object.name).copied() {
            Some(node) => self.replace(node, object, &allocatable, &total),
            None => {
                self.insert(object, &allocatable, &total);
                true
            }
        }
    }

    fn insert(&mut self, object: NodeObject, allocatable: &ResVec, total: &ResVec) {
        let count = self.objects.len();
        let node = NodeIx(count as u32);
        self.unsorted |= self
            .objects
            .last()
            .is_some_and(|last| last.name > object.name);
        self.by_name.insert(object.name.clone(), node);
        self.allocatable.push(allocatable, count);
        self.total.push(total, count);
        self.idle.push(total, count);
        let nothing = ResVec::default();
        for columns in [&mut self.used, &mut self.releasing, &mut self.pipelined] {
            columns.push(&nothing, count);
        }
        self.nonzero_cpu_milli.push(0);
        self.nonzero_memory_bytes.push(0);
        self.pod_count.push(0);
        self.releasing_count.push(0);
        self.usage.push(None);
        self.cpus.push(None);
        self.ports.push(Held::default());
        self.attached.push(Attached::default());
        self.devices.push(NodeDevices::default());
        self.tasks.push(Vec::new());
        self.last_touch.push(0);
        self.revision += 1;
        self.revisions.push(self.revision);
        self.last_block_touch
            .resize(self.last_touch.len().div_ceil(BLOCK), 0);
        self.cluster_total.add(total);
        self.objects.push(object);
        self.static_epoch += 1;
    }

    fn replace(
        &mut self,
        node: NodeIx,
        object: NodeObject,
        allocatable: &ResVec,
        total: &ResVec,
    ) -> bool {
        if self.objects[node.at()] == object {
            return false;
        }
        let count = self.objects.len();
        let old_total = self.total.row(node);
        let old_allocatable = self.allocatable.row(node);
        self.allocatable.sub(node, &old_allocatable, count);
        self.allocatable.add(node, allocatable, count);
        for columns in [&mut self.total, &mut self.idle] {
            columns.sub(node, &old_total, count);
            columns.add(node, total, count);
        }
        self.cluster_total.sub(&old_total);
        self.cluster_total.add(total);
        self.objects[node.at()] = object;
        self.static_epoch += 1;
        self.touch(node);
        true
    }

    /// Marks a node as gone and hands its tasks back; it vanishes with the next [`Nodes::seal`].
    pub fn remove(&mut self, name: &str) -> Option<(NodeIx, Vec<TaskIx>)> {
        let node = self.by_name.remove(name)?;
        let total = self.total.row(node);
        self.cluster_total.sub(&total);
        self.gone.push(node);
        self.static_epoch += 1;
        Some((node, self.tasks[node.at()].clone()))
    }

    /// Per resource the most any one node has in all, as of the last [`Nodes::seal`].
    pub fn largest(&self) -> &ResVec {
        &self.largest.1
    }

    /// A copy that shares with this one what neither has changed since.
    pub(crate) fn share(&mut self) -> Self {
        Self {
            objects: self.objects.share(),
            by_name: self.by_name.clone(),
            unsorted: self.unsorted,
            gone: self.gone.clone(),
            allocatable: self.allocatable.clone(),
            total: self.total.clone(),
            idle: self.idle.clone(),
            used: self.used.clone(),
            releasing: self.releasing.clone(),
            pipelined: self.pipelined.clone(),
            nonzero_cpu_milli: self.nonzero_cpu_milli.clone(),
            nonzero_memory_bytes: self.nonzero_memory_bytes.clone(),
            pod_count: self.pod_count.clone(),
            releasing_count: self.releasing_count.clone(),
            devices: self.devices.share(),
            usage: self.usage.clone(),
            cpus: self.cpus.clone(),
            usage_epoch: self.usage_epoch,
            usage_old_from_s: self.usage_old_from_s,
            ports: self.ports.clone(),
            attached: self.attached.clone(),
            tasks: self.tasks.share(),
            cluster_total: self.cluster_total.clone(),
            largest: self.largest.clone(),
            in_transit: self.in_transit,
            static_epoch: self.static_epoch,
            touch_log: self.touch_log.clone(),
            touch_base: self.touch_base,
            last_touch: self.last_touch.clone(),
            revisions: self.revisions.clone(),
            revision: self.revision,
            last_block_touch: self.last_block_touch.clone(),
        }
    }

    /// Restores the dense name order after nodes came or went. Returns the map from old to new
    /// index (`u32::MAX` for gone) when indices moved.
    pub fn seal(&mut self) -> Option<Vec<u32>> {
        let moved = self.restore_order();
        if self.largest.0 != self.static_epoch {
            let mut largest = ResVec::default();
            for (at, column) in self.total.by_resource.iter().enumerate() {
                let most = column.iter().copied().max().unwrap_or(0);
                largest.set(ResIx(at as u16), most);
            }
            self.largest = (self.static_epoch, largest);
        }
        moved
    }

    fn restore_order(&mut self) -> Option<Vec<u32>> {
        if !self.unsorted && self.gone.is_empty() {
            return None;
        }
        let gone: rustc_hash::FxHashSet<u32> = self.gone.drain(..).map(|node| node.0).collect();
        let mut order: Vec<u32> = (0..self.objects.len() as u32)
            .filter(|at| !gone.contains(at))
            .collect();
        order.sort_by(|l, r| {
            self.objects[*l as usize]
                .name
                .cmp(&self.objects[*r as usize].name)
        });
        let mut moved = vec![u32::MAX; self.objects.len()];
        for (new, old) in order.iter().enumerate() {
            moved[*old as usize] = new as u32;
        }
        self.permute(&order);
        self.by_name.clear();
        for (at, object) in self.objects.iter().enumerate() {
            self.by_name.insert(object.name.clone(), NodeIx(at as u32));
        }
        self.unsorted = false;
        self.static_epoch += 1;
        Some(moved)
    }

    fn permute(&mut self, order: &[u32]) {
        for columns in [
            &mut self.allocatable,
            &mut self.total,
            &mut self.idle,
            &mut self.used,
            &mut self.releasing,
            &mut self.pipelined,
        ] {
            columns.permute(order);
        }
        for column in [
            &mut self.nonzero_cpu_milli,
            &mut self.nonzero_memory_bytes,
            &mut self.pod_count,
            &mut self.releasing_count,
        ] {
            *column = order.iter().map(|old| column[*old as usize]).collect();
        }
        let take = |old: &u32| *old as usize;
        self.usage = order.iter().map(|o| self.usage[take(o)]).collect();
        self.objects.permute(order);
        self.cpus = order
            .iter()
            .map(|o| std::mem::take(&mut self.cpus[take(o)]))
            .collect();
        self.ports = order
            .iter()
            .map(|o| std::mem::take(&mut self.ports[take(o)]))
            .collect();
        self.attached = order
            .iter()
            .map(|o| std::mem::take(&mut self.attached[take(o)]))
            .collect();
        self.devices.permute(order);
        self.tasks.permute(order);
        self.revisions = order.iter().map(|o| self.revisions[take(o)]).collect();
        self.touch_base += self.touch_log.len() as u64 + 1;
        self.touch_log.clear();
        self.last_touch = vec![self.touch_base; order.len()];
        self.last_block_touch = vec![self.touch_base; order.len().div_ceil(BLOCK)];
    }

    /// Puts a task on a node; returns its slot in the node's task list.
    pub fn put(&mut self, node: NodeIx, task: TaskIx, load: Load, burden: &Burden) -> u32 {
        let count = self.objects.len();
        match load {
            Load::Held => {
                self.idle.sub(node, burden.request, count);
                self.used.add(node, burden.request, count);
            }
            Load::Releasing => {
                self.idle.sub(node, burden.request, count);
                self.used.add(node, burden.request, count);
                self.releasing.add(node, burden.request, count);
                self.in_transit += 1;
            }
            Load::Pipelined => {
                self.pipelined.add(node, burden.request, count);
                self.in_transit += 1;
            }
        }
        let at = node.at();
        self.nonzero_cpu_milli[at] =
            self.nonzero_cpu_milli[at].wrapping_add(burden.nonzero_cpu_milli);
        self.nonzero_memory_bytes[at] =
            self.nonzero_memory_bytes[at].wrapping_add(burden.nonzero_memory_bytes);
        self.pod_count[at] += 1;
        self.releasing_count[at] += i64::from(load == Load::Releasing);
        for port in burden.ports {
            self.ports[at].add(port, load);
        }
        if let Some(volumes) = burden.volumes {
            self.attached[at].add(volumes, load);
        }
        self.touch(node);
        self.tasks[at].push(task);
        (self.tasks[at].len() - 1) as u32
    }

    /// Takes a task off a node: the exact inverse of [`Nodes::put`]. Returns the task that moved
    /// into its slot, if any.
    pub fn take(&mut self, node: NodeIx, slot: u32, load: Load, burden: &Burden) -> Option<TaskIx> {
        let count = self.objects.len();
        match load {
            Load::Held => {
                self.idle.add(node, burden.request, count);
                self.used.sub(node, burden.request, count);
            }
            Load::Releasing => {
                self.idle.add(node, burden.request, count);
                self.used.sub(node, burden.request, count);
                self.releasing.sub(node, burden.request, count);
                self.in_transit -= 1;
            }
            Load::Pipelined => {
                self.pipelined.sub(node, burden.request, count);
                self.in_transit -= 1;
            }
        }
        let at = node.at();
        self.nonzero_cpu_milli[at] =
            self.nonzero_cpu_milli[at].wrapping_sub(burden.nonzero_cpu_milli);
        self.nonzero_memory_bytes[at] =
            self.nonzero_memory_bytes[at].wrapping_sub(burden.nonzero_memory_bytes);
        self.pod_count[at] -= 1;
        self.releasing_count[at] -= i64::from(load == Load::Releasing);
        for port in burden.ports {
            self.ports[at].remove(port, load);
        }
        if let Some(volumes) = burden.volumes {
            self.attached[at].remove(volumes, load);
        }
        self.touch(node);
        self.tasks[at].swap_remove(slot as usize);
        self.tasks[at].get(slot as usize).copied()
    }

    /// Nodes are to be looked at anew by everything that depends on their objects.
    pub(crate) fn forget_verdicts(&mut self) {
        self.static_epoch += 1;
    }

    fn touch(&mut self, node: NodeIx) {
        let limit = 4 * self.objects.len() + 1024;
        if self.touch_log.len() >= limit {
            self.touch_base += self.touch_log.len() as u64;
            self.touch_log.clear();
        }
        self.touch_log.push(node);
        let place = self.touch_base + self.touch_log.len() as u64;
        self.last_touch[node.at()] = place;
        self.revision += 1;
        self.revisions[node.at()] = self.revision;
        self.last_block_touch[node.at() / BLOCK] = place;
    }

    /// Changes whenever the node, or what is on it, does, and is that of no other node; it stays when others
    /// come and go.
    pub fn revision(&self, node: NodeIx) -> u64 {
        self.revisions[node.at()]
    }

    /// Where the touch log ends now.
    pub fn touch_cursor(&self) -> u64 {
        self.touch_base + self.touch_log.len() as u64
    }

    /// Nodes touched since `cursor`, each once; `None` when the log no longer reaches back so far
    /// and everything must be looked at.
    pub fn touched_since(&self, cursor: u64) -> Option<impl Iterator<Item = NodeIx> + '_> {
        let touches = self.touches_since(cursor)?.iter().zip(cursor + 1..);
        Some(
            touches
                .filter_map(|(node, place)| (self.last_touch[node.at()] == place).then_some(*node)),
        )
    }

    /// What was touched since `cursor`, one after another, so that a node may come up many times;
    /// `None` as above.
    pub fn touches_since(&self, cursor: u64) -> Option<&[NodeIx]> {
        let from = cursor.checked_sub(self.touch_base)? as usize;
        self.touch_log.get(from..)
    }

    /// Blocks of [`BLOCK`] nodes in which some node was touched since `cursor`.
    pub fn blocks_touched_since(&self, cursor: u64) -> impl Iterator<Item = usize> + '_ {
        let blocks = self.last_block_touch.iter().enumerate();
        blocks.filter_map(move |(block, place)| (*place > cursor).then_some(block))
    }
}
