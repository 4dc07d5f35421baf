//! Types asked for by pods with `nvidia.com/gpu`.

use super::*;
use crate::facts::ContainerFacts;

fn pod(resource: &str, annotations: &[(&str, &str)]) -> PodFacts {
    let pair = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    PodFacts {
        containers: vec![ContainerFacts {
            amounts: vec![(resource.to_owned(), 2000)],
            ..ContainerFacts::default()
        }],
        annotations: annotations.iter().map(pair).collect(),
        ..PodFacts::default()
    }
}

fn family(configured: bool) -> Box<dyn Family> {
    let settings = Settings {
        configured,
        ..Settings::default()
    };
    (SPEC.make)(&settings, &DeviceConfig::default())
}

fn cards(family: &dyn Family, label: Option<&str>) -> NodeCards {
    let labels: Pairs = label
        .map(|label| (LABEL.to_owned(), label.to_owned()))
        .into_iter()
        .collect();
    family.cards(&NodeFacts {
        name: "n1",
        labels: &labels,
        annotations: &[],
        allocatable: &[],
        capacity: &[],
        reports: &[],
    })
}

#[test]
fn type_lists_are_matched_with_the_product_label_of_the_node() {
    let (allow, deny) = ("nvidia.com/use-gputype", "nvidia.com/nouse-gputype");
    let (a100, t4) = (Some("NVIDIA-A100-PCIE-40GB"), Some("Tesla-T4"));
    let family = family(true);
    for (annotation, label, expected) in [
        ((allow, "A100,V100"), a100, Ok(0.0)),
        ((allow, "a100 pcie"), a100, Ok(0.0)),
        ((allow, "A100,V100"), t4, Err(OTHER_TYPE)),
        ((allow, "A100,V100"), None, Err(UNLABELLED)),
        ((allow, "A100,V100"), Some(""), Err(UNLABELLED)),
        ((deny, "T4"), t4, Err(OTHER_TYPE)),
        ((deny, "Tesla T4"), t4, Err(OTHER_TYPE)),
        ((deny, "T4"), a100, Ok(0.0)),
        ((deny, "T4"), None, Ok(0.0)),
    ] {
        let pod = pod(RESOURCE, &[annotation]);
        let request = family
            .request(&pod, Tags::default())
            .expect("a request")
            .expect("valid");
        let cards = cards(&*family, label);
        assert_eq!(
            request.fit(&cards, LedgerTime::Now),
            expected,
            "{annotation:?} {label:?}"
        );
        assert_eq!(
            request.choose(&cards, LedgerTime::Now).is_some(),
            expected.is_ok()
        );
        if let Err(failure) = expected {
            let failure = &request.failures()[usize::from(failure)];
            assert!(failure.text.contains("nvidia.com/gpu.product"));
            assert!(!failure.evictions_help);
            let miss = request
                .explain("n1", &cards, LedgerTime::Now)
                .expect("a miss")
                .text;
            assert!(miss.contains("n1") && miss.contains(LABEL), "{miss}");
        }
        assert_eq!(
            request.annotations("n1", &cards, &Allocations::new()),
            BindingAnnotations::default()
        );
        assert!(request.charge(None).is_empty());
    }
}

#[test]
fn other_pods_are_not_looked_at() {
    let annotation = ("nvidia.com/use-gputype", "A100");
    for (configured, resource, annotations) in [
        (false, RESOURCE, &[annotation][..]),
        (true, "volcano.sh/vgpu-number", &[annotation]),
        (true, RESOURCE, &[]),
        (true, RESOURCE, &[("nvidia.com/use-gputype", " ,")]),
    ] {
        let family = family(configured);
        let request = family.request(&pod(resource, annotations), Tags::default());
        assert!(request.is_none(), "{configured} {resource} {annotations:?}");
        if !configured {
            assert!(cards(&*family, Some("A100")).is_bare());
        }
    }
}
