//! Ascend 310P chips, whole or split into vNPUs, as MindCluster runs them (spec/05 §2).
//!
//! A pod asks AI cores (`huawei.com/npu-core`) and says by labels what kind of vNPU it wants; the
//! chip and the template it gets stand in an annotation of the same name. The device plugin of the
//! node makes the vNPU then, for the oldest pod with as many AI cores.
//!
//! * `request`: what a pod asks.
//! * `template`: templates of vNPUs, and what they take of a chip.
//! * `report`: what others tell of nodes in ConfigMaps.
//! * `node`: the chips of a node.
//! * `held`: what a placed pod holds; `mark`: what the ledger remembers of a vNPU.
//! * `place`: fit, choice, score, and what is written.

mod gauges;
mod held;
mod mark;
mod node;
mod place;
mod report;
mod request;
mod room;
mod template;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::binding::{PluginProtocol, UntilStarted};
use crate::config::DeviceConfig;
use crate::facts::{NodeFacts, Pairs, PodFacts};
use crate::family::{Decoded, Family, FamilySpec, ReportSpec};
use crate::gauge::Gauge;
use crate::ledger::{Card, LedgerEntry, NodeCards, Tags};
use crate::request::FamilyRequest;
use crate::settings::Settings;

use mark::VnpuMark;
use node::NodeWithoutNpus;
use place::NpuRequest;
use request::{CoreRequest, Size};
use template::DIMENSIONS;

/// Resource: AI cores. Pod annotation: chips and template.
const CORES: &str = "huawei.com/npu-core";
/// Pod annotation: when the pod was bound; the device plugin serves the oldest first.
const TIME: &str = "predicate-time";
/// Pod annotation by which the device plugin answers.
const REAL: &str = "huawei.com/AscendReal";
/// Name of the list of chips a device plugin gives out. Pod annotation: chips that others gave to it.
const LIST: &str = "huawei.com/Ascend310P";
/// Names of one node annotation: all chips.
const BASE: [&str; 2] = ["baseDeviceInfos", "huawei.com/npu.base-device-infos"];
/// Pod label: kind of NPU.
const RING: &str = "ring-controller.atlas";
/// The kind there is.
const KIND: &str = "ascend-310P";
/// Pod label: use of the media processor.
const DVPP: &str = "vnpu-dvpp";
/// Pod label: how much of what is not asked for comes with the AI cores.
const LEVEL: &str = "vnpu-level";

/// Argument that switches the family on.
const SWITCH: &str = "deviceshare.AscendMindClusterVNPUEnable";

/// The family.
pub const SPEC: FamilySpec = FamilySpec {
    name: "ascend310p-vNPU",
    node_annotations: &BASE,
    asks: &[],
    labels: &[RING, DVPP, LEVEL],
    named: &[],
    records: &[CORES, REAL, LIST],
    later: &[REAL],
    dimensions: DIMENSIONS,
    protocols: &[PluginProtocol {
        plugin: "Ascend Device Plugin of MindCluster",
        bound_key: CORES,
        phase_key: REAL,
        busy: &[None, Some("")],
        busy_until_started: UntilStarted::Answered(&[]),
        sequence_key: None,
        cleanup: &[],
    }],
    gauges: gauges::GAUGES,
    sections: &[],
    reports: Some(ReportSpec {
        places: report::places,
        read: report::split,
        repeated: Some(report::REPEATED),
    }),
    make: |settings: &Settings, _: &DeviceConfig| {
        Box::new(MindClusterFamily {
            settings: settings.clone(),
        })
    },
};

struct MindClusterFamily {
    settings: Settings,
}

impl MindClusterFamily {
    fn compile(&self, asked: CoreRequest, tags: Tags) -> Result<Arc<dyn FamilyRequest>, String> {
        let is_virtual = matches!(asked.size, Size::Virtual(_));
        if is_virtual && self.settings.mind_cluster.preset_virtual_device {
            return Err(format!(
                "the pod asks {} {CORES}, a vNPU that would have to be made, but volcano \
                 configuration presetVirtualDevice true, only support static vnpu; set \
                 presetVirtualDevice: \"false\" in init-params of configurations, or ask whole NPUs",
                asked.cores
            ));
        }
        let is_guarded = self.settings.in_flight_guard;
        Ok(Arc::new(NpuRequest::new(asked, tags, is_guarded)))
    }
}

impl Family for MindClusterFamily {
    fn cards(&self, node: &NodeFacts) -> NodeCards {
        match self.settings.mind_cluster.enabled {
            true => node::cards(node, &self.settings.mind_cluster),
            false => NodeCards::new(DIMENSIONS),
        }
    }

    fn is_untold(&self, cards: &NodeCards) -> bool {
        let why = NodeWithoutNpus::of(cards);
        let is_untold = matches!(why, NodeWithoutNpus::NoNpus | NodeWithoutNpus::NoReport);
        cards.cards.is_empty() && is_untold
    }

    fn request(
        &self,
        pod: &PodFacts,
        tags: Tags,
    ) -> Option<Result<Arc<dyn FamilyRequest>, String>> {
        let asked = CoreRequest::of(pod)?;
        Some(
            match (self.settings.configured, self.settings.mind_cluster.enabled) {
                (true, true) => asked.and_then(|asked| self.compile(asked, tags)),
                (true, false) => Err(format!(
                    "the pod asks for {CORES}, which is switched off; set {SWITCH}: true in the \
                 arguments of the plugin deviceshare"
                )),
                (false, _) => Err(format!(
                    "the pod asks for {CORES}, but the plugin deviceshare is not configured; add it \
                 with the argument {SWITCH}: true"
                )),
            },
        )
    }

    fn decode(&self, records: &Pairs, pod: &PodFacts, cards: &NodeCards) -> Decoded {
        match self.settings.mind_cluster.enabled {
            true => held::held(records, pod, cards),
            false => Decoded::default(),
        }
    }

    fn depends_on_group(&self, pod: &PodFacts) -> bool {
        let asked = CoreRequest::of(pod).and_then(Result::ok);
        let Some(Size::Virtual(template)) = asked.map(|asked| asked.size) else {
            return false;
        };
        self.settings.mind_cluster.enabled && template.has_others_of_its_cores()
    }

    fn mode(&self, _card: &Card) -> &'static str {
        "vnpu"
    }

    fn part_name(&self, _cards: &NodeCards, entry: &LedgerEntry) -> Option<String> {
        VnpuMark::of(entry.partition).map(|mark| mark.template.name().to_owned())
    }

    fn gauges(&self, cards: &NodeCards) -> Vec<Gauge> {
        gauges::gauges(cards)
    }
}
