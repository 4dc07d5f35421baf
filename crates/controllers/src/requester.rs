//! Who asked for what a controller makes: whoever asked for what it is made for, as admission wrote it there
//! (docs/spec/13-past-use.md §2). The controllers are believed what they write, so they take it from nowhere else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::keys;

/// The annotation that tells it, with its value.
pub(crate) fn requester(owner: &ObjectMeta) -> Option<(String, String)> {
    let (key, name) = owner.annotations.as_ref()?.get_key_value(keys::REQUESTER)?;
    Some((key.clone(), name.clone()))
}
