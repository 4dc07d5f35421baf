//! Who owns an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pumice_api::keys;

/// The one of these owners that controls the object.
pub fn controlling(owners: &[OwnerReference]) -> Option<&OwnerReference> {
    owners.iter().find(|owner| owner.controller == Some(true))
}

/// The owner that controls the object with this metadata.
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.as_deref().and_then(controlling)
}

/// The Job of `batch.volcano.sh` among the owners in this metadata.
pub fn owning_job(meta: &ObjectMeta) -> Option<&OwnerReference> {
    let mut owners = meta.owner_references.iter().flatten();
    owners
        .find(|owner| owner.kind == keys::JOB_KIND && owner.api_version == keys::BATCH_API_VERSION)
}
