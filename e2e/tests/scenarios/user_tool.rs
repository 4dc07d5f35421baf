//! `pumice job` and `pumice queue` on a real API server. Who carries out Commands is this test, so that it
//! is seen what the tool asks for and what it says when nobody does.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, LabGuard, eventually};
use serde_json::{Value, json};

use crate::LIMIT;

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
const COMMANDS: &str = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";

fn pumice(lab: &LabGuard, words: &str) -> Result<String> {
    lab.cluster()
        .shell(Path::new("."), &format!("pumice {words}"))
}

/// What it says when it refuses.
fn refusal(lab: &LabGuard, words: &str) -> Result<String> {
    let error = pumice(lab, words).err();
    let error = error.with_context(|| format!("pumice {words} has ended well"))?;
    Ok(format!("{error:#}"))
}

/// The one Command there is, which is taken away as a controller does it.
fn take_command(lab: &LabGuard) -> Result<Value> {
    let command = eventually(LIMIT, "there is a Command", || {
        Ok(lab.rest().list(COMMANDS)?.first().cloned())
    })?;
    let name = command["metadata"]["name"].as_str().context("a name")?;
    lab.delete(&format!("{COMMANDS}/{name}"))?;
    Ok(command)
}

fn words_of(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn waits_for_its_queue(lab: &LabGuard) -> Result<()> {
    let waits = pumice(lab, "job run early -q nosuch")?;
    ensure!(
        waits.starts_with("job early is created, and waits: queue nosuch does not exist"),
        "{waits}"
    );
    pumice(lab, "job delete early").map(|_| ())
}

#[test]
fn a_job_is_run_shown_suspended_resumed_and_deleted() -> Result<()> {
    let lab = Lab::take()?;
    ensure!(pumice(&lab, "job list")?.contains("No resources found"));
    waits_for_its_queue(&lab)?;
    pumice(&lab, "queue create research")?;
    let said = pumice(
        &lab,
        "job run train -i example.com/none -r 3 -m 2 -q research -- sleep 9",
    )?;
    ensure!(said == "run job train successfully\n", "{said}");
    let path = format!("{JOBS}/train");
    let job = lab.rest().get(&path)?;
    assert_eq!(job["spec"]["tasks"][0]["replicas"], 3);
    let again = refusal(&lab, "job run train")?;
    ensure!(again.contains("\"train\" already exists"), "{again}");

    let list = pumice(&lab, "job list -A -q research --selector rai")?;
    let line = list.lines().nth(1).context("a line")?;
    let expected = ["default", "train", "Pending", "research", "0/3", "2"];
    assert_eq!(words_of(line)[..6], expected);
    let list = pumice(&lab, "job list -A -q research --selector rai -o wide")?;
    let line = list.lines().nth(1).context("a line")?;
    let day = &job["metadata"]["creationTimestamp"]
        .as_str()
        .context("a time")?[..10];
    let expected = ["default", "train", day, "Pending", "Batch", "3", "2", "0"];
    assert_eq!(words_of(line)[..8], expected);
    ensure!(pumice(&lab, "job list -q default")?.contains("No resources found"));
    let json: Value = serde_json::from_str(&pumice(&lab, "job list -o json")?)?;
    assert_eq!(json["items"][0]["metadata"]["uid"], job["metadata"]["uid"]);
    let view = pumice(&lab, "job view train")?;
    ensure!(view.contains("Minimum:        2 of 3"), "{view}");
    ensure!(view.starts_with("Job default/train  Pending"), "{view}");
    pumice(&lab, "job scale train -r 4 -m 3")?;
    let scaled = lab.rest().get(&path)?;
    assert_eq!(scaled["spec"]["tasks"][0]["replicas"], 4);
    assert_eq!(scaled["spec"]["minAvailable"], 3);
    let late = refusal(&lab, "job wait train --timeout 1")?;
    ensure!(
        late.contains("after 1 s job default/train is Pending"),
        "{late}"
    );
    let none = refusal(&lab, "job logs train")?;
    ensure!(
        none.contains("job default/train has no such pods"),
        "{none}"
    );

    pumice(&lab, "job suspend -N train -n default")?;
    let command = take_command(&lab)?;
    assert_eq!(command["action"], "AbortJob");
    assert_eq!(command["target"]["uid"], job["metadata"]["uid"]);
    assert_eq!(command["metadata"]["ownerReferences"][0]["name"], "train");
    let early = refusal(&lab, "job resume train")?;
    ensure!(
        early.contains("job default/train is Pending, so it cannot be resumed"),
        "{early}"
    );
    let aborted = json!({"status": {"state": {"phase": "Aborted"}}});
    lab.rest().patch(&format!("{path}/status"), &aborted)?;
    pumice(&lab, "job resume train")?;
    assert_eq!(take_command(&lab)?["action"], "ResumeJob");

    pumice(&lab, "job delete train")?;
    let gone = refusal(&lab, "job view train")?;
    ensure!(gone.contains("there is no Job default/train"), "{gone}");
    ensure!(gone.contains("pumice job list --all-namespaces"), "{gone}");
    pumice(&lab, "job wait train --for deleted")?;
    pumice(&lab, "queue delete research")?;
    Ok(())
}

#[test]
fn flows_and_templates_are_created_listed_viewed_and_deleted() -> Result<()> {
    let lab = Lab::take()?;
    let template = r#"{apiVersion: flow.volcano.sh/v1alpha1, kind: JobTemplate, metadata: {name: a},
        spec: {tasks: [{name: w, replicas: 1, template: {spec: {containers: [{name: c, image: none}]}}}]}}"#;
    let flow = r#"{apiVersion: flow.volcano.sh/v1alpha1, kind: JobFlow, metadata: {name: f},
        spec: {flows: [{name: a}]}}"#;
    for (kind, object) in [("jobtemplate", template), ("jobflow", flow)] {
        let commands = format!("echo '{object}' | pumice {kind} create -f -");
        let said = lab.cluster().shell(Path::new("."), &commands)?;
        ensure!(said.starts_with(&format!("{kind} default/")), "{said}");
    }
    let list = pumice(&lab, "jobflow list")?;
    let line = list.lines().nth(1).context("a line")?;
    assert_eq!(words_of(line)[..4], ["f", "default", "Pending", "0/1"]);
    let view = pumice(&lab, "jobtemplate describe -N a")?;
    ensure!(view.contains("jobtemplate default/a"), "{view}");
    for (kind, name) in [("jobflow", "f"), ("jobtemplate", "a")] {
        pumice(&lab, &format!("{kind} delete {name}"))?;
        let gone = refusal(&lab, &format!("{kind} get {name}"))?;
        ensure!(gone.contains("there is no Job"), "{gone}");
    }
    Ok(())
}

#[test]
fn a_job_of_a_file_is_run_and_a_wrong_one_is_refused_with_the_field() -> Result<()> {
    let lab = Lab::take()?;
    let job = |replicas: &str| {
        format!(
            "{{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {{name: f}}, spec: {{tasks: \
             [{{{replicas}: 1, template: {{spec: {{containers: [{{name: c, image: none}}]}}}}}}]}}}}"
        )
    };
    let run = |text: &str| {
        let commands = format!("echo '{text}' | pumice job run -f -");
        lab.cluster().shell(Path::new("."), &commands)
    };
    let refused = run(&job("replica")).err().context("it is taken")?;
    let refused = format!("{refused:#}");
    ensure!(
        refused.contains("unknown field \"spec.tasks[0].replica\""),
        "{refused}"
    );
    ensure!(run(&job("replicas"))?.contains("run job f successfully"));
    lab.rest().get(&format!("{JOBS}/f")).map(|_| ())
}

/// Carries out the next Command on a queue.
fn obey(lab: &LabGuard, action: &str, name: &str, state: &str) -> Result<()> {
    let command = take_command(lab)?;
    assert_eq!(command["action"], action);
    assert_eq!(command["target"]["name"], name);
    let status = json!({"status": {"state": state}});
    let path = format!("{QUEUES}/{name}/status");
    lab.rest().patch(&path, &status).map(|_| ())
}

/// What the tool says while the Command it makes is carried out.
fn obeyed(lab: &LabGuard, words: &str, action: &str, name: &str, state: &str) -> Result<String> {
    std::thread::scope(|threads| {
        let said = threads.spawn(|| pumice(lab, words));
        obey(lab, action, name, state)?;
        said.join().expect("no panic")
    })
}

#[test]
fn a_queue_is_created_closed_and_opened_by_commands_that_somebody_carries_out() -> Result<()> {
    let lab = Lab::take()?;
    let made = obeyed(
        &lab,
        "queue create q -w 4 --capability cpu=2 --state Closed",
        "CloseQueue",
        "q",
        "Closed",
    )?;
    ensure!(made.contains("queue q is Closed"), "{made}");
    let queue = lab.rest().get(&format!("{QUEUES}/q"))?;
    assert_eq!(queue["spec"]["capability"], json!({"cpu": "2"}));
    lab.gang("g", "q", 1, 1)?;
    let got = pumice(&lab, "queue get -n q")?;
    let line = got.lines().nth(1).context("a line")?;
    assert_eq!(
        words_of(line),
        ["q", "4", "Closed", "0", "1", "0", "0", "0"]
    );
    ensure!(pumice(&lab, "queue close q")?.contains("queue q is Closed already"));

    pumice(&lab, "queue create child --parent q")?;
    let child = json!({"status": {"state": "Closed"}});
    lab.rest()
        .patch(&format!("{QUEUES}/child/status"), &child)?;
    let under = refusal(&lab, "queue open child")?;
    ensure!(
        under.contains("the queue above it, q, is Closed"),
        "{under}"
    );
    let opened = obeyed(&lab, "queue open q", "OpenQueue", "q", "Open")?;
    ensure!(opened.contains("queue q is Open"), "{opened}");
    let closing = obeyed(&lab, "queue close q", "CloseQueue", "q", "Closing")?;
    ensure!(
        closing.contains("Closed when its last PodGroup is deleted"),
        "{closing}"
    );

    let alone = refusal(&lab, "queue open q --timeout 1")?;
    ensure!(
        alone.contains("nobody has opened queue q within 1 s"),
        "{alone}"
    );
    ensure!(alone.contains("get lease vc-controller-manager"), "{alone}");
    let names: Value = serde_json::from_str(&pumice(&lab, "queue list -o json")?)?;
    assert_eq!(names["items"].as_array().map(Vec::len), Some(2));
    let above = refusal(&lab, "queue delete q")?;
    ensure!(
        above.contains("queue q has queues below it: child"),
        "{above}"
    );
    pumice(&lab, "queue delete child")?;
    let inside = refusal(&lab, "queue delete q")?;
    ensure!(
        inside.contains("queue q has a job in it: default/g (Pending)"),
        "{inside}"
    );
    pumice(&lab, "queue delete q --force")?;
    let gone = refusal(&lab, "queue get q")?;
    ensure!(gone.contains("there is no queue q"), "{gone}");
    Ok(())
}

#[test]
fn what_is_only_tried_is_shown_and_not_kept() -> Result<()> {
    let lab = Lab::take()?;
    let client = pumice(&lab, "job run dry --dry-run -o yaml -k /none")?;
    ensure!(client.contains("name: dry"), "{client}");
    let commands =
        "pumice job run dry --dry-run=client -o yaml | kubectl create --dry-run=server -f -";
    lab.cluster().shell(Path::new("."), commands)?;
    let server = pumice(&lab, "job run dry --dry-run=server")?;
    ensure!(
        server == "run job dry successfully (server dry run)\n",
        "{server}"
    );
    let made = pumice(&lab, "queue create dry --dry-run=server -S Closed -o json")?;
    let made: Value = serde_json::from_str(&made)?;
    ensure!(made["metadata"]["uid"].is_string(), "{made}");
    for path in [format!("{JOBS}/dry"), format!("{QUEUES}/dry")] {
        ensure!(lab.rest().get(&path).is_err(), "{path} is there");
    }
    Ok(())
}

#[test]
fn kubectl_runs_it_as_a_plugin_and_completes_its_words() -> Result<()> {
    let lab = Lab::take()?;
    let program = pumice_e2e::programs::ours("pumice")?;
    let commands = format!(
        "bin=$(mktemp -d); for name in kubectl-pumice kubectl_complete-pumice; do ln -s '{}' $bin/$name; done
PATH=$bin:$PATH; kubectl pumice job list; kubectl __complete pumice job su; rm -r $bin",
        program.display()
    );
    let said = lab.cluster().shell(Path::new("."), &commands)?;
    ensure!(said.starts_with("No resources found\n"), "{said}");
    ensure!(said.contains("\nsuspend\t"), "{said}");
    Ok(())
}

/// The blocks of the page about Jobs that nothing else tries.
#[test]
fn the_objects_of_the_page_about_jobs_are_taken() -> Result<()> {
    let page = include_str!("../../../docs/guide/jobs.md");
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let blocks = page.split("```yml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|part| part.split("```").next()).collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        let arguments = ["apply", "--dry-run=server", "--validate=strict", "-f", "-"];
        lab.cluster().kubectl(&arguments, block).context(block)?;
    }
    Ok(())
}
