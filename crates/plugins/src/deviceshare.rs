//! Plugin `deviceshare`: pods fit where the cards do, and how well (spec/04 §3.1).
//!
//! Whether a pod fits the devices of a node, which cards it gets and what that is worth is decided
//! by the families in `pumice-devices` over the ledgers of the state; here that becomes the verdict and
//! the score of a node. The plugin is there in every configuration (`registry::MANDATORY`).
//! `enableNodeOrder: false` switches the score off like weight 0. `enablePredicate: false` has no
//! effect: a pod placed without regard to its devices would be bound without any.

mod check;

use pumice_conf::{
    ArgKind, ArgRule, ArgSpec, Arguments, PluginConf, PluginSpec, Value, arg, arg_from,
};
use pumice_devices::settings::CONFIG_MAP;
use pumice_devices::{MindCluster, Policy, Settings};
use pumice_framework::points::{LedgerCheck, Ledgers};
use pumice_framework::{Class, Extensions, Plugin, ReasonTable};

use check::DeviceCheck;

use crate::registry::PluginEntry;

const GPU_MEMORY: &str = "deviceshare.GPUSharingEnable";
const GPU_NUMBER: &str = "deviceshare.GPUNumberEnable";
const VGPU: &str = "deviceshare.VGPUEnable";
const NODE_LOCK: &str = "deviceshare.NodeLockEnable";
const IN_FLIGHT_GUARD: &str = "deviceshare.InFlightGuard";
const MIND_CLUSTER: &str = "deviceshare.AscendMindClusterVNPUEnable";
const ASCEND_HAMI: &str = "deviceshare.AscendHAMiVNPUEnable";
const POLICY: &str = "deviceshare.SchedulePolicy";
const WEIGHT: &str = "deviceshare.ScheduleWeight";
const MAP_NAME: &str = "deviceshare.KnownGeometriesCMName";
const MAP_NAMESPACE: &str = "deviceshare.KnownGeometriesCMNamespace";
const RULES: &str = "deviceshare.GPUExclusiveRules";

/// Entry of `configurations` with what MindCluster's NPUs need, and what is read of it.
const INIT_PARAMS: &str = "init-params";
const PRESET: &str = "presetVirtualDevice";
const CLUSTER_INFO: &str = "useClusterInfoManager";
const SELF_MAINTAIN: &str = "self-maintain-available-card";
const GRACE: &str = "grace-over-time";

const BINPACK: &str = "binpack";
const SPREAD: &str = "spread";

/// Weight when a policy is set and no weight (decided in spec/00; the peer's is 0).
const DEFAULT_WEIGHT: i64 = 10;

/// Largest weight that is used, so that sums of scores stay exact.
const MOST_WEIGHT: i64 = 1_000_000;

/// Most exclusivity rules: a pod remembers those it matches in 64 bits.
const MOST_RULES: usize = 64;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "deviceshare",
    summary: "Shares accelerators among pods.",
    args: ARGS,
    rules: ARG_RULES,
    built: true,
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| Box::new(DeviceShare::new(conf)))
    .with_configuration(INIT_PARAMS);

const fn switch(name: &'static str, default: &'static str, doc: &'static str) -> ArgSpec {
    arg(name, ArgKind::Bool, default, doc)
}

const ARGS: &[ArgSpec] = &[
    switch(
        GPU_MEMORY,
        "false",
        "Share GPUs by memory: volcano.sh/gpu-memory.",
    ),
    switch(
        GPU_NUMBER,
        "false",
        "Hand out whole GPUs: volcano.sh/gpu-number.",
    ),
    switch(
        VGPU,
        "false",
        "Share GPUs as vGPUs of HAMi: hami-core, dynamic MIG and MPS.",
    ),
    switch(
        NODE_LOCK,
        "false",
        "Take the lock annotation of a node before a Binding with devices is sent to it.",
    ),
    switch(
        IN_FLIGHT_GUARD,
        "true",
        "Hold a Binding back while the device plugin could take its pod for another one.",
    ),
    switch(
        MIND_CLUSTER,
        "false",
        "Hand out Ascend 310P NPUs as MindCluster does, whole or as vNPUs: huawei.com/npu-core.",
    ),
    switch(
        ASCEND_HAMI,
        "false",
        "Share Ascend NPUs as HAMi does: huawei.com/Ascend… and its -memory.",
    ),
    arg(
        POLICY,
        ArgKind::Str,
        "",
        "Which cards and nodes are preferred: binpack, spread, or none when empty.",
    ),
    arg_from(
        0.0,
        arg(
            WEIGHT,
            ArgKind::Int,
            "10",
            "Weight of the device score when a policy is set or NPUs of MindCluster are on; 0 switches it off.",
        ),
    ),
    arg(
        MAP_NAME,
        ArgKind::Str,
        CONFIG_MAP.1,
        "Name of the ConfigMap with device-config.yaml.",
    ),
    arg(
        MAP_NAMESPACE,
        ArgKind::Str,
        CONFIG_MAP.0,
        "Namespace of the ConfigMap with device-config.yaml.",
    ),
    arg(
        RULES,
        ArgKind::Any,
        "",
        "Lists of labels: pods that have all labels of the same list never share a card.",
    ),
];

const ARG_RULES: &[ArgRule] = &[
    ArgRule::Exclusive {
        one: GPU_MEMORY,
        other: GPU_NUMBER,
        help: "GPUs are either shared by memory or handed out whole: keep one of them",
    },
    ArgRule::Exclusive {
        one: GPU_MEMORY,
        other: VGPU,
        help: "the same GPUs cannot be managed twice: keep one of them",
    },
    ArgRule::Exclusive {
        one: GPU_NUMBER,
        other: VGPU,
        help: "the same GPUs cannot be managed twice: keep one of them",
    },
    ArgRule::OneOf {
        name: POLICY,
        values: &[BINPACK, SPREAD],
        otherwise: "no card and no node is preferred",
    },
    ArgRule::TextMaps {
        name: RULES,
        most: MOST_RULES,
        example: "team: research",
    },
];

fn read(arguments: &Arguments) -> Settings {
    let default = Settings::default();
    let switch = |key, default| arguments.bool(key).unwrap_or(default);
    let text = |key, default: String| match arguments.str(key).map(str::trim) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => default,
    };
    let (namespace, name) = default.config_map;
    let policy = match arguments.str(POLICY) {
        Some(BINPACK) => Policy::Binpack,
        Some(SPREAD) => Policy::Spread,
        _ => Policy::None,
    };
    let mind_cluster = mind_cluster(arguments);
    let default_weight = match policy {
        Policy::None if mind_cluster.enabled => DEFAULT_WEIGHT,
        Policy::None => default.weight,
        Policy::Binpack | Policy::Spread => DEFAULT_WEIGHT,
    };
    let weight = arguments.int(WEIGHT).unwrap_or(default_weight);
    Settings {
        configured: true,
        gpu_memory: switch(GPU_MEMORY, default.gpu_memory),
        gpu_number: switch(GPU_NUMBER, default.gpu_number),
        vgpu: switch(VGPU, default.vgpu),
        mind_cluster,
        ascend_hami: switch(ASCEND_HAMI, default.ascend_hami),
        node_lock: switch(NODE_LOCK, default.node_lock),
        in_flight_guard: switch(IN_FLIGHT_GUARD, default.in_flight_guard),
        policy,
        weight: weight.clamp(0, MOST_WEIGHT),
        config_map: (text(MAP_NAMESPACE, namespace), text(MAP_NAME, name)),
        exclusive_rules: exclusive_rules(arguments.get(RULES)),
    }
}

/// The switch, and `init-params` (spec/05 §2.2). An entry with a list or a map in it says nothing, as
/// MindCluster has it.
fn mind_cluster(arguments: &Arguments) -> MindCluster {
    let default = MindCluster {
        enabled: arguments.bool(MIND_CLUSTER).unwrap_or(false),
        ..MindCluster::default()
    };
    let own = |name: &str| name.starts_with("deviceshare.");
    let mut params = arguments.iter().filter(|(name, _)| !own(name));
    if params.any(|(_, value)| matches!(value, Value::List(_) | Value::Map(_))) {
        return default;
    }
    let is_true = |name, default| match arguments.get(name) {
        Some(_) => arguments.bool(name).unwrap_or(false),
        None => default,
    };
    let grace = arguments
        .int(GRACE)
        .and_then(|seconds| u32::try_from(seconds).ok());
    MindCluster {
        preset_virtual_device: is_true(PRESET, default.preset_virtual_device),
        use_cluster_info_manager: is_true(CLUSTER_INFO, default.use_cluster_info_manager),
        self_maintain_available_card: is_true(SELF_MAINTAIN, default.self_maintain_available_card),
        grace_over_time_s: grace
            .filter(|seconds| (2..=3600).contains(seconds))
            .unwrap_or(default.grace_over_time_s),
        ..default
    }
}

/// The rules; a checked configuration has nothing in them but maps from text to text.
fn exclusive_rules(value: Option<&Value>) -> Vec<Vec<(String, String)>> {
    let Some(Value::List(rules)) = value else {
        return Vec::new();
    };
    let labels = |rule: &Value| -> Vec<(String, String)> {
        let Value::Map(pairs) = rule else {
            return Vec::new();
        };
        let text = |(key, value): &(String, Value)| match value {
            Value::Str(value) => Some((key.clone(), value.clone())),
            _ => None,
        };
        pairs.iter().filter_map(text).collect()
    };
    let rules = rules.iter().take(MOST_RULES).map(labels);
    rules.filter(|rule| !rule.is_empty()).collect()
}

/// The plugin. Where the configuration does not name it no device is shared, and pods that ask for
/// one fit nowhere.
#[derive(Default)]
pub struct DeviceShare {
    settings: Settings,
}

impl DeviceShare {
    /// The plugin as the configuration has it, in whichever tier.
    pub fn new(conf: &PluginConf) -> Self {
        let mut settings = read(&conf.arguments);
        if !conf.enabled.node_order {
            settings.weight = 0;
        }
        Self { settings }
    }
}

impl Plugin for DeviceShare {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn extensions(&self) -> Extensions<'_> {
        Extensions {
            ledgers: Some(self),
            ..Extensions::default()
        }
    }
}

impl Ledgers for DeviceShare {
    fn refusal(&self, class: &Class) -> Option<String> {
        class.devices.refusal.clone()
    }

    fn ledger_check(
        &self,
        class: &Class,
        reasons: &mut ReasonTable,
    ) -> Option<Box<dyn LedgerCheck>> {
        let check = DeviceCheck::new(class, reasons, self.settings.weight)?;
        Some(Box::new(check))
    }

    fn device_settings(&self) -> &Settings {
        &self.settings
    }
}

#[cfg(test)]
mod tests;
