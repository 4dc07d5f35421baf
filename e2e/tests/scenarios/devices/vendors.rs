//! HAMi's vendors: a node of each, whose device plugin hands every pod its own cards, and what its
//! table says is not possible.

use anyhow::Result;
use pumice_e2e::{
    ConfigMount, DevicePlugins, Lab, LabGuard, NodeShape, PluginSetup, Scheduler, Setup, scratch,
};
use serde_json::{Value, json};

use super::npus::{add_node, asking, chips_of, is_told};
use super::{all_get_their_own, create};
use crate::wait_running;

const CONF: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.HAMiVendors: [NVIDIA, Hygon, Cambricon, Iluvatar, Mthreads, MetaX, Kunlun, AWSNeuron]
      deviceshare.SchedulePolicy: binpack
";

type Amounts<'a> = &'a [(&'a str, u64)];

/// A node: name, annotation, and extended resources.
type VendorNode<'a> = (&'a str, Option<(&'a str, &'a str)>, Amounts<'a>);

const NODES: &[VendorNode] = &[
    (
        "nvidia",
        Some((
            "hami.io/node-nvidia-register",
            "GPU-0,10,49140,100,NVIDIA-NVIDIA L40S,0,true:GPU-1,10,49140,100,NVIDIA-NVIDIA L40S,0,true:",
        )),
        &[("nvidia.com/gpu", 20)],
    ),
    (
        "hygon",
        Some((
            "hami.io/node-dcu-register",
            "DCU-0,4,65520,100,DCU-K100_AI,0,true:DCU-1,4,65520,100,DCU-K100_AI,0,true:",
        )),
        &[("hygon.com/dcunum", 8)],
    ),
    (
        "cambricon",
        None,
        &[
            ("cambricon.com/vmlu", 20),
            ("cambricon.com/mlu.smlu.vcore", 200),
            ("cambricon.com/mlu.smlu.vmemory", 188),
        ],
    ),
    (
        "iluvatar",
        Some((
            "hami.io/node-MR-V100-register",
            "MR-0,100,32768,100,MR-V100,0,true:MR-1,100,32768,100,MR-V100,0,true:",
        )),
        &[("iluvatar.ai/MR-V100-vgpu", 200)],
    ),
    (
        "mthreads",
        None,
        &[
            ("mthreads.com/vgpu", 20),
            ("mthreads.com/sgpu-core", 32),
            ("mthreads.com/sgpu-memory", 192),
        ],
    ),
    ("metax", None, &[("metax-tech.com/gpu", 2)]),
    ("kunlun", None, &[("kunlunxin.com/xpu", 8)]),
    (
        "kunlun-shared",
        Some((
            "hami.io/node-register-xpu",
            "XPU-0,4,98304,100,P800,0,true:XPU-1,4,98304,100,P800,0,true:",
        )),
        &[("kunlunxin.com/vxpu", 8)],
    ),
    (
        "neuron",
        None,
        &[
            ("aws.amazon.com/neuron", 4),
            ("aws.amazon.com/neuroncore", 8),
        ],
    ),
];

/// Pods that fit: limits, key and text of what they are given.
const FITTING: &[(&str, Amounts, &str, &str)] = &[
    (
        "nvidia-parts",
        &[("nvidia.com/gpu", 2), ("nvidia.com/gpumem", 3000)],
        "hami.io/vgpu-devices-allocated",
        "GPU-0,NVIDIA,3000,0:GPU-1,NVIDIA,3000,0:;",
    ),
    (
        "hygon-part",
        &[
            ("hygon.com/dcunum", 1),
            ("hygon.com/dcumem", 2000),
            ("hygon.com/dcucores", 15),
        ],
        "hami.io/dcu-devices-allocated",
        "DCU-0,DCU,2000,15:;",
    ),
    (
        "cambricon-part",
        &[
            ("cambricon.com/vmlu", 1),
            ("cambricon.com/mlu.smlu.vmemory", 20),
            ("cambricon.com/mlu.smlu.vcore", 30),
        ],
        "hami.io/cambricon-mlu-devices-allocated",
        "cambricon-cambricon-mlu-0,MLU,5120,30:;",
    ),
    (
        "iluvatar-part",
        &[
            ("iluvatar.ai/MR-V100-vgpu", 1),
            ("iluvatar.ai/MR-V100.vMem", 64),
            ("iluvatar.ai/MR-V100.vCore", 50),
        ],
        "hami.io/MR-V100-devices-allocated",
        "MR-0,MR-V100,16384,50:;",
    ),
    (
        "mthreads-part",
        &[
            ("mthreads.com/vgpu", 1),
            ("mthreads.com/sgpu-memory", 32),
            ("mthreads.com/sgpu-core", 8),
        ],
        "hami.io/mthreads-vgpu-devices-allocated",
        "mthreads-mthreads-0,Mthreads,16384,8:;",
    ),
    (
        "metax-whole",
        &[("metax-tech.com/gpu", 1)],
        "hami.io/metax-gpu-devices-allocated",
        "metax-metax-0,Metax-GPU,65536,100:;",
    ),
    (
        "kunlun-whole",
        &[("kunlunxin.com/xpu", 2)],
        "hami.io/kunlun-allocated",
        "kunlun-kunlun-0,kunlun,98304,100:kunlun-kunlun-1,kunlun,98304,100:;",
    ),
    (
        "kunlun-parts",
        &[
            ("kunlunxin.com/vxpu", 2),
            ("kunlunxin.com/vxpu-memory", 20_000),
        ],
        "hami.io/xpu-devices-allocated",
        "XPU-0,XPU,24576,25:XPU-1,XPU,24576,25:;",
    ),
    (
        "neuron-core",
        &[("aws.amazon.com/neuroncore", 1)],
        "hami.io/aws-neuron-devices-allocated",
        "neuron-AWSNeuron-0,AWSNeuron,0,1:;",
    ),
];

/// Pods that do not: limits, and what they are told.
const REFUSED: &[(&str, Amounts, &str)] = &[
    (
        "hygon-parts",
        &[("hygon.com/dcunum", 2), ("hygon.com/dcumem", 4000)],
        "hygon.com/dcunum 2 takes whole cards: hygon.com/dcumem 4000 is not possible",
    ),
    (
        "cambricon-parts",
        &[
            ("cambricon.com/vmlu", 2),
            ("cambricon.com/mlu.smlu.vcore", 30),
        ],
        "cambricon.com/vmlu 2 takes whole cards: cambricon.com/mlu.smlu.vcore 30 is not possible",
    ),
    (
        "iluvatar-whole",
        &[("iluvatar.ai/MR-V100-vgpu", 2)],
        "MR-0: 16,384 MiB short; MR-1: fits",
    ),
    (
        "mthreads-odd",
        &[("mthreads.com/vgpu", 1), ("mthreads.com/sgpu-memory", 3)],
        "write one of 2, 4, 8, 16, 32, 64, 96",
    ),
    (
        "kunlun-three",
        &[("kunlunxin.com/xpu", 3)],
        "kunlunxin.com/xpu 3: cards come in 1, 2, 4 or 8",
    ),
    (
        "neuron-odd",
        &[("aws.amazon.com/neuroncore", 3)],
        "aws.amazon.com/neuroncore is 3: write 1, or a multiple of 2",
    ),
    (
        "two-vendors",
        &[("hygon.com/dcunum", 1), ("metax-tech.com/gpu", 1)],
        "ask each in a container of its own",
    ),
];

fn node(name: &str, annotation: Option<(&str, &str)>, amounts: Amounts) -> Value {
    let mut node = NodeShape::default().object(name);
    if let Some((key, text)) = annotation {
        node["metadata"]["annotations"] = json!({key: text});
    }
    for (resource, amount) in amounts {
        for part in ["capacity", "allocatable"] {
            node["status"][part][*resource] = json!(amount.to_string());
        }
    }
    node
}

fn pod(name: &str, limits: Amounts) -> Value {
    let limits: Vec<(&str, Value)> = limits
        .iter()
        .map(|(resource, amount)| (*resource, json!(amount)))
        .collect();
    asking(name, &limits)
}

fn start(lab: &LabGuard) -> Result<Scheduler> {
    let conf = ConfigMount::new(&scratch("vendors")?, CONF)?.file();
    let setup = Setup {
        conf: Some(conf),
        ..Setup::default()
    };
    Scheduler::start(lab.cluster(), &setup)
}

#[test]
fn every_row_of_hamis_table_is_served_as_it_says() -> Result<()> {
    let lab = Lab::take()?;
    for (name, annotation, amounts) in NODES {
        add_node(&lab, &node(name, *annotation, amounts))?;
    }
    let plugins = DevicePlugins::start(&lab, PluginSetup::default())?;
    let mut scheduler = start(&lab)?;
    for (name, limits, key, cards) in FITTING {
        create(&lab, &pod(name, limits))?;
        assert_eq!(chips_of(&lab, &scheduler, name, key)?, *cards, "{name}");
    }
    wait_running(&lab, &scheduler, "", FITTING.len())?;
    for (name, limits, told) in REFUSED {
        create(&lab, &pod(name, limits))?;
        is_told(&lab, &scheduler, name, &[told])?;
    }
    // All there is to know is in annotations.
    drop(scheduler);
    scheduler = start(&lab)?;
    create(
        &lab,
        &pod(
            "hygon-beside",
            &[
                ("hygon.com/dcunum", 1),
                ("hygon.com/dcumem", 100),
                ("hygon.com/dcucores", 85),
            ],
        ),
    )?;
    let key = "hami.io/dcu-devices-allocated";
    assert_eq!(
        chips_of(&lab, &scheduler, "hygon-beside", key)?,
        "DCU-0,DCU,100,85:;"
    );
    create(
        &lab,
        &pod(
            "hygon-third",
            &[
                ("hygon.com/dcunum", 1),
                ("hygon.com/dcucores", 1),
                ("hygon.com/dcumem", 100),
            ],
        ),
    )?;
    assert_eq!(
        chips_of(&lab, &scheduler, "hygon-third", key)?,
        "DCU-1,DCU,100,1:;"
    );
    wait_running(&lab, &scheduler, "", FITTING.len() + 2)?;
    // MetaX's own kubelet is not told which card: it does not call a plugin that reads annotations.
    all_get_their_own(&scheduler, &plugins, FITTING.len() + 1)
}
