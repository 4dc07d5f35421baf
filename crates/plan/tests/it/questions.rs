//! What is asked and what is said.

use std::collections::BTreeMap;

use pumice_conf::parse;
use pumice_fixtures::{BuildNode as _, BuildPod as _, ToDelta as _, group, node, pod};
use pumice_model::object::{ContainerFacts, ContainerKind};
use pumice_plan::{
    AmountsThen, PlanBounds, PlanOutcome, PlanQuestion, PlannedJob, Remedy, WhatIf, helpful_nodes,
};

use super::asking::{Asking, CONF, name, places};

const TWO_NODES: &str = "
    class low  value:10
    class high value:100
    queue q capability:6c
    node  n1 2c 8Gi pods=9
    node  n2 2c 8Gi pods=9
    group old queue:q class:low
    pod   o1 1c group:old on:n1 priority:10
    pod   o2 1c group:old on:n2 priority:10 created:5
";

const GANG: &str = "
    group new queue:q class:low min:2
    pod   a*2 1c group:new priority:10
";

#[test]
fn a_gang_that_fits_runs_where_it_then_runs() {
    let mut asking = Asking::of(TWO_NODES);
    let plan = asking.with(GANG);
    assert_eq!(plan.outcome, PlanOutcome::Runs);
    assert_eq!((plan.jobs[0].ready, plan.jobs[0].needed), (2, 2));
    assert!(plan.evicted.is_empty() && plan.others.is_empty() && !plan.is_cut);
    let planned = places(&plan);
    assert_eq!(planned.len(), 2);
    pumice_fixtures::Cluster::of(GANG)
        .0
        .into_iter()
        .for_each(|delta| asking.engine.apply(delta));
    assert_eq!(asking.settle().0, planned);
}

#[test]
fn nothing_of_a_plan_is_seen_in_what_was_asked() {
    let mut asking = Asking::of(TWO_NODES);
    let before = (asking.engine.state().dump(), asking.engine.cycles());
    for _ in 0..3 {
        asking.with("group new queue:q class:high min:4\n pod a*4 1c group:new priority:100");
    }
    assert_eq!(
        before,
        (asking.engine.state().dump(), asking.engine.cycles())
    );
    assert!(asking.engine.cycle(300).skipped, "it was at rest, and is");
}

#[test]
fn who_would_go_is_told_with_for_whom() {
    let mut asking = Asking::of(TWO_NODES);
    let plan =
        asking.with("group new queue:q class:high min:3\n pod a*3 1c group:new priority:100");
    assert_eq!(plan.outcome, PlanOutcome::Evicts, "{plan:#?}");
    let told: Vec<_> = plan
        .evicted
        .iter()
        .map(|one| (&*one.pod, &*one.action, one.by.as_deref()))
        .collect();
    assert_eq!(told, [("ns/o2", "preempt", Some("ns/new"))]);
    let change = &plan.others[0];
    assert_eq!((&*change.pod, &*change.then), ("ns/o2", "evicted"));
    assert_eq!(change.without, "on n2");
    assert_eq!(places(&plan).len(), 3);
}

#[test]
fn of_what_waits_each_change_that_is_enough_alone_is_found_by_trying() {
    let mut asking = Asking::of(TWO_NODES);
    let plan = asking.with("group new queue:q class:low min:4\n pod a*4 1c group:new priority:10");
    assert_eq!(plan.outcome, PlanOutcome::Waits);
    assert!(plan.jobs[0].message.is_some(), "{:?}", plan.jobs[0]);
    let (job, like) = ("ns/old".to_owned(), "n1".to_owned());
    let expected = [
        Remedy::End { job, pods: 2 },
        Remedy::MoreNodes { count: 1, like },
    ];
    assert_eq!(plan.remedies, expected);
    // Six of the eight cores that there are then are the limit.
    let plan = asking.with("group new queue:q class:low min:5\n pod a*5 1c group:new priority:10");
    assert_eq!(plan.remedies, []);
}

#[test]
fn nodes_alone_are_found_for_a_job_that_waits_where_they_are_enough() {
    let found = |gang: &str, is_there: bool| {
        let mut asking = Asking::of(&format!("{TWO_NODES}{gang}"));
        let job = PlannedJob {
            namespace: "ns".to_owned(),
            name: "new".to_owned(),
        };
        let (fork, patience) = (asking.engine.fork(), || is_there);
        let bounds = PlanBounds::default();
        let found = helpful_nodes(fork, &asking.config, job, 100, bounds, &patience);
        found.expect("there is such a job")
    };
    let four = "group new queue:q class:low min:4\n pod a*4 1c group:new priority:10";
    let like = "n1".to_owned();
    assert_eq!(
        found(four, true),
        Some(Remedy::MoreNodes { count: 1, like })
    );
    assert_eq!(found(four, false), None, "nobody waits for it");
    // More than the queue may have.
    let five = "group new queue:q class:low min:5\n pod a*5 1c group:new priority:10";
    assert_eq!(found(five, true), None);
}

#[test]
fn a_limit_of_a_queue_is_found_with_what_the_queue_would_hold() {
    let mut asking = Asking::of(&TWO_NODES.replace("capability:6c", "capability:3c"));
    let plan = asking.with(GANG);
    assert_eq!(plan.outcome, PlanOutcome::Waits);
    let holds = BTreeMap::from([("cpu".to_owned(), "4".to_owned())]);
    let limit = Remedy::Limit {
        queue: "q".to_owned(),
        holds,
    };
    assert!(plan.remedies.contains(&limit), "{:?}", plan.remedies);
}

#[test]
fn nodes_queues_and_jobs_may_be_otherwise() {
    let cluster =
        format!("{TWO_NODES} group w queue:q class:low min:3\n pod w*3 1c group:w priority:10");
    let mut asking = Asking::of(&cluster);
    let waits = asking.if_so("w", &[]).expect("a plan");
    assert_eq!(waits.outcome, PlanOutcome::Waits, "{waits:#?}");
    let node = |name: &str| name.to_owned();
    let more = WhatIf::AddNodes {
        count: 1,
        like: node("n2"),
    };
    let amounts = AmountsThen {
        capability: BTreeMap::from([("cpu".to_owned(), "4".to_owned())]),
        ..AmountsThen::default()
    };
    let narrow = WhatIf::Queue {
        name: "q".to_owned(),
        amounts,
    };
    for (what_ifs, outcome) in [
        (vec![more.clone()], PlanOutcome::Runs),
        (vec![WhatIf::Remove(name("old"))], PlanOutcome::Runs),
        (vec![more.clone(), narrow], PlanOutcome::Waits),
        (
            vec![more, WhatIf::Cordon(node("n2-more-1"))],
            PlanOutcome::Waits,
        ),
    ] {
        let plan = asking.if_so("w", &what_ifs).expect("a plan");
        assert_eq!(plan.outcome, outcome, "{what_ifs:?}: {plan:?}");
    }
}

#[test]
fn of_a_node_that_is_emptied_pods_come_again_where_a_controller_makes_them() {
    let mut asking = Asking::of(
        "node  n1 2c 8Gi pods=9
         node  n2 1c 8Gi pods=9
         group a
         pod   a 1c group:a on:n1 made
         group b
         pod   b 1c group:b on:n1",
    );
    let plan = asking.if_so("a", &[WhatIf::Drain("n1".to_owned())]);
    let plan = plan.expect("a plan");
    assert_eq!(places(&plan), ["ns/a on n2"]);
    let others: Vec<_> = plan
        .others
        .iter()
        .map(|one| (&*one.pod, &*one.then))
        .collect();
    assert_eq!(others, [("ns/b", "gone")]);
}

/// Cards are counted by the configuration that is asked about, not by the one in use.
#[test]
fn another_configuration_may_know_cards_that_this_one_does_not() {
    let register = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:";
    let card = node(
        "gpu",
        "8c 64Gi pods=9 volcano.sh/vgpu-number=10 volcano.sh/vgpu-memory=24576",
    );
    let card = card.device_annotations(&[("volcano.sh/node-vgpu-register", register)]);
    let asks = |name: &str| {
        let mut pod = pod(
            name,
            "1c volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=20000",
        );
        let extended = |(name, _): &&(String, i64)| name.contains('/');
        pod.facts.containers.push(ContainerFacts {
            kind: ContainerKind::Regular,
            amounts: pod.request.iter().filter(extended).cloned().collect(),
        });
        pod.group("g")
    };
    let mut asking = Asking::of("");
    for object in [card.delta(), group("g", 1).delta(), asks("a").delta()] {
        asking.engine.apply(object);
    }
    let with_cards = CONF.replace(
        "  - name: capacity\n",
        "  - name: capacity\n  - name: deviceshare\n    arguments: {deviceshare.VGPUEnable: true}\n",
    );
    for (conf, cards) in [(CONF, vec![]), (&with_cards, vec!["card 0 (GPU-aa)"])] {
        let question = PlanQuestion {
            about: vec![name("g")],
            config: parse(conf, &pumice_engine::REGISTRY).config.map(Box::new),
            ..PlanQuestion::default()
        };
        let plan = asking.ask(&question).expect("a plan");
        let given = plan.jobs[0].pods.iter().flat_map(|pod| &pod.cards);
        assert_eq!(given.collect::<Vec<_>>(), cards, "{conf}");
    }
}

#[test]
fn a_pod_without_a_podgroup_is_asked_about_as_any_job() {
    let mut asking = Asking::of(
        "node n1 2c 8Gi pods=9
         group b
         pod b 1c group:b on:n1 made",
    );
    for (cpu, places_of, outcome) in [
        ("1c", vec!["ns/alone on n1"], PlanOutcome::Runs),
        ("2c", vec![], PlanOutcome::Waits),
    ] {
        let question = PlanQuestion {
            objects: vec![pod("alone", cpu).delta()],
            ..PlanQuestion::default()
        };
        let plan = asking.ask(&question).expect("a plan");
        assert_eq!(places(&plan), places_of);
        let job = &plan.jobs[0];
        assert_eq!(
            (&*job.job, job.outcome, job.needed),
            ("ns/alone", outcome, 1)
        );
        // What would help is found by the same name.
        assert_eq!(plan.remedies.is_empty(), outcome == PlanOutcome::Runs);
    }
}

#[test]
fn jobs_that_have_to_find_another_place_are_asked_about_without_being_named() {
    let mut asking = Asking::of(
        "node  n1 2c 8Gi pods=9
         group a
         pod   a 1c group:a on:n1 made",
    );
    let question = PlanQuestion {
        what_ifs: vec![WhatIf::Drain("n1".to_owned())],
        ..PlanQuestion::default()
    };
    let plan = asking.ask(&question).expect("a plan");
    let told: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| (&*job.job, job.outcome))
        .collect();
    assert_eq!(told, [("ns/a", PlanOutcome::Waits)]);
}

#[test]
fn what_means_nothing_is_said() {
    let mut asking = Asking::of(TWO_NODES);
    let like = |count, like: &str| WhatIf::AddNodes {
        count,
        like: like.to_owned(),
    };
    let amount = |text: &str| WhatIf::Queue {
        name: "q".to_owned(),
        amounts: AmountsThen {
            deserved: BTreeMap::from([("cpu".to_owned(), text.to_owned())]),
            ..AmountsThen::default()
        },
    };
    for (job, what_if, said) in [
        ("none", like(1, "n1"), "job ns/none is not known here"),
        ("old", like(1, "n9"), "node n9 is not known here"),
        (
            "old",
            like(20_000, "n1"),
            "20000 nodes are more than the 10000",
        ),
        ("old", amount("many"), "\"many\" is no amount of cpu"),
        ("old", amount("-1"), "\"-1\" is no amount of cpu"),
        (
            "old",
            WhatIf::Remove(name("no")),
            "job ns/no is not known here",
        ),
    ] {
        let error = asking.if_so(job, &[what_if]).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn a_plan_is_broken_off_when_nobody_waits_for_it() {
    let mut asking = Asking::of(TWO_NODES);
    let fork = asking.engine.fork();
    let question = PlanQuestion::default();
    let bounds = PlanBounds::default();
    let plan = pumice_plan::answer(fork, &asking.config, &question, 0, bounds, &|| false);
    assert!(plan.expect("a plan").is_cut);
}
