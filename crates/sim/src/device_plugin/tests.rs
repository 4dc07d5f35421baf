//! What the model must do to be worth anything: serve the right pod, and show the wrong one.

mod ascend;
mod gpushare;
mod guard;
mod hami;
mod mindcluster;
mod register;
mod vgpu;

use std::collections::BTreeMap;

use super::*;

/// Annotations as the scheduler writes them with a Binding.
pub(super) fn bound(name: &str, time: &str, allocation: &str) -> ListedPod {
    let annotations = [
        (super::vgpu::NODE, "n1"),
        (super::vgpu::TIME, time),
        (super::vgpu::IDS, allocation),
        (super::vgpu::TO_ALLOCATE, allocation),
        (super::vgpu::PHASE, super::vgpu::ALLOCATING),
    ];
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    ListedPod {
        containers: containers(super::vgpu::NUMBER, allocation),
        ..waiting("default", name, annotations.into_iter().map(pair).collect())
    }
}

/// A pod bound to `n1` that waits for its plugins. Its UID is its name.
fn waiting(namespace: &str, name: &str, annotations: BTreeMap<String, String>) -> ListedPod {
    ListedPod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        node: Some("n1".to_owned()),
        phase: "Pending".to_owned(),
        annotations,
        ..ListedPod::default()
    }
}

/// The call for the first container of a pod on `n1`.
fn call(pod: &str, ids: u64) -> AllocateCall {
    AllocateCall {
        node: "n1".to_owned(),
        ids,
        pod: pod.to_owned(),
        container: 0,
    }
}

/// A container for each element, asking for as many devices as it has.
fn containers(resource: &str, allocation: &str) -> Vec<Container> {
    let count = |element: &str| element.matches(',').count() / 3;
    let container = |(at, element): (usize, &str)| {
        let limits = match count(element) {
            0 => BTreeMap::new(),
            count => BTreeMap::from([(resource.to_owned(), count as u64)]),
        };
        Container {
            name: format!("c{at}"),
            limits,
        }
    };
    allocation.split(';').enumerate().map(container).collect()
}

fn ids(grants: &[Grant]) -> Vec<&str> {
    grants.iter().map(|grant| grant.id.as_str()).collect()
}

fn annotation<'a>(pods: &'a [ListedPod], name: &str, key: &str) -> &'a str {
    let pod = pods.iter().find(|pod| pod.name == name);
    pod.and_then(|pod| pod.annotations.get(key))
        .map_or("-", String::as_str)
}

#[test]
fn answering_at_once_gives_what_the_plugin_leaves_behind() {
    for allocation in [
        "GPU-aa,NVIDIA,3000,50:",
        ";GPU-aa,NVIDIA,3000,50:",
        "GPU-aa,NVIDIA,3000,50:GPU-bb,NVIDIA,3000,50:",
        "GPU-m0[group1-0],NVIDIA,3000,0:;;GPU-m0[group1-1],NVIDIA,3000,0:",
    ] {
        let mut pods = vec![bound("a", "7", allocation)];
        let before: Pairs = pods[0].annotations.clone().into_iter().collect();
        let services = kubelet::admit(super::vgpu::Generation::V1_10, &mut pods, "a");
        assert!(
            services.iter().all(kubelet::Service::is_own),
            "{services:?}"
        );
        let after: Pairs = pods[0].annotations.clone().into_iter().collect();
        assert_eq!(answer_at_once(&before), after);
        assert_eq!(answer_at_once(&after), after, "once is enough");
    }
}

#[test]
fn answering_at_once_leaves_alone_what_is_no_plugins_business() {
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let unreadable = bound("a", "7", "GPU-aa,NVIDIA:").annotations;
    let cases: [Pairs; 4] = [
        vec![],
        [("a", "b"), ("volcano.sh/bind-phase", "allocating")]
            .map(pair)
            .to_vec(),
        [("volcano.sh/gpu-index", "0,2")].map(pair).to_vec(),
        unreadable.into_iter().collect(),
    ];
    for annotations in cases {
        assert_eq!(answer_at_once(&annotations), annotations);
    }
}
