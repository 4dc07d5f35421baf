//! What is told to the outside: once, and only when it is news.

use pumice_model::object::{PodObject, PreemptableMark, PriorityClassObject};
use pumice_model::{Delta, JobIx};

use super::cluster::*;

const NO_ROOM: &str = "0/1 nodes are unavailable: 1 Insufficient cpu. It never fits: it asks 2 cpu, \
                       and the largest node, n1, has 1 in all. Nearest miss: node n1: cpu short by \
                       1 (2 asked, 1 in all).";

/// A cycle, and then what is told: `pod: message`.
fn told(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    cluster.engine.cycle(now_s);
    let reports = cluster.engine.reports(now_s);
    let state = cluster.engine.state();
    let line = |report: &pumice_engine::PodReport| {
        let name = &state.task(report.task).name;
        let again = if report.stands { " (again)" } else { "" };
        format!("{name}{again}: {}", report.message)
    };
    reports.pods.iter().map(line).collect()
}

fn one_pod_without_room() -> Cluster {
    Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "1c 8Gi pods=9"))
        .with(pod("p", "2c"))
}

#[test]
fn a_pod_that_waits_is_told_why_once() {
    let mut cluster = one_pod_without_room();
    assert_eq!(told(&mut cluster, 0), [""; 0], "most pods are placed soon");
    assert_eq!(cluster.engine.first_report_due_ms(), Some(500));
    assert!(cluster.engine.reports_at_ms(499).is_empty(), "too young");
    let first = cluster.engine.reports_at_ms(500).pods;
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].message, NO_ROOM);
    assert_eq!(cluster.engine.first_report_due_ms(), None);
    assert_eq!(told(&mut cluster, 500), [""; 0]);
}

#[test]
fn a_gang_whose_pods_are_being_made_is_told_of_after_two_seconds() {
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("p0", "1c").group("g"));
    cluster.engine.cycle(0);
    let told = [0, 500, 1999, 2000].map(|now_ms| {
        let reports = cluster.engine.reports_at_ms(now_ms);
        (reports.pods.len(), reports.events.len())
    });
    assert_eq!(told, [(0, 0), (0, 0), (0, 0), (1, 1)]);
}

#[test]
fn what_still_keeps_a_pod_waiting_is_told_again_before_its_event_is_forgotten() {
    let mut cluster = one_pod_without_room();
    told(&mut cluster, 0);
    told(&mut cluster, 2);
    let mut told_s = 2;
    for _ in 0..3 {
        let due_s = cluster.engine.wake_at_s().expect("a time");
        assert!((told_s + 1800..told_s + 2700).contains(&due_s), "{due_s}");
        assert_eq!(told(&mut cluster, due_s - 1), [""; 0]);
        assert_eq!(told(&mut cluster, due_s), [format!("p (again): {NO_ROOM}")]);
        told_s = due_s;
    }
    cluster.apply(node("n1", "4c 8Gi pods=9"));
    assert_eq!(cluster.cycle(), ["p n1"]);
    assert_eq!(told(&mut cluster, told_s + 1), [""; 0]);
    assert_eq!(cluster.engine.wake_at_s(), None, "it waits no more");
}

#[test]
fn a_server_that_forgets_events_early_is_told_earlier() {
    let mut cluster = one_pod_without_room();
    cluster.engine.set_event_lifetime_s(40);
    told(&mut cluster, 0);
    told(&mut cluster, 2);
    let due_s = cluster.engine.wake_at_s().expect("a time");
    assert!((22..32).contains(&due_s), "{due_s}");
}

#[test]
fn a_gang_that_still_waits_is_told_of_again() {
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("p0", "1c").group("g"))
        .with(pod("p1", "1c").group("g"));
    let events = |cluster: &mut Cluster, now_s| {
        cluster.engine.cycle(now_s);
        cluster.engine.reports(now_s).events.len()
    };
    assert_eq!(
        [0, 2, 1799].map(|now_s| events(&mut cluster, now_s)),
        [0, 1, 0]
    );
    assert_eq!(events(&mut cluster, 2702), 1);
    assert_eq!(events(&mut cluster, 2703), 0);
}

#[test]
fn other_numbers_are_told_a_minute_later_and_other_reasons_at_once() {
    let mut cluster = one_pod_without_room();
    told(&mut cluster, 0);
    told(&mut cluster, 2);
    cluster.apply(node("n2", "1c 8Gi pods=9"));
    assert_eq!(told(&mut cluster, 10), [""; 0]);
    assert_eq!(cluster.engine.wake_at_s(), Some(62));
    let two = NO_ROOM.replace("0/1", "0/2").replace("1 Insuf", "2 Insuf");
    assert_eq!(told(&mut cluster, 62), [format!("p: {two}")]);
    let mut cordoned = node("n1", "9c 8Gi pods=9");
    cordoned.unschedulable = true;
    cluster.apply(cordoned);
    let told = told(&mut cluster, 63);
    assert!(told[0].contains("node(s) were unschedulable"), "{told:?}");
}

#[test]
fn after_a_restart_nothing_is_told_that_the_pod_says_already() {
    for (message, reports) in [
        (NO_ROOM.to_owned(), 0),
        (NO_ROOM.replace("0/1", "0/7"), 0),
        (
            NO_ROOM.replace("Insufficient cpu", "Insufficient memory"),
            1,
        ),
    ] {
        let known = pod("p", "2c").told(Some(Box::new((
            "Unschedulable".to_owned(),
            message.clone(),
        ))));
        let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
            .with(node("n1", "1c 8Gi pods=9"))
            .with(known);
        told(&mut cluster, 0);
        let lines = told(&mut cluster, 9);
        let conditions = lines.iter().filter(|line| !line.contains("(again)"));
        assert_eq!(conditions.count(), reports, "{message}");
    }
}

#[test]
fn after_a_restart_the_event_is_told_again_of_few_pods_a_second() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN).with(node("n1", "1c 8Gi pods=9"));
    for name in 0..120 {
        let known = ("Unschedulable".to_owned(), NO_ROOM.to_owned());
        cluster = cluster.with(pod(&format!("p{name}"), "2c").told(Some(Box::new(known))));
    }
    let counts = [0, 2, 3, 4, 5, 6].map(|now_s| {
        let lines = told(&mut cluster, now_s);
        assert!(lines.iter().all(|line| line.contains("(again)")));
        lines.len()
    });
    assert_eq!(counts, [0, 50, 50, 20, 0, 0]);
}

#[test]
fn what_a_pod_was_told_wakes_nobody() {
    let mut cluster = one_pod_without_room();
    told(&mut cluster, 0);
    told(&mut cluster, 2);
    let echo = pod("p", "2c").told(Some(Box::new((
        "Unschedulable".to_owned(),
        NO_ROOM.to_owned(),
    ))));
    cluster.apply(echo);
    assert!(cluster.engine.cycle(3).skipped);
}

#[test]
fn a_report_that_could_not_be_written_is_made_again() {
    let mut cluster = one_pod_without_room();
    told(&mut cluster, 0);
    assert_eq!(told(&mut cluster, 2).len(), 1);
    cluster.engine.pod_report_failed("p");
    told(&mut cluster, 3);
    assert_eq!(told(&mut cluster, 5).len(), 1);
}

/// cpu of every queue that is told.
fn cpu(cluster: &mut Cluster, now_s: i64) -> Vec<(String, i64)> {
    cluster.engine.cycle(now_s);
    let reports = cluster.engine.reports(now_s);
    let state = cluster.engine.state();
    let told = reports.queues.iter().map(|(ix, amounts)| {
        let cpu = amounts.iter().find(|(name, _)| name == "cpu");
        let name = state.queue(*ix).object.name.clone();
        (name, cpu.expect("cpu is always told").1)
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

fn names(told: &[(&str, i64)]) -> Vec<(String, i64)> {
    let told = told.iter().map(|(name, cpu)| ((*name).to_owned(), *cpu));
    told.collect()
}

#[test]
fn a_queue_counts_what_its_descendants_hold() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "9c 8Gi pods=9"))
        .with(queue("root"))
        .with(queue("org").parent(""))
        .with(queue("team").parent("org"))
        .with(queue("lost").parent("nowhere"))
        .with(queue("a").parent("b"))
        .with(queue("b").parent("a"))
        .with(pod("p0", "1c").on("n1").queue("team"))
        .with(pod("p1", "1c").on("n1").queue("root"))
        .with(pod("p2", "1c").on("n1").queue("lost"))
        .with(pod("p3", "1c").on("n1").queue("a"));
    let first = [
        ("a", 1000),
        ("lost", 1000),
        ("org", 1000),
        ("root", 2000),
        ("team", 1000),
    ];
    assert_eq!(cpu(&mut cluster, 0), names(&first));
    cluster.apply(Delta::PodDelete("p0".to_owned()));
    assert_eq!(cpu(&mut cluster, 0), [], "at most once a second");
    assert_eq!(cluster.engine.wake_at_s(), Some(1));
    assert_eq!(
        cpu(&mut cluster, 1),
        names(&[("org", 0), ("root", 1000), ("team", 0)])
    );
    assert_eq!(cpu(&mut cluster, 9), []);
}

#[test]
fn a_queue_whose_object_says_so_already_is_not_told() {
    let known = queue("q").allocated("1c pods=1");
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "9c 8Gi pods=9"))
        .with(known.clone())
        .with(pod("p0", "1c").on("n1").queue("q"));
    assert_eq!(cpu(&mut cluster, 0), []);
    cluster.apply(pod("p1", "1c").on("n1").queue("q"));
    assert_eq!(cpu(&mut cluster, 1), names(&[("q", 2000)]));
    // Somebody else writes the old amount.
    cluster.apply(known.allocated("3c"));
    assert!(cluster.engine.cycle(5).skipped, "it decides nothing");
    assert_eq!(cpu(&mut cluster, 5), names(&[("q", 2000)]));
    cluster.engine.queue_report_failed("q");
    assert_eq!(cpu(&mut cluster, 9), names(&[("q", 2000)]));
}

#[test]
fn a_group_has_an_event_when_it_waits_and_when_it_is_ready() {
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("p0", "1c").group("g"))
        .with(pod("p1", "1c").group("g"));
    let events = |cluster: &mut Cluster, now_s| -> Vec<(JobIx, bool, &'static str)> {
        cluster.cycle();
        cluster.cycle();
        let events = cluster.engine.reports(now_s).events.into_iter();
        events.map(|e| (e.job, e.warning, e.reason)).collect()
    };
    let g = cluster
        .engine
        .state()
        .population()
        .job_by_key("ns", "g")
        .expect("a job");
    assert_eq!(events(&mut cluster, 0), []);
    assert_eq!(events(&mut cluster, 2), [(g, true, "Unschedulable")]);
    assert_eq!(events(&mut cluster, 3), []);
    cluster.apply(node("n2", "1c 8Gi pods=9"));
    assert_eq!(events(&mut cluster, 4), [(g, false, "Scheduled")]);
    assert_eq!(events(&mut cluster, 100), []);
}

#[test]
fn groups_that_run_are_told_that_their_queue_was_deleted_unless_it_is_there_again() {
    let in_queue = |name: &str, queue: &str| group(name, 1).queue(queue);
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(queue("q"))
        .with(queue("r"))
        .with(in_queue("runs", "q"))
        .with(in_queue("empty", "q"))
        .with(in_queue("other", "r"))
        .with(pod("p0", "1c").group("runs"))
        .with(pod("p1", "1c").group("other"));
    assert_eq!(cluster.cycle().len(), 2);
    cluster.cycle();
    cluster.engine.reports(9);
    for name in ["q", "r"] {
        cluster.apply(Delta::QueueDelete(name.to_owned()));
    }
    cluster.apply(queue("r"));
    cluster.engine.cycle(10);
    let due_s = cluster.engine.wake_at_s().expect("a time");
    let reports = cluster.engine.reports(due_s);
    assert_eq!(reports.lost_queues, [("q".to_owned(), 1)]);
    let told: Vec<_> = reports.events.iter().map(|e| (e.job, e.reason)).collect();
    let runs = cluster.engine.state().population().job_by_key("ns", "runs");
    assert_eq!(told, [(runs.expect("a job"), "QueueDeleted")]);
    assert_eq!(cluster.engine.reports(due_s + 9).lost_queues, []);
}

/// Warnings on PodGroups that a cycle tells.
fn warnings(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    cluster.engine.cycle(now_s);
    let events = cluster.engine.reports(now_s).events;
    let invalid = events.into_iter().filter(|event| event.warning);
    invalid
        .map(|event| format!("{}: {}", event.reason, event.message))
        .collect()
}

#[test]
fn marks_of_eviction_that_contradict_or_cannot_be_read_are_told_of() {
    use PreemptableMark::{No, Unreadable, Unsaid, Yes};
    let cases = [
        (Unsaid, [Unsaid, No], None),
        (No, [Unsaid, No], None),
        (Yes, [Yes, Unsaid], None),
        (
            Yes,
            [No, No],
            Some("the PodGroup is marked preemptable, but not pod p0 and 1 more, not evicted"),
        ),
        (
            No,
            [Unsaid, Yes],
            Some(
                "the PodGroup is marked as not preemptable, so nobody evicts pod p1 either, marked \
                 preemptable",
            ),
        ),
        (
            Unsaid,
            [Yes, Unreadable],
            Some(
                "`volcano.sh/preemptable` is neither true nor false on pod p1, not evicted: write \
                 \"true\" or \"false\"",
            ),
        ),
        (
            Unreadable,
            [Unsaid, Unsaid],
            Some(
                "`volcano.sh/preemptable` is neither true nor false on the PodGroup, so none of its pods \
                 is evicted: write \"true\" or \"false\"",
            ),
        ),
    ];
    for (of_group, of_pods, expected) in cases {
        let mut cluster = Cluster::new()
            .with(node("n1", "8c 8Gi pods=9"))
            .with(group("g", 1).preemptable(of_group));
        for (at, preemptable) in of_pods.into_iter().enumerate() {
            let pod = pod(&format!("p{at}"), "1c");
            cluster = cluster.with(pod.group("g").preemptable(preemptable));
        }
        let expected: Vec<String> = expected
            .map(|message| format!("InvalidAnnotation: {message}"))
            .into_iter()
            .collect();
        assert_eq!(
            warnings(&mut cluster, 0),
            expected,
            "{of_group:?} {of_pods:?}"
        );
        let population = cluster.engine.state().population();
        for (at, of_pod) in of_pods.into_iter().enumerate() {
            let ix = population.task_by_uid(&format!("p{at}")).expect("a pod");
            let marks = [of_group, of_pod];
            let protects = marks.contains(&No) || marks.contains(&Unreadable);
            let is_protected = population.is_protected_by_mark(ix);
            assert_eq!(is_protected, protects, "{marks:?}");
        }
    }
}

#[test]
fn whether_others_are_evicted_for_a_pod_is_said_by_it_or_by_its_classes() {
    let class = |name: &str, never_preempts, global_default| {
        Delta::PriorityClassApply(PriorityClassObject {
            name: name.to_owned(),
            value: 9,
            global_default,
            never_preempts,
        })
    };
    // What the pod says, its class, the class of its PodGroup: nobody is evicted for it.
    let cases = [
        (None, "", "", false),
        (Some(false), "eager", "", true),
        (Some(true), "patient", "", false),
        (None, "patient", "", true),
        (None, "gone", "", false),
        (Some(true), "eager", "patient", true),
        (None, "eager", "gone", false),
    ];
    for (preempts, of_pod, of_group, expected) in cases {
        let mut cluster = Cluster::new()
            .with(class("eager", false, false))
            .with(class("patient", true, false))
            .with(group("g", 1).priority_class(of_group))
            .with(
                pod("p", "1c")
                    .group("g")
                    .preempts(preempts)
                    .priority_class(of_pod),
            );
        let never = |cluster: &Cluster| {
            let state = cluster.engine.state();
            state
                .population()
                .never_preempts(state.population().task_by_uid("p").expect("a pod"))
        };
        cluster.engine.cycle(0);
        assert_eq!(
            never(&cluster),
            expected,
            "{preempts:?} {of_pod} {of_group}"
        );
        cluster.apply(class("default", true, true));
        cluster.engine.cycle(1);
        let by_default = preempts.is_none() && matches!(of_pod, "" | "gone");
        assert_eq!(
            never(&cluster),
            expected || by_default,
            "{preempts:?} {of_pod}"
        );
    }
}

#[test]
fn an_annotation_that_a_plugin_cannot_read_is_told_of_once_and_again_later() {
    let conf = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: sla\n  - name: gang\n  \
                - name: predicates\n";
    let with = |text: &str| {
        group("g", 1).annotations(vec![("sla-waiting-time".to_owned(), text.to_owned())])
    };
    let mut cluster = Cluster::under(conf)
        .with(node("n1", "1c 8Gi pods=9"))
        .with(with("soon"))
        .with(pod("p", "1c").group("g"));
    let first = warnings(&mut cluster, 0);
    assert_eq!(first.len(), 1, "{first:?}");
    assert!(
        first[0]
            .starts_with("InvalidAnnotation: annotation sla-waiting-time is passed over: `soon`"),
        "{first:?}"
    );
    assert_eq!(warnings(&mut cluster, 1), [""; 0]);
    let due_s = cluster.engine.wake_at_s().expect("a time");
    assert_eq!(warnings(&mut cluster, due_s), first);
    cluster.apply(with("30m"));
    assert_eq!(warnings(&mut cluster, due_s + 1), [""; 0]);
    assert_eq!(warnings(&mut cluster, due_s + 3600), [""; 0]);
}

#[test]
fn a_priority_class_that_goes_is_told_to_those_who_name_it() {
    let class = |name: &str, value| {
        Delta::PriorityClassApply(PriorityClassObject {
            name: name.to_owned(),
            value,
            ..PriorityClassObject::default()
        })
    };
    let urgent = |pod: PodObject| pod.priority_class("urgent");
    let mut cluster = Cluster::new()
        .with(class("urgent", 9))
        .with(class("other", 1))
        .with(node("n1", "8c 8Gi pods=9"))
        .with(group("g", 1).priority_class("urgent"))
        .with(pod("p", "1c").group("g"))
        .with(urgent(pod("alone", "1c")))
        .with(group("unconcerned", 1))
        .with(pod("q", "1c").group("unconcerned"));
    assert_eq!(warnings(&mut cluster, 0), [""; 0]);
    cluster.apply(Delta::PriorityClassDelete("urgent".to_owned()));
    let told = warnings(&mut cluster, 1);
    assert_eq!(told.len(), 2, "{told:?}");
    for text in &told {
        let start = "PriorityClassNotFound: PriorityClass \"urgent\" does not exist: it counts as priority 0";
        assert!(text.starts_with(start), "{text}");
    }
    assert_eq!(warnings(&mut cluster, 2), [""; 0], "once");
    cluster.apply(class("urgent", 9));
    assert_eq!(warnings(&mut cluster, 3), [""; 0]);
    let state = cluster.engine.state();
    assert!(
        state
            .population()
            .jobs()
            .all(|(ix, _)| cluster.engine.known().job_warnings(ix).is_empty())
    );
    // Where none is known they are not watched: nothing is said.
    let mut unwatched = Cluster::new()
        .with(node("n1", "8c 8Gi pods=9"))
        .with(urgent(pod("alone", "1c")));
    assert_eq!(warnings(&mut unwatched, 0), [""; 0]);
}

#[test]
fn an_annotation_that_a_plugin_cannot_read_is_told_on_a_pod_without_podgroup_too() {
    let conf = "actions: allocate\ntiers: [{plugins: [{name: predicates}, {name: resource-strategy-fit}]}]\n";
    let annotations = pairs(&[
        ("volcano.sh/resource-strategy-scoring-type", "MostAllocated"),
        ("volcano.sh/resource-strategy-weight", "{\"cpu\":\"x\"}"),
    ]);
    let mut cluster = Cluster::under(conf)
        .with(node("n1", "8c 8Gi pods=9"))
        .with(pod("alone", "1c").annotations(annotations));
    let told = warnings(&mut cluster, 0);
    assert_eq!(told.len(), 1, "{told:?}");
    let start = "InvalidAnnotation: all nodes score alike for pod alone: ";
    assert!(told[0].starts_with(start), "{told:?}");
}
