//! What tables look like, and the keys of what is printed for scripts.

use std::collections::BTreeMap;

use pumice_engine::view::{
    CardAmount, CardPod, CardView, ClusterView, FamilySums, JobOfPod, JobView, LastHour, NodeView,
    Place, PodView, QueueView, QueuesView, SameReason, Time, TopView, Usage, WaitingJob,
    WaitingView,
};
use serde_json::Value;

use super::queue_lines::{self, QueueTableRow};
use super::words::{MAX_REASON, age, brief, ordinal, short_group};
use super::{cards, explain, pod, queues, top};
use pumice_cluster::remote::path_part;

fn text(table: impl FnOnce(&mut dyn std::io::Write) -> anyhow::Result<()>) -> String {
    let mut out = Vec::new();
    table(&mut out).expect("written");
    anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string()
}

fn amounts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(name, amount): &(&str, &str)| ((*name).to_owned(), (*amount).to_owned());
    pairs.iter().map(own).collect()
}

fn place() -> Place {
    Place {
        position: 3,
        waiting: 17,
        queue: "training".to_owned(),
        first: Some("team-b/large".to_owned()),
    }
}

fn pod() -> PodView {
    PodView {
        pod: "team-a/train-0".to_owned(),
        scheduled_by_us: true,
        status: "Pending".to_owned(),
        asks: amounts(&[("cpu", "4"), ("nvidia.com/gpu", "2")]),
        reason: Some("Unschedulable".to_owned()),
        message: Some("0/8 nodes are unavailable: 8 Insufficient cpu.".to_owned()),
        job: Some(JobOfPod {
            name: "team-a/train".to_owned(),
            queue: "training".to_owned(),
            phase: Some("Inqueue".to_owned()),
            min_member: 4,
            tasks: 4,
            ..JobOfPod::default()
        }),
        place: Some(place()),
        changes: vec!["more cpu".to_owned(), "more pods".to_owned()],
        ..PodView::default()
    }
}

#[test]
fn a_waiting_pod_is_explained_line_by_line() {
    let expected = "\
pod team-a/train-0  Pending: Unschedulable
  PodGroup  team-a/train, Inqueue, 0 of 4 pods placed, needs 4
  Queue     training, 3rd of 17 waiting (first: team-b/large)
  Asks      cpu 4, nvidia.com/gpu 2
  Why       0/8 nodes are unavailable: 8 Insufficient cpu.
  To change more cpu
            more pods
";
    assert_eq!(text(|out| explain::pod_table(out, &pod())), expected);
}

#[test]
fn a_job_is_explained_with_its_pods_by_reason() {
    let view = JobView {
        kind: "PodGroup".to_owned(),
        name: "team-a/train".to_owned(),
        queue: "training".to_owned(),
        phase: Some("Inqueue".to_owned()),
        min_member: 5,
        pods: BTreeMap::from([("Pending".to_owned(), 5)]),
        reason: Some("NotEnoughResources".to_owned()),
        message: Some("the cluster is full".to_owned()),
        waiting: vec![SameReason {
            reason: "Unschedulable".to_owned(),
            summary: "no node".to_owned(),
            message: "no node".to_owned(),
            count: 4,
            pods: vec!["train-0".to_owned(), "train-1".to_owned()],
        }],
        not_told: 1,
        ..JobView::default()
    };
    let expected = "\
PodGroup team-a/train  Inqueue, not ready
  Pods      5 Pending; needs 5 at the same time
  Queue     training
  Priority  0
  Holds     -
  Asks      -
  Why       the cluster is full

WAITING PODS
  train-0, train-1 and 2 more
    Unschedulable: no node
  … and 1 more
";
    assert_eq!(text(|out| explain::job_table(out, &view)), expected);
}

#[test]
fn a_reason_is_shortened_to_its_first_line_and_told_once() {
    let whole =
        "0/2 nodes are unavailable: 2 Insufficient cpu. Nearest miss: node n1: cpu short by 1.";
    let short = "0/2 nodes are unavailable: 2 Insufficient cpu.";
    let mut shown = PodView {
        summary: Some(short.to_owned()),
        message: Some(whole.to_owned()),
        ..pod()
    };
    explain::shorten_pod(&mut shown);
    assert_eq!(shown.message, Some(format!("{short} (more with -v)")));
    let same = |message: &str, summary: &str| SameReason {
        reason: "Unschedulable".to_owned(),
        summary: summary.to_owned(),
        message: message.to_owned(),
        count: 1,
        pods: vec!["train-0".to_owned()],
    };
    let mut shown = JobView {
        summary: Some(format!("train-0: {short}")),
        message: Some(format!("train-0: {whole}")),
        waiting: vec![
            same(whole, short),
            same("another. Nearest miss: n1.", "another."),
        ],
        ..JobView::default()
    };
    explain::shorten_job(&mut shown);
    assert_eq!(
        shown.message,
        Some(format!("train-0: {short} (more with -v)"))
    );
    let messages: Vec<&str> = shown
        .waiting
        .iter()
        .map(|same| same.message.as_str())
        .collect();
    assert_eq!(messages, ["as above", "another."]);
}

fn queue() -> QueueView {
    QueueView {
        name: "training".to_owned(),
        state: "Open".to_owned(),
        weight: 2,
        share: 0.5,
        allocated: amounts(&[("cpu", "2")]),
        capability: amounts(&[("cpu", "4")]),
        pod_groups: BTreeMap::from([("Inqueue".to_owned(), 1), ("Running".to_owned(), 1)]),
        pods: BTreeMap::from([("Pending".to_owned(), 1), ("Running".to_owned(), 2)]),
        waiting: 1,
        first: vec![WaitingJob {
            position: 1,
            name: "team-a/train".to_owned(),
            queue: "training".to_owned(),
            pending: 1,
            min_member: 1,
            message: "queue limit".to_owned(),
            ..WaitingJob::default()
        }],
        ..QueueView::default()
    }
}

#[test]
fn a_queue_is_explained_with_its_limits_and_what_waits() {
    let expected = "\
queue training  Open
  Share     weight 2, priority 0, share 0.50
  PodGroups 1 Inqueue, 1 Running
  Pods      1 Pending, 2 Running

RESOURCE  ALLOCATED  DESERVED  CAPABILITY  GUARANTEE  RESERVED
cpu       2          -         4           -          -

WAITING
#  JOB           PHASE  PRIO  PODS  MIN  ASKS  WHY
1  team-a/train  -      0     1     1    -     queue limit
";
    assert_eq!(text(|out| explain::queue_table(out, &queue())), expected);
}

fn sums() -> FamilySums {
    FamilySums {
        family: "vgpu".to_owned(),
        cards: 2,
        in_use: 1,
        memory_used: 12_000,
        memory: 48_000,
        memory_percent: 25,
        ..FamilySums::default()
    }
}

#[test]
fn the_glance_shows_cluster_queues_nodes_and_what_waits() {
    let usage = |resource: &str, used: &str, allocatable: &str, percent| Usage {
        resource: resource.to_owned(),
        used: used.to_owned(),
        allocatable: allocatable.to_owned(),
        percent,
    };
    let view = TopView {
        configuration: None,
        cluster: ClusterView {
            nodes: 1,
            schedulable: 1,
            pods_on_nodes: 2,
            pods_waiting: 1,
            jobs_waiting: 1,
            resources: vec![usage("cpu", "2", "4", 50)],
            cards: vec![sums()],
            last_hour: Some(LastHour {
                binds: 12,
                evictions: 3,
                since: Some(Time("2026-01-31T12:00:00Z".to_owned())),
            }),
        },
        queues: QueuesView {
            configuration: None,
            total: 1,
            queues: vec![queue()],
            past_use: None,
            factors: None,
        },
        nodes: vec![NodeView {
            name: "gpu-1".to_owned(),
            status: "Ready".to_owned(),
            pods: 2,
            resources: vec![usage("cpu", "2", "4", 50), usage("x.com/gpu", "1", "8", 13)],
            cards: 2,
            cards_in_use: 1,
            cards_unhealthy: 1,
        }],
        waiting: WaitingView {
            total: 1,
            pods: 1,
            first: queue().first,
        },
        cycle: 7,
    };
    let expected = "\
1 nodes (1 take pods), 2 pods on nodes, 1 pods of 1 jobs wait
RESOURCE  USED  ALLOCATABLE
cpu       2     4            50%

CARDS   IN USE  UNHEALTHY  MEMORY             CORES  SLOTS
2 vgpu  1       0          12000/48000 (25%)  -      -

last hour: 12 pods bound, 3 evicted (deciding since 2026-01-31T12:00:00Z)

QUEUES
NAME      STATE  WEIGHT  SHARE  PENDING  INQUEUE  RUNNING  PODS-WAIT  PODS-RUN  ALLOCATED  DESERVED  CAPABILITY
training  Open   2       0.50   0        1        1        1          2         cpu 2      -         cpu 4

NODES
NAME   STATUS  PODS  CPU  MEMORY  CARDS                    OTHER
gpu-1  Ready   2     2/4  -       1/2 in use, 1 unhealthy  x.com/gpu 1/8

WAITING
QUEUE     #  JOB           PHASE  PRIO  PODS  MIN  ASKS  WHY
training  1  team-a/train  -      0     1     1    -     queue limit
";
    assert_eq!(text(|out| top::table(out, &view)), expected);
}

#[test]
fn a_card_is_a_line_with_its_pods() {
    let card = CardView {
        node: "gpu-1".to_owned(),
        family: "vgpu".to_owned(),
        id: "GPU-aa".to_owned(),
        kind: "V100".to_owned(),
        mode: "hami-core".to_owned(),
        memory_used: 3000,
        memory: 32768,
        cores_used: 50,
        cores: 100,
        sharers: 1,
        slots: Some(10),
        healthy: true,
        pods: vec![CardPod {
            pod: "ns/a".to_owned(),
            memory: 3000,
            cores: 50,
            certain: true,
            parts: Vec::new(),
        }],
        ..CardView::default()
    };
    let view = pumice_engine::view::CardsView {
        total: 3,
        cards: vec![card],
    };
    let expected = "\
NODE   CARD  ID      TYPE  MODE       MEMORY      CORES   SHARERS  HEALTH   PODS
gpu-1  0     GPU-aa  V100  hami-core  3000/32768  50/100  1/10     healthy  ns/a
… and 2 more; name a node to see its cards
";
    assert_eq!(text(|out| cards::table(out, &view)), expected);
}

#[test]
fn a_card_of_which_other_amounts_are_counted_shows_them() {
    let amount = |name: &str, used, capacity| CardAmount {
        name: name.to_owned(),
        used,
        capacity,
    };
    let card = CardView {
        node: "npu-1".to_owned(),
        id: "0".to_owned(),
        kind: "Ascend310P".to_owned(),
        cores_used: 2,
        cores: 8,
        slots: Some(0),
        others: vec![amount("AI CPUs", 1, 7), amount("DVPP", 1, 7)],
        healthy: true,
        ..CardView::default()
    };
    let view = pumice_engine::view::CardsView {
        total: 1,
        cards: vec![card],
    };
    let expected = "\
NODE   CARD  ID  TYPE        MODE  MEMORY  CORES  SHARERS  OTHER                  HEALTH   PODS
npu-1  0     0   Ascend310P  -     -       2/8    -        AI CPUs 1/7, DVPP 1/7  healthy  -
";
    assert_eq!(text(|out| cards::table(out, &view)), expected);
}

/// Keys that scripts may rely on.
#[test]
fn keys_for_scripts_are_stable() {
    let keys = |value: Value| -> String {
        let object = value.as_object().cloned().unwrap_or_default();
        object.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    let json = |view: Value, expected: &str| assert_eq!(keys(view), expected);
    json(
        serde_json::to_value(pod()).expect("JSON"),
        "asks changes cycle job message node place pod reason scheduledByUs status uid",
    );
    json(
        serde_json::to_value(place()).expect("JSON"),
        "first position queue waiting",
    );
    json(
        serde_json::to_value(queue()).expect("JSON"),
        "allocated capability deserved first guarantee inqueue name overused podGroups pods \
         priority reclaimable share state waiting weight",
    );
    json(
        serde_json::to_value(JobView::default()).expect("JSON"),
        "allocated asks changes cycle kind minMember minResources name notTold pods priority queue \
         ready waiting",
    );
    json(
        serde_json::to_value(TopView::default()).expect("JSON"),
        "cluster cycle nodes queues waiting",
    );
    json(
        serde_json::to_value(CardView::default()).expect("JSON"),
        "cores coresUsed family healthy id index memory memoryUsed mode node pods sharers type",
    );
}

#[test]
fn places_are_counted_as_people_count() {
    let words = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
    let expected = [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th",
    ];
    assert_eq!(words, expected);
}

#[test]
fn what_is_no_name_makes_no_other_path() {
    assert_eq!(path_part("web-0.a_b"), "web-0.a_b");
    assert_eq!(path_part("../x?y z"), "..%2Fx%3Fy%20z");
}

#[test]
fn names_that_a_controller_made_are_shown_as_people_gave_them() {
    for (name, short) in [
        ("wait8-05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1aa", "wait8"),
        (
            "team/wait8-05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1aa",
            "team/wait8",
        ),
        (
            "05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1aa",
            "05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1aa",
        ),
        (
            "wait8-05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1ax",
            "wait8-05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1ax",
        ),
        ("web", "web"),
        ("", ""),
    ] {
        assert_eq!(short_group(name), short);
    }
}

#[test]
fn ages_are_as_kubectl_says_them() {
    let ages = [-1, 0, 119, 120, 7_199, 7_200, 9_000, 172_800].map(age);
    assert_eq!(
        ages,
        ["0s", "0s", "119s", "2m", "119m", "2h", "2h30m", "2d"]
    );
}

#[test]
fn a_queue_has_one_table_with_more_columns_where_the_scheduler_answers() {
    let lines = [QueueTableRow::from(&queue())];
    let expected = "\
NAME      WEIGHT  STATE  PARENT  INQUEUE  PENDING  RUNNING  UNKNOWN  COMPLETED  PRIORITY  SHARE  PODS-WAIT  PODS-RUN  ALLOCATED  DESERVED  CAPABILITY
training  2       Open           1        0        1        0        0          0         0.50   1          2         cpu 2      -         cpu 4
";
    assert_eq!(text(|out| queue_lines::table(out, &lines)), expected);
    let unseen = queue_lines::of_groups(&[serde_json::json!({"spec": {"queue": "q"}})]);
    let expected = "\
NAME  WEIGHT  STATE  PARENT  INQUEUE  PENDING  RUNNING  UNKNOWN  COMPLETED
q     -       -              0        1        0        0        0
";
    assert_eq!(text(|out| queue_lines::table(out, &unseen)), expected);
}

#[test]
fn a_running_pod_is_explained_with_its_cards() {
    let view = PodView {
        status: "Running".to_owned(),
        node: Some("gpu-1".to_owned()),
        cards: vec!["card 0 (GPU-1): memory 4000".to_owned()],
        ..PodView::default()
    };
    let shown = text(|out| explain::pod_table(out, &view));
    assert!(
        shown.contains("  Holds     card 0 (GPU-1): memory 4000\n"),
        "{shown}"
    );
}

#[test]
fn pods_of_jobs_and_queues_are_listed_as_vcctl_lists_them() {
    let pod = serde_json::json!({"metadata": {"name": "j-t-0", "namespace": "team",
            "creationTimestamp": "2026-01-02T03:00:00Z",
            "labels": {"volcano.sh/job-name": "j", "volcano.sh/queue-name": "q"},
            "annotations": {"volcano.sh/job-name": "j", "volcano.sh/queue-name": "q"}},
        "spec": {"nodeName": "n", "containers": [{}, {}]},
        "status": {"phase": "Running", "containerStatuses": [{"ready": true, "restartCount": 2}, {}]}});
    let now = "2026-01-02T03:00:09Z".parse().expect("a time");
    let expected = "\
NAME   READY  STATUS   RESTARTS  JOB  QUEUE  NODE  AGE
j-t-0  1/2    Running  2         j    q      n     9s
";
    let pods = serde_json::json!([pod]);
    assert_eq!(text(|out| pod::table(out, &pods, false, now)), expected);
    assert!(pod::is_ours(&pod, None) && pod::is_ours(&pod, Some("q")));
    assert!(!pod::is_ours(&pod, Some("r")) && !pod::is_ours(&serde_json::json!({}), None));
}

#[test]
fn long_reasons_are_cut_in_lists() {
    assert_eq!(brief("short"), "short");
    let long = "ä".repeat(MAX_REASON + 1);
    assert_eq!(brief(&long).chars().count(), MAX_REASON + 1);
    let words = brief(&"word ".repeat(MAX_REASON));
    assert!(words.ends_with("word…"), "{words}");
}

#[test]
fn an_invalid_configuration_is_told_above_the_queues_and_at_a_glance() {
    let problem = Some("f: not valid, the configuration before it stays in use: fly".to_owned());
    let queues = QueuesView {
        configuration: problem.clone(),
        ..QueuesView::default()
    };
    let top = TopView {
        configuration: problem,
        ..TopView::default()
    };
    let start = "Configuration f: not valid, the configuration before it stays in use: fly\n\n";
    for text in [
        text(|out| queues::list(out, &queues)),
        text(|out| top::table(out, &top)),
    ] {
        assert!(text.starts_with(start), "{text}");
    }
}
