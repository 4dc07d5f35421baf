//! CPUs of nodes that pods get for themselves, by NUMA node, socket and core (spec/02 §22).
//!
//! ```text
//!  Numatopology ─► NumatopologyObject ─► CpuLayout      where the CPUs are
//!                                     └► NodeCpus       which are free, and who is about to have which
//! ```
//!
//! A Numatopology tells what the kubelet has given out. What it does not tell yet are the CPUs of pods that
//! were placed since: they are chosen here as the kubelet would choose them. Between two cycles the choice
//! follows from the objects alone, pods in the order of their age; so nothing needs to be remembered, and
//! after a restart no CPU counts twice. Within a cycle a pod that is placed takes of what is left, and who
//! is there keeps what it has. A node that has given out CPUs and does not tell to whom has given them to
//! the pods that ran there when it told that: theirs are not taken from what is free a second time.

mod cpu_set;
mod layout;

pub use cpu_set::CpuSet;
pub use layout::{CpuLayout, UnservedContainer};

use crate::ix::TaskIx;
use crate::object::{CpuRequest, NumatopologyObject, TopologyPolicy};

/// The CPUs of a node with a Numatopology.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCpus {
    object: NumatopologyObject,
    layout: CpuLayout,
    /// What the kubelet could give if none of those below were there.
    unassigned: CpuSet,
    /// How many of the other CPUs it has given to pods that are not told.
    given_untold: u32,
    /// Pods whose CPUs the object does not tell yet, and what they will have.
    pub(crate) expected: Vec<(TaskIx, CpuSet)>,
    /// `unassigned` without what they will have.
    free: CpuSet,
    /// The pods are not as in [`crate::State::seal`].
    pub(crate) is_stale: bool,
}

/// A pod whose CPUs its node does not tell.
pub(crate) struct ExpectedPod<'a> {
    pub task: TaskIx,
    pub request: &'a CpuRequest,
    /// It ran already when the node told what is free.
    pub ran: bool,
}

impl NodeCpus {
    /// Nobody is on the node.
    pub(crate) fn new(object: NumatopologyObject) -> Self {
        let layout = CpuLayout::new(&object);
        let all = (0..object.cpus.len()).collect();
        let mut unassigned = layout.set(&object.free);
        let reserved = layout.pick(&all, object.reserved);
        let mut given = all;
        given.remove(&unassigned);
        given.remove(&reserved);
        unassigned.remove(&reserved);
        let given_untold = match object.assigned.is_empty() {
            true => given.len(),
            false => 0,
        };
        Self {
            given_untold,
            layout,
            free: unassigned.clone(),
            unassigned,
            expected: Vec::new(),
            is_stale: true,
            object,
        }
    }

    /// What is told of the node.
    pub fn object(&self) -> &NumatopologyObject {
        &self.object
    }

    /// Where its CPUs are.
    pub fn layout(&self) -> &CpuLayout {
        &self.layout
    }

    /// CPUs that nobody has or is about to have.
    pub fn free(&self) -> &CpuSet {
        &self.free
    }

    /// The CPUs a pod on the node is about to have, as long as the node does not tell them.
    pub fn expected_of(&self, task: TaskIx) -> Option<&CpuSet> {
        let mut expected = self.expected.iter();
        expected
            .find(|(other, _)| *other == task)
            .map(|(_, cpus)| cpus)
    }

    /// What is free and what pods will have is all that is not assigned, and no CPU is in two of them.
    pub(crate) fn is_balanced(&self) -> bool {
        let (mut all, mut count) = (self.free.clone(), self.free.len());
        for (_, cpus) in &self.expected {
            all.add(cpus);
            count += cpus.len();
        }
        count == all.len() && all == self.unassigned
    }

    /// CPUs are given out by NUMA node.
    pub fn aligns(&self) -> bool {
        self.object.gives_cpus && self.object.policy != TopologyPolicy::None
    }

    /// The node tells what the pod has.
    pub(crate) fn is_assigned(&self, uid: &str, namespace: &str, name: &str) -> bool {
        self.object
            .assigned
            .iter()
            .any(|pod| match pod.uid.as_str() {
                "" => pod.namespace == namespace && pod.name == name,
                known => known == uid,
            })
    }

    /// What a pod would have that comes now.
    pub(crate) fn choose(&self, request: &CpuRequest) -> CpuSet {
        self.layout.take(request, &self.free)
    }

    /// A pod comes.
    pub(crate) fn enter(&mut self, task: TaskIx, cpus: CpuSet) {
        self.free.remove(&cpus);
        self.expected.push((task, cpus));
        self.is_stale = true;
    }

    /// A pod goes: the exact inverse of [`NodeCpus::enter`].
    pub(crate) fn leave(&mut self, task: TaskIx) {
        let found = self.expected.iter().rposition(|(other, _)| *other == task);
        if let Some(at) = found {
            let (_, cpus) = self.expected.remove(at);
            self.free.add(&cpus);
            self.is_stale = true;
        }
    }

    /// Chooses anew for all that are there, in this order; whether anything is different. Those that
    /// ran when the node told what is free have what it has given out and does not tell to whom, as far as
    /// that is enough.
    pub(crate) fn settle(&mut self, order: Vec<ExpectedPod<'_>>) -> bool {
        let (mut free, mut given) = (self.unassigned.clone(), self.given_untold);
        let chosen = order.into_iter().map(|pod| {
            let ExpectedPod { task, request, ran } = pod;
            let has = request.lasting_cpus();
            if ran && has <= given {
                given -= has;
                return (task, CpuSet::default());
            }
            let cpus = self.layout.take(request, &free);
            free.remove(&cpus);
            (task, cpus)
        });
        let expected: Vec<_> = chosen.collect();
        let changed = self.free != free;
        (self.free, self.expected, self.is_stale) = (free, expected, false);
        changed
    }
}
