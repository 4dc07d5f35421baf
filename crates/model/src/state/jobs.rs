//! Jobs as PodGroups and bare pods come, change and go.

use super::{Applied, GroupChange, State};
use crate::intern::Sym;
use crate::ix::{JobId, JobIx, TaskIx};
use crate::job::{DirtyFlags, Job, MarkCounts, Origin};
use crate::object::{GroupObject, GroupPhase, GroupStatus, PodObject, PriorityClassObject};
use crate::resource::{ResVec, WideSum};
use crate::task::{STATUSES, Task, TaskStatus};

impl State {
    pub(super) fn new_job(
        &mut self,
        namespace: Sym,
        name: &str,
        uid: &str,
        origin: Origin,
    ) -> JobIx {
        let job = Job {
            serial: self.journal.next_serial(),
            namespace,
            name: name.into(),
            uid: uid.into(),
            created_s: 0,
            origin,
            queue_name: self.default_queue,
            queue: None,
            priority_class: "".into(),
            priority: 0,
            min_available: 1,
            role_min_total: 0,
            min_resources: None,
            admitted: None,
            tasks: Vec::new(),
            by_status: [0; STATUSES],
            pending_best_effort: 0,
            marks: MarkCounts::default(),
            roles: Vec::new(),
            sub_jobs: Vec::new(),
            allocated: ResVec::default(),
            pipelined: ResVec::default(),
            in_doubt: ResVec::default(),
            pending: WideSum::default(),
            total: ResVec::default(),
            gated: ResVec::default(),
            releasing_on_node: 0,
            status: GroupStatus::default(),
            flags: DirtyFlags::default(),
        };
        let ix = JobIx(self.jobs.insert(job) as u32);
        self.touch_job(ix);
        ix
    }

    pub(super) fn apply_group(&mut self, mut group: Box<GroupObject>) -> Applied {
        let key = (
            self.names.intern(&group.namespace),
            self.names.intern(&group.name),
        );
        let ix = match self.job_by_key.get(&key) {
            Some(&ix) => ix,
            None => {
                let ix = self.new_job(key.0, &group.name, &group.uid, Origin::Missing);
                self.job_by_key.insert(key, ix);
                ix
            }
        };
        let known = self.job(ix).group();
        if let Some(known) = known.filter(|known| known.is_native && group.is_native) {
            // Nobody else writes it.
            group.status = known.status.clone();
        }
        if known == Some(&group) {
            return Applied::default();
        }
        self.journal.changed();
        let queue_name = match group.queue.as_str() {
            "" => self.default_queue,
            name => self.names.intern(name),
        };
        let min_resources = group.min_resources.as_ref();
        let min_resources = min_resources.map(|m| self.shapes.counted(&self.resources, m).0);
        let priority = self.priority_of(&group.priority_class);
        let job = &mut self.jobs[ix.at()];
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
        job.set_status(group.status.clone());
        job.roles.iter_mut().for_each(|role| role.min = 0);
        for (role, min) in &group.min_task_member {
            let role = self.names.intern(role);
            Self::role_entry(job, role).min = *min;
        }
        if !group.sub_groups.is_empty() || !job.sub_jobs.is_empty() {
            self.sub_jobs_stale.insert(ix);
        }
        job.origin = Origin::Group(group);
        self.move_job(ix, queue_name);
        self.touch_job(ix);
        Applied {
            group: is_another.then(|| GroupChange::Replaced(self.job_id(ix))),
            ..Applied::default()
        }
    }

    pub(super) fn delete_group(&mut self, namespace: &str, name: &str) -> Applied {
        let Some(ix) = self.job_by_key(namespace, name) else {
            return Applied::default();
        };
        self.journal.changed();
        let job = &mut self.jobs[ix.at()];
        job.origin = Origin::Missing;
        (job.min_resources, job.admitted) = (None, None);
        self.merge_sub_jobs(ix);
        self.move_job(ix, self.default_queue);
        self.touch_job(ix);
        Applied {
            group: Some(GroupChange::Gone(self.job_id(ix))),
            job_gone: self.drop_job_if_empty(ix),
            ..Applied::default()
        }
    }

    /// Lets a job belong to the queue with a name. Without its PodGroup it belongs to none.
    pub(super) fn move_job(&mut self, ix: JobIx, queue_name: Sym) {
        let job = &mut self.jobs[ix.at()];
        self.journal.note(job.queue_name != queue_name);
        job.queue_name = queue_name;
        let found = match job.origin.lacks_group() {
            true => None,
            false => self.queue_by_name.get(&queue_name).copied(),
        };
        if job.queue == found {
            return;
        }
        let claiming = self.counted_of_job(ix);
        claiming.iter().for_each(|task| self.uncount_claims(*task));
        let job = &mut self.jobs[ix.at()];
        if let Some(old) = std::mem::replace(&mut job.queue, found) {
            let queue = &mut self.queues[old.at()];
            queue.allocated.sub(&job.allocated);
            queue.pipelined.sub(&job.pipelined);
            queue.in_doubt.sub(&job.in_doubt);
            queue.pending.shift_sum(&job.pending, -1);
            queue.jobs -= 1;
            self.touch_queue(old);
        }
        let job = &self.jobs[ix.at()];
        if let Some(new) = found {
            let queue = &mut self.queues[new.at()];
            queue.allocated.add(&job.allocated);
            queue.pipelined.add(&job.pipelined);
            queue.in_doubt.add(&job.in_doubt);
            queue.pending.shift_sum(&job.pending, 1);
            queue.jobs += 1;
            self.touch_queue(new);
        }
        claiming.iter().for_each(|task| self.count_claims(*task));
        self.touch_job(ix);
    }

    pub(super) fn priority_of(&self, class: &str) -> i32 {
        self.class_or_default(class).map_or(0, |class| class.value)
    }

    /// The PriorityClass a job names, if there is none of that name. Where no class at all is known they
    /// are not watched, and nothing is said.
    pub fn missing_class_of<'a>(&self, job: &'a Job) -> Option<&'a str> {
        let class = &*job.priority_class;
        let is_missing = !class.is_empty()
            && !self.priority_classes.is_empty()
            && !self.priority_classes.contains_key(class);
        is_missing.then_some(class)
    }

    /// The value of the PriorityClass with a name.
    pub fn priority_class(&self, name: &str) -> Option<i32> {
        self.priority_classes.get(name).map(|class| class.value)
    }

    /// The class with a name; the global default where there is none.
    fn class_or_default(&self, name: &str) -> Option<&PriorityClassObject> {
        self.priority_classes.get(name).or_else(|| {
            let defaults = self.priority_classes.values().filter(|c| c.global_default);
            defaults.max_by_key(|class| (class.value, &class.name))
        })
    }

    /// The pod or its PodGroup says that it is not to be evicted, or says something unreadable of it
    /// (spec/07 §2.3).
    pub fn is_protected_by_mark(&self, ix: TaskIx) -> bool {
        let task = self.task(ix);
        let group = task.job.and_then(|job| self.job(job).group());
        task.preemptable.protects() || group.is_some_and(|group| group.preemptable.protects())
    }

    /// Nobody is evicted for the pod (spec/07 §2.1): its spec says so, or leaves it to a PriorityClass
    /// that does, or its PodGroup has such a class.
    pub fn never_preempts(&self, ix: TaskIx) -> bool {
        let task = self.task(ix);
        if task.job.is_some_and(|job| self.group_never_preempts(job)) {
            return true;
        }
        match task.preempts {
            Some(preempts) => !preempts,
            None => {
                let class = self.class_or_default(self.names.text(task.priority_class));
                class.is_some_and(|class| class.never_preempts)
            }
        }
    }

    /// Whether the PriorityClass of a job's PodGroup says that nobody is evicted for its pods.
    pub fn group_never_preempts(&self, ix: JobIx) -> bool {
        let group = self.job(ix).group();
        let class = group.and_then(|group| self.priority_classes.get(&group.priority_class));
        class.is_some_and(|class| class.never_preempts)
    }

    /// A PriorityClass has changed, has come or is gone.
    pub(super) fn reprioritise(&mut self, changed: &str) {
        self.journal.changed();
        let classes: Vec<(usize, Box<str>)> = self
            .jobs
            .iter()
            .map(|(at, job)| (at, job.priority_class.clone()))
            .collect();
        for (at, class) in classes {
            let priority = self.priority_of(&class);
            let before = std::mem::replace(&mut self.jobs[at].priority, priority);
            if before != priority || *class == *changed {
                self.touch_job(JobIx(at as u32));
            }
        }
    }

    /// Ends a job of which nothing is left; its identity if so.
    pub(super) fn drop_job_if_empty(&mut self, ix: JobIx) -> Option<JobId> {
        let job = self.job(ix);
        if !job.tasks.is_empty() || matches!(job.origin, Origin::Group(_)) {
            return None;
        }
        let id = self.job_id(ix);
        self.retire_job(ix);
        let job = self.jobs.remove(ix.at())?;
        if let Some(queue) = job.queue {
            self.queues[queue.at()].jobs -= 1;
        }
        if job.origin == Origin::Missing
            && let Some(name) = self.names.get(&job.name)
        {
            self.job_by_key.remove(&(job.namespace, name));
        }
        self.sub_jobs_stale.remove(&ix);
        Some(id)
    }

    /// Pods without PodGroup wait for admission again: that they were admitted is written nowhere,
    /// so a restart would not know it either.
    pub fn forget_unwritten_admissions(&mut self) {
        let admitted: Vec<JobIx> = self
            .jobs()
            .filter(|(_, job)| job.origin == Origin::BarePod)
            .filter(|(_, job)| job.status.phase == GroupPhase::Inqueue)
            .map(|(ix, _)| ix)
            .collect();
        for ix in admitted {
            self.set_phase(ix, GroupPhase::Pending);
        }
    }

    /// The job of one of a pod without PodGroup; the one it already has, if any.
    pub(super) fn bare_pod_job(&mut self, pod: &PodObject, task: &Task) -> JobIx {
        let known = self.task_by_uid(&pod.uid);
        let origin = self.origin_without_group(known, task);
        let known = known.and_then(|ix| self.task(ix).job);
        let uid = format!("podgroup-{}", pod.uid);
        let of_one = |job: &Job| matches!(job.origin, Origin::BarePod | Origin::Awaited);
        let ix = match known.filter(|ix| of_one(self.job(*ix))) {
            Some(ix) => ix,
            None => self.new_job(task.namespace, &pod.name, &uid, origin.clone()),
        };
        self.set_origin(ix, origin);
        let queue_name = match &pod.queue {
            Some(name) if !name.is_empty() => self.names.intern(name),
            _ => self.default_queue,
        };
        self.move_job(ix, queue_name);
        let min_resources = Some(self.shapes.get(task.shape).request.clone());
        let priority = self.priority_of(&pod.priority_class);
        let job = &mut self.jobs[ix.at()];
        let same = (job.created_s, job.priority) == (pod.created_s, priority);
        self.journal.note(!same);
        job.created_s = pod.created_s;
        job.priority_class = pod.priority_class.as_str().into();
        job.priority = priority;
        job.min_resources = min_resources;
        // A job of one has no PodGroup whose phase would tell: its pod does.
        job.status.phase = match task.status {
            TaskStatus::Succeeded | TaskStatus::Failed => GroupPhase::Completed,
            TaskStatus::Pending => job.status.phase,
            _ => GroupPhase::Running,
        };
        self.touch_job(ix);
        ix
    }
}
