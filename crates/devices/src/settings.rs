//! What the configuration says about devices.

/// How cards and nodes are preferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// No preference.
    #[default]
    None,
    /// Full cards first.
    Binpack,
    /// Idle cards first.
    Spread,
    /// Cards after which least of what is free is of use to nobody ([`mod@crate::mix`]); among these full cards
    /// first. Nodes are preferred by the plugin that keeps the mix.
    Fragmentation,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Binpack, Self::Spread, Self::Fragmentation];
}

/// What the configuration says of MindCluster's NPUs: the switch of the plugin `deviceshare`, and the
/// entry `init-params` of `configurations` (spec/05 §2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MindCluster {
    /// `deviceshare.AscendMindClusterVNPUEnable`.
    pub enabled: bool,
    /// `presetVirtualDevice`: vNPUs are made by hand, none is made for a pod.
    pub preset_virtual_device: bool,
    /// `useClusterInfoManager`: ClusterD tells of all nodes; else each node's own components do.
    pub use_cluster_info_manager: bool,
    /// `self-maintain-available-card`: chips are free unless pods hold them or they are not well;
    /// else the device plugin tells which are.
    pub self_maintain_available_card: bool,
    /// `grace-over-time`: seconds a pod has to end that is evicted from an NPU which is not well.
    pub grace_over_time_s: u32,
}

impl Default for MindCluster {
    fn default() -> Self {
        Self {
            enabled: false,
            preset_virtual_device: false,
            use_cluster_info_manager: true,
            self_maintain_available_card: true,
            grace_over_time_s: 900,
        }
    }
}

/// Arguments of the plugin `deviceshare` (spec/04 §3.1), already checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The plugin is configured at all.
    pub configured: bool,
    /// `deviceshare.GPUSharingEnable`.
    pub gpu_memory: bool,
    /// `deviceshare.GPUNumberEnable`.
    pub gpu_number: bool,
    /// `deviceshare.VGPUEnable`.
    pub vgpu: bool,
    /// NPUs of MindCluster.
    pub mind_cluster: MindCluster,
    /// `deviceshare.AscendHAMiVNPUEnable`.
    pub ascend_hami: bool,
    /// `deviceshare.HAMiVendors`: vendors whose cards HAMi's device plugins share.
    pub hami_vendors: Vec<String>,
    /// `deviceshare.NodeLockEnable`.
    pub node_lock: bool,
    /// `deviceshare.InFlightGuard`.
    pub in_flight_guard: bool,
    /// `deviceshare.SchedulePolicy`.
    pub policy: Policy,
    /// `deviceshare.ScheduleWeight`; 0 switches the score off.
    pub weight: i64,
    /// `deviceshare.KnownGeometriesCMNamespace` and `deviceshare.KnownGeometriesCMName`.
    pub config_map: (String, String),
    /// `deviceshare.GPUExclusiveRules`: labels that a pod must all have, at most 64 rules.
    pub exclusive_rules: Vec<Vec<(String, String)>>,
}

/// Where the device configuration is unless the arguments say otherwise.
pub const CONFIG_MAP: (&str, &str) = ("kube-system", "volcano-vgpu-device-config");

impl Default for Settings {
    fn default() -> Self {
        Self {
            configured: false,
            gpu_memory: false,
            gpu_number: false,
            vgpu: false,
            mind_cluster: MindCluster::default(),
            ascend_hami: false,
            hami_vendors: Vec::new(),
            node_lock: false,
            in_flight_guard: true,
            policy: Policy::None,
            weight: 0,
            config_map: (CONFIG_MAP.0.to_owned(), CONFIG_MAP.1.to_owned()),
            exclusive_rules: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether a family is on that depends on what `config_map` has.
    pub fn reads_config_map(&self) -> bool {
        let hami = self.ascend_hami || !self.hami_vendors.is_empty();
        self.configured && (self.vgpu || hami)
    }

    /// Exclusivity rules whose labels a pod has, one bit each.
    pub fn rules_of<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> u64 {
        let mut rules = 0;
        for (at, rule) in self.exclusive_rules.iter().take(64).enumerate() {
            let matches = |(key, value): &(String, String)| label(key) == Some(value.as_str());
            if !rule.is_empty() && rule.iter().all(matches) {
                rules |= 1 << at;
            }
        }
        rules
    }
}
