//! What pods may ask.

use super::{family, pod, pod as asking, refusal};
use crate::facts::{ContainerKind, PodFacts};
use crate::family::Family;
use crate::fixture::{container, pod_of};
use crate::ledger::Tags;
use crate::settings::{Policy, Settings};

const P: &str = "Ascend310P";

#[test]
fn what_cannot_be_is_refused_with_what_to_write() {
    let family = family(Policy::None);
    let soft = [("huawei.com/vnpu-mode", "hami-core")];
    for (pod, says) in [
        (
            pod(P, &[&[('m', 4096)]], &[]),
            "asked without huawei.com/Ascend310P: add the number",
        ),
        (
            pod(P, &[&[('c', 10)]], &soft),
            "asked without huawei.com/Ascend310P",
        ),
        (
            pod(P, &[&[('n', 1), ('m', 0)]], &[]),
            "is 0: write MiB from 1 to 24576",
        ),
        (
            pod(P, &[&[('n', 1), ('c', 101)]], &soft),
            "write an integer from 0 to 100",
        ),
        (
            pod(P, &[&[('n', 1)], &[('n', 1), ('m', 24_577)]], &[]),
            "container 2: ",
        ),
        (
            pod(P, &[&[('n', 1)]], &[("huawei.com/vnpu-mode", "soft")]),
            "\"soft\": write hami-core",
        ),
        (
            pod(P, &[&[('n', 1), ('m', 4 << 30)]], &[]),
            "for 4096Mi write 4096",
        ),
        (
            pod("ascend310p-2c", &[&[('n', 1)]], &[]),
            "no type of chips",
        ),
    ] {
        let told = refusal(&*family, &pod);
        assert!(told.contains(says), "{told}");
    }
    let mut init = pod(P, &[&[('n', 1), ('c', 1)]], &[]);
    init.containers[0].kind = ContainerKind::Init;
    let told = refusal(&*family, &init);
    assert!(told.contains("init container 1: "), "{told}");
}

#[test]
fn a_count_of_zero_asks_nothing() {
    let family = family(Policy::None);
    let nothing = |pod: &PodFacts| family.request(pod, Tags::default()).is_none();
    assert!(nothing(&pod(P, &[&[('n', 0)]], &[])));
    assert!(nothing(&pod(P, &[&[('n', 0), ('m', 4096)]], &[])));
    // Neither what it says besides.
    assert!(nothing(&pod(P, &[&[('n', 0), ('m', 30_000)]], &[])));
    assert!(nothing(&pod(P, &[&[('n', 0), ('c', 101)]], &[])));
    assert!(nothing(&PodFacts::default()));
}

#[test]
fn nothing_is_handed_out_while_the_family_is_off() {
    for (configured, says) in [(true, "are off: set"), (false, "is not configured: add")] {
        let settings = Settings {
            configured,
            ..Settings::default()
        };
        let family: Box<dyn Family> = (super::SPEC.make)(&settings, &Default::default());
        for name in [P, "Ascend910B4-1-memory", "ascend310p-2c"] {
            let told = refusal(&*family, &asking(name, &[&[('n', 1)]], &[]));
            assert!(told.contains(says) && told.contains(name), "{told}");
        }
        assert!(family.ignored_resources().is_empty());
    }
}

#[test]
fn more_init_containers_with_chips_than_are_placed_are_refused() {
    // One that asks chips of two types is one container.
    let asked = [("huawei.com/Ascend310P", 1), ("huawei.com/Ascend910B4", 1)];
    let many = |inits| pod_of(vec![container(ContainerKind::Init, &asked); inits], &[]);
    let family = family(Policy::None);
    assert!(
        family
            .request(&many(64), Tags::default())
            .is_some_and(|made| made.is_ok())
    );
    let why = refusal(&*family, &many(65));
    assert!(
        why.starts_with("65 of spec.initContainers ask huawei.com/Ascend"),
        "{why}"
    );
}

#[test]
fn memory_and_cores_are_not_counted_on_nodes() {
    let ignored = family(Policy::None).ignored_resources();
    assert_eq!(ignored.len(), 14);
    assert!(ignored.contains(&"huawei.com/Ascend310P-memory".to_owned()));
    assert!(ignored.contains(&"huawei.com/Ascend910B4-1-core".to_owned()));
}
