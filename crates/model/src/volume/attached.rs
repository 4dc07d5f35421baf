//! What is attached to a node, and what a pod would attach: the numbers behind CSI limits.

use std::sync::Arc;

use pumice_devices::Load;

use crate::node::LoadMoment;
use crate::object::{Disk, VolumeSource};

use super::{ClaimIx, ClaimNeed, VolumeNeed, Volumes};

/// What one pod has on its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OnNode {
    /// Volumes that count, each once.
    pub sources: Vec<VolumeSource>,
    /// In-line disks.
    pub disks: Vec<Disk>,
}

/// Things that pods have on a node, with the number of pods that have them.
#[derive(Clone, Debug)]
pub(crate) struct Held<T>(Vec<(T, Holders)>);

/// Pods that have one thing.
#[derive(Clone, Copy, Debug, Default)]
struct Holders {
    all: u32,
    /// Pods among them that are on their way out.
    releasing: u32,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone + PartialEq> Held<T> {
    /// A pod of this load has it too.
    pub(crate) fn add(&mut self, one: &T, load: Load) {
        let at = match self.0.iter().position(|(known, _)| known == one) {
            Some(at) => at,
            None => {
                self.0.push((one.clone(), Holders::default()));
                self.0.len() - 1
            }
        };
        let holders = &mut self.0[at].1;
        holders.all += 1;
        holders.releasing += u32::from(load == Load::Releasing);
    }

    /// The exact inverse, but for the order of entries.
    pub(crate) fn remove(&mut self, one: &T, load: Load) {
        if let Some(at) = self.0.iter().position(|(known, _)| known == one) {
            let holders = &mut self.0[at].1;
            holders.all -= 1;
            holders.releasing -= u32::from(load == Load::Releasing);
            if holders.all == 0 {
                self.0.swap_remove(at);
            }
        }
    }

    /// What somebody has then.
    pub(crate) fn at(&self, moment: LoadMoment) -> impl Iterator<Item = &T> {
        let held = self.0.iter().filter(move |(_, holders)| match moment {
            LoadMoment::Now => true,
            LoadMoment::Released => holders.all > holders.releasing,
        });
        held.map(|(one, _)| one)
    }
}

/// What all pods of a node have there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attached {
    pub(crate) sources: Held<VolumeSource>,
    pub(crate) disks: Held<Disk>,
}

impl Attached {
    pub(crate) fn add(&mut self, pod: &OnNode, load: Load) {
        pod.sources.iter().for_each(|s| self.sources.add(s, load));
        pod.disks.iter().for_each(|d| self.disks.add(d, load));
    }

    /// The exact inverse, but for the order of entries.
    pub(crate) fn remove(&mut self, pod: &OnNode, load: Load) {
        pod.sources
            .iter()
            .for_each(|s| self.sources.remove(s, load));
        pod.disks.iter().for_each(|d| self.disks.remove(d, load));
    }
}

impl Volumes {
    /// Volumes a pod of this need attaches, each existing one once. One that does not exist yet and
    /// that nobody else waits for has an empty handle: it is on no node. Claims of ignored
    /// provisioners and volumes without a driver do not count.
    pub fn new_volumes(&self, need: &VolumeNeed) -> Vec<VolumeSource> {
        let mut all: Vec<VolumeSource> = Vec::new();
        let inline = need.inline.iter().cloned();
        let of_claims = need.claims.iter().filter_map(|claim| match claim {
            ClaimNeed::Bound(volume) => self.source_of(volume).cloned(),
            ClaimNeed::Open(open) => {
                let mut source = self.future_source(&open.class)?;
                if let Some(ix) = open.identity {
                    source.handle = self.claims[ix.at()].future_handle();
                }
                Some(source)
            }
        });
        for source in inline.chain(of_claims) {
            if source.handle.is_empty() || !all.contains(&source) {
                all.push(source);
            }
        }
        all
    }

    /// What a pod has on its node; open claims go by their own name.
    pub(super) fn on_node(
        &self,
        need: &VolumeNeed,
        claims: &[ClaimIx],
        disks: Vec<Disk>,
    ) -> OnNode {
        let mut sources = need.inline.clone();
        for ix in claims {
            let Some(object) = &self.claims[ix.at()].object else {
                continue;
            };
            let source = match object.is_bound() {
                true => self.source_of(&object.volume).cloned(),
                false => self.future_source(object.class_name()).map(|source| {
                    let handle = self.claims[ix.at()].future_handle();
                    VolumeSource { handle, ..source }
                }),
            };
            sources.extend(source);
        }
        sources.sort_unstable();
        sources.dedup();
        OnNode { sources, disks }
    }

    fn source_of(&self, volume: &str) -> Option<&VolumeSource> {
        let source = self.pvs.get(volume)?.object.source.as_ref()?;
        (!self.ignored.contains(&source.driver)).then_some(source)
    }

    /// What a volume of a class will be, without a handle.
    fn future_source(&self, class: &str) -> Option<VolumeSource> {
        let class = self.classes.get(class)?;
        let ignored =
            self.ignored.contains(&class.provisioner) || self.ignored.contains(&class.driver);
        (!ignored && !class.driver.is_empty()).then(|| VolumeSource {
            driver: class.driver.clone(),
            handle: String::new(),
            migrated_from: class.migrated_from.clone(),
        })
    }

    /// Volumes of a driver that are attached, as (node name, volume).
    pub fn attachments<'a>(
        &'a self,
        driver: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a VolumeSource)> {
        self.csi.attachments.values().filter_map(move |attachment| {
            let pv = self.pvs.get(&attachment.volume)?;
            let source = pv.object.source.as_ref()?;
            (source.driver == driver).then_some((attachment.node.as_str(), source))
        })
    }
}

/// What every pod without volumes has on its node.
pub(crate) fn nothing() -> Arc<OnNode> {
    Arc::default()
}
