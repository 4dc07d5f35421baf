//! What pods ask, and what is refused.

use super::{cards_of, config, container, family, pod, pod_of, settings};
use crate::binding::AnnotationValue;
use crate::facts::{ContainerFacts, ContainerKind, PodFacts};
use crate::ledger::{LedgerTime, Tags};
use crate::nvidia::vgpu::tests::with;
use crate::settings::{Policy, Settings};

fn refusal(pod: &PodFacts) -> String {
    match family(Policy::None).request(pod, Tags::default()) {
        Some(Err(text)) => text,
        Some(Ok(_)) => panic!("not refused"),
        None => panic!("asks nothing"),
    }
}

#[test]
fn amounts_out_of_range_name_the_field_the_value_and_the_range() {
    let cases: &[(&[(char, i64)], &str)] = &[
        (
            &[('n', -1)],
            "vgpu-number is -1: write an integer from 0 to 2147483647",
        ),
        (
            &[('n', 2_147_483_648)],
            "vgpu-number is 2147483648: write an integer from 0 to",
        ),
        (
            &[('n', 1), ('m', 4_294_967_296)],
            "below 2147483648; for 4Gi write 4096",
        ),
        (
            &[('m', 104_857_600_000)],
            "below 2147483648; for 100000Mi write 100000",
        ),
        (
            &[('n', 1), ('m', 2_147_483_649)],
            "memory must be an integer number of MiB below",
        ),
        (
            &[('n', 1), ('m', -5)],
            "vgpu-memory is -5: memory must be an integer number of MiB",
        ),
        (
            &[('n', 1), ('c', 101)],
            "vgpu-cores is 101: write an integer from 0 to 100",
        ),
        (
            &[('n', 1), ('p', 150)],
            "vgpu-memory-percentage is 150: write an integer from 0 to 100",
        ),
        (
            &[('c', 20)],
            "vgpu-cores is asked without volcano.sh/vgpu-number",
        ),
        (
            &[('p', 20)],
            "vgpu-memory-percentage is asked without volcano.sh/vgpu-number",
        ),
    ];
    for (limits, told) in cases {
        let text = refusal(&pod(&[&[], limits], &[]));
        assert!(text.starts_with("container 2: volcano.sh/"), "{text}");
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn fractions_are_refused() {
    let half = ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: vec![("volcano.sh/vgpu-number".to_owned(), 500)],
    };
    assert!(refusal(&pod_of(vec![half], &[])).contains("vgpu-number is 500m"));
}

#[test]
fn zero_asks_nothing() {
    let family = family(Policy::None);
    let cases: &[&[(char, i64)]] = &[&[('n', 0)], &[('n', 0), ('m', 5)], &[('m', 0)], &[('c', 0)]];
    for limits in cases {
        let asked = family.request(&pod(&[limits], &[]), Tags::default());
        assert!(asked.is_none(), "{limits:?}");
    }
}

#[test]
fn init_containers_and_sidecars_count_where_the_plugin_finds_them() {
    let family = family(Policy::None);
    let init = container(ContainerKind::Init, &[('n', 1), ('m', 100)]);
    let plain = container(ContainerKind::Regular, &[]);
    let alone = pod_of(vec![init.clone(), plain.clone()], &[]);
    let request = family.request(&alone, Tags::default());
    let request = request.expect("asks").expect("is not refused");
    let register = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:";
    let cards = cards_of(&*family, register, None);
    let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
    let written = request.annotations("n1", &cards, &chosen).annotations;
    let list = written
        .iter()
        .find(|one| one.key == "volcano.sh/vgpu-ids-new");
    // The plugin counts regular containers alone, and gives the first element to who comes first.
    let value = AnnotationValue::Text("GPU-aa,NVIDIA,100,0:".to_owned());
    assert_eq!(list.map(|one| &one.value), Some(&value));
    let second = container(ContainerKind::Regular, &[('n', 1), ('m', 300)]);
    let both = pod_of(vec![init.clone(), plain, second.clone()], &[]);
    let request = family.request(&both, Tags::default());
    let request = request.expect("asks").expect("is not refused");
    let chosen = request.choose(&cards, LedgerTime::Now).expect("fits");
    let charged: Vec<i64> = chosen.iter().map(|one| one.charged[0]).collect();
    assert_eq!(
        charged.iter().sum::<i64>(),
        300,
        "the most at any time: {charged:?}"
    );
    let memory = ("volcano.sh/vgpu-memory", 300_000);
    assert_eq!(request.charge(None).to_vec(), [memory]);
    assert_eq!(request.charge(Some(&chosen)).to_vec(), [memory]);
    let text = refusal(&pod_of(vec![init, second], &[]));
    assert!(
        text.contains("init containers and sidecars with vGPU"),
        "{text}"
    );

    let sidecar = container(ContainerKind::Sidecar, &[('n', 1), ('m', 100)]);
    let plain = container(ContainerKind::Regular, &[]);
    let alone = pod_of(vec![sidecar.clone(), plain.clone(), plain.clone()], &[]);
    assert!(matches!(
        family.request(&alone, Tags::default()),
        Some(Ok(_))
    ));

    let both = pod_of(
        vec![sidecar, container(ContainerKind::Regular, &[('n', 1)])],
        &[],
    );
    assert!(
        refusal(&both).contains("sidecars with vGPU only if"),
        "{}",
        refusal(&both)
    );
}

#[test]
fn more_init_containers_with_vgpu_than_are_placed_are_refused() {
    let asks = container(ContainerKind::Init, &[('n', 1), ('m', 100)]);
    let plain = container(ContainerKind::Regular, &[]);
    let many = |inits| {
        let init = vec![asks.clone(); inits];
        pod_of([init, vec![plain.clone(); inits]].concat(), &[])
    };
    let family = family(Policy::None);
    let request = family.request(&many(64), Tags::default());
    assert!(request.is_some_and(|made| made.is_ok()));
    let text = refusal(&many(65));
    assert!(
        text.starts_with("65 of spec.initContainers ask volcano.sh/vgpu-number"),
        "{text}"
    );
}

#[test]
fn a_number_of_0_beside_memory_is_told() {
    let family = family(Policy::None);
    for (limits, told) in [
        (
            &[('n', 0), ('m', 3000)][..],
            Some(
                "container 1: volcano.sh/vgpu-number is 0, so it gets no device, although it names \
                 volcano.sh/vgpu-memory 3000: write volcano.sh/vgpu-number: 1, or leave both out",
            ),
        ),
        (&[('n', 0)], None),
        (&[('n', 0), ('m', 0)], None),
        (&[('n', 1), ('m', 3000)], None),
    ] {
        let pod = pod(&[limits], &[]);
        assert_eq!(family.remark(&pod).as_deref(), told);
    }
}

#[test]
fn annotations_that_cannot_be_met_are_refused() {
    let cases = [
        (
            ("volcano.sh/vgpu-mode", "time-slicing"),
            "write hami-core, mig or mps",
        ),
        (("volcano.sh/vgpu-mode", ""), "write hami-core, mig or mps"),
        (
            ("volcano.sh/gpu-index", "0,x"),
            "write indices of GPUs separated by commas",
        ),
        (
            ("volcano.sh/gpu-index", "1,1"),
            "names 1 GPUs, but a container asks 2",
        ),
    ];
    for (annotation, told) in cases {
        let text = refusal(&pod(&[&[('n', 2)]], &[annotation]));
        assert!(text.contains(told) && text.contains(annotation.0), "{text}");
    }
}

#[test]
fn while_the_family_is_off_its_pods_are_told_which_argument_is_missing() {
    let renamed = {
        let mut config = config();
        config.count_name = "example.com/gpus".to_owned();
        config
    };
    let cases = [
        (Settings::default(), "plugin deviceshare is not configured"),
        (
            Settings {
                configured: true,
                ..Settings::default()
            },
            "vGPU is off",
        ),
        (
            Settings {
                vgpu: true,
                ..Settings::default()
            },
            "plugin deviceshare is not configured",
        ),
    ];
    for (settings, told) in cases {
        let family = with(&settings, renamed.clone());
        for name in [
            "volcano.sh/vgpu-number",
            "example.com/gpus",
            "volcano.sh/vgpu-memory",
        ] {
            let asks = |milli| ContainerFacts {
                kind: ContainerKind::Regular,
                amounts: vec![(name.to_owned(), milli)],
            };
            let asked = family.request(&pod_of(vec![asks(1000)], &[]), Tags::default());
            let text = asked.expect("asks").err().expect("is refused");
            assert!(text.contains(told) && text.contains(name), "{text}");
            assert!(text.contains("deviceshare.VGPUEnable"), "{text}");
            let nothing = family.request(&pod_of(vec![asks(0)], &[]), Tags::default());
            assert!(nothing.is_none());
        }
        assert!(family.request(&pod(&[&[]], &[]), Tags::default()).is_none());
    }
    let family = with(&settings(Policy::None), config());
    assert!(
        family
            .request(&pod(&[&[('n', 1)]], &[]), Tags::default())
            .is_some()
    );
}

#[test]
fn queues_are_charged_for_all_cards() {
    use super::request;
    let register = "GPU-v0,10,32768,NVIDIA-V100,true:GPU-t1,10,15360,NVIDIA-T4,true:";
    let family = family(Policy::Binpack);
    let cards = cards_of(&*family, register, None);
    let amounts = |pairs: &[(&str, i64)]| -> Vec<(String, i64)> {
        pairs
            .iter()
            .map(|(name, whole)| (format!("volcano.sh/{name}"), whole * 1000))
            .collect()
    };
    type Case<'a> = (
        &'a [(char, i64)],
        &'a [(&'a str, i64)],
        &'a [(&'a str, i64)],
    );
    let cases: &[Case] = &[
        (
            &[('n', 2), ('m', 3000), ('c', 30)],
            &[("vgpu-cores", 60), ("vgpu-memory", 6000)],
            &[("vgpu-cores", 60), ("vgpu-memory", 6000)],
        ),
        (&[('n', 2), ('p', 25)], &[], &[("vgpu-memory", 8192 + 3840)]),
        (&[('n', 1)], &[], &[("vgpu-memory", 32768)]),
    ];
    for (limits, before, after) in cases {
        let request = request(&*family, &pod(&[limits], &[]));
        let allocations = request.choose(&cards, LedgerTime::Now).expect("fits");
        let charge = |allocations| -> Vec<(String, i64)> {
            let charge = request.charge(allocations).into_iter();
            charge
                .map(|(name, milli)| (name.to_owned(), milli))
                .collect()
        };
        assert_eq!(charge(None), amounts(before), "{limits:?}");
        assert_eq!(charge(Some(&allocations)), amounts(after), "{limits:?}");
    }
}

#[test]
fn what_the_device_plugin_would_not_serve_is_placed_with_a_warning() {
    let cases = [
        (pod(&[&[('n', 1), ('m', 3000)]], &[]), None),
        (
            pod(&[&[('m', 3000)]], &[]),
            Some("asks memory of a vGPU and no number"),
        ),
        (
            pod(&[&[('n', 1)], &[('n', 1)]], &[]),
            Some("several containers ask vGPU"),
        ),
    ];
    for (pod, told) in cases {
        let request = family(Policy::None).request(&pod, Tags::default());
        let request = request.expect("asks").expect("is not refused");
        match (request.warning(), told) {
            (None, None) => {}
            (Some(warning), Some(told)) => assert!(warning.contains(told), "{warning}"),
            (warning, told) => panic!("{warning:?} instead of {told:?}"),
        }
    }
}
