//! PodGroups whose pods ask for room, made by whichever controller: the pods that are there, by shape.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PodTemplate, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::name;
use rustc_hash::FxHashMap;

use super::asked::{AskedSet, PodTally, PodsToAskFor, SetTally};
use super::asker::RoomAsker;
use super::wrong_class;
use crate::runtime::{
    ConsumingPod, ManagedRef, ObjectCache, ObjectEvent, Observed, PodShape, PodWait, TrackedPod,
    owning_job,
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
    /// What a PodGroup says, be it Volcano's or one of Kubernetes; `None` for other objects, and for the PodGroup of a Job,
    /// which asks for its pods itself.
    pub fn of(object: &Observed) -> Option<Self> {
        match object {
            Observed::PodGroup(group) if owning_job(&group.metadata).is_none() => {
                let spec = &group.spec;
                let has_parts =
                    !spec.min_task_member.is_empty() || !spec.sub_group_policy.is_empty();
                Some(Self::new(spec.min_member, has_parts))
            }
            Observed::NativeGroup(group) => {
                let gang = group.spec.scheduling_policy.gang.as_ref();
                let least = gang.and_then(|gang| gang.min_count);
                Some(Self::new(least.unwrap_or(0), false))
            }
            _ => None,
        }
    }

    fn new(least: i32, has_parts: bool) -> Self {
        // One pod is no gang: all are asked for together.
        let least = if least > 1 { least } else { 0 };
        Self { least, has_parts }
    }
}

/// Pods of a group to ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupChoice {
    /// Pods that lack nodes.
    pub asked: PodsToAskFor,
    /// They are too few for the gang: others of it do not ask, or are not there yet and nobody has heard of it.
    pub is_short: bool,
    /// When the newest pod without node was made, where no number of pods says that they are all.
    pub newest: Option<Timestamp>,
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
    has_parts: bool,
    /// When the newest pod was made that waits for the request.
    newest: Option<Timestamp>,
    /// Some wait for something else than nodes, as for their queue, or wait in vain.
    is_held: bool,
    /// What the first pod says whose class is none.
    wrong: Option<&'a str>,
    /// Class of one that says another one than the first.
    other: Option<&'a str>,
    /// Some do not wait for the request of their group.
    has_alone: bool,
    /// Some say more than a template takes.
    has_large: bool,
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
        (found.tally.to_start, found.has_parts) = (need.least, need.has_parts);
        for pod in pods {
            let known = cache.pod(&pod.namespace, &pod.name);
            let Some((known, consuming)) =
                known.and_then(|pod| Some((pod, pod.consuming.as_deref()?)))
            else {
                continue;
            };
            match (known.is_over(), known.is_placed()) {
                (true, _) => {}
                (false, true) => found.tally.placed += 1,
                (false, false) => found.take(group, known, consuming),
            }
        }
        found
    }

    /// Takes in a pod without node.
    fn take(&mut self, group: &ManagedRef, pod: &TrackedPod, consuming: &'a ConsumingPod) {
        if !name::is_dns_subdomain(&consuming.class) {
            self.wrong.get_or_insert(&consuming.class);
            return;
        }
        let consumes = consuming.consumes.as_ref();
        let wanted = (group.name.as_str(), &*consuming.class);
        if consumes.is_none_or(|(of, by)| (&**of, &**by) != wanted) {
            self.has_alone = true;
            return;
        }
        if self.class.is_empty() {
            self.class = &consuming.class;
        }
        if *self.class != *consuming.class {
            self.other.get_or_insert(&consuming.class);
            self.is_held = true;
            return;
        }
        self.tally.waits = true;
        self.newest = self.newest.max(pod.created);
        match consuming.wait {
            PodWait::Undecided => self.tally.is_undecided = true,
            PodWait::Otherwise => self.is_held = true,
            PodWait::LacksNode => {
                let Some(shape) = &consuming.shape else {
                    self.has_large = true;
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

    /// Pods to ask for: as many as the gang lacks to start; all where it has started, where parts of it need their own, and
    /// where fewer ask.
    pub fn chosen(&self) -> GroupChoice {
        let lacking: i32 = self.tally.sets.iter().map(|set| set.lacking).sum();
        let missing = self.tally.to_start - self.tally.placed;
        let is_exact = missing <= 0 || !self.has_parts && lacking >= missing;
        let asked = match is_exact {
            true => self.tally.chosen(),
            false if self.is_held || self.tally.is_undecided => PodsToAskFor::default(),
            false => self.tally.all(),
        };
        GroupChoice {
            is_short: missing > lacking && !asked.is_empty(),
            newest: self.newest.filter(|_| missing <= 0),
            asked,
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
                    name: Some(template_name(&asker.request, shape)),
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
        if let Some(other) = self.other {
            all.push(format!(
                "room is asked for by class {}, and pods of the group say another, as {other}, and wait in vain: write \
                 one class on all",
                self.class
            ));
        }
        if self.has_alone {
            all.push(format!(
                "pods of the group have annotation pumice.sh/provisioning-class and not \
                 autoscaling.x-k8s.io/consume-provisioning-request: {} with their class as \
                 autoscaling.x-k8s.io/provisioning-class-name, so they are not asked for: the chart's admission policies \
                 write both as a pod is made that names its PodGroup or has an owner (API server 1.36), or write them \
                 yourself",
                asker.request
            ));
        }
        if self.has_large {
            all.push(format!(
                "pods of the group have more than {} KiB of affinity, volumes and the like, and nothing is asked for \
                 them: make them without annotation pumice.sh/provisioning-class",
                PodShape::MAX_SIZE >> 10
            ));
        }
        all.into_iter().map(|text| asker.says(true, text)).collect()
    }
}

/// Name of the template of pods of a shape.
fn template_name(request: &str, shape: &PodShape) -> String {
    let hash = format!("-{:016x}", shape.hash);
    let end = request.len().min(name::MAX_SUBDOMAIN - hash.len());
    let start = request.get(..end).unwrap_or_default();
    format!("{}{hash}", start.trim_end_matches(['.', '-']))
}
