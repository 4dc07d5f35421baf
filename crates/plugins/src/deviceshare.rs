//! Plugin `deviceshare`: pods fit where the cards do, and how well (spec/04 §3.1).
//!
//! Whether a pod fits the devices of a node, which cards it gets and what that is worth is decided
//! by the families in `pumice-devices` over the ledgers of the state; here that becomes the verdict and
//! the score of a node. The plugin is there in every configuration (`registry::MANDATORY`).
//! `enableNodeOrder: false` switches the score off like weight 0. `enablePredicate: false` has no
//! effect: a pod placed without regard to its devices would be bound without any.

mod check;

use pumice_conf::{
    Arg, ArgSpec, Arguments, ExclusiveSwitches, OneOf, PluginConf, PluginNeeded, PluginSpec, Text,
    TextForm, TextMaps, Texts, Value,
};
use pumice_devices::hami::vendor_names;
use pumice_devices::settings::CONFIG_MAP;
use pumice_devices::{MindCluster, Policy, Settings};
use pumice_framework::points;
use pumice_framework::points::{LedgerCheck, Ledgers};
use pumice_framework::{Class, Plugin, ReasonTable};

use check::DeviceCheck;

use crate::entry::PluginEntry;

/// Entry of `configurations` with what MindCluster's NPUs need, and what is read of it.
const INIT_PARAMS: &str = "init-params";
const PRESET: &str = "presetVirtualDevice";
const CLUSTER_INFO: &str = "useClusterInfoManager";
const SELF_MAINTAIN: &str = "self-maintain-available-card";
const GRACE: &str = "grace-over-time";

const BINPACK: &str = "binpack";
const SPREAD: &str = "spread";
const FRAGMENTATION: &str = "fragmentation";

/// Largest weight that is used, so that sums of scores stay exact.
const MAX_WEIGHT: i64 = 1_000_000;

/// Most exclusivity rules: a pod remembers those it matches in 64 bits.
const MAX_RULES: usize = 64;

const GPU_MEMORY: Arg<bool> = Arg::switch(
    "deviceshare.GPUSharingEnable",
    false,
    "Share GPUs by memory: volcano.sh/gpu-memory.",
);
const GPU_NUMBER: Arg<bool> = Arg::switch(
    "deviceshare.GPUNumberEnable",
    false,
    "Hand out whole GPUs: volcano.sh/gpu-number.",
);
const VGPU: Arg<bool> = Arg::switch(
    "deviceshare.VGPUEnable",
    false,
    "Share GPUs as vGPUs of HAMi: hami-core, dynamic MIG and MPS.",
);
const NODE_LOCK: Arg<bool> = Arg::switch(
    "deviceshare.NodeLockEnable",
    false,
    "Take the lock annotation of a node before a Binding with devices is sent to it.",
);
const IN_FLIGHT_GUARD: Arg<bool> = Arg::switch(
    "deviceshare.InFlightGuard",
    true,
    "Hold a Binding back while the device plugin could take its pod for another one.",
);
const MIND_CLUSTER: Arg<bool> = Arg::switch(
    "deviceshare.AscendMindClusterVNPUEnable",
    false,
    "Hand out Ascend 310P NPUs as MindCluster does, whole or as vNPUs: huawei.com/npu-core.",
);
const ASCEND_HAMI: Arg<bool> = Arg::switch(
    "deviceshare.AscendHAMiVNPUEnable",
    false,
    "Share Ascend NPUs as HAMi does: huawei.com/Ascend… and its -memory.",
);
const HAMI_VENDORS: Arg<Texts> = Arg::formed_texts(
    "deviceshare.HAMiVendors",
    VENDOR,
    "Vendors whose cards are shared as HAMi does, each by its name.",
);
const VENDOR: TextForm = TextForm {
    phrase: "a list of vendors",
    example: "NVIDIA, Hygon",
    fault: vendor_fault,
};

fn vendor_fault(name: &str) -> Option<String> {
    if vendor_names().any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    let known: Vec<&str> = vendor_names().collect();
    Some(format!("is no vendor; there are {}", known.join(", ")))
}

const POLICY: Arg<OneOf> = Arg::choice(
    "deviceshare.SchedulePolicy",
    &[BINPACK, SPREAD, FRAGMENTATION],
    "",
    "no card and no node is preferred",
    "Which cards and nodes are preferred: binpack, spread, fragmentation (cards by the measure of the plugin fragmentation, which scores nodes), or none when empty.",
);
/// Without a policy and NPUs of MindCluster the default is 0 (decided in spec/00; the peer's is always 0).
const WEIGHT: Arg<i64> = Arg::int(
    "deviceshare.ScheduleWeight",
    10,
    "Weight of the device score when a policy is set or NPUs of MindCluster are on; 0 switches it off.",
)
.min(0)
.max(MAX_WEIGHT);
const MAP_NAME: Arg<Text> = Arg::text(
    "deviceshare.KnownGeometriesCMName",
    CONFIG_MAP.1,
    "Name of the ConfigMap with device-config.yaml.",
);
const MAP_NAMESPACE: Arg<Text> = Arg::text(
    "deviceshare.KnownGeometriesCMNamespace",
    CONFIG_MAP.0,
    "Namespace of the ConfigMap with device-config.yaml.",
);
const RULES: Arg<TextMaps> = Arg::text_maps(
    "deviceshare.GPUExclusiveRules",
    MAX_RULES,
    "team: research",
    "Lists of labels: pods that have all labels of the same list never share a card.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "deviceshare",
    summary: "Shares accelerators among pods.",
    args: ARGS,
    exclusive: EXCLUSIVE,
    needs_plugins: &[PluginNeeded {
        argument: POLICY.name(),
        value: FRAGMENTATION,
        plugin: "fragmentation",
        code: "W0113-no-mix",
        message: "nobody knows what tasks ask: without the plugin `fragmentation` the fullest cards are taken, \
                  and no node is preferred",
        help: "add `- name: fragmentation` to the plugins of a tier, or write `binpack`",
    }],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, _| Box::new(DeviceShare::new(conf)))
    .with_configuration(INIT_PARAMS);

const ARGS: &[ArgSpec] = &[
    GPU_MEMORY.spec(),
    GPU_NUMBER.spec(),
    VGPU.spec(),
    NODE_LOCK.spec(),
    IN_FLIGHT_GUARD.spec(),
    MIND_CLUSTER.spec(),
    ASCEND_HAMI.spec(),
    HAMI_VENDORS.spec(),
    POLICY.spec(),
    WEIGHT.spec(),
    MAP_NAME.spec(),
    MAP_NAMESPACE.spec(),
    RULES.spec(),
];

const EXCLUSIVE: &[ExclusiveSwitches] = &[
    ExclusiveSwitches {
        one: GPU_MEMORY.name(),
        other: GPU_NUMBER.name(),
        help: "GPUs are either shared by memory or handed out whole: keep one of them",
    },
    ExclusiveSwitches {
        one: GPU_MEMORY.name(),
        other: VGPU.name(),
        help: "the same GPUs cannot be managed twice: keep one of them",
    },
    ExclusiveSwitches {
        one: GPU_NUMBER.name(),
        other: VGPU.name(),
        help: "the same GPUs cannot be managed twice: keep one of them",
    },
];

fn read(arguments: &Arguments) -> Settings {
    let policy = match POLICY.read(arguments) {
        BINPACK => Policy::Binpack,
        SPREAD => Policy::Spread,
        FRAGMENTATION => Policy::Fragmentation,
        _ => Policy::None,
    };
    let mind_cluster = mind_cluster(arguments);
    let weight = match policy {
        Policy::None if !mind_cluster.enabled => WEIGHT.given(arguments).unwrap_or(0),
        _ => WEIGHT.read(arguments),
    };
    let text = |arg: Arg<Text>| arg.read(arguments).to_owned();
    Settings {
        configured: true,
        gpu_memory: GPU_MEMORY.read(arguments),
        gpu_number: GPU_NUMBER.read(arguments),
        vgpu: VGPU.read(arguments),
        mind_cluster,
        ascend_hami: ASCEND_HAMI.read(arguments),
        hami_vendors: HAMI_VENDORS.read(arguments).unwrap_or_default(),
        node_lock: NODE_LOCK.read(arguments),
        in_flight_guard: IN_FLIGHT_GUARD.read(arguments),
        policy,
        weight,
        config_map: (text(MAP_NAMESPACE), text(MAP_NAME)),
        exclusive_rules: RULES.read(arguments),
    }
}

/// The switch, and `init-params` (spec/05 §2.2). An entry with a list or a map in it says nothing, as
/// MindCluster has it.
fn mind_cluster(arguments: &Arguments) -> MindCluster {
    let default = MindCluster {
        enabled: MIND_CLUSTER.read(arguments),
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

/// The plugin. Where the configuration does not name it no device is shared, and pods that ask for
/// one fit nowhere.
#[derive(Clone, Default)]
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

    points!(self; as_ledgers: Ledgers);
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
