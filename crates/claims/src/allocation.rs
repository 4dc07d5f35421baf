//! What a claim has got.

use std::collections::BTreeMap;

use pumice_units::quantity::Quantity;

use crate::allocate::{ClaimWish, GivenDevice};
use crate::device::{DeviceKey, DeviceToleration};
use crate::request::RequestConfig;

/// One device of an allocation (`status.allocation.devices.results`).
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AllocatedDevice {
    /// `request`, `request/alternative`.
    pub request: String,
    /// The device.
    pub key: DeviceKey,
    /// Given for administration: others may have it.
    pub admin_access: bool,
    /// Tolerations of the request.
    pub tolerations: Vec<DeviceToleration>,
    /// The part of a shared device: its id and what it takes of each capacity.
    pub share: Option<(String, BTreeMap<String, Quantity>)>,
}

/// Where a configuration comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum DeviceConfigSource {
    /// The DeviceClass.
    Class,
    /// A configuration of the claim itself.
    Claim,
}

/// One configuration of an allocation.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AllocatedConfig {
    /// Whose it is.
    pub source: DeviceConfigSource,
    /// Requests it is about; empty for all.
    pub requests: Vec<String>,
    /// `opaque`, as JSON.
    pub opaque: String,
}

/// `status.allocation.devices` of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceAllocation {
    /// Devices that the claim was given, one for each request and device.
    pub devices: Vec<AllocatedDevice>,
    /// Configuration for their drivers: of classes first.
    pub config: Vec<AllocatedConfig>,
}

impl DeviceAllocation {
    /// The allocation of a claim that was given these devices. `key` tells which device an id is, `configs`
    /// the configuration of a class, `share` the id of a part of a shared device.
    pub fn new<'a>(
        wish: &ClaimWish<'_>,
        given: &[GivenDevice],
        key: impl Fn(u32) -> DeviceKey,
        configs: impl Fn(&str) -> &'a [String],
        share: impl Fn(usize) -> String,
    ) -> Self {
        let requests = &wish.spec.requests;
        let devices = given.iter().enumerate().map(|(at, given)| {
            let choice = &requests[given.request].choices[given.choice];
            AllocatedDevice {
                request: requests[given.request].name_of(given.choice),
                key: key(given.device),
                admin_access: choice.admin_access,
                tolerations: choice.tolerations.clone(),
                share: given.consumed.clone().map(|consumed| (share(at), consumed)),
            }
        });
        Self {
            devices: devices.collect(),
            config: config(wish, given, configs),
        }
    }
}

/// Configuration of the classes that serve the claim, then its own as far as it is about what was chosen.
fn config<'a>(
    wish: &ClaimWish<'_>,
    given: &[GivenDevice],
    configs: impl Fn(&str) -> &'a [String],
) -> Vec<AllocatedConfig> {
    let requests = &wish.spec.requests;
    let chosen = |request: usize| {
        given
            .iter()
            .find(|g| g.request == request)
            .map(|g| g.choice)
    };
    let mut by_class: Vec<(&str, Vec<String>)> = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let Some(choice) = chosen(at) else { continue };
        let (class, name) = (&request.choices[choice].class, request.name_of(choice));
        match by_class.iter_mut().find(|(known, _)| known == class) {
            Some((_, names)) => names.push(name),
            None => by_class.push((class, vec![name])),
        }
    }
    let mut all = Vec::new();
    for (class, names) in by_class {
        all.extend(configs(class).iter().map(|opaque| AllocatedConfig {
            source: DeviceConfigSource::Class,
            requests: names.clone(),
            opaque: opaque.clone(),
        }));
    }
    let is_about = |config: &&RequestConfig| {
        let mut numbered = requests.iter().enumerate();
        config.requests.is_empty()
            || numbered.any(|(at, request)| {
                let full = chosen(at).map(|choice| request.name_of(choice));
                config.requests.contains(&request.name)
                    || full.is_some_and(|full| config.requests.contains(&full))
            })
    };
    all.extend(
        wish.spec
            .config
            .iter()
            .filter(is_about)
            .map(|config| AllocatedConfig {
                source: DeviceConfigSource::Claim,
                requests: config.requests.clone(),
                opaque: config.opaque.clone(),
            }),
    );
    for config in &mut all {
        if config.requests.len() == requests.len() {
            // Empty means all.
            config.requests.clear();
        }
    }
    all
}
