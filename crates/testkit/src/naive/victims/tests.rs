//! Worked cases of spec/07.

use pumice_conf::{Config, PluginConf};
use pumice_model::delta::Delta;
use pumice_model::object::{
    BudgetObject, GroupObject, GroupPhase, HostPort, NodeObject, PodObject, PreemptableMark,
    PriorityClassObject, Selector, SelectorOp,
};

use crate::naive::tests::builders::*;
use crate::naive::{Outcome, cycles_until_gone, schedule};

const ACTIONS: &[&str] = &["enqueue", "allocate", "preempt", "reclaim", "backfill"];

/// Two tiers, as Volcano's documents have them.
fn usual() -> Config {
    let tier = |names: &[&str]| -> Vec<PluginConf> {
        names.iter().map(|name| plugin(name, &[])).collect()
    };
    let mut config = config(ACTIONS, tier(&["priority", "gang", "conformance"]));
    config.tiers.push(pumice_conf::Tier {
        plugins: tier(&["drf", "predicates", "proportion", "nodeorder"]),
    });
    config
}

/// The configuration without a plugin.
fn without(mut config: Config, name: &str) -> Config {
    for tier in &mut config.tiers {
        tier.plugins.retain(|plugin| plugin.name != name);
    }
    config
}

fn class(name: &str, value: i32) -> PriorityClassObject {
    PriorityClassObject {
        name: name.to_owned(),
        value,
        ..PriorityClassObject::default()
    }
}

fn of_class(class: &str, group: GroupObject) -> GroupObject {
    GroupObject {
        priority_class: class.to_owned(),
        ..group
    }
}

/// Classes `low` (1), `mid` (5) and `high` (10).
fn cluster() -> Cluster {
    let classes = [class("low", 1), class("mid", 5), class("high", 10)];
    let classes = classes.into_iter().map(Delta::PriorityClassApply);
    Cluster(classes.collect())
}

fn run(config: &Config, cluster: &Cluster, cycles: u32) -> Outcome {
    schedule(config, &cluster.0, "default", cycles)
}

/// The victims, by pod.
fn evicted(outcome: &Outcome) -> Vec<&str> {
    let evictions = outcome.evictions.iter();
    let mut pods: Vec<&str> = evictions.map(|(pod, _, _)| pod.as_str()).collect();
    pods.sort_unstable();
    pods
}

fn nominated(outcome: &Outcome) -> Vec<(&str, &str)> {
    let nominations = outcome.nominations.iter();
    nominations
        .map(|(pod, node)| (pod.as_str(), node.as_str()))
        .collect()
}

fn small_node(name: &str) -> NodeObject {
    node(name, "1c 4Gi pods=110")
}

/// One-core pods of low priority, each on a node of its own, and a gang that wants `wanted` of these.
fn one_victim_a_node(nodes: usize, victims: usize, wanted: usize) -> Cluster {
    let names: Vec<String> = (0..nodes).map(|index| format!("n{index}")).collect();
    let there = names.iter().enumerate().map(|(index, node)| {
        let pod = pod(&format!("v{index}"), "1c 1Gi").on(node);
        match index < victims {
            true => pod.group("low"),
            // Somebody else's: nobody may take its place.
            false => PodObject { ours: false, ..pod },
        }
    });
    let new = (0..wanted).map(|index| pod(&format!("h{index}"), "1c 1Gi").group("high"));
    cluster()
        .nodes(names.iter().map(|name| small_node(name)))
        .groups([
            of_class("low", group("low", 0).phase(GroupPhase::Running)),
            of_class("high", group("high", wanted as i32)),
        ])
        .pods(there)
        .pods(new)
}

#[test]
fn a_gang_has_others_evicted_as_a_whole_or_not_at_all() {
    let both = run(&usual(), &one_victim_a_node(2, 2, 2), 1);
    assert_eq!(evicted(&both), ["ns/v0", "ns/v1"]);
    assert_eq!(nominated(&both), [("ns/h0", "n1"), ("ns/h1", "n0")]);
    let by: Vec<&str> = both.evictions.iter().map(|e| e.2.as_str()).collect();
    assert_eq!(by, ["ns/high", "ns/high"]);
    let one = run(&usual(), &one_victim_a_node(2, 1, 2), 1);
    assert_eq!((evicted(&one), nominated(&one)), (vec![], vec![]));
}

#[test]
fn nominees_are_bound_when_all_of_their_gang_have_room() {
    let cluster = one_victim_a_node(2, 2, 2);
    let last = cycles_until_gone("v0").max(cycles_until_gone("v1"));
    assert_ne!(cycles_until_gone("v0"), cycles_until_gone("v1"));
    assert_eq!(run(&usual(), &cluster, last).binds, []);
    let outcome = run(&usual(), &cluster, last + 1);
    let binds = [("h0", "n1"), ("h1", "n0")];
    let binds = binds.map(|(pod, node)| (format!("ns/{pod}"), node.to_owned()));
    assert_eq!(outcome.binds, binds);
    assert_eq!(outcome.evictions.len(), 2, "nobody else has to go");
}

#[test]
fn the_fewest_go_then_the_cheapest_then_the_youngest() {
    // A node each of what is there; the pod needs two cores.
    let there = |name: &str, node: &str, group: &str, milli: i64, created_s: i64| {
        let mut pod = pod(name, &format!("{milli}m 1Gi")).group(group).on(node);
        pod.created_s = created_s;
        pod
    };
    let cases: &[(&[PodObject], &[&str])] = &[
        // Fewer of higher priority before more of lower.
        (
            &[
                there("a", "n0", "low", 1000, 0),
                there("b", "n0", "low", 1000, 0),
                there("c", "n1", "mid", 2000, 0),
            ],
            &["ns/c"],
        ),
        // Lower priority before younger.
        (
            &[
                there("a", "n0", "mid", 2000, 9),
                there("b", "n1", "low", 2000, 0),
            ],
            &["ns/b"],
        ),
        // Younger before the first name of a node.
        (
            &[
                there("a", "n0", "low", 2000, 3),
                there("b", "n1", "low", 2000, 4),
            ],
            &["ns/b"],
        ),
        // The first name of a pod among equals.
        (
            &[
                there("a", "n0", "mid", 2000, 0),
                there("c", "n1", "low", 1000, 0),
                there("b", "n1", "low", 1000, 0),
            ],
            &["ns/a"],
        ),
        // Of three on a node only those that are too many, the cheapest of them.
        (
            &[
                there("a", "n0", "low", 1000, 0),
                there("x", "n1", "low", 2000, 0),
            ],
            &["ns/x"],
        ),
    ];
    for (there, expected) in cases {
        let groups = ["low", "mid", "high"].map(|name| {
            let min = i32::from(name == "high");
            of_class(name, group(name, min))
        });
        let mut foreign = pod("z", "1c 1Gi").on("n0");
        foreign.ours = false;
        let only_n1 = expected == &["ns/x"];
        let cluster = cluster()
            .nodes(["n0", "n1"].map(|name| node(name, "2c 16Gi pods=110")))
            .groups(groups)
            .pods(there.iter().cloned())
            .pods(only_n1.then_some(foreign))
            .pods([pod("new", "2c 1Gi").group("high")]);
        assert_eq!(evicted(&run(&usual(), &cluster, 1)), *expected);
    }
}

/// Four one-core pods of group `low`, which needs `min`, fill a node; `wanted` one-core pods of a group of
/// class `class`, which needs them all, wait.
fn full_node(min: i32, class: &str, wanted: i32) -> Cluster {
    let there = (0..4).map(|index| pod(&format!("v{index}"), "1c 1Gi").group("low").on("n0"));
    let new = (0..wanted).map(|index| pod(&format!("p{index}"), "1c 1Gi").group("new"));
    cluster()
        .nodes([node("n0", "4c 16Gi pods=110")])
        .groups([
            of_class("low", group("low", min).phase(GroupPhase::Running)),
            of_class(class, group("new", wanted)),
        ])
        .pods(there)
        .pods(new)
}

#[test]
fn a_gang_gives_what_it_has_beyond_its_minimum() {
    for (min, wanted, expected) in [(2, 2, 2), (2, 3, 0), (4, 1, 0), (0, 4, 4)] {
        let outcome = run(&usual(), &full_node(min, "high", wanted), 1);
        assert_eq!(outcome.evictions.len(), expected, "{min} {wanted}");
    }
    // Nobody asks the plugin: a whole gang may go.
    let mut config = usual();
    for plugin in config.tiers.iter_mut().flat_map(|tier| &mut tier.plugins) {
        plugin.enabled.preemptable &= plugin.name != "gang";
    }
    let outcome = run(&config, &full_node(4, "high", 3), 1);
    assert_eq!(outcome.evictions.len(), 3);
}

#[test]
fn equal_priority_takes_nothing_unless_drf_decides() {
    let config = without(usual(), "proportion");
    assert_eq!(run(&config, &full_node(0, "low", 2), 1).evictions, []);
    // Gang's answer is final: drf is not asked, and without an order priority is one.
    let mut unordered = config.clone();
    unordered.tiers[0].plugins[0].enabled.preemptable = false;
    assert_eq!(run(&unordered, &full_node(0, "low", 2), 1).evictions, []);
    assert_eq!(
        run(&unordered, &full_node(0, "high", 2), 1).evictions.len(),
        2
    );
    // Shares of 4 and 0 cores become 2 and 2, and no further.
    let drf = named(ACTIONS, &["drf", "gang", "predicates"]);
    assert_eq!(run(&drf, &full_node(0, "low", 2), 1).evictions.len(), 2);
    assert_eq!(run(&drf, &full_node(0, "high", 3), 1).evictions, []);
}

#[test]
fn marks_critical_classes_and_never_keep_pods_where_they_are() {
    let change = |cluster: Cluster, change: &dyn Fn(&mut PodObject)| {
        let deltas = cluster.0.into_iter().map(|delta| match delta {
            Delta::PodApply(mut pod) => {
                change(&mut pod);
                Delta::PodApply(pod)
            }
            other => other,
        });
        Cluster(deltas.collect())
    };
    let mark = |pod: &mut PodObject| {
        if pod.name == "v0" {
            pod.preemptable = PreemptableMark::Unreadable;
        }
    };
    let critical = |pod: &mut PodObject| {
        if pod.name == "v0" {
            pod.priority_class = "system-node-critical".to_owned();
        }
    };
    let never = |pod: &mut PodObject| {
        if pod.name == "p0" {
            pod.preempts = Some(false);
        }
    };
    let changes: [&dyn Fn(&mut PodObject); 2] = [&mark, &critical];
    for how in changes {
        let outcome = run(&usual(), &change(full_node(0, "high", 2), how), 1);
        assert_eq!(evicted(&outcome), ["ns/v2", "ns/v3"]);
    }
    let outcome = run(&usual(), &change(full_node(0, "high", 2), &never), 1);
    assert_eq!(outcome.evictions, [], "one of the two has nobody evicted");
    let mut protected = full_node(0, "high", 2);
    for delta in &mut protected.0 {
        if let Delta::GroupApply(group) = delta
            && group.name == "low"
        {
            group.preemptable = PreemptableMark::No;
        }
    }
    assert_eq!(run(&usual(), &protected, 1).evictions, []);
}

#[test]
fn what_no_filter_would_let_through_is_not_made_room_for() {
    let mut cordoned = full_node(0, "high", 1);
    for delta in &mut cordoned.0 {
        if let Delta::NodeApply(node) = delta {
            node.unschedulable = true;
        }
    }
    assert_eq!(run(&usual(), &cordoned, 1).evictions, []);
}

#[test]
fn ports_and_slots_of_evicted_pods_are_free_once_they_are_gone() {
    let port = HostPort {
        ip: "0.0.0.0".to_owned(),
        protocol: "TCP".to_owned(),
        port: 80,
    };
    let with_port = |mut pod: PodObject| {
        pod.host_ports.push(port.clone());
        pod
    };
    for (slots, ports) in [(110, true), (2, false)] {
        let dress = |pod: PodObject| if ports { with_port(pod) } else { pod };
        let gang = if ports { 1 } else { 2 };
        let there = ["v0", "v1"].map(|name| pod(name, "1c 1Gi").group("low").on("n0"));
        let there = there.into_iter().enumerate();
        let there = there.map(|(index, pod)| if index == 1 { dress(pod) } else { pod });
        let new = (0..gang).map(|index| pod(&format!("p{index}"), "1c 1Gi").group("new"));
        let cluster = cluster()
            .nodes([node("n0", &format!("8c 32Gi pods={slots}"))])
            .groups([
                of_class("low", group("low", 0).phase(GroupPhase::Running)),
                of_class("high", group("new", gang)),
            ])
            .pods(there)
            .pods(new.map(dress));
        let outcome = run(&usual(), &cluster, 1);
        let expected: &[&str] = if ports {
            &["ns/v1"]
        } else {
            &["ns/v0", "ns/v1"]
        };
        assert_eq!(evicted(&outcome), expected);
        // They hold their places while the others leave.
        let outcome = run(&usual(), &cluster, 4);
        assert_eq!(evicted(&outcome), expected);
        assert_eq!(outcome.binds.len(), gang as usize);
    }
}

#[test]
fn a_queue_takes_back_what_it_deserves_and_no_more() {
    // Of 8 cores each of two queues with equal weights deserves 4; qa has them all.
    let there = (0..8).map(|index| pod(&format!("a{index}"), "1c 1Gi").group("a").on("n0"));
    let cluster = |wanted: i32, reclaimable: bool| {
        let new = (0..wanted).map(|index| pod(&format!("b{index}"), "1c 1Gi").group("b"));
        let mut qa = queue("qa");
        qa.reclaimable = reclaimable;
        cluster()
            .nodes([node("n0", "8c 32Gi pods=110")])
            .queues([qa, queue("qb")])
            .groups([
                group("a", 1).queue("qa").phase(GroupPhase::Running),
                group("b", wanted).queue("qb"),
            ])
            .pods(there.clone())
            .pods(new)
    };
    for (wanted, reclaimable, expected) in [(3, true, 3), (4, true, 4), (5, true, 0), (3, false, 0)]
    {
        let outcome = run(&usual(), &cluster(wanted, reclaimable), 1);
        let reasons = outcome
            .evictions
            .iter()
            .map(|(_, reason, _)| reason.as_str());
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            vec!["reclaim"; expected],
            "{wanted}"
        );
    }
    // Nobody else says which queue has too much.
    let none = run(&without(usual(), "proportion"), &cluster(3, true), 1);
    assert_eq!(none.evictions, []);
    // What was reclaimed stays with the queue.
    let settled = run(&usual(), &cluster(4, true), 8);
    assert_eq!((settled.evictions.len(), settled.binds.len()), (4, 4));
}

#[test]
fn the_protected_do_not_protect_others() {
    // qa has 8 cores and deserves 4. Of all its pods the two of the gang come first, which may not go.
    let cluster = cluster()
        .nodes([node("n0", "8c 32Gi pods=110")])
        .queues([queue("qa"), queue("qb")])
        .groups([
            group("gang", 2).queue("qa").phase(GroupPhase::Running),
            of_class(
                "mid",
                group("rest", 0).queue("qa").phase(GroupPhase::Running),
            ),
            group("b", 1).queue("qb"),
        ])
        .pods([0, 1].map(|at| pod(&format!("g{at}"), "2c 1Gi").group("gang").on("n0")))
        .pods([0, 1].map(|at| pod(&format!("r{at}"), "2c 1Gi").group("rest").on("n0")))
        .pods([0, 1].map(|at| pod(&format!("b{at}"), "2c 1Gi").group("b")));
    assert_eq!(evicted(&run(&usual(), &cluster, 1)), ["ns/r1"]);
}

#[test]
fn budgets_let_as_many_go_as_they_say() {
    let budget = |app: Option<&str>, allowed: i32, disrupted: &[&str]| BudgetObject {
        namespace: "ns".to_owned(),
        selector: Some(app.map_or_else(Selector::default, |app| {
            selector("app", SelectorOp::In(vec![app.to_owned()]))
        })),
        allowed,
        disrupted: disrupted.iter().map(|name| (*name).to_owned()).collect(),
        ..BudgetObject::default()
    };
    let of_a = |allowed: i32, disrupted: &[&str]| budget(Some("a"), allowed, disrupted);
    let nobody = BudgetObject {
        selector: None,
        ..budget(None, 0, &[])
    };
    let elsewhere = BudgetObject {
        namespace: "other".to_owned(),
        ..budget(None, 0, &[])
    };
    let cases: &[(&[BudgetObject], &[&str], &[&str])] = &[
        (&[of_a(1, &[])], &["a0", "a1"], &["a0"]),
        (&[of_a(0, &["a0"])], &["a0", "a1"], &["a0"]),
        (
            &[budget(None, 2, &[]), of_a(1, &[])],
            &["a0", "a1", "b0"],
            &["a0", "b0"],
        ),
        (&[of_a(0, &[])], &["b0"], &["b0"]),
        (&[budget(None, 0, &[])], &["b0"], &[]),
        (&[nobody, elsewhere], &["a0"], &["a0"]),
    ];
    for (budgets, pods, expected) in cases {
        let mut cluster = cluster().nodes([node("n0", "8c 32Gi pods=110")]).pods(
            pods.iter()
                .map(|name| pod(name, "1c 1Gi").on("n0").app(&name[..1])),
        );
        let budgets = budgets.iter().cloned();
        let budgets = budgets.map(|budget| Delta::BudgetApply(Box::new(budget)));
        cluster.0.extend(budgets);
        let config = usual();
        let cycle = cluster.cycle(&config);
        let uids: Vec<String> = pods.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(super::budgets::within_budgets(&cycle, &uids), *expected);
    }
}

#[test]
fn gangs_go_as_a_whole_where_nothing_less_does() {
    // Four cores: a gang of two that needs both, and two more pods of another of which one may go.
    let outcome = |wanted: i32, allowed: bool| {
        let cluster = cluster()
            .nodes([node("n0", "4c 32Gi pods=110")])
            .groups([
                of_class("low", group("tight", 2).phase(GroupPhase::Running)),
                of_class("mid", group("loose", 1).phase(GroupPhase::Running)),
                of_class("high", group("new", wanted)),
            ])
            .pods([0, 1].map(|at| pod(&format!("t{at}"), "1c 1Gi").group("tight").on("n0")))
            .pods([0, 1].map(|at| pod(&format!("l{at}"), "1c 1Gi").group("loose").on("n0")))
            .pods((0..wanted).map(|at| pod(&format!("n{at}"), "1c 1Gi").group("new")));
        let mut config = usual();
        config.actions = vec!["gangpreempt".to_owned()];
        let argument = (
            "allowWholeBundle".to_owned(),
            pumice_conf::Value::Bool(allowed),
        );
        config.configurations = vec![pumice_conf::NamedArguments {
            name: "gangpreempt".to_owned(),
            arguments: pumice_conf::Arguments::from_iter([argument]),
        }];
        run(&config, &cluster, 1)
    };
    assert_eq!(evicted(&outcome(1, true)), ["ns/l1"]);
    assert_eq!(evicted(&outcome(2, true)), ["ns/t0", "ns/t1"]);
    assert_eq!(evicted(&outcome(3, true)), ["ns/l1", "ns/t0", "ns/t1"]);
    assert_eq!(evicted(&outcome(2, false)), [""; 0]);
}

#[test]
fn a_later_pod_of_the_plan_makes_an_earlier_victim_stay() {
    // p0 wants one core, for which v0 would do; p1 wants four, for which v1 has to go as well, and
    // leaves five.
    let cluster = cluster()
        .nodes([node("n0", "6c 32Gi pods=110")])
        .groups([
            of_class("low", group("low", 0).phase(GroupPhase::Running)),
            of_class("mid", group("mid", 0).phase(GroupPhase::Running)),
            of_class("high", group("new", 2)),
        ])
        .pods([
            pod("v0", "1c 1Gi").group("low").on("n0"),
            pod("v1", "5c 1Gi").group("mid").on("n0"),
            pod("p0", "1c 1Gi").group("new"),
            pod("p1", "4c 1Gi").group("new"),
        ]);
    assert_eq!(evicted(&run(&usual(), &cluster, 1)), ["ns/v1"]);
}

#[test]
fn pods_of_a_starving_job_take_the_places_of_lower_ones_of_it() {
    let mut config = usual();
    // Only priority says who starves: whoever has pods that wait.
    for plugin in config.tiers.iter_mut().flat_map(|tier| &mut tier.plugins) {
        plugin.enabled.job_starving &= plugin.name != "gang";
    }
    let ranked = |priority: i32, pod: PodObject| PodObject { priority, ..pod };
    let cluster = cluster()
        .nodes([node("n0", "2c 8Gi pods=110")])
        .groups([group("j", 2).phase(GroupPhase::Running)])
        .pods([
            ranked(3, pod("w0", "1c 1Gi")).group("j").on("n0"),
            ranked(2, pod("w1", "1c 1Gi")).group("j").on("n0"),
            ranked(5, pod("m", "1c 1Gi")).group("j"),
            ranked(2, pod("w2", "1c 1Gi")).group("j"),
        ]);
    let outcome = run(&config, &cluster, 1);
    assert_eq!(evicted(&outcome), ["ns/w1"]);
    assert_eq!(nominated(&outcome), [("ns/m", "n0")]);
}

#[test]
fn a_pending_group_with_pods_is_admitted_by_its_plan() {
    let mut cluster = full_node(0, "high", 2);
    let mut queue = queue("default");
    queue.capability = amounts("4c 16Gi");
    cluster = cluster.queues([queue]);
    for delta in &mut cluster.0 {
        if let Delta::GroupApply(group) = delta
            && group.name == "new"
        {
            group.status.phase = GroupPhase::Pending;
            group.min_resources = Some(amounts("2c 2Gi"));
        }
    }
    let outcome = run(&usual(), &cluster, 1);
    assert_eq!(outcome.evictions.len(), 2);
    assert_eq!(outcome.phases["ns/new"], "Inqueue");
}

#[test]
fn a_group_without_pods_is_admitted_for_what_might_go() {
    // Four cores are in use, three of them by pods of lower priority.
    let with = |groups: &[(&str, &str, i64)]| {
        let there = (0..4).map(|index| {
            let name = if index == 0 { "high" } else { "low" };
            pod(&format!("v{index}"), "1c 1Gi").group(name).on("n0")
        });
        let running = [("low", 3000), ("high", 1000)].map(|(name, milli)| {
            let mut group = of_class(name, group(name, 0).phase(GroupPhase::Running));
            group.min_resources = Some(amounts(&format!("{milli}m")));
            group
        });
        let new = groups.iter().map(|(name, class, milli)| {
            let mut group = of_class(class, group(name, 1).phase(GroupPhase::Pending));
            group.min_resources = Some(amounts(&format!("{milli}m 1Gi")));
            group
        });
        cluster()
            .nodes([node("n0", "4c 64Gi pods=110")])
            .groups(running)
            .pods(there)
            .groups(new)
    };
    let admitted = |groups: &[(&str, &str, i64)], cycles: u32| {
        let outcome = run(&usual(), &with(groups), cycles);
        assert_eq!(outcome.evictions, []);
        let names = groups.iter();
        let phases = names.map(|(name, _, _)| outcome.phases[&format!("ns/{name}")].clone());
        phases.map(|phase| phase == "Inqueue").collect::<Vec<_>>()
    };
    assert_eq!(admitted(&[("a", "high", 3000)], 1), [true]);
    assert_eq!(admitted(&[("a", "high", 3001)], 1), [false]);
    assert_eq!(admitted(&[("a", "low", 1000)], 1), [false]);
    // What the first was promised counts against the second.
    let two = |milli| [("a", "high", milli), ("b", "high", milli)];
    assert_eq!(admitted(&two(1500), 1), [true, true]);
    assert_eq!(admitted(&two(2000), 1), [true, false]);
}

#[test]
fn what_others_promised_holds_until_it_is_old_or_does_not_fit() {
    let waiting = |node: &str| {
        let mut pod = pod("p", "1c 1Gi");
        pod.nominated_node = Some(node.to_owned());
        pod.group("j")
    };
    // The promised node is not the one it would go to: n0 comes first.
    for (node, expected) in [("n1", "n1"), ("n2", "n0"), ("gone", "n0")] {
        let cluster = cluster()
            .nodes([small_node("n0"), small_node("n1")])
            .nodes([self::node("n2", "0c 0Gi pods=0")])
            .groups([group("j", 1)])
            .pods([waiting(node)]);
        let outcome = run(&named(ACTIONS, &["gang", "predicates"]), &cluster, 1);
        assert_eq!(outcome.binds, [("ns/p".to_owned(), expected.to_owned())]);
    }
    // Members that wait for their gang: 600 seconds after they were first seen nothing holds them.
    let gang = |number: i32| {
        cluster()
            .nodes([small_node("n0")])
            .groups([group("j", number)])
            .pods([waiting("n0"), pod("q", "1c 1Gi").group("j")])
    };
    let config = named(&["allocate"], &["gang", "predicates"]);
    let held = |after_s: i64| {
        let mut cycle = gang(2).cycle(&config);
        cycle.now_s = crate::naive::moments::START_S + after_s;
        super::hold_promises(&mut cycle);
        cycle.world.tasks["p"].node.is_some()
    };
    assert!(held(0) && held(599) && !held(600));
}
