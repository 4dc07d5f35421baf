//! NPUs of MindCluster: nodes with chips and what ConfigMaps tell of them, pods that ask for AI
//! cores or hold some.

use pumice_model::delta::Delta;
use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, PodObject, PodPhase};

use super::rng::Rng;
use super::{Theme, amount, pairs};

const CORES: &str = "huawei.com/npu-core";

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
                told.extend(chips(rng, node));
            }
        }
        ask(rng, theme, nodes, pods);
    }
    told
}

/// Chips of a node, and what is told of them.
pub fn chips(rng: &mut Rng, node: &mut NodeObject) -> Vec<Delta> {
    let count = rng.between(1, 3);
    let (kind, each) = rng.pick(&[
        ("Ascend310P-8", 8),
        ("Ascend310P-8", 8),
        ("Ascend310P-8", 8),
        ("Ascend310P-10-dual", 10),
    ]);
    let mut labels = vec![("servertype", kind), ("accelerator", "huawei-Ascend310P")];
    if !rng.one_in(16) {
        labels.push(("node.kubernetes.io/npu.chip.name", "310P3"));
    }
    node.labels.extend(pairs(&labels));
    node.labels.sort();
    let cores = 1000 * each * count as i64;
    node.allocatable.push((CORES.to_owned(), cores));
    node.allocatable.sort();
    node.device_capacity.push((CORES.to_owned(), cores));
    let names: Vec<String> = (0..count).map(|id| format!("Ascend310P-{id}")).collect();
    let base = names.iter().map(|name| format!(r#""{name}":{{"IP":""}}"#));
    let base = format!("{{{}}}", base.collect::<Vec<String>>().join(","));
    if !rng.one_in(8) {
        let said = ("baseDeviceInfos".to_owned(), base);
        node.device_annotations.push(said);
        node.device_annotations.sort();
    }
    report(rng, &node.name, &names)
}

fn report(rng: &mut Rng, node: &str, names: &[String]) -> Vec<Delta> {
    let mut lists: Vec<Vec<&str>> = vec![Vec::new(); 4];
    for name in names {
        let at = match rng.below(16) {
            0 => 1,
            1 => 2,
            2 => 3,
            _ => 0,
        };
        lists[at].push(name);
    }
    let keys = ["", "-Unhealthy", "-Recovering", "-NetworkUnhealthy"];
    let lists = keys.iter().zip(lists).map(|(suffix, list)| {
        let list = list.join(",");
        format!(r#""huawei.com/Ascend310P{suffix}":"{list}""#)
    });
    let lists = lists.collect::<Vec<String>>().join(",");
    let mut told = Vec::new();
    let mut tell = |topic: &str, text: String| {
        told.push(Delta::NodeReport {
            node: node.to_owned(),
            topic: topic.to_owned(),
            text: Some(text),
        });
    };
    if !rng.one_in(16) {
        let text =
            format!(r#"{{"DeviceList":{{{lists}}},"UpdateTime":1718702470,"SuperPodID":-2}}"#);
        tell("cluster-info-device", text);
    }
    if rng.one_in(3) {
        let status = rng.pick(&["Healthy", "Healthy", "UnHealthy", "PreSeparate"]);
        let text = format!(r#"{{"FaultDevList":[],"NodeStatus":"{status}"}}"#);
        tell("cluster-info-node", text);
    }
    told
}

/// Gives pods requests.
pub fn ask(rng: &mut Rng, theme: &Theme, nodes: &[NodeObject], pods: &mut [PodObject]) {
    if !theme.mindcluster {
        return;
    }
    // Few different requests, so that pods share classes.
    let asks: Vec<Ask> = (0..rng.between(1, 4)).map(|_| Ask::any(rng)).collect();
    for pod in pods.iter_mut() {
        if rng.one_in(4) || !pod.facts.containers.is_empty() {
            continue;
        }
        rng.pick(&asks).put(pod);
        if let Some(node) = pod.node.clone()
            && let Some(node) = nodes.iter().find(|known| known.name == node)
        {
            hold(rng, node, pod);
        }
    }
}

#[derive(Clone)]
struct Ask {
    /// AI cores of each container.
    cores: Vec<i64>,
    labels: Vec<(&'static str, &'static str)>,
}

impl Ask {
    fn any(rng: &mut Rng) -> Self {
        let cores = rng.pick(&[1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 16, 10]);
        let cores = if rng.one_in(24) { 3 } else { cores };
        let mut all = vec![cores];
        if rng.one_in(6) {
            all.insert(0, 0);
        }
        if rng.one_in(24) {
            all.push(1);
        }
        let mut labels = Vec::new();
        let mut say = |rng: &mut Rng, odds: usize, key, values: &[&'static str]| {
            if !rng.one_in(odds) {
                labels.push((key, rng.pick(values)));
            }
        };
        let right = &["ascend-310P"];
        match rng.one_in(20) {
            true => say(rng, 2, "ring-controller.atlas", &["ascend-910"]),
            false => say(rng, 1000, "ring-controller.atlas", right),
        }
        say(rng, 3, "vnpu-level", &["high", "high", "low", "other"]);
        match cores {
            4 => say(
                rng,
                2,
                "vnpu-dvpp",
                &["yes", "no", "null", "yes", "no", "Yes"],
            ),
            _ => say(
                rng,
                3,
                "vnpu-dvpp",
                &["null", "null", "null", "null", "null", "no"],
            ),
        }
        Self { cores: all, labels }
    }

    fn put(&self, pod: &mut PodObject) {
        let kind = ContainerKind::Regular;
        for cores in &self.cores {
            let amounts = match cores {
                0 => Vec::new(),
                cores => vec![(CORES.to_owned(), 1000 * cores)],
            };
            pod.facts.containers.push(ContainerFacts { kind, amounts });
        }
        let sum: i64 = self.cores.iter().sum();
        pod.request.push((CORES.to_owned(), 1000 * sum));
        pod.request.sort();
        pod.facts.labels = pairs(&self.labels);
    }
}

/// Annotations of a pod that has its cores already, as a scheduler and its device plugin leave them;
/// any chips of the node, crowded ones too.
fn hold(rng: &mut Rng, node: &NodeObject, pod: &mut PodObject) {
    if pod.phase == PodPhase::Succeeded {
        return;
    }
    let cores = amount(&pod.request, CORES) / 1000;
    let id = rng.below(3);
    let fitting: Vec<_> = TEMPLATES.iter().filter(|(_, of, _)| *of == cores).collect();
    let (text, real) = match (fitting.is_empty(), cores) {
        (false, _) => {
            let (name, _, kind) = rng.pick(&fitting);
            let real = format!("{kind}-{}-{id}_{}", 100 + rng.below(9), rng.below(5));
            (format!("{id}-{name}"), real)
        }
        (true, 8 | 10) => (id.to_string(), format!("Ascend310P-{id}")),
        (true, 16) => ("0,1".to_owned(), "Ascend310P-0,Ascend310P-1".to_owned()),
        _ => Default::default(),
    };
    if text.is_empty() || amount(&node.allocatable, CORES) == 0 {
        // Nobody could tell what such a pod holds.
        pod.facts = Default::default();
        pod.request.retain(|(name, _)| name != CORES);
        return;
    }
    let mut records = vec![(CORES, text.as_str())];
    if !rng.one_in(4) {
        records.push(("huawei.com/AscendReal", &real));
    }
    pod.records = pairs(&records);
}
