//! NPUs of MindCluster: nodes with chips and what ConfigMaps tell of them, pods that ask for AI
//! cores or hold some.

use pumice_model::delta::Delta;
use pumice_model::object::{
    Amounts, ContainerFacts, ContainerKind, NodeObject, Pairs, PodObject, PodPhase,
};

use super::rng::Rng;
use super::{Theme, amount, pairs};
use crate::device_texts::check_code;

pub const CORES: &str = "huawei.com/npu-core";
const REAL: &str = "huawei.com/AscendReal";
const LIST: &str = "huawei.com/Ascend310P";

/// Template, AI cores and how the device plugin calls it.
const TEMPLATES: &[(&str, i64, &str)] = &[
    ("vir01", 1, "Ascend310P-1c"),
    ("vir02", 2, "Ascend310P-2c"),
    ("vir02_1c", 2, "Ascend310P-2c.1cpu"),
    ("vir04", 4, "Ascend310P-4c"),
    ("vir04_3c", 4, "Ascend310P-4c.3cpu"),
    ("vir04_3c_ndvpp", 4, "Ascend310P-4c.3cpu.ndvpp"),
    ("vir04_4c_dvpp", 4, "Ascend310P-4c.4cpu.dvpp"),
];

/// Gives nodes chips and pods requests; what is told of the nodes.
pub fn furnish(
    rng: &mut Rng,
    theme: &Theme,
    nodes: &mut [NodeObject],
    pods: &mut [PodObject],
) -> Vec<Delta> {
    let mut told = Vec::new();
    if theme.mindcluster {
        for node in nodes.iter_mut() {
            if !rng.one_in(6) {
                chips(rng, node);
                told.extend(tell(rng, node));
            }
        }
        ask(rng, theme, nodes, pods);
    }
    told
}

/// What a queue may have of AI cores.
pub fn limit(rng: &mut Rng) -> (String, i64) {
    (CORES.to_owned(), rng.pick(&[0, 4000, 8000, 16_000]))
}

/// Kinds of nodes: labels `accelerator` and `servertype`, AI cores of each chip. The last ones are
/// none that are given out.
const KINDS: &[(&str, &str, i64)] = &[
    ("huawei-Ascend310P", "Ascend310P-8", 8),
    ("huawei-Ascend310P", "Ascend310P-10-dual", 10),
    ("huawei-Ascend910", "Ascend910-32", 30),
    ("huawei-Ascend310P", "Ascend310P-24", 24),
    ("huawei-Ascend310P", "Ascend310P-10-dual", 8),
    ("Ascend310P", "Ascend310P-8", 8),
];

/// Gives a node chips.
pub fn chips(rng: &mut Rng, node: &mut NodeObject) {
    let count = rng.between(1, 3);
    let (accelerator, server, each) = match rng.below(32) {
        odd @ 0..=3 => KINDS[2 + odd],
        4..=10 => KINDS[1],
        _ => KINDS[0],
    };
    // Newer versions of MindCluster have other names.
    let either = |rng: &mut Rng, old, new| if rng.one_in(6) { new } else { old };
    let server_type = either(rng, "servertype", "huawei.com/npu.server.type");
    let chip_name = either(
        rng,
        "node.kubernetes.io/npu.chip.name",
        "huawei.com/npu.chip.name",
    );
    let mut labels = vec![(server_type, server), ("accelerator", accelerator)];
    if !rng.one_in(16) {
        labels.push((chip_name, "310P3"));
    }
    node.labels.extend(pairs(&labels));
    node.labels.sort();
    let cores = 1000 * each * count as i64;
    let unhealthy = if rng.one_in(8) { 1000 * each } else { 0 };
    node.allocatable.push((CORES.to_owned(), cores - unhealthy));
    node.allocatable.sort();
    node.device_capacity.push((CORES.to_owned(), cores));
    let base = match rng.below(24) {
        0..=2 => return,
        3 => "{".to_owned(),
        _ => base(rng, count),
    };
    let key = either(rng, "baseDeviceInfos", "huawei.com/npu.base-device-infos");
    node.device_annotations.push((key.to_owned(), base));
    node.device_annotations.sort();
}

fn base(rng: &mut Rng, count: usize) -> String {
    let mut names = names(0..count);
    if rng.one_in(8) {
        // A vNPU, which is no chip.
        names.push(format!("Ascend310P-2c-100-{count}"));
    }
    let names = names.iter().map(|name| format!(r#""{name}":{{"IP":""}}"#));
    format!("{{{}}}", names.collect::<Vec<String>>().join(","))
}

fn names(ids: impl Iterator<Item = usize>) -> Vec<String> {
    ids.map(|id| format!("Ascend310P-{id}")).collect()
}

/// Chips of a node, as it counts them.
fn count(node: &NodeObject) -> usize {
    let each = match node.labels.iter().any(|(_, label)| label.contains("-10")) {
        true => 10_000,
        false => 8000,
    };
    let count = amount(&node.device_capacity, CORES) / each;
    usize::try_from(count).map_or(1, |count| count.max(1))
}

/// What is told of a node: by ClusterD, and by its own device plugin and NodeD.
pub fn tell(rng: &mut Rng, node: &NodeObject) -> Vec<Delta> {
    let count = count(node);
    let mut told = Vec::new();
    for of_cluster in [true, false] {
        let topics = match of_cluster {
            true => ["cluster-info-device", "cluster-info-node"],
            false => ["mindx-dl-deviceinfo", "mindx-dl-nodeinfo"],
        };
        let devices = match rng.below(16) {
            0 => None,
            _ => Some(devices(rng, count, of_cluster)),
        };
        let health = match rng.below(3) {
            0 => Some(health(rng, of_cluster)),
            _ => None,
        };
        for (topic, text) in topics.iter().zip([devices, health]) {
            told.extend(text.map(|text| Delta::NodeReport {
                node: node.name.clone(),
                topic: (*topic).to_owned(),
                text: Some(text),
            }));
        }
    }
    told
}

fn devices(rng: &mut Rng, count: usize, of_cluster: bool) -> String {
    let beyond = usize::from(rng.one_in(24));
    let mut lists: Vec<Vec<String>> = vec![Vec::new(); 5];
    for name in names(0..count + beyond) {
        let at = match rng.below(20) {
            at @ 0..=2 => 1 + at,
            // In use, so that the device plugin does not give it out.
            3 | 4 => 4,
            _ => 0,
        };
        lists[at].push(name);
    }
    let suffixes = ["", "-Unhealthy", "-Recovering", "-NetworkUnhealthy"];
    let lists = suffixes.iter().zip(lists);
    let lists = lists.filter(|(suffix, _)| !suffix.is_empty() || !rng.one_in(32));
    let lists = lists.map(|(suffix, list)| format!(r#""{LIST}{suffix}":"{}""#, list.join(",")));
    let lists = lists.collect::<Vec<String>>().join(",");
    let time = if rng.one_in(24) { 0 } else { 1_718_702_470 };
    let info = format!(r#"{{"DeviceList":{{{lists}}},"UpdateTime":{time}}}"#);
    finish(rng, "DeviceInfo", info, of_cluster)
}

fn health(rng: &mut Rng, of_cluster: bool) -> String {
    let status = rng.pick(&[
        "Healthy",
        "Healthy",
        "SubHealthy",
        "UnHealthy",
        "PreSeparate",
    ]);
    let info = format!(r#"{{"FaultDevList":[],"NodeStatus":"{status}"}}"#);
    finish(rng, "NodeInfo", info, of_cluster)
}

/// The text as it is written: of the node's own components with a check code.
fn finish(rng: &mut Rng, key: &str, info: String, of_cluster: bool) -> String {
    let info = match rng.below(40) {
        0 => return String::from("{"),
        1 | 2 => info.to_lowercase().replace("ascend310p", "Ascend310P"),
        _ => info,
    };
    if of_cluster {
        return info;
    }
    let code = match rng.below(16) {
        0 => "4f00".to_owned(),
        1 => String::new(),
        2 | 3 => return format!(r#"{{"{key}":{info}}}"#),
        _ => check_code(&info),
    };
    format!(r#"{{"{key}":{info},"CheckCode":"{code}"}}"#)
}

/// Gives pods requests.
pub fn ask(rng: &mut Rng, theme: &Theme, nodes: &[NodeObject], pods: &mut [PodObject]) {
    if !theme.mindcluster {
        return;
    }
    // Few different requests, so that pods share classes; often as many AI cores, by which alone the
    // device plugin tells pods apart.
    let alike = rng.one_in(2).then(|| rng.pick(&[2, 4]));
    let number = rng.between(1, 4);
    let asks: Vec<Ask> = (0..number).map(|_| Ask::any(rng, alike)).collect();
    for pod in pods.iter_mut() {
        if !pod.facts.containers.is_empty() {
            continue;
        }
        let node = nodes
            .iter()
            .find(|node| pod.node.as_ref() == Some(&node.name));
        let node = node.filter(|node| amount(&node.allocatable, CORES) > 0);
        match (rng.below(16), node) {
            (0, Some(node)) => {
                // Others have given it whole chips.
                let id = rng.below(count(node) + 1);
                pod.records = pairs(&[(LIST, &names(id..id + 1).join(","))]);
                // Sometimes somebody has written it who asks for none; where HAMi has chips by that name it is
                // hers to count.
                let is_hamis = amount(&node.allocatable, LIST) > 0;
                if !rng.one_in(4) && !is_hamis {
                    let amounts = vec![(LIST.to_owned(), 1000)];
                    let kind = ContainerKind::Regular;
                    pod.facts.containers.push(ContainerFacts { kind, amounts });
                }
            }
            (0..4, _) => {}
            (_, None) if pod.node.is_some() => {}
            (_, node) => {
                rng.pick(&asks).put(pod);
                if let Some(node) = node {
                    hold(rng, node, pod);
                }
            }
        }
    }
}

#[derive(Clone)]
struct Ask {
    /// AI cores of each container.
    cores: Vec<(ContainerKind, i64)>,
    labels: Vec<(&'static str, &'static str)>,
    /// So little CPU that NPUs are what runs out.
    is_small: bool,
}

impl Ask {
    fn any(rng: &mut Rng, alike: Option<i64>) -> Self {
        let any = match rng.one_in(24) {
            true => rng.pick(&[3, 5, 9]),
            false => rng.pick(&[1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 16, 10, 20]),
        };
        let cores = alike.unwrap_or(any);
        let regular = ContainerKind::Regular;
        let kind = match rng.below(24) {
            0 => ContainerKind::Init,
            1 => ContainerKind::Sidecar,
            _ => regular,
        };
        let mut all = vec![(kind, cores)];
        if rng.one_in(6) {
            all.insert(0, (regular, 0));
        }
        if rng.one_in(24) {
            all.push((rng.pick(&[regular, ContainerKind::Init]), 1));
        }
        let mut labels = Vec::new();
        match rng.below(40) {
            0 => {}
            1 => labels.push(("ring-controller.atlas", "ascend-910")),
            _ => labels.push(("ring-controller.atlas", "ascend-310P")),
        }
        if !rng.one_in(3) {
            labels.push(("vnpu-level", rng.pick(&["high", "high", "low", "other"])));
        }
        if !rng.one_in(3) {
            let dvpp: &[&str] = match cores {
                4 => &["yes", "no", "null", "yes", "no", "no", "Yes", ""],
                _ => &["null", "null", "null", "null", "null", "null", "no", "on"],
            };
            labels.push(("vnpu-dvpp", rng.pick(dvpp)));
        }
        Self {
            cores: all,
            labels,
            is_small: !rng.one_in(4),
        }
    }

    fn put(&self, pod: &mut PodObject) {
        let (mut init, mut sum) = (0, 0);
        for (kind, cores) in self.cores.iter().copied() {
            let amounts = match cores {
                0 => Vec::new(),
                cores => vec![(CORES.to_owned(), 1000 * cores)],
            };
            match kind {
                ContainerKind::Init => init = init.max(cores),
                _ => sum += cores,
            }
            pod.facts.containers.push(ContainerFacts { kind, amounts });
        }
        pod.request.push((CORES.to_owned(), 1000 * sum.max(init)));
        pod.request.sort();
        pod.facts.labels = pairs(&self.labels);
        let cpu = pod.request.iter_mut().find(|(name, _)| name == "cpu");
        if let Some((_, milli)) = cpu.filter(|_| self.is_small) {
            *milli = 100;
            pod.nonzero_cpu_milli = 100;
        }
    }
}

/// Annotations of a pod that has its cores already, as a scheduler and its device plugin leave them;
/// any chips of the node, crowded ones too, and sometimes such that nobody can tell.
fn hold(rng: &mut Rng, node: &NodeObject, pod: &mut PodObject) {
    if pod.phase == PodPhase::Succeeded {
        return;
    }
    let cores = amount(&pod.request, CORES) / 1000;
    let beyond = usize::from(rng.one_in(8));
    let id = rng.below(count(node) + beyond);
    let fitting: Vec<_> = TEMPLATES.iter().filter(|(_, of, _)| *of == cores).collect();
    let text = match (fitting.is_empty(), cores) {
        _ if rng.one_in(32) => rng.pick(&["0-vir03", "1-", "x", "0,x", ""]).to_owned(),
        (false, _) => format!("{id}-{}", rng.pick(&fitting).0),
        (true, ..10) => id.to_string(),
        (true, _) => format!("{id},{}", id + 1),
    };
    if !rng.one_in(24) {
        pod.records = pairs(&[(CORES, &text)]);
    }
    if rng.one_in(2) {
        serve(rng, pod);
    } else if rng.one_in(3) {
        set_real(pod, String::new());
    }
}

/// A pod was given something that the device plugin has not made yet.
pub fn waits(pod: &PodObject) -> bool {
    let said = |key: &str| pod.records.iter().find(|(known, _)| known == key);
    said(CORES).is_some() && said(REAL).is_none_or(|(_, real)| real.is_empty())
}

/// The device plugin has made what a pod was given.
pub fn serve(rng: &mut Rng, pod: &mut PodObject) {
    let text = pod.records.iter().find(|(key, _)| key == CORES);
    let Some((_, text)) = text else {
        return;
    };
    let real = match text.split_once('-') {
        Some((id, template)) => {
            let known = TEMPLATES.iter().find(|(name, ..)| *name == template);
            let kind = known.map_or("Ascend310P-1c", |(_, _, kind)| kind);
            let group = match rng.below(6) {
                0 => String::new(),
                group => format!("_{}", group - 1),
            };
            format!("{kind}-{}-{id}{group}", 100 + rng.below(9))
        }
        None => {
            let ids = text.split(',').map(|id| format!("Ascend310P-{id}"));
            ids.collect::<Vec<String>>().join(",")
        }
    };
    set_real(pod, real);
}

fn set_real(pod: &mut PodObject, real: String) {
    let mut records: Pairs = pod.records.clone();
    records.retain(|(key, _)| key != REAL);
    records.push((REAL.to_owned(), real));
    records.sort();
    pod.records = records;
}

/// A node has other chips than before, or none.
pub fn take_away(node: &mut NodeObject) {
    let without = |amounts: &mut Amounts| amounts.retain(|(name, _)| name != CORES);
    without(&mut node.allocatable);
    without(&mut node.device_capacity);
    let ours = |key: &str| {
        matches!(
            key,
            "accelerator" | "servertype" | "node.kubernetes.io/npu.chip.name"
        ) || key.starts_with("huawei.com/npu.")
    };
    node.labels.retain(|(key, _)| !ours(key));
    let base = |key: &str| key == "baseDeviceInfos" || key.starts_with("huawei.com/npu.");
    node.device_annotations.retain(|(key, _)| !base(key));
}
