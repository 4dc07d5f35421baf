//! What is a vendor's own.

use super::{SPEC, VendorNode, dcus, family, place, pod, refusal, request, settings, text};
use crate::config::DeviceConfig;
use crate::facts::PodFacts;
use crate::ledger::{LedgerTime, NodeCards};
use crate::settings::{Policy, Settings};

#[test]
fn metax_gpus_are_whole_ones() {
    let family = family(Policy::None);
    let node = VendorNode::new(&[], &[("metax-tech.com/gpu", 3)]);
    let mut cards = node.cards(&*family);
    let two_containers = pod(
        &[&[("metax-tech.com/gpu", 1)], &[("metax-tech.com/gpu", 1)]],
        &[],
    );
    let written = place(&*family, &mut cards, (1, &two_containers)).expect("fits");
    assert_eq!(
        text(&written, "hami.io/metax-gpu-devices-allocated").as_deref(),
        Some("n1-metax-2,Metax-GPU,65536,100:;n1-metax-1,Metax-GPU,65536,100:;")
    );
    // Kubelet chooses the cards: nobody is taken for another.
    assert_eq!(written.guard, None);
    let two = pod(&[&[("metax-tech.com/gpu", 2)]], &[]);
    assert!(place(&*family, &mut cards, (2, &two)).is_err());
}

#[test]
fn a_pod_with_cards_of_two_vendors_takes_the_locks_of_both_and_is_like_no_other() {
    let settings = Settings {
        node_lock: true,
        in_flight_guard: true,
        ..settings(Policy::None)
    };
    let family = (SPEC.make)(&settings, &DeviceConfig::default());
    let node = VendorNode::new(
        &[(
            "hami.io/node-nvidia-register",
            "GPU-0,10,49140,100,NVIDIA L40S,0,true:",
        )],
        &[
            ("nvidia.com/gpu", 10),
            ("cambricon.com/mlu.smlu.vcore", 100),
            ("cambricon.com/mlu.smlu.vmemory", 94),
            ("cambricon.com/vmlu", 10),
        ],
    );
    let both = pod(
        &[&[("nvidia.com/gpu", 1)], &[("cambricon.com/vmlu", 1)]],
        &[],
    );
    let written = place(&*family, &mut node.cards(&*family), (1, &both)).expect("fits");
    let keys: Vec<&str> = written.locks.iter().map(|lock| lock.key).collect();
    assert_eq!(keys, ["cambricon.com/dsmlu.lock", "hami.io/mutex.lock"]);
    let guard = written.guard.expect("both plugins guess");
    assert!(guard.waits && guard.content.is_empty());
}

#[test]
fn metax_shares_by_gib_or_by_bytes_with_a_unit() {
    let register = r#"[{"uuid":"GPU-m0","bdf":"0","model":"MXC500","totalDevCount":4,"totalCompute":100,"totalVRam":65536,"healthy":true,"qosPolicy":""}]"#;
    let node = VendorNode::new(
        &[("metax-tech.com/node-gpu-devices", register)],
        &[("metax-tech.com/sgpu", 8)],
    );
    let family = family(Policy::None);
    for (memory, mib) in [(2, 2048), (2 << 30, 2048), (500 << 20, 500)] {
        let mut cards = node.cards(&*family);
        assert_eq!(cards.problems, Vec::<String>::new());
        let limits = [
            ("metax-tech.com/sgpu", 1),
            ("metax-tech.com/vmemory", memory),
            ("metax-tech.com/vcore", 25),
        ];
        let written = place(&*family, &mut cards, (1, &pod(&[&limits], &[]))).expect("fits");
        let devices = text(&written, "metax-tech.com/gpu-devices-allocated");
        let expected = format!(r#"[[{{"uuid":"GPU-m0","compute":25,"vRam":{mib}}}]]"#);
        assert_eq!(devices, Some(expected));
    }
}

#[test]
fn iluvatar_has_a_kind_for_each_model_and_counts_memory_by_256_mib() {
    let node = VendorNode::new(
        &[(
            "hami.io/node-MR-V100-register",
            "I0,100,32768,100,MR-V100,0,true:I1,100,32768,100,MR-V100,0,true:",
        )],
        &[("iluvatar.ai/MR-V100-vgpu", 200)],
    );
    let family = family(Policy::Binpack);
    let mut cards = node.cards(&*family);
    let part = [
        ("iluvatar.ai/MR-V100-vgpu", 1),
        ("iluvatar.ai/MR-V100.vMem", 64),
        ("iluvatar.ai/MR-V100.vCore", 50),
    ];
    let written = place(&*family, &mut cards, (1, &pod(&[&part], &[]))).expect("fits");
    assert_eq!(
        text(&written, "hami.io/MR-V100-devices-allocated").as_deref(),
        Some("I0,MR-V100,16384,50:;")
    );
    let only = pod(&[&part], &[("hami.io/use-MR-V100-uuid", "I1")]);
    let written = place(&*family, &mut cards, (2, &only)).expect("fits");
    let found = text(&written, "hami.io/MR-V100-devices-allocated").expect("written");
    assert!(found.starts_with("I1,"), "{found}");
    // As the webhook of HAMi raises it.
    let two = [
        ("iluvatar.ai/MR-V100-vgpu", 2),
        ("iluvatar.ai/MR-V100.vCore", 200),
    ];
    let mut cards = node.cards(&*family);
    let written = place(&*family, &mut cards, (1, &pod(&[&two], &[]))).expect("fits");
    assert_eq!(
        text(&written, "hami.io/MR-V100-devices-allocated").as_deref(),
        Some("I0,MR-V100,32768,100:I1,MR-V100,32768,100:;")
    );
}

#[test]
fn several_nvidia_gpus_may_be_parts_and_memory_wins_over_its_percentage() {
    let register = "G0,10,40960,100,NVIDIA-A100,0,true:G1,10,40960,100,NVIDIA-A100,0,true:\
                    G2,10,40960,100,NVIDIA-T4,0,true,2,mps:G3,10,40960,100,NVIDIA-A100,0,true,3,mig:";
    let node = VendorNode::new(
        &[
            ("hami.io/node-nvidia-register", register),
            ("hami.io/device-cordon", "G1"),
        ],
        &[("nvidia.com/gpu", 40)],
    );
    let family = family(Policy::Binpack);
    let written = |limits: &[(&str, i64)], annotations: &[(&str, &str)]| {
        let mut cards = node.cards(&*family);
        let written = place(&*family, &mut cards, (1, &pod(&[limits], annotations)))?;
        Ok::<_, String>(text(&written, "hami.io/vgpu-devices-allocated").expect("written"))
    };
    let two = [
        ("nvidia.com/gpu", 2),
        ("nvidia.com/gpumem", 4096),
        ("nvidia.com/gpumem-percentage", 50),
        ("nvidia.com/gpucores", 30),
    ];
    assert_eq!(
        written(&two, &[]),
        Ok("G0,NVIDIA,4096,30:G2,NVIDIA,4096,30:;".to_owned())
    );
    let one = [("nvidia.com/gpu", 1), ("nvidia.com/gpumem-percentage", 50)];
    assert_eq!(written(&one, &[]), Ok("G0,NVIDIA,20480,0:;".to_owned()));
    assert_eq!(
        written(&one, &[("nvidia.com/vgpu-mode", "mps")]),
        Ok("G2,NVIDIA,20480,0:;".to_owned())
    );
    assert_eq!(
        written(&one, &[("nvidia.com/use-gputype", "t4")]),
        Ok("G2,NVIDIA,20480,0:;".to_owned())
    );
    assert_eq!(
        written(&one, &[("nvidia.com/use-gpuuuid", "G1,G3")]),
        Err("not enough nvidia.com/gpu (UUID lists)".to_owned())
    );
    assert_eq!(
        written(&[("nvidia.com/gpu", 1)], &[]),
        Ok("G0,NVIDIA,40960,100:;".to_owned())
    );
}

/// Four GPUs by two NUMA nodes, in turns; the last has no room.
fn by_numa() -> VendorNode {
    let register = "G0,1,40960,100,NVIDIA-A100,0,true:G1,1,40960,100,NVIDIA-A100,1,true:\
                    G2,1,40960,100,NVIDIA-A100,0,true:G3,1,40960,100,NVIDIA-A100,1,true:";
    VendorNode::new(
        &[("hami.io/node-nvidia-register", register)],
        &[("nvidia.com/gpu", 4)],
    )
}

#[test]
fn the_cards_of_a_container_may_have_to_be_near_one_numa_node() {
    let family = family(Policy::None);
    let asks = |count, value| {
        let limits = [("nvidia.com/gpu", count)];
        pod(&[&limits], &[("nvidia.com/numa-bind", value)])
    };
    let json = r#"[{"id":"G0","count":1,"devmem":9,"devcore":100,"health":true},
        {"id":"G1","index":1,"count":1,"devmem":9,"devcore":100,"numa":1,"health":true},
        {"id":"G2","index":2,"count":1,"devmem":9,"devcore":100,"health":true}]"#;
    let of_json = VendorNode::new(
        &[("hami.io/node-nvidia-register", json)],
        &[("nvidia.com/gpu", 3)],
    );
    for (node, value, expected) in [
        (by_numa(), "false", "G3 G2"),
        (by_numa(), "true", "G3 G1"),
        (by_numa(), "1", "G3 G1"),
        (of_json.clone(), "", "G2 G1"),
        // What is left out is NUMA node 0.
        (of_json, "true", "G2 G0"),
    ] {
        let cards = node.cards(&*family);
        let found = request(&*family, &asks(2, value)).choose(&cards, LedgerTime::Now);
        let found = found.expect("fits");
        let ids: Vec<&str> = found.iter().map(|one| &*one.id).collect();
        assert_eq!(ids.join(" "), expected, "{value}");
    }
    // The first NUMA node has too few left, the other one is tried.
    let mut cards = by_numa().cards(&*family);
    place(&*family, &mut cards, (1, &asks(1, "true"))).expect("fits");
    let two = request(&*family, &asks(2, "true"));
    let found = two.choose(&cards, LedgerTime::Now).expect("fits");
    assert_eq!(
        found.iter().map(|one| one.card).collect::<Vec<_>>(),
        [Some(2), Some(0)]
    );
}

#[test]
fn too_few_cards_near_one_numa_node_are_told_by_node() {
    let family = family(Policy::None);
    let asks = |count| {
        let limits = [("nvidia.com/gpu", count)];
        pod(&[&limits], &[("nvidia.com/numa-bind", "true")])
    };
    let mut cards = by_numa().cards(&*family);
    let miss = |pod: &PodFacts, cards: &NodeCards| {
        let miss = request(&*family, pod).explain("n1", cards, LedgerTime::Now);
        miss.expect("does not fit")
    };
    let three = miss(&asks(3), &cards);
    assert_eq!(
        three.text,
        "n1: not enough nvidia.com/gpu (too few cards near one NUMA node): 3 asked, NUMA node 0 has \
         2, NUMA node 1 has 2; G0, G1, G2, G3: fits"
    );
    assert_eq!(three.distance.0, 1);
    for (number, id) in [(1, "G0"), (2, "G1")] {
        let limits = [("nvidia.com/gpu", 1)];
        let one = pod(&[&limits], &[("nvidia.com/use-gpuuuid", id)]);
        place(&*family, &mut cards, (number, &one)).expect("fits");
    }
    let two = miss(&asks(2), &cards);
    assert_eq!(
        two.text,
        "n1: not enough nvidia.com/gpu: 2 asked, NUMA node 0 has 1, NUMA node 1 has 1; G0, G1: \
         all 1 slots in use; G2, G3: fits"
    );
    // Five are more than there are at all.
    let five = miss(&asks(5), &cards);
    assert!(five.text.contains("(too few cards)"), "{}", five.text);
    // A card that tells no NUMA node serves who asks for one alone.
    let odd = VendorNode::new(
        &[(
            "hami.io/node-nvidia-register",
            "G0,1,9,100,A,-1,true:G1,1,9,100,A,-1,true:",
        )],
        &[("nvidia.com/gpu", 2)],
    );
    let mut cards = odd.cards(&*family);
    assert!(
        miss(&asks(2), &cards)
            .text
            .contains("G0 tells no NUMA node")
    );
    place(&*family, &mut cards, (1, &asks(1))).expect("fits");
}

#[test]
fn vendors_that_tell_nothing_but_slots_share_by_slots() {
    let family = family(Policy::Binpack);
    for (resource, key, stem) in [
        ("vastaitech.com/va", "hami.io/node-va-register", "Vastai"),
        ("birentech.com/gpu", "hami.io/node-biren-register", "Biren"),
    ] {
        let json = r#"[{"id":"V0","count":2,"health":true}]"#;
        let node = VendorNode::new(&[(key, json)], &[(resource, 2)]);
        let mut cards = node.cards(&*family);
        let pod = pod(&[&[(resource, 1)]], &[]);
        for number in 1..3 {
            let written = place(&*family, &mut cards, (number, &pod)).expect("fits");
            let key = format!("hami.io/{stem}-devices-allocated");
            assert_eq!(text(&written, &key), Some(format!("V0,{stem},0,0:;")));
        }
        assert!(place(&*family, &mut cards, (3, &pod)).is_err());
    }
}

#[test]
fn amd_counts_percent_of_cores_in_the_units_of_the_card_and_lists_its_type() {
    let json = r#"[{"id":"A0","count":4,"devmem":196608,"devcore":304,"type":"AMD Instinct MI300X","health":true},
        {"id":"A1","index":1,"count":4,"devmem":65536,"devcore":100,"type":"AMD Instinct MI210","health":true},
        {"id":"A2","index":2,"count":4,"devmem":65536,"devcore":100,"type":"AMD, MI","health":true}]"#;
    let node = VendorNode::new(
        &[("hami.io/node-amd-register", json)],
        &[("amd.com/gpu", 12)],
    );
    let family = family(Policy::Binpack);
    let (gpu, memory, cores) = ("amd.com/gpu", "amd.com/gpumem", "amd.com/gpucores");
    let cards = node.cards(&*family);
    assert_eq!((cards.cards.len(), cards.problems.len()), (2, 1));
    // Two cards: 200 percent.
    let offered = cards.offered.iter().find(|(name, _)| name == cores);
    assert_eq!(offered, Some(&(cores.to_owned(), 200_000)));
    for (limits, annotation, expected) in [
        (
            &[(gpu, 1), (memory, 1000), (cores, 25)][..],
            None,
            "A0,AMD Instinct MI300X,1000,76:;",
        ),
        (
            &[(gpu, 1), (cores, 1)],
            Some(("amd.com/nouse-gputype", "mi300")),
            "A1,AMD Instinct MI210,65536,1:;",
        ),
        (
            &[(gpu, 1), (memory, 9)],
            Some(("amd.com/use-gpu-uuid", "A1")),
            "A1,AMD Instinct MI210,9,100:;",
        ),
        (
            &[(gpu, 2), (memory, 9), (cores, 10)],
            None,
            "A0,AMD Instinct MI300X,9,30:A1,AMD Instinct MI210,9,10:;",
        ),
    ] {
        let mut cards = node.cards(&*family);
        let annotations: Vec<_> = annotation.into_iter().collect();
        let pod = pod(&[limits], &annotations);
        let written = place(&*family, &mut cards, (1, &pod)).expect("fits");
        let found = text(&written, "hami.io/amd-devices-allocated");
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(text(&written, "hami.io/amd-devices-to-allocate"), found);
        let records = vec![(
            "hami.io/amd-devices-allocated".to_owned(),
            expected.to_owned(),
        )];
        let decoded = family.decode(&records, &pod, &node.cards(&*family));
        assert_eq!(decoded.problems, Vec::<String>::new());
    }
    // A queue counts percent, as they are asked.
    let request = request(
        &*family,
        &pod(&[&[(gpu, 1), (memory, 9), (cores, 25)]], &[]),
    );
    let picks = request
        .choose(&node.cards(&*family), LedgerTime::Now)
        .expect("fits");
    assert_eq!(
        request.charge(Some(&picks)).to_vec(),
        [(cores, 25_000), (memory, 9000)]
    );
    let why = refusal(&*family, &pod(&[&[(gpu, 1), (cores, 0)]], &[]));
    assert!(
        why.contains("amd.com/gpucores is 0: write an integer from 1 to 100"),
        "{why}"
    );
}

#[test]
fn a_whole_enflame_gcu_is_for_one_container() {
    let family = family(Policy::None);
    let mut cards = VendorNode::new(&[], &[("enflame.com/gcu", 2)]).cards(&*family);
    let pod = pod(&[&[("enflame.com/gcu", 1)]], &[]);
    for (number, fits) in [(1, true), (2, true), (3, false)] {
        let placed = place(&*family, &mut cards, (number, &pod));
        assert_eq!(placed.is_ok(), fits, "{number}");
    }
}

#[test]
fn queues_count_what_is_charged_in_the_units_of_the_resources() {
    let family = family(Policy::None);
    let cards = dcus().cards(&*family);
    let of = |limits: &[(&str, i64)]| {
        let request = request(&*family, &pod(&[limits], &[]));
        let expected = request.charge(None).to_vec();
        let picks = request.choose(&cards, LedgerTime::Now).expect("fits");
        let exact = request.charge(Some(&picks));
        let own = |amounts: &[(&str, i64)]| {
            amounts
                .iter()
                .map(|(name, milli)| ((*name).to_owned(), *milli))
                .collect::<Vec<_>>()
        };
        (own(&expected), own(&exact))
    };
    let amount = |name: &str, units: i64| (name.to_owned(), units * 1000);
    let (cores, memory) = ("hygon.com/dcucores", "hygon.com/dcumem");
    let part = vec![amount(cores, 100), amount(memory, 4096)];
    assert_eq!(
        of(&[("hygon.com/dcunum", 1), (memory, 4096)]),
        (part.clone(), part)
    );
    let all = vec![amount(cores, 200), amount(memory, 131_040)];
    assert_eq!(of(&[("hygon.com/dcunum", 2)]), (vec![], all));
}
