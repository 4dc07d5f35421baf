//! Which of its pods a gang can do without (spec/07 §3): those beyond its minimum, beyond that of their role
//! and beyond that of their sub-group.

use std::collections::BTreeMap;

use crate::naive::gates;
use crate::naive::state::{SubJob, Task, World};

/// How many more it can do without: `None` is any number.
#[derive(Default)]
pub struct Spare {
    all: Option<i64>,
    of_role: BTreeMap<String, i64>,
    of_group: BTreeMap<SubJob, i64>,
}

impl Spare {
    /// What a job has beyond its minima.
    pub fn of(world: &World, key: &str) -> Self {
        let tasks = world.tasks_of(key);
        let live = tasks
            .iter()
            .filter(|task| world.gang_status(task).is_allocated());
        let live: Vec<_> = live.collect();
        let job = &world.jobs[key];
        let mut of_role = BTreeMap::new();
        if !gates::roles_are_skipped(job) {
            for (role, min) in &job.group.min_task_member {
                let number = live.iter().filter(|task| task.pod.role == *role).count();
                if *min > 0 {
                    of_role.insert(role.clone(), number as i64 - i64::from(*min));
                }
            }
        }
        // Sub-groups that run whole.
        let mut of_group: BTreeMap<SubJob, i64> = BTreeMap::new();
        for sub_job in tasks.iter().map(|task| &task.sub_job) {
            let number = live.iter().filter(|task| task.sub_job == *sub_job).count() as i64;
            let min = gates::sub_job_min(job, sub_job);
            if sub_job.policy.is_some() && number >= min {
                of_group.insert(sub_job.clone(), number - min);
            }
        }
        Self {
            all: Some(live.len() as i64 - i64::from(job.group.min_member)),
            of_role,
            of_group,
        }
    }

    /// What it has for one of its own pods: that one takes the place of another of its role and sub-group. A gang
    /// that lacks pods gives whatever it has.
    pub fn for_own(world: &World, key: &str, comes: &Task) -> Self {
        if !gates::is_placed(world, key) || !gates::roles_are_placed(world, key) {
            return Self::default();
        }
        let mut spare = Self::of(world, key);
        spare.all = None;
        let of_role = spare.of_role.get_mut(&comes.pod.role);
        let of_group = spare.of_group.get_mut(&comes.sub_job);
        for left in of_role.into_iter().chain(of_group) {
            *left = (*left).max(0) + 1;
        }
        spare
    }

    /// Takes the pod if it can be done without.
    pub fn take(&mut self, task: &Task) -> bool {
        let of_role = self.of_role.get_mut(&task.pod.role);
        let of_group = self.of_group.get_mut(&task.sub_job);
        let limits = self.all.as_mut().into_iter();
        let mut limits: Vec<&mut i64> = limits.chain(of_role).chain(of_group).collect();
        let has = limits.iter().all(|left| **left > 0);
        if has {
            limits.iter_mut().for_each(|left| **left -= 1);
        }
        has
    }
}
