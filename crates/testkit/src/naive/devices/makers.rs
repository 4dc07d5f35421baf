//! The vendors of HAMi as spec/04 §23.1 has them.

/// Where the cards of a node are told.
pub enum Told {
    /// In this register.
    Register(&'static str),
    /// By the capacity of its cores: name within ids, cores of a card, MiB in a unit of memory.
    Capacity(&'static str, i64, i64),
    /// By the capacity of the count: name within ids, MiB of a card.
    Count(&'static str, i64),
}

/// A row of §23.1.
pub struct Maker {
    pub argument: &'static str,
    pub word: &'static str,
    pub count: &'static str,
    pub memory: &'static str,
    pub cores: &'static str,
    pub told: Told,
    /// Of the list.
    pub list: &'static str,
    /// MiB in a unit of memory.
    pub unit: i64,
    /// Cores of a card.
    pub all_cores: i64,
    /// Cores of who names none: with a part of the memory, and with all of it.
    pub default: (i64, i64),
    /// Several cards are whole ones.
    pub whole: bool,
    /// Parts of types, and UUIDs: allowed and denied.
    pub types: Option<(&'static str, &'static str)>,
    pub uuids: Option<(&'static str, &'static str)>,
}

pub const MAKERS: [Maker; 6] = [
    Maker {
        argument: "NVIDIA",
        word: "NVIDIA",
        count: "nvidia.com/gpu",
        memory: "nvidia.com/gpumem",
        cores: "nvidia.com/gpucores",
        told: Told::Register("hami.io/node-nvidia-register"),
        list: "vgpu",
        unit: 1,
        all_cores: 100,
        default: (0, 100),
        whole: false,
        types: Some(("nvidia.com/use-gputype", "nvidia.com/nouse-gputype")),
        uuids: Some(("nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid")),
    },
    Maker {
        argument: "Hygon",
        word: "DCU",
        count: "hygon.com/dcunum",
        memory: "hygon.com/dcumem",
        cores: "hygon.com/dcucores",
        told: Told::Register("hami.io/node-dcu-register"),
        list: "dcu",
        unit: 1,
        all_cores: 100,
        default: (100, 100),
        whole: true,
        types: Some(("hygon.com/use-dcutype", "hygon.com/nouse-dcutype")),
        uuids: Some(("hygon.com/use-gpuuuid", "hygon.com/nouse-gpuuuid")),
    },
    Maker {
        argument: "Cambricon",
        word: "MLU",
        count: "cambricon.com/vmlu",
        memory: "cambricon.com/mlu.smlu.vmemory",
        cores: "cambricon.com/mlu.smlu.vcore",
        told: Told::Capacity("cambricon-mlu", 100, 256),
        list: "cambricon-mlu",
        unit: 256,
        all_cores: 100,
        default: (100, 100),
        whole: true,
        types: None,
        uuids: Some(("cambricon.com/use-gpuuuid", "cambricon.com/nouse-gpuuuid")),
    },
    Maker {
        argument: "Iluvatar",
        word: "MR-V50",
        count: "iluvatar.ai/MR-V50-vgpu",
        memory: "iluvatar.ai/MR-V50.vMem",
        cores: "iluvatar.ai/MR-V50.vCore",
        told: Told::Register("hami.io/node-MR-V50-register"),
        list: "MR-V50",
        unit: 256,
        all_cores: 100,
        default: (0, 0),
        whole: true,
        types: None,
        uuids: Some(("hami.io/use-MR-V50-uuid", "hami.io/no-use-MR-V50-uuid")),
    },
    Maker {
        argument: "Mthreads",
        word: "Mthreads",
        count: "mthreads.com/vgpu",
        memory: "mthreads.com/sgpu-memory",
        cores: "mthreads.com/sgpu-core",
        told: Told::Capacity("mthreads", 16, 512),
        list: "mthreads-vgpu",
        unit: 512,
        all_cores: 16,
        default: (0, 16),
        whole: true,
        types: None,
        uuids: Some(("mthreads.ai/use-gpuuuid", "mthreads.ai/nouse-gpuuuid")),
    },
    Maker {
        argument: "MetaX",
        word: "Metax-GPU",
        count: "metax-tech.com/gpu",
        memory: "",
        cores: "",
        told: Told::Count("metax", 65_536),
        list: "metax-gpu",
        unit: 1,
        all_cores: 100,
        default: (100, 100),
        whole: true,
        types: None,
        uuids: None,
    },
];
