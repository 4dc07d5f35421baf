//! PodGroups, and what takes their place for pods without one.

use super::JobBooks;
use crate::intern::Sym;
use crate::ix::{JobIx, TaskIx};
use crate::job::{Job, Origin};
use crate::object::{GroupObject, GroupPhase, GroupStatus, PodObject};
use crate::resource::ResVec;
use crate::state::population::GroupTrees;
use crate::state::{Applied, GroupChange, PodChange};
use crate::task::{Task, TaskStatus};

impl JobBooks<'_> {
    /// The job of a PodGroup, made when missing.
    pub fn group_job(&mut self, namespace: &str, name: &str, uid: &str) -> JobIx {
        let names = &mut self.population.names;
        let key = (names.intern(namespace), names.intern(name));
        if let Some(&ix) = self.population.job_by_key.get(&key) {
            return ix;
        }
        let ix = self.new_job(key.0, name, uid, Origin::Missing);
        self.population.job_by_key.insert(key, ix);
        ix
    }

    /// CompositePodGroups, and the PodGroups that name one, to be changed.
    pub fn trees(&mut self) -> &mut GroupTrees {
        &mut self.population.trees
    }

    /// The job of pods that name a PodGroup: that of its tree, if it is part of one.
    pub fn job_of_pods(&mut self, namespace: &str, group: &str) -> JobIx {
        let trees = self.population.trees();
        if trees.are_none() {
            return self.group_job(namespace, group, "");
        }
        let name = trees.job_name(namespace, group).to_owned();
        self.group_job(namespace, &name, "")
    }

    /// The name of the queue that an object names: the default one where it names none.
    fn queue_named(&mut self, name: &str) -> Sym {
        match name {
            "" => self.population.default_queue,
            name => self.population.names.intern(name),
        }
    }

    /// A PodGroup as it counts for a job, if that is news.
    pub fn news_of_group(
        &self,
        ix: JobIx,
        mut group: Box<GroupObject>,
    ) -> Option<Box<GroupObject>> {
        let known = self.population.job(ix).group();
        let says_as_known = |known: &&GroupObject| {
            let conditions = known.status.native_conditions();
            let is_same = known.is_native && known.uid == group.uid;
            is_same && conditions == group.status.native_conditions()
        };
        if let Some(known) = known.filter(says_as_known) {
            // The object says less than is known. What it says otherwise was written by who led before.
            group.status = known.status.clone();
        }
        (known != Some(&group)).then_some(group)
    }

    /// Takes in the PodGroup of a job, with the amounts it needs at least.
    pub fn set_group(
        &mut self,
        ix: JobIx,
        group: Box<GroupObject>,
        min_resources: Option<ResVec>,
    ) -> Applied {
        self.journal.changed();
        let queue_name = self.queue_named(&group.queue);
        let is_another = self.write_group(ix, group, min_resources);
        self.move_job(ix, queue_name);
        self.touch(ix);
        Applied {
            group: is_another.then(|| GroupChange::Replaced(self.population.job_id(ix))),
            ..Applied::default()
        }
    }

    /// What a PodGroup says of its job, but for the queue; whether it is another one of the same name.
    fn write_group(
        &mut self,
        ix: JobIx,
        group: Box<GroupObject>,
        min_resources: Option<ResVec>,
    ) -> bool {
        let priority = self.population.classes.priority_of(&group);
        let job = &mut self.population.jobs[ix.at()];
        let is_another = *job.uid != *group.uid;
        if is_another {
            job.admitted = None;
        }
        job.uid = group.uid.as_str().into();
        job.created_s = group.created_s;
        job.priority_class = group.priority_class.as_str().into();
        job.priority = priority;
        job.min_available = group.min_member;
        let minima = group.min_task_member.iter().map(|(_, min)| *min);
        job.role_min_total = minima.fold(0, i32::saturating_add);
        job.min_resources = min_resources;
        // A request that lands late may take back what was said for ever: it is known, and said again.
        let is_known = group.is_native && !is_another && job.status.says_placed();
        if !is_known || group.status.says_placed() {
            job.set_status(group.status.clone());
        }
        job.roles.iter_mut().for_each(|role| role.min = 0);
        for (role, min) in &group.min_task_member {
            let role = self.population.names.intern(role);
            job.role_entry(role).min = *min;
        }
        if !group.sub_groups.is_empty() || !job.sub_jobs.is_empty() {
            self.population.sub_jobs_stale.insert(ix);
        }
        job.origin = Origin::Group(group);
        is_another
    }

    /// A PodGroup is gone.
    pub fn delete_group(&mut self, namespace: &str, name: &str) -> Applied {
        let Some(ix) = self.population.job_by_key(namespace, name) else {
            return Applied::default();
        };
        self.journal.changed();
        let job = self.population.job_mut(ix);
        job.origin = Origin::Missing;
        (job.min_resources, job.admitted) = (None, None);
        self.merge_sub_jobs(ix);
        self.move_job(ix, self.population.default_queue);
        self.touch(ix);
        Applied {
            group: Some(GroupChange::Gone(self.population.job_id(ix))),
            job_gone: self.drop_if_empty(ix),
            ..Applied::default()
        }
    }

    /// Replaces the PodGroup status of a job, as written to the cluster.
    pub fn set_group_status(&mut self, ix: JobIx, status: GroupStatus) {
        let job = self.population.job_mut(ix);
        if let Origin::Group(group) = &mut job.origin
            && group.status != status
        {
            group.status = status.clone();
            job.set_status(status);
            self.journal.changed();
            self.touch(ix);
        }
    }

    /// The job of one of a pod without PodGroup; the one it already has, if any.
    pub fn job_of_one(&mut self, pod: &PodObject, task: &Task, request: ResVec) -> JobIx {
        let known = self.population.task_by_uid(&pod.uid);
        let origin = self.origin_without_group(known, task);
        let known = known.and_then(|ix| self.population.task(ix).job);
        let of_one = |job: &Job| matches!(job.origin, Origin::BarePod | Origin::Awaited);
        let ix = match known.filter(|ix| of_one(self.population.job(*ix))) {
            Some(ix) => ix,
            None => {
                let uid = format!("podgroup-{}", pod.uid);
                self.new_job(task.namespace, &pod.name, &uid, origin.clone())
            }
        };
        self.set_origin(ix, origin);
        let queue_name = self.queue_named(pod.queue.as_deref().unwrap_or_default());
        self.move_job(ix, queue_name);
        let priority = self.population.classes.priority(&pod.priority_class);
        let job = self.population.job_mut(ix);
        let same = (job.created_s, job.priority) == (pod.created_s, priority);
        self.journal.note(!same);
        job.created_s = pod.created_s;
        job.priority_class = pod.priority_class.as_str().into();
        job.priority = priority;
        job.min_resources = Some(request);
        // A job of one has no PodGroup whose phase would tell: its pod does.
        job.status.phase = match task.status {
            TaskStatus::Succeeded | TaskStatus::Failed => GroupPhase::Completed,
            TaskStatus::Pending => job.status.phase,
            _ => GroupPhase::Running,
        };
        self.touch(ix);
        ix
    }

    /// A known pod was read, which was of this job before.
    pub fn pod_read(&mut self, ix: TaskIx, old_job: Option<JobIx>) -> Applied {
        let task = self.population.task_id(ix);
        let left = old_job.filter(|job| self.population.task(ix).job != Some(*job));
        Applied {
            pod: Some(PodChange::Read {
                task,
                left: left.map(|job| self.population.job_id(job)),
            }),
            job_gone: left.and_then(|job| self.drop_if_empty(job)),
            ..Applied::default()
        }
    }
}
