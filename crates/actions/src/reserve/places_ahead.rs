//! How many places there are for pods on a walk into the future: never too few, so that a moment at which there are not
//! enough need not be tried.

use pumice_framework::Session;
use pumice_framework::sleep::PodClass;
use pumice_model::{JobIx, NodeIx, TaskIx};
use smallvec::SmallVec;

use crate::kernel::Kernel;
use crate::pod_classes::pods_by_class;
use crate::worksheet::placeable;

/// Places of each class.
type ClassPlaces = SmallVec<[i128; 2]>;

/// What a job needs.
pub(super) struct WantedAhead {
    /// So many pods at least.
    pods: i128,
    /// Position of each class of its pods, and how many are of it.
    by_class: SmallVec<[(usize, i128); 2]>,
}

/// The places for pods of some classes, now and at the moments that were passed.
#[derive(Default)]
pub(super) struct PlacesAhead {
    classes: Vec<(PodClass, TaskIx)>,
    /// As many as were counted at first.
    at_first: ClassPlaces,
    /// Those, and what nodes gained and lost since.
    here: ClassPlaces,
    /// As they were once all was done that happens at a moment, the first moment first.
    passed: Vec<(i64, ClassPlaces)>,
}

impl PlacesAhead {
    /// What a job needs; its classes are counted from now on. Nothing was done yet.
    pub fn wanted(&mut self, session: &Session, kernel: &mut Kernel, job: JobIx) -> WantedAhead {
        let (state, plugins) = (&*session.state, &*session.plugins);
        let mut by_class = SmallVec::new();
        for of_class in pods_by_class(state, plugins, placeable(state, job)) {
            let is_it = |(class, _): &(PodClass, TaskIx)| *class == of_class.class;
            let known = self.classes.iter().position(is_it);
            let at = known.unwrap_or_else(|| {
                let places = kernel.places(state, plugins, of_class.sample);
                self.classes.push((of_class.class, of_class.sample));
                self.at_first.push(i128::from(places.most));
                self.here.clone_from(&self.at_first);
                self.classes.len() - 1
            });
            by_class.push((at, i128::from(of_class.count)));
        }
        WantedAhead {
            pods: i128::from(plugins.lacks(state, job).max(1)),
            by_class,
        }
    }

    /// The moment that was passed last.
    pub fn at_s(&self) -> Option<i64> {
        self.passed.last().map(|(at_s, _)| *at_s)
    }

    /// All is done that happens at a moment.
    pub fn note(&mut self, at_s: i64) {
        self.passed.push((at_s, self.here.clone()));
    }

    /// What was done from a moment on, that moment included, is undone.
    pub fn go_back_before(&mut self, before_s: i64) {
        let left = self.passed.partition_point(|(at_s, _)| *at_s < before_s);
        self.passed.truncate(left);
        let last = self.passed.last().map(|(_, counts)| counts);
        self.here.clone_from(last.unwrap_or(&self.at_first));
    }

    /// Whether there may be enough at the moment that was passed last.
    pub fn may_suffice_here(&self, wanted: &WantedAhead) -> bool {
        let last = self.passed.last();
        last.is_some_and(|(_, counts)| may_suffice(counts, wanted))
    }

    /// The first moment that was passed at which there may be enough.
    pub fn first_that_may_suffice(&self, wanted: &WantedAhead) -> Option<i64> {
        let mut passed = self.passed.iter();
        let first = passed.find(|(_, counts)| may_suffice(counts, wanted));
        first.map(|(at_s, _)| *at_s)
    }

    /// A node is about to change.
    pub fn forget(&mut self, session: &Session, kernel: &mut Kernel, node: NodeIx) {
        for (places, (_, sample)) in self.here.iter_mut().zip(&self.classes) {
            *places -= on(session, kernel, *sample, node);
        }
    }

    /// A node has changed.
    pub fn count(&mut self, session: &Session, kernel: &mut Kernel, node: NodeIx) {
        for (places, (_, sample)) in self.here.iter_mut().zip(&self.classes) {
            *places += on(session, kernel, *sample, node);
        }
    }
}

fn may_suffice(counts: &ClassPlaces, wanted: &WantedAhead) -> bool {
    let of_class = |(at, pods): &(usize, i128)| counts[*at].min(*pods);
    wanted.by_class.iter().map(of_class).sum::<i128>() >= wanted.pods
}

/// Places for pods like one on a node.
fn on(session: &Session, kernel: &mut Kernel, sample: TaskIx, node: NodeIx) -> i128 {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let found = kernel.places_among(state, plugins, sample, &[node], u64::MAX);
    i128::from(found.most)
}
