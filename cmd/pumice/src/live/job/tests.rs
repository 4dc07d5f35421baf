//! What is created, shown and refused, without a cluster.

use clap::Parser;
use serde_json::{Value, json};

use super::super::account::{job_phase, replicas};
use super::*;

/// The arguments behind `pumice job`.
#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: JobCommand,
}

fn parsed(words: &str) -> JobCommand {
    let words = std::iter::once("job").chain(words.split(' '));
    Line::try_parse_from(words).expect("known words").command
}

fn made(words: &str) -> Result<Value, String> {
    match parsed(words) {
        JobCommand::Run(arguments) => run::of_flags(&arguments).map_err(|error| error.to_string()),
        _ => panic!("not run: {words}"),
    }
}

#[test]
fn run_makes_the_job_that_vcctl_makes() {
    let job = made("run -N j -i train:1 -m 2 -r 3 -R cpu=2,memory=1Gi -L nvidia.com/gpu=1 -S s -q q -- sh -c x")
        .expect("a Job");
    let spec = &job["spec"];
    assert_eq!(job["metadata"]["name"], "j");
    assert_eq!(
        [
            &spec["minAvailable"],
            &spec["schedulerName"],
            &spec["queue"]
        ],
        [&json!(2), &json!("s"), &json!("q")]
    );
    let task = &spec["tasks"][0];
    assert_eq!(task["replicas"], 3);
    let pod = &task["template"];
    assert_eq!(pod["metadata"]["labels"]["job.volcano.sh"], "j");
    assert_eq!(pod["spec"]["restartPolicy"], "Never");
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["image"], "train:1");
    assert_eq!(container["command"], json!(["sh", "-c", "x"]));
    assert_eq!(
        container["resources"],
        json!({"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}})
    );
    let plain = made("run j").expect("a Job");
    let container = &plain["spec"]["tasks"][0]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "busybox");
    assert_eq!(container["resources"]["limits"]["memory"], "100Mi");
    assert_eq!(container.get("command"), None);
    // As the types read it, nothing is lost.
    let read: Job = typed(&plain).expect("a Job");
    assert_eq!((replicas(&read), job_phase(&read).as_str()), (1, "Pending"));
}

#[test]
fn wrong_amounts_and_a_missing_name_are_explained() {
    for (words, expected) in [
        ("run j -R cpu", "--requests: \"cpu\" is not NAME=AMOUNT"),
        (
            "run j -L cpu=much",
            "--limits: \"cpu=much\" is not NAME=AMOUNT",
        ),
        ("run", "the Job has no name"),
    ] {
        let error = made(words).expect_err("refused");
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("= help: "), "{error}");
    }
    let neither = Line::try_parse_from(["job", "view"]);
    assert!(neither.is_err_and(|error| error.to_string().contains("--name <NAME>")));
}

#[test]
fn a_file_has_one_job() {
    let job = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n";
    let read = run::of_file(&format!("---\n{job}---\n"), "f").expect("a Job");
    assert_eq!(read["metadata"]["name"], "a");
    for (text, expected) in [
        (format!("{job}---\n{job}"), "f has 2 objects"),
        (String::new(), "f has 0 objects"),
        (
            "apiVersion: batch/v1\nkind: Job".to_owned(),
            "f has kind Job of apiVersion batch/v1, not a Job of batch.volcano.sh/v1alpha1",
        ),
        ("a: [".to_owned(), "error: f: "),
    ] {
        let error = run::of_file(&text, "f").expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
}

fn job(phase: &str) -> Value {
    json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": "j", "namespace": "team", "uid": "u",
            "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"minAvailable": 2, "queue": "q", "maxRetry": 3, "plugins": {"svc": [], "env": []},
            "policies": [{"action": "RestartJob", "event": "PodFailed"}, {"action": "AbortJob", "exitCode": 3}],
            "tasks": [{"name": "t", "replicas": 3, "policies": [{"action": "CompleteJob", "event": "TaskCompleted"}], "template": {"spec": {"containers": [
                {"name": "c", "image": "train:1"}]}}}]},
        "status": {"state": {"phase": phase}, "running": 2, "pending": 1, "retryCount": 1,
            "taskStatusCount": {"t": {"phase": {"Running": 2}}}},
    })
}

fn now() -> jiff::Timestamp {
    "2026-01-02T05:34:05Z".parse().expect("a time")
}

/// The lines of a table by words.
fn words(table: impl FnOnce(&mut Vec<u8>)) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    table(&mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    let line = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    text.lines().map(line).collect()
}

#[test]
fn a_list_has_a_line_a_job() {
    let jobs = json!([job("Running")]);
    let lines = words(|out| list::table(out, &jobs, true, now()).expect("printed"));
    assert_eq!(
        lines[0][..5],
        ["NAMESPACE", "NAME", "PHASE", "QUEUE", "PODS"]
    );
    let expected = [
        "team", "j", "Running", "q", "2/3", "2", "0", "0", "1", "2h30m",
    ];
    assert_eq!(lines[1], expected);
    let longest = words(|out| list::table(out, &jobs, false, now()).expect("printed"));
    assert_eq!(longest[1][..2], ["j", "Running"]);
    let mut out = Vec::new();
    list::table(&mut out, &json!([]), false, now()).expect("printed");
    assert_eq!(out, b"No resources found\n");
}

#[test]
fn a_wide_list_has_the_columns_of_vcctl_then_queue_and_age() {
    let jobs = json!([job("Running")]);
    let lines = words(|out| list::wide(out, &jobs, true, now()).expect("printed"));
    assert_eq!(
        lines[0][..5],
        ["NAMESPACE", "NAME", "CREATION", "PHASE", "JOBTYPE"]
    );
    assert_eq!(
        lines[1],
        [
            "team",
            "j",
            "2026-01-02",
            "Running",
            "Batch",
            "3",
            "2",
            "1",
            "2",
            "0",
            "0",
            "0",
            "1",
            "q",
            "2h30m"
        ]
    );
    let mut out = Vec::new();
    list::wide(&mut out, &json!([]), false, now()).expect("printed");
    assert_eq!(out, b"No resources found\n");
}

#[test]
fn a_queue_that_takes_in_nothing_is_told_of_when_a_job_is_run() {
    use run::QueueSeen;
    let problem = |found: Option<Value>| match QueueSeen::of("q", found.as_ref()) {
        QueueSeen::Problem(problem) => problem,
        other => format!("{other:?}"),
    };
    let none = problem(None);
    assert!(none.starts_with("queue q does not exist; "), "{none}");
    assert_eq!(QueueSeen::of("default", None), QueueSeen::Fine);
    let closed = problem(Some(json!({"status": {"state": "Closing"}})));
    assert!(
        closed.starts_with("queue q is Closing and takes in nothing new"),
        "{closed}"
    );
    for status in [json!({"state": "Open"}), json!({})] {
        assert_eq!(problem(Some(json!({"status": status}))), "Fine");
    }
}

#[test]
fn one_waits_until_a_job_is_there_or_never_will_be() {
    use wait::{Waited, WaitedFor, reached};
    for (wanted, phase, expected) in [
        (WaitedFor::End, Some("Completed"), Waited::Reached),
        (WaitedFor::End, Some("Failed"), Waited::Missed),
        (WaitedFor::End, Some("Aborted"), Waited::Missed),
        (WaitedFor::End, Some("Running"), Waited::NotYet),
        (WaitedFor::End, None, Waited::Missed),
        (WaitedFor::Running, Some("Pending"), Waited::NotYet),
        (WaitedFor::Running, Some("Running"), Waited::Reached),
        (WaitedFor::Running, Some("Completed"), Waited::Reached),
        (WaitedFor::Running, Some("Failed"), Waited::Missed),
        (WaitedFor::Suspended, Some("Aborting"), Waited::NotYet),
        (WaitedFor::Suspended, Some("Aborted"), Waited::Reached),
        (WaitedFor::Suspended, Some("Completed"), Waited::Missed),
        (WaitedFor::Deleted, Some("Completed"), Waited::NotYet),
        (WaitedFor::Deleted, None, Waited::Reached),
    ] {
        assert_eq!(reached(wanted, phase), expected, "{wanted:?} {phase:?}");
    }
}

#[test]
fn a_task_is_scaled_and_what_could_not_run_is_refused() {
    let mut object = job("Running");
    let of = |object: &Value| -> Job { typed(object).expect("a Job") };
    let patch = scale::patch(&of(&object), None, 5, Some(4)).expect("a patch");
    assert_eq!(
        patch,
        json!([
            {"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "add", "path": "/spec/tasks/0/replicas", "value": 5},
            {"op": "add", "path": "/spec/minAvailable", "value": 4},
        ])
    );
    let refused = |object: &Value, task, replicas, min| {
        let error = scale::patch(&of(object), task, replicas, min).expect_err("refused");
        assert!(error.contains("= help: "), "{error}");
        error
    };
    let few = refused(&object, None, 1, None);
    assert!(
        few.contains("would have 1 pods, and 2 must run together"),
        "{few}"
    );
    let unknown = refused(&object, Some("x"), 3, None);
    assert!(unknown.contains("no task \"x\""), "{unknown}");
    object["spec"]["tasks"][0]["minAvailable"] = json!(2);
    let own = refused(&object, Some("t"), 1, Some(1));
    assert!(own.contains("spec.tasks[0].minAvailable"), "{own}");
    let other = object["spec"]["tasks"][0].clone();
    object["spec"]["tasks"]
        .as_array_mut()
        .expect("tasks")
        .push(other);
    let several = refused(&object, None, 3, None);
    assert!(several.contains("the tasks t, t"), "{several}");
}

#[test]
fn a_view_tells_what_is_wanted_and_how_far_it_is() {
    let mut out = Vec::new();
    view::describe(&mut out, &typed(&job("Running")).expect("a Job")).expect("printed");
    let text = String::from_utf8(out).expect("UTF-8");
    for line in [
        "Phase:          Running",
        "Restarts:       1 of 3",
        "Plugins:        env, svc",
        "Minimum:        2 of 3",
        "Pods:           1 pending, 2 running",
        "Policies:       RestartJob on PodFailed; AbortJob on exit code 3",
        "t     3         3    train:1  2 Running  CompleteJob on TaskCompleted",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(!text.contains("Priority class"), "{text}");
}

#[test]
fn what_would_have_no_effect_is_refused() {
    for (control, phase, fine) in [
        (&SUSPEND, "", true),
        (&SUSPEND, "Running", true),
        (&SUSPEND, "Aborted", false),
        (&SUSPEND, "Completed", false),
        (&RESUME, "Aborted", true),
        (&RESUME, "Aborting", true),
        (&RESUME, "Running", false),
    ] {
        let job = typed(&job(phase)).expect("a Job");
        let refused = refuse_without_effect(&job, "team", control).err();
        assert_eq!(refused.is_none(), fine, "{} {phase}", control.action);
        if let Some(error) = refused {
            let expected = format!(
                "error: job team/j is {phase}, so it cannot be {}",
                control.done
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
