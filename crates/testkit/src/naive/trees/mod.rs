//! Trees of PodGroups of Kubernetes itself (spec/03 §B11): which PodGroups are one job, and when a part of it holds.

mod allocate;
mod reading;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use pumice_model::object::TopologyRequest;

pub use allocate::allocate;
pub use reading::{Member, units};

use super::cycle::Cycle;
use super::gates;
use super::order;
use super::state::{Status, SubJob, Task, World};

/// A part of a tree: a PodGroup, or a CompositePodGroup with the parts that name it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name of the object, without what tells its kind.
    pub name: String,
    /// So many pods, or parts that hold, are needed for it to hold.
    pub needs: usize,
    /// The label of which all nodes of its pods have to have one value.
    pub topology: Option<TopologyRequest>,
    /// What it is made of.
    pub content: Content,
}

/// What a part is made of.
#[derive(Clone, Debug)]
pub enum Content {
    /// Pods: index of the policy of its job that stands for the PodGroup.
    Pods(usize),
    /// Other parts.
    Parts(Vec<Part>),
}

impl Part {
    /// Parts right below.
    pub fn parts(&self) -> &[Part] {
        match &self.content {
            Content::Pods(_) => &[],
            Content::Parts(parts) => parts,
        }
    }

    /// Policies of all PodGroups in it.
    pub fn policies(&self) -> BTreeSet<usize> {
        match &self.content {
            Content::Pods(policy) => BTreeSet::from([*policy]),
            Content::Parts(parts) => parts.iter().flat_map(Part::policies).collect(),
        }
    }

    /// It, or a part of it, keeps to one value of a label.
    pub fn asks(&self) -> bool {
        self.topology.is_some() || self.parts().iter().any(Self::asks)
    }

    /// It and all parts below.
    pub fn all(&self) -> Vec<&Part> {
        let below = self.parts().iter().flat_map(Self::all);
        std::iter::once(self).chain(below).collect()
    }

    /// All parts around the PodGroup of that policy, itself included, the outermost first.
    pub fn around(&self, policy: usize) -> Vec<&Part> {
        let mut around: Vec<&Part> = self.all();
        around.retain(|part| part.policies().contains(&policy));
        around
    }

    /// The least number of pods with which it holds, with the parts there are; none where these are too few.
    pub fn least_pods(&self) -> Option<usize> {
        let Content::Parts(parts) = &self.content else {
            return Some(self.needs);
        };
        let mut least: Vec<usize> = parts.iter().filter_map(Part::least_pods).collect();
        least.sort_unstable();
        let all = least.get(..self.needs)?;
        Some(all.iter().sum())
    }

    /// The least number of pods with which it would hold if each part that is still to be made had one pod.
    pub fn least_pods_with_more_parts(&self) -> usize {
        let Content::Parts(parts) = &self.content else {
            return self.needs;
        };
        let least = parts.iter().map(Part::least_pods_with_more_parts);
        let mut least: Vec<usize> = least.collect();
        least.sort_unstable();
        let missing = self.needs.saturating_sub(least.len());
        least.iter().take(self.needs).sum::<usize>() + missing
    }
}

/// Tasks of the PodGroups in a part.
pub fn tasks<'a>(world: &'a World, job: &str, part: &Part) -> Vec<&'a Task> {
    let policies = part.policies();
    let mut tasks = world.tasks_of(job);
    tasks.retain(|task| {
        let policy = task.sub_job.policy;
        policy.is_some_and(|policy| policies.contains(&policy))
    });
    tasks
}

/// The part holds with these pods.
pub fn holds(world: &World, job: &str, part: &Part, counts: &dyn Fn(&Task) -> bool) -> bool {
    let number = match &part.content {
        Content::Pods(_) => {
            let tasks = tasks(world, job, part).into_iter();
            tasks.filter(|task| counts(task)).count()
        }
        Content::Parts(parts) => {
            let parts = parts.iter();
            parts.filter(|part| holds(world, job, part, counts)).count()
        }
    };
    number >= part.needs
}

/// The root of the tree of a job holds with the pods of these states.
pub fn root_holds(world: &World, job: &str, counts: &dyn Fn(Status) -> bool) -> bool {
    let tree = world.jobs[job].tree.as_ref();
    let counts = |task: &Task| counts(world.gang_status(task));
    tree.is_some_and(|root| holds(world, job, root, &counts))
}

/// The root holds and, for each pod that would be bound now, all parts around that pod.
pub fn gang_holds(world: &World, job: &str, root: &Part, counts: &dyn Fn(Status) -> bool) -> bool {
    let tasks = world.tasks_of(job).into_iter();
    let placed = tasks.filter(|task| task.status == Status::Allocated);
    let policies: BTreeSet<usize> = placed.filter_map(|task| task.sub_job.policy).collect();
    let counts = |task: &Task| counts(world.gang_status(task));
    let mut around = policies.iter().flat_map(|policy| root.around(*policy));
    holds(world, job, root, &counts) && around.all(|part| holds(world, job, part, &counts))
}

/// The part would hold with all pods that have a place or may have one.
fn may_hold(world: &World, job: &str, part: &Part) -> bool {
    let may_count = |task: &Task| gates::is_valid(world.gang_status(task));
    holds(world, job, part, &may_count)
}

/// How many pods a part lacks at least, whether or not they are there; none where it has no pods, or too few such parts.
fn lacks(world: &World, job: &str, part: &Part) -> Option<usize> {
    let Content::Parts(parts) = &part.content else {
        let tasks = tasks(world, job, part);
        let counts = |task: &&&Task| gates::counts(world.gang_status(task), true);
        let there = tasks.iter().filter(counts).count();
        return (!tasks.is_empty()).then(|| part.needs.saturating_sub(there));
    };
    let lacking = parts.iter().filter_map(|part| lacks(world, job, part));
    let mut lacking: Vec<usize> = lacking.collect();
    lacking.sort_unstable();
    Some(lacking.get(..part.needs)?.iter().sum())
}

/// The order in which parts of one part are tried: those that lack fewest pods first, of equals PodGroups by
/// SubJobOrder, then CompositePodGroups by name.
fn order(cycle: &Cycle, job: &str, l: &Part, r: &Part) -> Ordering {
    let world = &cycle.world;
    let lack = |part: &Part| (!may_hold(world, job, part), lacks(world, job, part));
    let by_content = || match (&l.content, &r.content) {
        (Content::Pods(l), Content::Pods(r)) => {
            let sub_job = |policy: usize| sub_job(world, job, policy);
            order::sub_jobs(cycle, job, &sub_job(*l), &sub_job(*r))
        }
        (Content::Pods(_), Content::Parts(_)) => Ordering::Less,
        (Content::Parts(_), Content::Pods(_)) => Ordering::Greater,
        (Content::Parts(_), Content::Parts(_)) => l.name.cmp(&r.name),
    };
    lack(l).cmp(&lack(r)).then_with(by_content)
}

/// The sub-job that stands for the PodGroup of a policy.
fn sub_job(world: &World, job: &str, policy: usize) -> SubJob {
    reading::sub_job(job, policy, &world.jobs[job].group.sub_groups[policy].name)
}
