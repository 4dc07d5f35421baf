//! What is written for who asks: templates of pods, the request that names them, and that it is deleted.

use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::ProvisioningRequest;
use pumice_api::provisioning_request::{PodTemplateRef, ProvisionedPods, ProvisioningRequestSpec};

use super::asked::{AskedSet, PodsToAskFor};
use super::asker::RoomAsker;
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef};

/// Field manager of the templates.
const MANAGER: &str = "volcano-controllers";

/// A template, new or as it was; `None` if it cannot be written as JSON.
pub fn template(template: &PodTemplate) -> Option<ApiWrite> {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let meta = &template.metadata;
    let kind = ManagedKind::PodTemplate;
    let of = ManagedRef::new(kind, &text(&meta.namespace), &text(&meta.name));
    let verb = ApiVerb::Apply {
        object: serde_json::to_value(template).ok()?,
        manager: MANAGER,
        status: false,
    };
    Some(ApiWrite { of, verb })
}

/// The request for pods of these templates, one of each set, owned by whoever owns them.
pub fn request(asker: &RoomAsker<'_>, asked: &PodsToAskFor, templates: &[PodTemplate]) -> ApiWrite {
    let sets = asked.sets().iter().zip(templates);
    let set = |(set, template): (&AskedSet, &PodTemplate)| ProvisionedPods {
        pod_template_ref: PodTemplateRef {
            name: template.metadata.name.clone().unwrap_or_default(),
        },
        count: set.count,
    };
    let owners = templates.first();
    let request = ProvisioningRequest {
        metadata: ObjectMeta {
            name: Some(asker.request.clone()),
            namespace: Some(asker.of.namespace.clone()),
            owner_references: owners.and_then(|one| one.metadata.owner_references.clone()),
            ..ObjectMeta::default()
        },
        spec: ProvisioningRequestSpec {
            provisioning_class_name: asker.class.to_owned(),
            pod_sets: sets.map(set).collect(),
            ..ProvisioningRequestSpec::default()
        },
        ..ProvisioningRequest::default()
    };
    ApiWrite::create_of(ManagedKind::ProvisioningRequest, &request)
}

/// Deletes the request of who asked, and the templates that it names.
pub fn delete(asker: &ManagedRef, request: &ProvisioningRequest) -> Vec<ApiWrite> {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let of = |kind, name: &str| ManagedRef::new(kind, &asker.namespace, name);
    let meta = &request.metadata;
    let own = of(ManagedKind::ProvisioningRequest, &text(&meta.name));
    let sets = request.spec.pod_sets.iter();
    let templates = sets.map(|set| of(ManagedKind::PodTemplate, &set.pod_template_ref.name));
    let mut writes = vec![ApiWrite::delete(own, &text(&meta.uid))];
    writes.extend(templates.map(|template| ApiWrite::delete(template, "")));
    writes
}
