//! What happens to trees of groups.

use pumice_model::delta::Delta;
use pumice_model::object::{COMPOSITE_GROUP, CompositePolicy, GroupObject, PodObject};

use super::{Changing, Kind};
use crate::generate::nodes::NAMESPACES;
use crate::generate::{native, trees};

impl Changing {
    /// A CompositePodGroup comes, changes or goes, or a PodGroup changes its count.
    pub(super) fn change_trees(&mut self) -> Vec<Delta> {
        let composites = self.composites();
        let known = composites.is_empty();
        match self.rng.below(4) {
            0 => self.new_composite(),
            _ if known => self.new_composite(),
            1 => {
                let gone = self.rng.pick(&composites);
                self.remove(Kind::Group, &format!("{}/{}", gone.namespace, gone.name))
            }
            2 => {
                let mut changed = self.rng.pick(&composites);
                let number = self.rng.pick(&[1, 1, 2, 3]);
                if let Some(CompositePolicy::Gang(count)) = &mut changed.native.composite {
                    *count = number;
                }
                vec![self.put(Delta::GroupApply(Box::new(changed)))]
            }
            _ => self.change_group(),
        }
    }

    /// One that is made, or made anew under a name that was there before.
    fn new_composite(&mut self) -> Vec<Delta> {
        let namespace = self.rng.pick(NAMESPACES);
        let place = (namespace, self.rng.below(6));
        let queues = self.queue_names();
        let mut composite = trees::composite(&mut self.rng, &self.theme, place, &queues);
        composite.native.parent = self.any_parent(namespace, 2);
        let key = format!("{namespace}/{}", composite.name);
        let mut told = self.remove(Kind::Group, &key);
        told.push(self.put(Delta::GroupApply(Box::new(composite))));
        told
    }

    /// A group that is new becomes a part of some tree, mostly, and its pods name it so.
    pub(super) fn plant(&mut self, group: &mut GroupObject, pods: &mut [PodObject]) {
        if !self.theme.trees || self.rng.one_in(4) {
            return;
        }
        native::make(&mut self.rng, group, pods);
        group.native.parent = self.any_parent(&group.namespace.clone(), 10);
    }

    fn any_parent(&mut self, namespace: &str, odds: usize) -> String {
        let composites = self.composites().into_iter();
        let of_namespace = composites.filter(|one| one.namespace == namespace);
        let names =
            of_namespace.filter_map(|one| Some(one.name.strip_prefix(COMPOSITE_GROUP)?.to_owned()));
        let names: Vec<String> = names.collect();
        trees::parent(&mut self.rng, &names, odds)
    }

    fn composites(&self) -> Vec<GroupObject> {
        let groups = self.objects.values().filter_map(|object| match object {
            Delta::GroupApply(group) => Some(GroupObject::clone(group)),
            _ => None,
        });
        groups
            .filter(|group| group.native.composite.is_some())
            .collect()
    }
}
