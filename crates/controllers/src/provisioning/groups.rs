//! PodGroups whose pods ask for room, made by whichever controller: the pods that are there, by shape.

use k8s_openapi::api::core::v1::{PodTemplate, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::{PodGroup, name};
use rustc_hash::FxHashMap;

use super::asked::{AskedSet, PodTally, PodsToAskFor, SetTally};
use super::{RoomAsker, wrong_class};
use crate::runtime::{
    ConsumingPod, ManagedRef, ObjectCache, ObjectEvent, Observed, PodShape, PodWait, TrackedPhase,
    TrackedPod,
};

/// What a PodGroup says of how many of its pods have to start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupNeed {
    /// Fewest pods.
    pub least: i32,
    /// Parts of the group need some of their own, so that not every choice of as many pods starts it.
    pub has_parts: bool,
}

impl GroupNeed {
    /// What a PodGroup says, be it Volcano's or one of Kubernetes; `None` for other objects.
    pub fn of(object: &Observed) -> Option<Self> {
        match object {
            Observed::PodGroup(group) => Some(Self::of_volcano(group)),
            Observed::NativeGroup(group) => {
                let gang = group.spec.scheduling_policy.gang.as_ref();
                Some(Self {
                    least: gang.and_then(|gang| gang.min_count).unwrap_or(0),
                    has_parts: false,
                })
            }
            _ => None,
        }
    }

    fn of_volcano(group: &PodGroup) -> Self {
        let spec = &group.spec;
        Self {
            least: spec.min_member,
            has_parts: !spec.min_task_member.is_empty() || !spec.sub_group_policy.is_empty(),
        }
    }
}

/// Pods of a PodGroup that ask.
#[derive(Debug, Default)]
pub struct GroupPods<'a> {
    /// Class of the first that waits for the request of the group; the others are to say the same.
    pub class: &'a str,
    /// Shapes of those that lack nodes, as the sets of `tally` have them.
    shapes: Vec<&'a PodShape>,
    /// Where the shape with each hash stands among them.
    places: FxHashMap<u64, usize>,
    tally: PodTally,
    /// Some wait for something else than nodes, as for their queue, or wait in vain.
    is_held: bool,
    /// What the first pod says whose class is none.
    wrong: Option<&'a str>,
    /// Pods of another class than the first one's, and the class of one.
    others: (usize, &'a str),
    /// Pods that do not wait for the request of their group, and how one is called.
    alone: (usize, &'a str),
    /// Pods that say more than a template takes, and how one is called.
    large: (usize, &'a str),
}

impl<'a> GroupPods<'a> {
    /// Looks at the pods of a group that are known to ask.
    pub fn of(
        group: &ManagedRef,
        need: GroupNeed,
        pods: impl Iterator<Item = &'a ManagedRef>,
        cache: &'a ObjectCache,
    ) -> Self {
        let mut found = Self::default();
        found.tally.to_start = need.least;
        for pod in pods {
            let known = cache.pod(&pod.namespace, &pod.name);
            let Some((known, consuming)) =
                known.and_then(|pod| Some((pod, pod.consuming.as_deref()?)))
            else {
                continue;
            };
            let is_over = known.deleted.is_some() || known.phase == TrackedPhase::Failed;
            match is_over {
                true => {}
                false if known.is_bound || known.phase == TrackedPhase::Succeeded => {
                    found.tally.placed += 1;
                }
                false => found.waits(group, known, consuming),
            }
        }
        found
    }

    /// Takes in a pod without node.
    fn waits(&mut self, group: &ManagedRef, pod: &'a TrackedPod, consuming: &'a ConsumingPod) {
        if !name::is_dns_subdomain(&consuming.class) {
            self.wrong.get_or_insert(&consuming.class);
            return;
        }
        let consumes = consuming.consumes.as_ref();
        let wanted = (group.name.as_str(), &*consuming.class);
        if consumes.is_none_or(|(of, by)| (&**of, &**by) != wanted) {
            self.alone = (self.alone.0 + 1, &pod.name);
            return;
        }
        if self.class.is_empty() {
            self.class = &consuming.class;
        }
        if *self.class != *consuming.class {
            self.others = (self.others.0 + 1, &consuming.class);
            self.is_held = true;
            return;
        }
        self.tally.waits = true;
        match consuming.wait {
            PodWait::Undecided => self.tally.is_undecided = true,
            PodWait::Otherwise => self.is_held = true,
            PodWait::LacksNode => {
                let Some(shape) = &consuming.shape else {
                    self.large = (self.large.0 + 1, &pod.name);
                    self.is_held = true;
                    return;
                };
                let sets = &mut self.tally.sets;
                let at = *self.places.entry(shape.hash).or_insert_with(|| {
                    self.shapes.push(shape);
                    sets.push(SetTally::default());
                    sets.len() - 1
                });
                if let Some(set) = sets.get_mut(at) {
                    set.lacking += 1;
                }
            }
        }
    }

    /// Pods to ask for. Where those that ask are too few for the gang, the others are bought for one by one.
    pub fn chosen(&self, need: GroupNeed) -> PodsToAskFor {
        let is_known = !self.is_held && !self.tally.is_undecided;
        match self.tally.chosen() {
            chosen if chosen.is_empty() || need.has_parts => match is_known {
                true => self.tally.all(),
                false => PodsToAskFor::default(),
            },
            chosen => chosen,
        }
    }

    /// Some pod waits for the request.
    pub fn wait(&self) -> bool {
        self.tally.waits
    }

    /// Templates of these sets; `None` if a shape cannot be read, which is never.
    pub fn templates(&self, asker: &RoomAsker<'_>, sets: &[AskedSet]) -> Option<Vec<PodTemplate>> {
        let template = |set: &AskedSet| {
            let shape = self.shapes.get(set.at)?;
            let spec: PodTemplateSpec = serde_json::from_str(&shape.text).ok()?;
            Some(PodTemplate {
                metadata: ObjectMeta {
                    name: Some(format!("{}-{:016x}", asker.request, shape.hash)),
                    namespace: Some(asker.of.namespace.clone()),
                    owner_references: Some(vec![asker.owner()]),
                    ..ObjectMeta::default()
                },
                template: Some(spec),
            })
        };
        sets.iter().map(template).collect()
    }

    /// What the pods say wrong.
    pub fn complaints(&self, asker: &RoomAsker<'_>) -> Vec<ObjectEvent> {
        let wrong = self.wrong.map(wrong_class);
        let mut all: Vec<String> = wrong.into_iter().collect();
        if let (number @ 1.., other) = self.others {
            all.push(format!(
                "room is asked for by class {}, and {number} pods of the group say another, as {other}, and wait in \
                 vain: write one class on all",
                self.class
            ));
        }
        if let (number @ 1.., one) = self.alone {
            all.push(format!(
                "{number} pods, as {one}, have annotation pumice.sh/provisioning-class and not \
                 autoscaling.x-k8s.io/consume-provisioning-request: {} with their class as \
                 autoscaling.x-k8s.io/provisioning-class-name, so nodes are bought for each of them: the admission \
                 policies of the chart write these as a pod is made (API server 1.36), or write them yourself",
                asker.request
            ));
        }
        if let (number @ 1.., one) = self.large {
            all.push(format!(
                "{number} pods, as {one}, have more than {} KiB of affinity, volumes and the like, and nothing is asked \
                 for them: make them without annotation pumice.sh/provisioning-class",
                PodShape::MAX_SIZE >> 10
            ));
        }
        all.into_iter().map(|text| asker.says(true, text)).collect()
    }
}
