//! What somebody who asks wants, what there is of it, and what follows.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pumice_api::ProvisioningRequest;

use super::asked::PodsToAskFor;
use super::verdict::AutoscalerVerdict;
use super::writes;
use crate::runtime::{
    ApiWrite, ManagedKind, ManagedRef, ObjectCache, ObjectEvent, Reconciliation, controller_of,
};

/// Event on who asks: what was asked for, and what became of it.
pub const REASON: &str = "Provisioning";

/// How many sets of pods a ProvisioningRequest may have.
const MAX_SETS: usize = 32;

/// After a refusal it is asked again this much later.
const PAUSE: SignedDuration = SignedDuration::from_mins(5);

/// Templates that were written: UID of who asks, name.
pub type WrittenTemplates = BTreeSet<(String, String)>;

/// Who asks: a Job, or a PodGroup of either kind.
pub struct RoomAsker<'a> {
    /// The object.
    pub of: &'a ManagedRef,
    /// Metadata of the object.
    pub meta: &'a ObjectMeta,
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Class of the request; empty where nobody asks.
    pub class: &'a str,
    /// Name of its request.
    pub request: String,
}

/// What somebody asks for.
pub struct RoomWish<'a> {
    /// Pods that lack nodes.
    pub asked: &'a PodsToAskFor,
    /// Some pod without node waits for the request.
    pub waits: bool,
    /// Templates of the sets of pods; `None` where they cannot be made, which is told elsewhere.
    pub templates: &'a dyn Fn() -> Option<Vec<PodTemplate>>,
}

impl RoomAsker<'_> {
    /// What is to be done for a wish.
    pub fn settle(
        &self,
        wish: &RoomWish<'_>,
        cache: &ObjectCache,
        written: &WrittenTemplates,
        now: Timestamp,
    ) -> Reconciliation {
        let kind = self.of.kind.path().kind;
        let there = cache.provisioning_request(&self.of.namespace, &self.request);
        match there {
            Some(request) if !is_of(request, self.meta) => {
                let text = format!(
                    "ProvisioningRequest {} is not of this {kind}: delete it, and room is asked for",
                    self.request
                );
                let found = self.only_says(true, text);
                let again_at = now.checked_add(PAUSE).ok();
                Reconciliation { again_at, ..found }
            }
            Some(request) if !wish.waits && is_open(request) => self.takes_back(cache),
            Some(request) => self.judge(request, wish, now),
            None if wish.asked.is_empty() => Reconciliation::nothing(),
            None if !cache.is_followed(ManagedKind::ProvisioningRequest) => {
                let text = format!(
                    "the API server has no ProvisioningRequest of autoscaling.x-k8s.io/v1, so no nodes are bought for \
                     this {kind}: install the definition of Cluster Autoscaler, or make it without annotation \
                     pumice.sh/provisioning-class"
                );
                let found = self.only_says(true, text);
                let again_at = now.checked_add(PAUSE).ok();
                Reconciliation { again_at, ..found }
            }
            None if wish.asked.sets().len() > MAX_SETS => {
                let what = match self.of.kind {
                    ManagedKind::Job => "tasks",
                    _ => "kinds of pods",
                };
                let text = format!(
                    "{} {what} lack nodes, and a ProvisioningRequest has {MAX_SETS} sets of pods at most: use fewer \
                     {what}, or make it without annotation pumice.sh/provisioning-class",
                    wish.asked.sets().len()
                );
                self.only_says(true, text)
            }
            None => self.ask(wish, written),
        }
    }

    /// Writes the templates, and once they are there the request.
    fn ask(&self, wish: &RoomWish<'_>, written: &WrittenTemplates) -> Reconciliation {
        let Some(templates) = (wish.templates)() else {
            return Reconciliation::nothing();
        };
        let is_new = |template: &&PodTemplate| {
            let name = template.metadata.name.clone().unwrap_or_default();
            let known = (uid(self.meta).to_owned(), name);
            !written.contains(&known)
        };
        let missing = templates.iter().filter(is_new);
        let mut writes: Vec<ApiWrite> = missing.filter_map(writes::template).collect();
        if writes.is_empty() {
            writes = vec![writes::request(self, wish.asked, &templates)];
        }
        let found = self.only_says(false, wish.asked.words(&self.request, self.class));
        Reconciliation { writes, ..found }
    }

    /// What the autoscaler says of the request; one that is over and has not helped is deleted after a pause.
    fn judge(
        &self,
        request: &ProvisioningRequest,
        wish: &RoomWish<'_>,
        now: Timestamp,
    ) -> Reconciliation {
        let verdict = AutoscalerVerdict::of(request);
        let is_going = request.metadata.deletion_timestamp.is_some();
        let is_other = request.spec.provisioning_class_name != self.class;
        let again_at = verdict.over_since.map(|since| {
            let at = since.max(Timestamp::UNIX_EPOCH).checked_add(PAUSE);
            at.unwrap_or(Timestamp::MAX)
        });
        let lacks = !wish.asked.is_empty();
        let mut found = match verdict.words(request, again_at.filter(|_| lacks), lacks) {
            Some((warning, text)) => self.only_says(warning, text),
            None => Reconciliation::nothing(),
        };
        let is_due = again_at.is_some_and(|at| at <= now);
        if !is_going && (is_other || lacks && is_due) {
            found.writes.extend(writes::delete(self.of, request));
        } else if lacks && !is_going {
            found.again_at = again_at;
        }
        found
    }

    /// Deletes its request as long as nothing came of that.
    pub fn takes_back(&self, cache: &ObjectCache) -> Reconciliation {
        let there = cache.provisioning_request(&self.of.namespace, &self.request);
        let Some(open) = there.filter(|request| is_of(request, self.meta) && is_open(request))
        else {
            return Reconciliation::nothing();
        };
        let text = format!(
            "ProvisioningRequest {} is taken back: no pod waits for it",
            self.request
        );
        Reconciliation {
            writes: writes::delete(self.of, open),
            ..self.only_says(false, text)
        }
    }

    /// The reference by which what is made for it goes with it.
    pub fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api_version.clone(),
            kind: self.of.kind.path().kind.to_owned(),
            name: self.of.name.clone(),
            uid: uid(self.meta).to_owned(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }

    /// An event about who asks.
    pub fn says(&self, warning: bool, message: String) -> ObjectEvent {
        ObjectEvent::about(self.of.kind, self.meta, warning, REASON, message)
    }

    fn only_says(&self, warning: bool, message: String) -> Reconciliation {
        Reconciliation {
            events: vec![self.says(warning, message)],
            ..Reconciliation::nothing()
        }
    }
}

/// UID in metadata.
pub fn uid(meta: &ObjectMeta) -> &str {
    meta.uid.as_deref().unwrap_or_default()
}

/// Nodes may still be bought for a request.
fn is_open(request: &ProvisioningRequest) -> bool {
    let verdict = AutoscalerVerdict::of(request);
    let is_settled = verdict.over_since.is_some() || verdict.is_provisioned;
    !is_settled && request.metadata.deletion_timestamp.is_none()
}

fn is_of(request: &ProvisioningRequest, meta: &ObjectMeta) -> bool {
    controller_of(&request.metadata).is_some_and(|owner| owner.uid == uid(meta))
}
