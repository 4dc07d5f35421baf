//! Who goes for whom: `preempt`, `reclaim` and those that do it for whole gangs (spec/07).

use expect_test::expect;

use super::check::check;

/// A queue whose two nodes are full, and somebody of a higher class who waits.
const FULL: &str = "
    class low  value:10
    class high value:100
    queue q
    node  n1 2c 8Gi pods=9
    node  n2 2c 8Gi pods=9
    group old queue:q class:low
    pod   o1 2c group:old on:n1 priority:10
    pod   o2 2c group:old on:n2 priority:10 created:5
";

fn preempt(more: &str, expect: &expect_test::Expect) {
    let plugins = "priority gang enablePreemptable:false conformance / predicates nodeorder";
    check(
        "allocate, preempt",
        plugins,
        &format!("{FULL}{more}"),
        expect,
    );
}

#[test]
fn one_of_lower_priority_goes_and_who_comes_waits_for_its_node() {
    preempt(
        "group new queue:q class:high
         pod   a   2c group:new priority:100",
        &expect![[r#"
            - o2 by preempt for ns/new
            a waits for n2
        "#]],
    );
}

#[test]
fn nobody_goes_for_an_equal() {
    preempt(
        "group new queue:q class:low
         pod   a   2c group:new priority:10",
        &expect![[r#""#]],
    );
}

#[test]
fn nobody_goes_for_who_fits_no_node_anyway() {
    preempt(
        "group new queue:q class:high
         pod   a   3c group:new priority:100",
        &expect![[r#""#]],
    );
}

#[test]
fn a_gang_gets_all_that_it_needs_or_nobody_goes() {
    let gang = |min: i32| {
        format!(
            "group new queue:q class:high min:{min}
             pod   a*{min} 2c group:new priority:100"
        )
    };
    preempt(
        &gang(2),
        &expect![[r#"
        - o2 by preempt for ns/new
        - o1 by preempt for ns/new
        a-0 waits for n2
        a-1 waits for n1
    "#]],
    );
    preempt(&gang(3), &expect![""]);
}

#[test]
fn what_may_not_be_evicted_stays_and_another_goes() {
    preempt(
        "pod   o2 2c group:old on:n2 priority:10 created:5 fixed
         group new queue:q class:high
         pod   a   2c group:new priority:100",
        &expect![[r#"
            - o1 by preempt for ns/new
            a waits for n1
        "#]],
    );
}

#[test]
fn no_more_go_than_are_needed() {
    let cluster = "
        class high value:100
        node  n1 4c 8Gi pods=9
        group old
        pod   o*4 1c group:old on:n1
        group new class:high
        pod   a   2c group:new priority:100
    ";
    let plugins = "priority conformance / predicates";
    check(
        "allocate, preempt",
        plugins,
        cluster,
        &expect![[r#"
        - o-3 by preempt for ns/new
        - o-2 by preempt for ns/new
        a waits for n1
    "#]],
    );
}

/// Queue `lender` deserves half of the node and has nothing of it.
const BORROWED: &str = "
    queue borrower
    queue lender
    node  n1 4c 8Gi pods=9
    group b queue:borrower
    pod   b*4 1c group:b on:n1
    group l queue:lender
";

#[test]
fn a_queue_gets_back_what_it_deserves_and_no_more() {
    for (count, expect) in [
        (
            2,
            expect![[r#"
        - b-3 by reclaim for ns/l
        - b-2 by reclaim for ns/l
        l-0 waits for n1
        l-1 waits for n1
    "#]],
        ),
        (
            3,
            expect![[r#"
        - b-3 by reclaim for ns/l
        - b-2 by reclaim for ns/l
        l-0 waits for n1
        l-1 waits for n1
    "#]],
        ),
    ] {
        let cluster = format!("{BORROWED} pod l*{count} 1c group:l");
        let plugins = "priority conformance / predicates proportion";
        check("allocate, reclaim", plugins, &cluster, &expect);
    }
}

#[test]
fn nothing_is_taken_back_from_a_queue_that_does_not_lend() {
    let cluster = format!("{BORROWED} queue borrower fixed\n pod l 1c group:l");
    let plugins = "priority conformance / predicates proportion";
    check("allocate, reclaim", plugins, &cluster, &expect![[r#""#]]);
}

#[test]
fn for_a_whole_gang_the_cheapest_set_of_nodes_is_emptied() {
    preempt_gangs(
        2,
        &expect![[r#"
        - o2 by gangpreempt for ns/new
        a-0 waits for n3
        a-1 waits for n2
    "#]],
    );
    preempt_gangs(
        3,
        &expect![[r#"
        - o2 by gangpreempt for ns/new
        - o1 by gangpreempt for ns/new
        a-0 waits for n3
        a-1 waits for n1
        a-2 waits for n2
    "#]],
    );
}

fn preempt_gangs(min: i32, expect: &expect_test::Expect) {
    let cluster = format!(
        "{FULL} node n3 2c 8Gi pods=9
         group new queue:q class:high min:{min}
         pod   a*{min} 2c group:new priority:100"
    );
    let plugins = "priority gang conformance / predicates";
    check("allocate, gangpreempt", plugins, &cluster, expect);
}
