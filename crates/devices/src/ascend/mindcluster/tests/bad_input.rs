//! Requests and annotations that cannot be.

use super::*;

#[test]
fn the_label_with_the_kind_of_npu_is_needed() {
    for (value, says) in [
        (None, "has no label ring-controller.atlas"),
        (Some("ascend-910"), "is \"ascend-910\""),
        (Some("Ascend-310P"), "is \"Ascend-310P\""),
        (Some(""), "is \"\""),
    ] {
        let mut pod = pod(8, &[]);
        pod.labels = pairs(
            &value
                .map(|value| (RING, value))
                .into_iter()
                .collect::<Vec<_>>(),
        );
        let why = refusal(&pod);
        assert!(
            why.contains(says) && why.contains("ring-controller.atlas: ascend-310P"),
            "{why}"
        );
    }
}

#[test]
fn one_regular_container_asks() {
    for kinds in [
        vec![ContainerKind::Regular, ContainerKind::Regular],
        vec![ContainerKind::Sidecar, ContainerKind::Regular],
        vec![ContainerKind::Init],
    ] {
        let mut pod = pod(1, &[]);
        pod.containers = kinds.into_iter().map(|kind| container(kind, 1)).collect();
        assert!(refusal(&pod).contains("one container"), "{}", refusal(&pod));
    }
    let mut pod = pod(1, &[]);
    pod.containers.insert(0, ContainerFacts::default());
    let chosen = request(&pod)
        .choose(&node(1), LedgerTime::Now)
        .expect("it fits");
    assert_eq!(chosen[0].container, 1);
}

#[test]
fn amounts_that_cannot_be_are_refused_and_nothing_asks_nothing() {
    for milli in [500, 1500, -1000, i64::MIN, i64::MAX, 8_000_000_000_000] {
        let mut pod = pod(1, &[]);
        pod.containers[0].amounts[0].1 = milli;
        assert!(
            refusal(&pod).contains("must be 1, 2, 4 or a multiple of 8"),
            "{milli}"
        );
    }
    assert!(
        family(&settings())
            .request(&pod(0, &[]), Tags::default())
            .is_none()
    );
    assert!(
        family(&settings())
            .request(&PodFacts::default(), Tags::default())
            .is_none()
    );
}

#[test]
fn an_odd_level_counts_as_low_and_its_owner_is_told() {
    for (level, is_odd) in [("low", false), ("high", false), ("max", true), ("", true)] {
        let request = request(&vnpu(2, "null", level));
        assert_eq!(request.warning().is_some(), is_odd, "{level}");
    }
    assert!(request(&pod(2, &[])).warning().is_none());
    assert!(request(&pod(8, &[(LEVEL, "max")])).warning().is_none());
}

#[test]
fn without_its_switch_the_family_names_it() {
    let mut off = settings();
    off.mind_cluster.enabled = false;
    for (settings, says) in [
        (off, "switched off"),
        (Settings::default(), "not configured"),
    ] {
        let refused = family(&settings).request(&pod(8, &[]), Tags::default());
        let why = refused.expect("it asks").err().expect("refused");
        assert!(why.contains(says), "{why}");
        assert!(
            why.contains("deviceshare.AscendMindClusterVNPUEnable: true"),
            "{why}"
        );
    }
}

#[test]
fn with_vnpus_made_by_hand_none_is_made_for_a_pod() {
    let mut preset = settings();
    preset.mind_cluster.preset_virtual_device = true;
    let ask = |cores| family(&preset).request(&pod(cores, &[]), Tags::default());
    for cores in [1, 2, 4] {
        let why = ask(cores).expect("it asks").err().expect("refused");
        let peer = "volcano configuration presetVirtualDevice true, only support static vnpu";
        assert!(why.contains(peer), "{why}");
    }
    assert!(ask(8).expect("it asks").is_ok());
}

#[test]
fn what_a_pod_holds_counts_as_used_where_it_cannot_be_read() {
    let family = family(&settings());
    for (value, cores, used) in [
        // Without a chip, what is asked counts on every one.
        ("x-vir01", 2, [2, 2]),
        ("", 4, [4, 4]),
        ("0;1", 8, [8, 8]),
        ("-1", 3, [8, 8]),
        ("99999999999", 1, [1, 1]),
    ] {
        let mut cards = node(2);
        let held = family.decode(&pairs(&[(CORES, value)]), &pod(cores, &[]), &cards);
        assert_eq!(held.problems.len(), 1, "{value}");
        assert!(held.allocations.iter().all(|one| !one.certain));
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        let cores = [0, 1].map(|at| cards.used(at, LedgerTime::Now)[0]);
        assert_eq!(cores, used, "{value}");
        cards.discharge(1, Load::Held, &held.allocations);
        assert!(!cards.is_in_use(0) && !cards.is_in_use(1));
    }
    // Of a template that nobody knows, or that has more than is asked, as much as is asked counts on its chip.
    for (value, cores, used) in [
        ("1-vir03", 2, [0, 2]),
        ("1-", 2, [0, 2]),
        ("1-vir04", 2, [0, 2]),
        ("1", 2, [0, 2]),
        ("0,1", 8, [8, 0]),
        ("1-vir01", 8, [0, 8]),
    ] {
        let mut cards = node(2);
        let held = family.decode(&pairs(&[(CORES, value)]), &pod(cores, &[]), &cards);
        assert!(held.allocations.iter().all(|one| one.certain), "{value}");
        cards.charge(1, Tags::default(), Load::Held, &held.allocations);
        let cores = [0, 1].map(|at| cards.used(at, LedgerTime::Now)[0]);
        assert_eq!(cores, used, "{value}");
    }
    // Nothing is held where nothing is asked.
    let asks_nothing = family.decode(&pairs(&[(CORES, "0,1")]), &PodFacts::default(), &node(2));
    assert!(asks_nothing.allocations.is_empty());
    assert_eq!(asks_nothing.problems.len(), 1);
    // Chips that are not told count on all others.
    let held = family.decode(&pairs(&[(CORES, "1")]), &pod(16, &[]), &node(3));
    let found = held.allocations.iter().map(|one| (one.card, one.certain));
    let expected = [(Some(1), true), (Some(0), false), (Some(2), false)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // A chip that is not there is kept in mind, and nothing else is charged.
    let cards = node(1);
    let held = family.decode(&pairs(&[(CORES, "5-vir02")]), &pod(2, &[]), &cards);
    assert_eq!(
        (held.allocations[0].card, &*held.allocations[0].id),
        (None, "5")
    );
    // A pod that asks nothing and says nothing holds nothing.
    let held = family.decode(&pairs(&[]), &PodFacts::default(), &cards);
    assert!(held.allocations.is_empty() && held.problems.is_empty());
}
