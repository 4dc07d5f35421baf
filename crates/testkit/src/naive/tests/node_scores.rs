//! Tables of spec/02 §8.7, §8.8 and §9.

use pumice_conf::{Config, Value};
use pumice_model::object::{
    NodeObject, NodeOp, NodeRequirement, NodeTerm, PodObject, Taint, TaintEffect, Unsatisfiable,
};

use super::builders::*;

const GPU: &str = "nvidia.com/gpu";

fn three_nodes() -> Vec<NodeObject> {
    let soft = |key: &str| Taint {
        key: key.to_owned(),
        value: String::new(),
        effect: TaintEffect::PreferNoSchedule,
    };
    let mut na = labelled("na", &[("zone", "z1"), ("disk", "ssd")]);
    na.allocatable.push((GPU.to_owned(), 4000));
    na.taints = vec![soft("k1"), soft("k2")];
    let mut nb = labelled("nb", &[("zone", "z2"), ("gen", "2")]);
    nb.allocatable.push((GPU.to_owned(), 4000));
    nb.taints = vec![soft("k1")];
    vec![na, nb, labelled("nc", &[("zone", "z2")])]
}

fn running() -> Vec<PodObject> {
    let web = |name, request| pod(name, request).app("web");
    vec![
        web("a1", "1c 4Gi").on("na"),
        web("a2", "1c 4Gi").on("na"),
        web("b1", "4c 2Gi").on("nb"),
        pod("c1", "").app("db").on("nc"),
    ]
}

/// Only one scorer, with that weight.
fn only(scorer: &str, weight: i64) -> Config {
    let all = [
        "leastrequested",
        "mostrequested",
        "balancedresource",
        "nodeaffinity",
        "podaffinity",
        "tainttoleration",
        "podtopologyspread",
        "imagelocality",
    ];
    let names = all.map(|name| format!("{name}.weight"));
    let arguments: Vec<(&str, Value)> = all
        .iter()
        .zip(&names)
        .map(|(name, key)| {
            let weight = if *name == scorer { weight } else { 0 };
            (key.as_str(), Value::Int(weight))
        })
        .collect();
    config(&[], vec![plugin("nodeorder", &arguments)])
}

fn web(request: &str) -> PodObject {
    pod("new", request).app("web")
}

fn with_gpu(mut pod: PodObject) -> PodObject {
    pod.request.push((GPU.to_owned(), 2000));
    pod.request.sort();
    pod
}

fn preferring_nodes() -> PodObject {
    let term = |key: &str, op| NodeTerm {
        expressions: vec![NodeRequirement {
            key: key.to_owned(),
            op,
        }],
        ..NodeTerm::default()
    };
    let mut new = web("1c 1Gi");
    new.preferred_node_affinity = vec![
        (30, term("disk", NodeOp::In(vec!["ssd".to_owned()]))),
        (80, term("gen", NodeOp::Gt(1))),
    ];
    new
}

fn preferring_pods() -> PodObject {
    let mut new = web("1c 1Gi");
    new.preferred_affinity = vec![(10, pods_of("web", "zone"))];
    new.preferred_anti_affinity = vec![(25, pods_of("web", "kubernetes.io/hostname"))];
    new
}

fn spreading() -> PodObject {
    let soft = Unsatisfiable::ScheduleAnyway;
    let mut new = web("1c 1Gi");
    new.spread = vec![
        constraint("zone", 1, "web", soft),
        constraint("kubernetes.io/hostname", 2, "web", soft),
    ];
    new
}

type Row = (&'static str, Config, PodObject, [f64; 3]);

fn rows() -> Vec<Row> {
    let plain = || web("1c 1Gi");
    let defaults = config(&[], vec![plugin("nodeorder", &[])]);
    vec![
        (
            "least",
            only("leastrequested", 1),
            plain(),
            [52.0, 59.0, 89.0],
        ),
        (
            "most",
            only("mostrequested", 1),
            plain(),
            [46.0, 40.0, 10.0],
        ),
        (
            "balanced",
            only("balancedresource", 1),
            plain(),
            [76.0, 73.0, 73.0],
        ),
        (
            "gpu",
            only("balancedresource", 1),
            with_gpu(plain()),
            [81.0, 76.0, 73.0],
        ),
        (
            "least, none",
            only("leastrequested", 1),
            web(""),
            [60.0, 67.0, 97.0],
        ),
        (
            "balanced, none",
            only("balancedresource", 1),
            web(""),
            [0.0, 0.0, 0.0],
        ),
        (
            "nodes",
            only("nodeaffinity", 2),
            preferring_nodes(),
            [74.0, 200.0, 0.0],
        ),
        (
            "taints",
            only("tainttoleration", 3),
            plain(),
            [0.0, 150.0, 300.0],
        ),
        (
            "pods",
            only("podaffinity", 2),
            preferring_pods(),
            [0.0, 74.0, 200.0],
        ),
        (
            "spread",
            only("podtopologyspread", 2),
            spreading(),
            [56.0, 142.0, 200.0],
        ),
        ("defaults", defaults, plain(), [128.0, 282.0, 462.0]),
    ]
}

#[test]
fn scorers_give_the_numbers_of_the_worked_node_set() {
    for (name, config, new, expected) in rows() {
        let cluster = Cluster::default()
            .nodes(three_nodes())
            .pods(running())
            .pods([new]);
        let scores: Vec<f64> = scored(&cluster.cycle(&config), "new")
            .into_values()
            .collect();
        assert_eq!(scores, expected, "{name}");
    }
}

#[test]
fn image_locality_scales_between_23_mib_and_1000_mib_a_container() {
    // (sizes in MiB of one image a container, nodes of three that have them, score there)
    for (sizes, having, expected) in [
        (vec![20], 3, 0.0),
        (vec![500], 3, 48.0),
        (vec![2000], 3, 100.0),
        (vec![600, 900], 3, 74.0),
        (vec![600], 1, 18.0),
        (vec![600], 2, 38.0),
    ] {
        let image = |index: usize| format!("image-{index}:latest");
        let mut nodes = three_nodes();
        for node in nodes.iter_mut().take(having) {
            let sizes = sizes.iter().enumerate();
            node.images = sizes
                .map(|(index, size)| (image(index), size * MI))
                .collect();
        }
        let mut new = web("1c 1Gi");
        new.images = (0..sizes.len()).map(image).collect();
        new.container_count = sizes.len() as u32;
        let cluster = Cluster::default().nodes(nodes).pods([new]);
        let config = only("imagelocality", 1);
        let scores: Vec<f64> = scored(&cluster.cycle(&config), "new")
            .into_values()
            .collect();
        let wanted: Vec<f64> = (0..3)
            .map(|n| if n < having { expected } else { 0.0 })
            .collect();
        assert_eq!(scores, wanted, "{sizes:?}");
    }
}

#[test]
fn binpack_prefers_the_fuller_node_as_in_the_table() {
    let tuned = [
        ("binpack.weight", Value::Int(10)),
        ("binpack.cpu", Value::Int(5)),
        ("binpack.memory", Value::Int(1)),
        ("binpack.resources", Value::Str(GPU.to_owned())),
        ("binpack.resources.nvidia.com/gpu", Value::Int(2)),
    ];
    for (arguments, new, expected) in [
        (&tuned[..0], web("1c 1Gi"), [46.875, 40.625, 9.375]),
        (
            &tuned,
            with_gpu(web("1c 1Gi")),
            [429.6875, 539.0625, 85.9375],
        ),
        (&tuned[..0], web("5c 1Gi"), [71.875, 0.0, 34.375]),
    ] {
        let config = config(&[], vec![plugin("binpack", arguments)]);
        let cluster = Cluster::default()
            .nodes(three_nodes())
            .pods(running())
            .pods([new]);
        let scores: Vec<f64> = scored(&cluster.cycle(&config), "new")
            .into_values()
            .collect();
        assert_eq!(scores, expected);
    }
}
