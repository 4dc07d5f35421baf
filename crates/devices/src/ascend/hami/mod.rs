//! Family HAMi: Ascend NPUs, whole or in parts, handed out by the ascend-device-plugin of HAMi
//! (spec/05 §3, P-1…P-18).
//!
//! ```text
//!  register ──► register::chips ──► cards        limits of containers ──► needs::needs ┐
//!                                     │          annotations ──► limits::ChipLimits ───────┤
//!                                     ▼                                                ▼
//!  fit, choose:  check (one chip) ◄── place (best chip, in turn) ◄──────── request::ChipsRequest
//!                                     │                                                │
//!  held ◄── allocation::decode ◄── annotations of the pod ◄── allocation ◄── annotations ─┘
//! ```
//!
//! One family for all types of chips: which there are says the device configuration (`chips`).
//!
//! Invariants: what is written can be read back to exactly what was charged; no chip gives more
//! memory, cores, AI cores, AI CPUs or slots than it has to pods placed here.

mod allocation;
mod check;
mod chips;
mod explain;
mod failure;
mod gauges;
mod held;
mod limits;
mod needs;
mod part;
mod place;
mod register;
mod request;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::binding::BindProtocol;
use crate::config::{DeviceConfig, SectionSpec};
use crate::facts::{NodeFacts, Pairs, PodFacts, too_many_init_containers, zero_count};
use crate::family::{Decoded, Family, FamilySpec};
use crate::gauge::Gauge;
use crate::hami::{preference, protocol};
use crate::ledger::{Card, NodeCards, Tags};
use crate::request::FamilyRequest;
use crate::settings::Settings;

use chips::VnpuConfig;
use failure::NoChips;
use limits::ChipLimits;
use part::DIMENSIONS;
use register::ChipVariant;
use request::{ChipRules, ChipsRequest};

/// How resources of Ascend chips begin, in any spelling of case.
const ASCEND: &str = "huawei.com/ascend";

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "ascend-hami",
    node_annotations: &["hami.io/node-register-*", register::SOFT],
    asks: &[
        needs::MODE,
        "hami.io/use-*-uuid",
        "hami.io/no-use-*-uuid",
        preference::POLICY,
        preference::NODE_POLICY,
        preference::WEIGHTS,
    ],
    labels: &[],
    records: &["hami.io/*-devices-allocated"],
    later: &[],
    protocols: &[protocol::PROTOCOL],
    dimensions: DIMENSIONS,
    gauges: gauges::GAUGES,
    sections: &[SectionSpec::of::<VnpuConfig>()],
    reports: None,
    make: |settings: &Settings, config: &DeviceConfig| Box::new(AscendHami::new(settings, config)),
};

struct AscendHami {
    rules: Arc<ChipRules>,
    configured: bool,
    enabled: bool,
}

impl AscendHami {
    fn new(settings: &Settings, config: &DeviceConfig) -> Self {
        let rules = ChipRules {
            config: config.section(),
            policy: settings.policy,
            protocol: BindProtocol::of(settings, protocol::LOCK),
            failures: failure::list(),
        };
        Self {
            rules: Arc::new(rules),
            configured: settings.configured,
            enabled: settings.configured && settings.ascend_hami,
        }
    }

    fn knows(&self, name: &str) -> bool {
        let mut types = self.rules.config.types.iter();
        types.any(|chip| chip.resources().contains(&name))
    }

    /// Why a pod cannot be served, whatever nodes there are: an NPU handed out as a bare number would be
    /// refused by its device plugin, or be any one.
    fn refusal(&self, pod: &PodFacts) -> Option<String> {
        let containers = pod.containers.iter();
        let amounts = containers.flat_map(|container| &container.amounts);
        let mut asked = amounts.filter(|(name, milli)| *milli > 0 && !name.is_empty());
        let is_ascend = |name: &str| {
            let start = name.get(..ASCEND.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(ASCEND))
        };
        let (name, _) = asked.find(|(name, _)| match self.enabled {
            true => is_ascend(name) && !self.knows(name),
            false => is_ascend(name) || self.knows(name),
        })?;
        Some(match (self.enabled, self.configured) {
            (true, _) => {
                let types = self.rules.config.types.iter();
                let known: Vec<&str> = types.map(|chip| chip.count_name.as_str()).collect();
                format!(
                    "the pod asks {name}, which no type of chips in the device configuration has; \
                     there are {}, each with -memory",
                    known.join(", ")
                )
            }
            (false, true) => format!(
                "the pod asks {name}, but NPUs of HAMi are off: set the argument \
                 deviceshare.AscendHAMiVNPUEnable: true of plugin deviceshare"
            ),
            (false, false) => format!(
                "the pod asks {name}, but plugin deviceshare is not configured: add it with the \
                 argument deviceshare.AscendHAMiVNPUEnable: true"
            ),
        })
    }

    fn compile(&self, pod: &PodFacts) -> Result<Option<Arc<dyn FamilyRequest>>, String> {
        if let Some(refusal) = self.refusal(pod) {
            return Err(refusal);
        }
        if !self.enabled {
            return Ok(None);
        }
        let needs = needs::needs(pod, &self.rules.config)?;
        if needs.is_empty() {
            return Ok(None);
        }
        let asks = needs.iter().map(|need| need.container);
        let resource = &self.rules.config.types[usize::from(needs[0].of)].count_name;
        if let Some(why) = too_many_init_containers(pod, asks, resource) {
            return Err(why);
        }
        Ok(Some(Arc::new(ChipsRequest {
            limits: ChipLimits::of(pod, &self.rules.config, self.rules.policy)?,
            rules: Arc::clone(&self.rules),
            needs,
        })))
    }
}

impl Family for AscendHami {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        let mut found = NodeCards::new(DIMENSIONS);
        if self.enabled {
            register::chips(&self.rules.config, node, &mut found);
            return found;
        }
        let mut annotations = node.annotations.iter();
        if annotations.any(|(key, _)| key.starts_with(register::REGISTER)) {
            found.absent = NoChips::Off.code();
        }
        found
    }

    fn request(
        &self,
        pod: &PodFacts,
        _tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        self.compile(pod).transpose()
    }

    fn remark(&self, pod: &PodFacts) -> Option<String> {
        let mut types = self.rules.config.types.iter();
        types.find_map(|chip| {
            let parts = [&chip.memory_name, &chip.core_name];
            zero_count(pod, &chip.count_name, parts.into_iter())
        })
    }

    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
        match self.enabled {
            true => held::held(&self.rules.config, records, pod, cards),
            false => Decoded::default(),
        }
    }

    fn ignored_resources(&self) -> Vec<String> {
        if !self.enabled {
            return Vec::new();
        }
        let types = self.rules.config.types.iter();
        let names = types.flat_map(|chip| [&chip.memory_name, &chip.core_name]);
        names.cloned().collect()
    }

    fn mode(&self, card: &Card) -> &'static str {
        match ChipVariant::of(card).soft {
            true => "hami-core",
            false => "template",
        }
    }

    fn gauges(&self, cards: &NodeCards) -> Vec<Gauge> {
        gauges::gauges(cards)
    }
}
