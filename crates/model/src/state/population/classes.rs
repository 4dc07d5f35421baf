//! PriorityClasses, and what they say of pods and jobs.

use rustc_hash::FxHashMap;

use super::{JobBooks, Population};
use crate::ix::{JobIx, TaskIx};
use crate::job::Job;
use crate::object::{GroupObject, PriorityClassObject};

/// PriorityClasses by name.
#[derive(Clone, Default)]
pub struct PriorityClasses(FxHashMap<String, PriorityClassObject>);

impl PriorityClasses {
    /// The value of the PriorityClass with a name.
    pub fn value(&self, name: &str) -> Option<i32> {
        self.0.get(name).map(|class| class.value)
    }

    /// The PriorityClass a job names, if there is none of that name. Where no class at all is known they
    /// are not watched, and nothing is said.
    pub fn missing<'a>(&self, job: &'a Job) -> Option<&'a str> {
        let class = &*job.priority_class;
        if job
            .group()
            .is_some_and(|group| group.native.priority.is_some())
        {
            return None;
        }
        let is_missing = !class.is_empty() && !self.0.is_empty() && !self.0.contains_key(class);
        is_missing.then_some(class)
    }

    /// All of them, in the order of their names.
    pub(in crate::state) fn by_name(&self) -> Vec<&PriorityClassObject> {
        let mut classes: Vec<_> = self.0.values().collect();
        classes.sort_by_key(|class| &class.name);
        classes
    }

    /// The priority of pods of a class.
    pub(super) fn priority(&self, name: &str) -> i32 {
        self.or_default(name).map_or(0, |class| class.value)
    }

    /// The priority of a PodGroup.
    pub(super) fn priority_of(&self, group: &GroupObject) -> i32 {
        let own = group.native.priority;
        own.unwrap_or_else(|| self.priority(&group.priority_class))
    }

    /// The class with a name; the global default where there is none.
    fn or_default(&self, name: &str) -> Option<&PriorityClassObject> {
        self.0.get(name).or_else(|| {
            let defaults = self.0.values().filter(|class| class.global_default);
            defaults.max_by_key(|class| (class.value, &class.name))
        })
    }
}

impl Population {
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
                let class = self.names.text(task.priority_class);
                let class = self.classes.or_default(class);
                class.is_some_and(|class| class.never_preempts)
            }
        }
    }

    /// Whether a job's PodGroup, or its PriorityClass, says that nobody is evicted for its pods.
    pub fn group_never_preempts(&self, ix: JobIx) -> bool {
        let Some(group) = self.job(ix).group() else {
            return false;
        };
        let class = self.classes.0.get(&group.priority_class);
        group.native.never_preempts || class.is_some_and(|class| class.never_preempts)
    }
}

impl JobBooks<'_> {
    /// Takes in a PriorityClass as its object tells.
    pub fn apply_class(&mut self, class: PriorityClassObject) {
        let name = class.name.clone();
        let classes = &mut self.population.classes.0;
        if classes.insert(name.clone(), class.clone()) != Some(class) {
            self.reprioritise(&name);
        }
    }

    /// A PriorityClass is gone.
    pub fn delete_class(&mut self, name: &str) {
        if self.population.classes.0.remove(name).is_some() {
            self.reprioritise(name);
        }
    }

    /// A PriorityClass has changed, has come or is gone.
    fn reprioritise(&mut self, changed: &str) {
        self.journal.changed();
        let Population { jobs, classes, .. } = &mut *self.population;
        let mut touched = Vec::new();
        for (at, job) in jobs.iter_mut() {
            let priority = match job.group() {
                Some(group) => classes.priority_of(group),
                None => classes.priority(&job.priority_class),
            };
            let before = std::mem::replace(&mut job.priority, priority);
            if before != priority || *job.priority_class == *changed {
                touched.push(JobIx(at as u32));
            }
        }
        touched
            .into_iter()
            .for_each(|ix| self.population.touch_job(ix, self.journal));
    }
}
