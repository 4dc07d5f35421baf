//! Waiting pods, class by class.

use pumice_framework::Plugins;
use pumice_framework::points::ClassKey;
use pumice_framework::sleep::PodClass;
use pumice_model::{State, TaskIx};
use smallvec::SmallVec;

/// Pods of one class.
pub(crate) struct PodsOfClass {
    pub class: PodClass,
    /// The first of them.
    pub sample: TaskIx,
    pub count: u32,
}

/// The class of a pod.
pub(crate) fn class_of(state: &State, chain: &Plugins, task: TaskIx) -> PodClass {
    let signature = chain.signature(state, task).unwrap_or_default();
    (ClassKey::of(state, task), signature)
}

/// Pods by class, in the order of their first ones.
pub(crate) fn pods_by_class(
    state: &State,
    chain: &Plugins,
    pods: impl Iterator<Item = TaskIx>,
) -> SmallVec<[PodsOfClass; 2]> {
    let mut classes: SmallVec<[PodsOfClass; 2]> = SmallVec::new();
    for sample in pods {
        let class = class_of(state, chain, sample);
        match classes.iter_mut().find(|known| known.class == class) {
            Some(known) => known.count += 1,
            None => classes.push(PodsOfClass {
                class,
                sample,
                count: 1,
            }),
        }
    }
    classes
}
