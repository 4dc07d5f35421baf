//! The books of volumes as the objects they were made of.

use super::Volumes;
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::object::PodObject;

/// Values of a map, by key.
fn by_key<'a, K: Ord + 'a, V>(pairs: impl Iterator<Item = (&'a K, V)>) -> Vec<V> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by_key(|(key, _)| *key);
    pairs.into_iter().map(|(_, value)| value).collect()
}

impl Volumes {
    /// Every object, each kind in the order of its names. What is assumed follows from the pods
    /// whose Bindings are on their way.
    pub(crate) fn dump(&self, out: &mut Vec<Delta>) {
        let classes = by_key(self.classes.iter()).into_iter();
        out.extend(classes.map(|class| Delta::StorageClassApply(Box::new(class.clone()))));
        let drivers = by_key(self.csi.drivers.iter()).into_iter();
        out.extend(drivers.map(|driver| Delta::CsiDriverApply(driver.clone())));
        let nodes = by_key(self.csi.nodes.iter()).into_iter();
        out.extend(nodes.map(|node| Delta::CsiNodeApply(Box::new(node.clone()))));
        let capacities = self.capacities.values();
        out.extend(capacities.map(|c| Delta::CsiCapacityApply(Box::new(c.object.clone()))));
        let volumes = by_key(self.pvs.iter()).into_iter();
        out.extend(volumes.map(|pv| Delta::PvApply(Box::new((*pv.object).clone()))));
        let claims = self.claims.iter().map(|claim| (&claim.key, claim));
        let claims = by_key(claims).into_iter();
        let claims = claims.filter_map(|claim| claim.object.clone());
        out.extend(claims.map(|claim| Delta::PvcApply(Box::new(claim))));
        let attachments = self.csi.attachments.values();
        out.extend(attachments.map(|one| Delta::AttachmentApply(Box::new(one.clone()))));
    }

    /// Fills in the volumes of a pod.
    pub(crate) fn fill_in(&self, task: TaskIx, pod: &mut PodObject) {
        let Some(volumes) = self.tasks.get(&task) else {
            return;
        };
        pod.claims = volumes
            .claims
            .iter()
            .map(|(_, claim)| claim.clone())
            .collect();
        (pod.disks, pod.inline_volumes) = volumes.in_line();
    }
}
