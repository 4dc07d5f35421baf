//! The worked examples of spec/05 §6, by number.

use super::*;

/// A vNPU in a group.
fn real(kind: &str, group: u32) -> String {
    format!("Ascend310P-{kind}-{}-0_{group}", 100 + group)
}

/// Pods on chip 0 with one template, made in groups 0, 1, …
fn made(template: &str, kind: &str, cores: i64, count: u32) -> NodeCards {
    let mut cards = node(1);
    for group in 0..count {
        let value = format!("0-{template}");
        run(
            &mut cards,
            &[(&value, &real(kind, group), cores)],
            Load::Held,
        );
    }
    cards
}

#[test]
fn e1_and_e2_a_vnpu_on_an_idle_node() {
    let mut cards = node(2);
    assert_eq!(
        take(&pod(1, &[]), &mut cards, 1, Tags::default()),
        "0-vir01"
    );
    assert_eq!((free(&cards, 0), free(&cards, 1)), ((7, 6), (8, 7)));
    let mut cards = node(2);
    let high = vnpu(2, "null", "high");
    assert_eq!(take(&high, &mut cards, 1, Tags::default()), "0-vir02");
    assert_eq!(free(&cards, 0), (6, 5));
}

#[test]
fn e1_the_time_is_in_nanoseconds() {
    let sent = Sent {
        seconds: 1_767_323_045,
        nanos: 1_767_323_045_123_456_789,
        sequence: 0,
        nano_sequence: Sequences::default().next_nanos("n", 1_767_323_045_123_456_789),
    };
    assert_eq!(
        AnnotationValue::NanoSequence.text(sent),
        "1767323045123456789"
    );
}

#[test]
fn e3_the_fullest_chip_that_fits_goes_first() {
    let mut cards = node(2);
    let low = vnpu(2, "null", "low");
    assert_eq!(take(&low, &mut cards, 1, Tags::default()), "0-vir02_1c");
    assert_eq!(free(&cards, 0), (6, 6));
    assert_eq!(take(&low, &mut cards, 2, Tags::default()), "0-vir02_1c");
    assert_eq!(free(&cards, 0), (4, 5));
}

#[test]
fn e4_a_chip_with_two_cores_and_one_ai_cpu_downgrades() {
    let cards = made("vir02", "2c", 2, 3);
    assert_eq!(free(&cards, 0), (2, 1));
    assert_eq!(placed(&vnpu(2, "null", "high"), &cards), "0-vir02_1c");
}

#[test]
fn e5_pods_that_are_ending_still_count() {
    let mut cards = node(1);
    for group in 0..3 {
        run(
            &mut cards,
            &[("0-vir02", &real("2c", group), 2)],
            Load::Releasing,
        );
    }
    let high = vnpu(2, "null", "high");
    assert_eq!(take(&high, &mut cards, 9, Tags::default()), "0-vir02_1c");
    assert_eq!(free(&cards, 0), (0, 0));
}

#[test]
fn e6_and_e7_the_full_template_as_long_as_it_fits() {
    let high = vnpu(4, "null", "high");
    let cards = made("vir04_3c", "4c.3cpu", 4, 1);
    assert_eq!(free(&cards, 0), (4, 4));
    assert_eq!(placed(&high, &cards), "0-vir04");
    let cards = made("vir04", "4c", 4, 1);
    assert_eq!(free(&cards, 0), (4, 3));
    assert_eq!(placed(&high, &cards), "0-vir04_3c");
}

#[test]
fn e8_to_e11_whole_chips() {
    for (dvpp, level) in [
        ("bogus", "low"),
        ("null", "low"),
        ("yes", "high"),
        ("", "any"),
    ] {
        assert_eq!(placed(&vnpu(8, dvpp, level), &node(2)), "0");
    }
    assert_eq!(placed(&pod(16, &[]), &node(2)), "0,1");
    let cards = busy(2, &[("0", "Ascend310P-0", 8)]);
    assert_eq!(placed(&pod(8, &[]), &cards), "1");
    let cards = busy(2, &[("0-vir01", &real("1c", 0), 1)]);
    assert_eq!(placed(&pod(8, &[]), &cards), "1");
    assert_eq!(placed(&vnpu(2, "null", "low"), &cards), "0-vir02_1c");
}

#[test]
fn e12_numbers_of_cores_that_are_no_template_are_refused() {
    for cores in [3, 5, 6, 7, 9, 11, 12] {
        let why = refusal(&pod(cores, &[]));
        let allowed = "huawei.com/npu-core must be 1, 2, 4 or a multiple of 8";
        assert!(why.contains(allowed), "{why}");
    }
}

#[test]
fn e13_and_e14_a_wrong_dvpp_is_refused_with_what_is_allowed() {
    for (cores, value, allowed) in [
        (4, "true", "it must be yes, no or null"),
        (4, "", "it must be yes, no or null"),
        (4, "Yes", "it must be yes, no or null"),
        (4, " no", "it must be yes, no or null"),
        (1, "yes", "it must be null"),
        (1, "no", "it must be null"),
        (2, "yes", "it must be null"),
        (2, "no", "it must be null"),
        (2, "bogus", "it must be null"),
    ] {
        let why = refusal(&vnpu(cores, value, "low"));
        let named = format!("the label vnpu-dvpp of the pod is \"{value}\"");
        assert!(why.contains(&named) && why.contains(allowed), "{why}");
    }
}

#[test]
fn e15_beside_a_vnpu_with_all_of_the_media_processor() {
    let cards = made("vir04_4c_dvpp", "4c.4cpu.dvpp", 4, 1);
    assert_eq!(free(&cards, 0), (4, 3));
    assert!(full(&vnpu(4, "yes", "low"), &cards).contains("AI CPUs"));
    assert_eq!(placed(&vnpu(4, "no", "low"), &cards), "0-vir04_3c_ndvpp");
    assert!(full(&pod(1, &[]), &cards).contains("DVPP"));
}

#[test]
fn e16_groups_of_a_chip() {
    let three = made("vir01", "1c", 1, 3);
    assert_eq!(free(&three, 0), (5, 4));
    assert!(full(&vnpu(4, "null", "low"), &three).contains("vGroup"));
    assert_eq!(placed(&vnpu(2, "null", "low"), &three), "0-vir02_1c");
    let four = made("vir01", "1c", 1, 4);
    assert_eq!(free(&four, 0), (4, 3));
    assert!(full(&vnpu(2, "null", "low"), &four).contains("vGroup"));
    assert_eq!(placed(&pod(1, &[]), &four), "0-vir01");
}

#[test]
fn e17_and_e18_full_nodes_first_and_nodes_without_downgrade_before_them() {
    let high = request(&vnpu(2, "null", "high"));
    let score = |cards: &NodeCards| high.fit(cards, LedgerTime::Now).expect("it fits");
    assert!(score(&node(1)) > score(&node(2)));
    let downgraded = made("vir02", "2c", 2, 3);
    assert!(score(&node(2)) > score(&downgraded));
    assert!(score(&node(1)) > score(&downgraded));
    let mut both = busy(2, &[("0", "Ascend310P-0", 8)]);
    for group in 0..3 {
        let real = format!("Ascend310P-2c-{}-1_{group}", 100 + group);
        run(&mut both, &[("1-vir02", &real, 2)], Load::Held);
    }
    assert_eq!(score(&both), score(&downgraded));
}

#[test]
fn e19_a_vnpu_that_is_not_made_yet() {
    let cards = busy(1, &[("0-vir02_1c", "", 2)]);
    assert_eq!(placed(&vnpu(2, "null", "low"), &cards), "0-vir02_1c");
    let (why, evictions_help) = place(&vnpu(2, "null", "high"), &cards).expect_err("waits");
    assert!(
        why.contains("waiting for vNPU creation") && !evictions_help,
        "{why}"
    );
    assert_eq!(placed(&vnpu(4, "null", "high"), &cards), "0-vir04");
    let made = busy(1, &[("0-vir02_1c", &real("2c.1cpu", 0), 2)]);
    assert_eq!(placed(&vnpu(2, "null", "high"), &made), "0-vir02");
}

#[test]
fn a_vnpu_on_its_way_to_a_chip_that_is_gone_is_waited_for() {
    let cards = busy(2, &[("2-vir02", "", 2)]);
    assert_eq!((free(&cards, 0), free(&cards, 1)), ((8, 7), (8, 7)));
    let (why, evictions_help) = place(&vnpu(2, "null", "low"), &cards).expect_err("waits");
    assert!(
        why.contains("waiting for vNPU creation") && !evictions_help,
        "{why}"
    );
    assert_eq!(placed(&vnpu(2, "null", "high"), &cards), "0-vir02");
    let made = busy(2, &[("2-vir02", "Ascend310P-2c-100-2_0", 2)]);
    assert_eq!(placed(&vnpu(2, "null", "low"), &made), "0-vir02_1c");
}

#[test]
fn e20_cores_without_an_ai_cpu() {
    let mut cards = node(1);
    for at in 0..7 {
        run(
            &mut cards,
            &[("0-vir01", &real("1c", at % 4), 1)],
            Load::Held,
        );
    }
    assert_eq!(free(&cards, 0), (1, 0));
    assert!(full(&pod(1, &[]), &cards).contains("insufficient AI CPUs"));
}

#[test]
fn e21_chips_with_ten_cores() {
    let cards = node_of(&*family(&settings()), "Ascend310P-10-dual", 20, 2);
    assert_eq!(placed(&pod(10, &[]), &cards), "0");
    assert_eq!(placed(&pod(20, &[]), &cards), "0,1");
    assert_eq!(placed(&pod(40, &[]), &node(5)), "0,1,2,3,4");
    let (why, evictions_help) = place(&pod(8, &[]), &cards).expect_err("no multiple");
    assert!(why.contains("no multiple") && !evictions_help, "{why}");
}

#[test]
fn e22_more_chips_than_the_node_has() {
    let (why, evictions_help) = place(&pod(24, &[]), &node(2)).expect_err("too many");
    assert!(why.contains("too few NPUs") && !evictions_help, "{why}");
}

#[test]
fn pods_of_one_gang_may_wait_for_each_other() {
    let (low, high) = (vnpu(2, "null", "low"), vnpu(2, "null", "high"));
    let gang = |group| Tags {
        group: Some(group),
        rules: 0,
    };
    let mut cards = node(2);
    assert_eq!(take(&low, &mut cards, 1, gang(1)), "0-vir02_1c");
    let fits = |settings: &Settings, group, cards: &NodeCards| {
        request_of(settings, &high, gang(group))
            .fit(cards, LedgerTime::Now)
            .is_ok()
    };
    assert!(fits(&settings(), 1, &cards));
    assert!(!fits(&settings(), 2, &cards));
    let unguarded = Settings {
        in_flight_guard: false,
        ..settings()
    };
    assert!(fits(&unguarded, 1, &cards), "the same chip");
    run(
        &mut cards,
        &[("0-vir04", "", 4), ("0-vir01", "", 1)],
        Load::Held,
    );
    assert!(!fits(&unguarded, 1, &cards), "another chip");
    let request = request(&low);
    let chosen = request.choose(&cards, LedgerTime::Now).expect("it fits");
    let guard = request
        .annotations("n", &cards, &chosen)
        .guard
        .expect("one");
    assert_eq!(
        (guard.waits, guard.kind, guard.content.as_str()),
        (true, 2, "1-vir02_1c")
    );
}
