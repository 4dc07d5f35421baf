//! What claims, and what they have, say in the same words.

use k8s_openapi::api::resource::v1::{
    DeviceToleration as WireToleration, OpaqueDeviceConfiguration,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use pumice_claims::{DeviceToleration, Quantity, TaintOperator};

use crate::problem::{ObjectProblems, Path};

pub(crate) fn opaque(wire: &OpaqueDeviceConfiguration) -> String {
    serde_json::to_string(wire).unwrap_or_default()
}

pub(crate) fn read_quantity(
    wire: &WireQuantity,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<Quantity> {
    let read = pumice_units::quantity::parse(&wire.0);
    read.map_err(|error| problems.add(path, error.what(), error.help()))
        .ok()
}

pub(crate) fn tolerations(wire: Option<&Vec<WireToleration>>) -> Vec<DeviceToleration> {
    let all = wire.into_iter().flatten().map(|wire| DeviceToleration {
        key: wire.key.clone().unwrap_or_default(),
        operator: match wire.operator.as_deref().unwrap_or_default() {
            "" | "Equal" => TaintOperator::Equal,
            "Exists" => TaintOperator::Exists,
            _ => TaintOperator::Unknown,
        },
        value: wire.value.clone().unwrap_or_default(),
        effect: wire.effect.clone().unwrap_or_default(),
        seconds: wire.toleration_seconds,
    });
    all.collect()
}
