//! What every kind has, and types that many kinds have.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference, Time,
};
use k8s_openapi::jiff::Timestamp;

use super::message::{FieldValue, Malformed, MessageField, MessageFields, messages};

messages! {
    ObjectMeta {
        1 => name,
        3 => namespace,
        5 => uid,
        6 => resource_version,
        8 => creation_timestamp,
        9 => deletion_timestamp,
        10 => deletion_grace_period_seconds,
        11 => labels,
        12 => annotations,
        13 => owner_references,
    }
    OwnerReference {
        1 => kind,
        3 => name,
        4 => uid,
        5 => api_version,
        6 => controller,
    }
    LabelSelector {
        1 => match_labels,
        2 => match_expressions,
    }
    LabelSelectorRequirement {
        1 => key,
        2 => operator,
        3 => values,
    }
}

impl FieldValue for Quantity {
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        let mut text = String::new();
        for part in MessageFields::of(field.bytes()?) {
            let part = part?;
            if part.number == 1 {
                text = part.text()?;
            }
        }
        Ok(Some(Self(text)))
    }
}

impl FieldValue for Time {
    /// The zero time is a message without fields. One beyond the calendar cannot be said in JSON, and is absent
    /// likewise.
    fn of(field: MessageField<'_>) -> Result<Option<Self>, Malformed> {
        let (mut seconds, mut nanos) = (None, 0);
        for part in MessageFields::of(field.bytes()?) {
            let part = part?;
            match part.number {
                1 => seconds = Some(part.number()?),
                2 => nanos = i32::of(part)?.unwrap_or_default(),
                _ => {}
            }
        }
        let Some(seconds) = seconds else {
            return Ok(None);
        };
        Ok(Timestamp::new(seconds, nanos).ok().map(Self))
    }
}
