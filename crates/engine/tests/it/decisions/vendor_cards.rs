//! Pods that go for others which need cards of HAMi's vendors (spec/04 §23, spec/07).

use pumice_devices::AnnotationValue;
use pumice_framework::Bind;
use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, PodObject};

use super::cluster::*;
use super::victims::{Plans, cluster, ranked};

const PREEMPT: &str = "actions: \"enqueue, allocate, preempt\"\n\
                       tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, \
                       {name: deviceshare, arguments: {deviceshare.HAMiVendors: [NVIDIA, Hygon], \
                       deviceshare.SchedulePolicy: binpack}}]}]\n";
const RECLAIM: &str = "actions: \"enqueue, allocate, reclaim\"\n\
                       tiers: [{plugins: [{name: priority}, {name: predicates}, {name: proportion}, \
                       {name: deviceshare, arguments: {deviceshare.HAMiVendors: [Hygon]}}]}]\n";

/// A vendor: count, and what of a card, its list.
struct Resources {
    count: &'static str,
    memory: &'static str,
    cores: &'static str,
    list: &'static str,
}

const DCU: Resources = Resources {
    count: "hygon.com/dcunum",
    memory: "hygon.com/dcumem",
    cores: "hygon.com/dcucores",
    list: "hami.io/dcu-devices-allocated",
};

const GPU: Resources = Resources {
    count: "nvidia.com/gpu",
    memory: "nvidia.com/gpumem",
    cores: "nvidia.com/gpucores",
    list: "hami.io/vgpu-devices-allocated",
};

/// Two DCUs of 64000 MiB with four slots each.
fn dcus(name: &str) -> NodeObject {
    let register = "DCU-0,4,64000,100,DCU-K100,0,true:DCU-1,4,64000,100,DCU-K100,0,true:";
    node(name, "64c 64Gi pods=20 hygon.com/dcunum=8")
        .device_annotations(&[("hami.io/node-dcu-register", register)])
}

/// Four GPUs of 48000 MiB with four slots each, two near each NUMA node.
fn gpus(name: &str) -> NodeObject {
    let register = "GPU-0,4,48000,100,NVIDIA-L40,0,true:GPU-1,4,48000,100,NVIDIA-L40,0,true:\
                    GPU-2,4,48000,100,NVIDIA-L40,1,true:GPU-3,4,48000,100,NVIDIA-L40,1,true:";
    node(name, "64c 64Gi pods=20 nvidia.com/gpu=16")
        .device_annotations(&[("hami.io/node-nvidia-register", register)])
}

/// A pod of one container that asks so many cards, and MiB and cores of each.
fn asks(of: &Resources, name: &str, (count, memory, cores): (i64, i64, i64)) -> PodObject {
    let parts = [(of.count, count), (of.memory, memory), (of.cores, cores)];
    let amounts = parts.into_iter().filter(|(_, amount)| *amount > 0);
    let mut amounts: Vec<_> = amounts
        .map(|(name, amount)| (name.to_owned(), amount * 1000))
        .collect();
    amounts.sort();
    let mut pod = pod(name, "1c");
    pod.request.extend(amounts.iter().cloned());
    pod.request.sort();
    let kind = ContainerKind::Regular;
    pod.facts.containers.push(ContainerFacts { kind, amounts });
    pod
}

/// The cluster with a job of one pod that runs with these cards.
fn holds(all: Cluster, of: &Resources, class: &str, (list, pod): (&str, PodObject)) -> Cluster {
    let name = pod.name.clone();
    let pod = pod.records(&[(of.list, list)]);
    all.with(ranked(class, group(&name, 0)))
        .with(pod.group(&name).on("n1"))
}

fn wants(all: Cluster, class: &str, pod: PodObject) -> Cluster {
    let name = pod.name.clone();
    all.with(ranked(class, group(&name, 1)))
        .with(pod.group(&name))
}

/// One cycle whose Bindings nobody answers: `pod cards` of each.
fn cards(cluster: &mut Cluster, of: &Resources) -> Vec<String> {
    let decisions = cluster.decide();
    let state = cluster.engine.state();
    let list = |bind: &Bind| {
        let mut written = bind.devices.iter().flat_map(|written| &written.annotations);
        let text = written.find_map(|one| match &one.value {
            AnnotationValue::Text(text) if one.key == of.list => Some(text.clone()),
            _ => None,
        });
        format!(
            "{} {}",
            state.task(bind.task).name,
            text.expect("an allocation")
        )
    };
    decisions.binds.iter().map(list).collect()
}

/// DCU-0 has two cheap holders, DCU-1 a dearer one.
fn three_on_dcus() -> Cluster {
    let part = (1, 24_000, 30);
    let all = cluster(PREEMPT).with(dcus("n1"));
    let all = holds(
        all,
        &DCU,
        "low",
        ("DCU-0,DCU,24000,30:;", asks(&DCU, "x", part)),
    );
    let all = holds(
        all,
        &DCU,
        "low",
        ("DCU-0,DCU,24000,30:;", asks(&DCU, "y", part)),
    );
    holds(
        all,
        &DCU,
        "mid",
        ("DCU-1,DCU,24000,30:;", asks(&DCU, "z", part)),
    )
}

/// GPU-0, GPU-1 and GPU-2 have a holder each, a, b and c, of these classes.
fn three_on_gpus(classes: [&str; 3]) -> Cluster {
    let mut all = cluster(PREEMPT).with(gpus("n1"));
    for (at, (name, class)) in ["a", "b", "c"].into_iter().zip(classes).enumerate() {
        let list = format!("GPU-{at},NVIDIA,1000,20:;");
        let pod = asks(&GPU, name, (1, 1000, 20));
        all = holds(all, &GPU, class, (&list, pod));
    }
    all
}

#[test]
fn the_holder_goes_whose_card_then_has_room_and_the_nomination_keeps_it() {
    let new = asks(&DCU, "new", (1, 60_000, 60));
    let mut all = wants(three_on_dcus(), "high", new);
    // One is enough on the second card, though it is dearer than two on the first.
    assert_eq!(all.plan(), ["-z", "new (n1)"]);
    // Who comes later finds room for itself beside the pod that leaves, but not beside who waits for it.
    let late = asks(&DCU, "late", (1, 20_000, 10));
    let mut all = wants(all, "low", late);
    assert_eq!(all.plan(), [""; 0]);
    all.gone("z");
    assert_eq!(cards(&mut all, &DCU), ["new DCU-1,DCU,60000,60:;"]);
}

#[test]
fn whole_dcus_take_the_holders_of_both_cards() {
    let all = wants(three_on_dcus(), "high", asks(&DCU, "new", (2, 0, 0)));
    let mut all = all;
    assert_eq!(all.plan(), ["-x", "-y", "-z", "new (n1)"]);
}

#[test]
fn nobody_goes_for_a_card_that_would_not_be_free_all_the_same() {
    let too_much = asks(&DCU, "new", (1, 64_001, 0));
    assert_eq!(wants(three_on_dcus(), "high", too_much).plan(), [""; 0]);
    // The cards of pods that are as important stay theirs.
    let as_important = asks(&DCU, "new", (1, 60_000, 60));
    assert_eq!(wants(three_on_dcus(), "low", as_important).plan(), [""; 0]);
    let several_parts = asks(&DCU, "new", (2, 60_000, 0));
    assert_eq!(
        wants(three_on_dcus(), "high", several_parts).plan(),
        [""; 0]
    );
    let forbidden = asks(&DCU, "new", (1, 60_000, 60)).facts(pumice_devices::PodFacts {
        annotations: pairs(&[("hygon.com/use-gpuuuid", "DCU-9")]),
        ..asks(&DCU, "new", (1, 60_000, 60)).facts
    });
    assert_eq!(wants(three_on_dcus(), "high", forbidden).plan(), [""; 0]);
}

#[test]
fn for_gpus_near_one_numa_node_the_holders_of_one_go() {
    let all = three_on_gpus(["low", "mid", "low"]);
    let mut new = asks(&GPU, "new", (2, 0, 0));
    // Idle cards are needed: any two would be GPU-3 and one more.
    let mut any = wants(all, "high", new.clone());
    assert_eq!(any.plan(), ["-a", "new (n1)"]);

    let all = three_on_gpus(["low", "low", "mid"]);
    new.facts.annotations = pairs(&[("nvidia.com/numa-bind", "true")]);
    let mut near = wants(all, "high", new);
    // One of NUMA node 1, rather than two of NUMA node 0 that are cheaper.
    assert_eq!(near.plan(), ["-c", "new (n1)"]);
    near.gone("c");
    assert_eq!(
        cards(&mut near, &GPU),
        ["new GPU-2,NVIDIA,48000,100:GPU-3,NVIDIA,48000,100:;"]
    );
}

#[test]
fn of_instances_on_a_card_in_mig_mode_the_one_goes_that_leaves_a_place() {
    let register = r#"[{"id":"GPU-0","count":7,"devmem":24576,"devcore":100,"type":"NVIDIA A30",
        "mode":"mig","health":true,"migProfiles":[
        {"name":"1g.6gb","memoryMB":5952,"core":25,"sliceCount":1,"placements":[{"start":0,"size":1},
            {"start":1,"size":1},{"start":2,"size":1},{"start":3,"size":1}]},
        {"name":"2g.12gb","memoryMB":12032,"core":50,"sliceCount":2,"placements":[{"start":0,"size":2},
            {"start":2,"size":2}]}]}]"#;
    let node = node("n1", "64c 64Gi pods=20 nvidia.com/gpu=7")
        .device_annotations(&[("hami.io/node-nvidia-register", register)]);
    let mut all = cluster(PREEMPT).with(node);
    for (name, class, start, memory) in [
        ("a", "low", 1, 3000),
        ("b", "low", 3, 3000),
        ("c", "mid", 2, 3000),
    ] {
        let instance = format!(
            r#"[{{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-0","profile":"1g.6gb","placement":{{"start":{start},"size":1}}}}]"#
        );
        let pod = asks(&GPU, name, (1, memory, 0)).records(&[
            (GPU.list, &format!("GPU-0,NVIDIA,{memory},0:;")),
            ("hami.io/vgpu-mig-allocations", &instance),
        ]);
        all = all
            .with(ranked(class, group(name, 0)))
            .with(pod.group(name).on("n1"));
    }
    // Slice 0 is free: without a, an instance of two has its place; without b it has none.
    let mut all = wants(all, "high", asks(&GPU, "new", (1, 9000, 0)));
    assert_eq!(all.plan(), ["-a", "new (n1)"]);
    all.gone("a");
    let decisions = all.decide();
    let written = decisions.binds[0].devices.iter();
    let mut written = written.flat_map(|written| &written.annotations);
    let instance = written.find(|one| one.key == "hami.io/vgpu-mig-allocations");
    let AnnotationValue::Text(text) = &instance.expect("an instance").value else {
        panic!("no text");
    };
    assert!(
        text.contains(r#""profile":"2g.12gb","placement":{"start":0,"size":2}"#),
        "{text}"
    );
}

#[test]
fn a_queue_takes_back_the_one_card_it_deserves() {
    let of = |queue: &str, name: &str| group(name, 0).queue(queue);
    let mut all = Cluster::under(RECLAIM)
        .with(dcus("n1"))
        .with(queue("q"))
        .with(queue("r"))
        .with(of("q", "old"))
        .with(of("r", "new"));
    for (name, card) in [("a", "DCU-0"), ("b", "DCU-1")] {
        let pod = asks(&DCU, name, (1, 0, 0))
            .group("old")
            .records(&[(DCU.list, &format!("{card},DCU,64000,100:;"))]);
        all = all.with(pod.on("n1"));
    }
    all.apply(asks(&DCU, "new", (1, 0, 0)).group("new"));
    let plan = all.plan();
    assert_eq!(plan.len(), 2, "{plan:?}");
    assert_eq!(plan[1], "new (n1)");
    let gone = plan[0].trim_start_matches('-').to_owned();
    all.gone(&gone);
    let card = if gone == "a" { "DCU-0" } else { "DCU-1" };
    assert_eq!(
        cards(&mut all, &DCU),
        [format!("new {card},DCU,64000,100:;")]
    );
}

#[test]
fn pods_that_ask_absurd_numbers_wait_or_count_without_hurting_others() {
    let absurd = (i64::from(i32::MAX), i64::from(i32::MAX), 0);
    let mut all = cluster(RECLAIM)
        .with(dcus("n1"))
        .with(dcus("n2"))
        .with(queue("q"));
    for name in ["x", "y", "z"] {
        // Somebody else placed it, and does not tell its cards.
        all = holds(all, &DCU, "low", ("", asks(&DCU, name, absurd)));
    }
    for name in ["u", "v", "w"] {
        all = wants(all, "high", asks(&DCU, name, absurd));
    }
    let other = group("new", 1).queue("q");
    let new = asks(&DCU, "new", (1, 8000, 10)).group("new");
    let mut all = all.with(other).with(new);
    assert_eq!(cards(&mut all, &DCU), ["new DCU-1,DCU,8000,10:;"]);
    let state = all.engine.state();
    let held = state.task(state.population().task_by_uid("x").expect("a pod"));
    let charge = &held.holding.as_ref().expect("it holds cards").charge;
    assert!(
        charge.iter().all(|(_, amount)| *amount <= 1 << 53),
        "{charge:?}"
    );
}

#[test]
fn a_binding_on_its_way_is_outdated_once_its_pod_asks_for_other_cards() {
    let part = asks(&GPU, "new", (1, 8000, 10));
    let with = |key: &str| {
        let mut pod = part.clone();
        pod.facts.annotations = pairs(&[(key, "GPU-3")]);
        pod.delta()
    };
    for (change, why) in [
        (part.clone().delta(), None),
        (
            with("nvidia.com/use-gpuuuid"),
            Some("what the pod asks of devices has changed"),
        ),
    ] {
        let mut all = cluster(PREEMPT).with(gpus("n1")).with(part.clone());
        assert_eq!(all.decide().binds.len(), 1);
        all.apply(change);
        let found = all.engine.outdated();
        let found = found.first().map(|one| one.why.as_str());
        assert_eq!(found, why);
    }
}
