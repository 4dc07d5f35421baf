//! DeviceTaintRules (spec/09 §2).

use pumice_api::DeviceTaintRule;
use pumice_claims::DeviceTaint;
use pumice_model::object::{TaintRuleObject, TaintedDevices};

use crate::meta;
use crate::problem::{ObjectProblem, ObjectProblems};

/// Reads a DeviceTaintRule.
///
/// # Errors
/// It has no name.
pub fn device_taint_rule(wire: &DeviceTaintRule) -> Result<TaintRuleObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let spec = &wire.spec;
    let devices = spec.device_selector.as_ref();
    let out = TaintRuleObject {
        name: meta::name(&wire.metadata, &mut problems),
        devices: devices.map(|names| TaintedDevices {
            driver: names.driver.clone(),
            pool: names.pool.clone(),
            device: names.device.clone(),
        }),
        taint: DeviceTaint {
            key: spec.taint.key.clone(),
            value: spec.taint.value.clone().unwrap_or_default(),
            effect: spec.taint.effect.clone(),
        },
    };
    problems.or(out)
}
