//! Who is admitted and who gets which node: `enqueue`, `allocate`, `backfill` (spec/01 §5, spec/02).

use expect_test::expect;

use super::check::check;

#[test]
fn a_gang_is_placed_whole_or_not_at_all() {
    for (cores, expect) in [
        (2, expect![[r#""#]]),
        (
            3,
            expect![[r#"
        a-0 on n1
        a-1 on n1
        a-2 on n1
    "#]],
        ),
    ] {
        let cluster = format!(
            "node  n1 {cores}c 8Gi pods=9
             group g min:3
             pod   a*3 1c group:g"
        );
        check("allocate", "gang / predicates", &cluster, &expect);
    }
}

#[test]
fn who_comes_later_gets_what_a_gang_that_does_not_fit_leaves() {
    let cluster = "
        node  n1 2c 8Gi pods=9
        group big min:3
        group small created:9
        pod   b*3 1c group:big
        pod   s   1c group:small
    ";
    check(
        "allocate",
        "gang / predicates",
        cluster,
        &expect![[r#"
        s on n1
    "#]],
    );
}

#[test]
fn the_higher_class_comes_first_then_the_older_then_the_name() {
    let cluster = "
        class high value:100
        node  n1 3c 8Gi pods=9
        group c created:1
        group b created:1
        group a created:2
        group z class:high created:9
        pod   c 1c group:c
        pod   b 1c group:b
        pod   a 1c group:a
        pod   z 1c group:z priority:100
    ";
    check(
        "allocate",
        "priority gang / predicates",
        cluster,
        &expect![[r#"
            z on n1
            b on n1
            c on n1
        "#]],
    );
}

#[test]
fn queues_take_turns_by_the_share_they_have() {
    let cluster = "
        queue heavy weight:2
        queue light weight:1
        node  n1 3c 8Gi pods=9
        group h queue:heavy
        group l queue:light
        pod   h*3 1c group:h
        pod   l*3 1c group:l
    ";
    let plugins = "priority gang / predicates proportion";
    check(
        "allocate",
        plugins,
        cluster,
        &expect![[r#"
        h-0 on n1
        l-0 on n1
        h-1 on n1
    "#]],
    );
}

#[test]
fn a_queue_has_no_more_than_its_capability() {
    let cluster = "
        queue q capability:2c
        node  n1 9c 8Gi pods=9
        group g queue:q
        pod   a*3 1c group:g
    ";
    let plugins = "priority gang / predicates proportion";
    check(
        "allocate",
        plugins,
        cluster,
        &expect![[r#"
        a-0 on n1
        a-1 on n1
    "#]],
    );
}

#[test]
fn nodes_that_are_cordoned_tainted_or_called_otherwise_are_left_alone() {
    let cluster = "
        node  n1 9c 8Gi pods=9 label:zone=a cordoned
        node  n2 9c 8Gi pods=9 label:zone=a taint:for=others:NoSchedule
        node  n3 9c 8Gi pods=9 label:zone=b
        node  n4 9c 8Gi pods=9 label:zone=a
        group g
        pod   a 1c group:g needs:zone=a
    ";
    check(
        "allocate",
        "gang / predicates",
        cluster,
        &expect![[r#"
        a on n4
    "#]],
    );
}

#[test]
fn who_is_not_admitted_yet_is_passed_over() {
    let cluster = "
        node  n1 9c 8Gi pods=9
        group g waiting
        pod   a 1c group:g
    ";
    let later = expect![[r#"
        + ns/g
    "#]];
    check("allocate, enqueue", "gang / predicates", cluster, &later);
    let now = expect![[r#"
        + ns/g
        a on n1
    "#]];
    check("enqueue, allocate", "gang / predicates", cluster, &now);
    // Where nobody admits, all are admitted.
    check("allocate", "gang / predicates", cluster, &now);
}

#[test]
fn no_more_is_admitted_than_a_queue_may_have() {
    let cluster = "
        queue q capability:2c
        node  n1 9c 8Gi pods=9
        group g1 queue:q needs:2c created:1 waiting
        group g2 queue:q needs:1c created:2 waiting
    ";
    let plugins = "priority gang / proportion";
    check(
        "enqueue",
        plugins,
        cluster,
        &expect![[r#"
        + ns/g1
    "#]],
    );
}

#[test]
fn pods_that_ask_for_nothing_are_placed_by_backfill_alone() {
    let cluster = "
        node  n1 1c 8Gi pods=9
        group g
        pod   a group:g
        pod   b 1c group:g
    ";
    check(
        "allocate",
        "predicates",
        cluster,
        &expect![[r#"
        b on n1
    "#]],
    );
    check(
        "backfill",
        "predicates",
        cluster,
        &expect![[r#"
        a on n1
    "#]],
    );
}
