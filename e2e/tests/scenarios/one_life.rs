//! One Job through all of its life, and what each place says of it at each moment: `kubectl get` and
//! `describe`, conditions, events, `pumice explain` and `job view`, on paper and as JSON.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    ConfigMount, Controllers, Lab, LabGuard, PortForwarder, Scheduler, Setup, scratch,
};
use serde_json::{Value, json};

use crate::controllers::{JOBS, end_pod, job};
use crate::{GROUPS, LONG, PODS};

/// The scheduler's pod.
const POD: &str = "volcano-scheduler-0";

const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

const CONF: &str = r#"actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// A cluster of two nodes for two pods each, and everything that acts on Job `life`.
struct OneLife {
    // Ended before the cluster.
    scheduler: Scheduler,
    _controllers: Controllers,
    _forwarder: PortForwarder,
    lab: LabGuard,
}

impl OneLife {
    fn start() -> Result<Self> {
        let lab = Lab::take()?;
        for (name, value) in [("low", 10), ("high", 100)] {
            let class = json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": name}, "value": value,
            });
            lab.rest().create(CLASSES, &class)?;
        }
        let forwarder = PortForwarder::start(lab.cluster())?;
        lab.rest()
            .create("/api/v1/nodes", &forwarder.node("control"))?;
        lab.nodes(2, "2", "64Gi")?;
        let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
        let setup = Setup {
            conf: Some(ConfigMount::new(&scratch("one-life")?, CONF)?.file()),
            ..Setup::default()
        };
        Ok(Self {
            scheduler: Scheduler::start_in_pod(lab.cluster(), POD, "control", setup)?,
            _controllers: controllers,
            _forwarder: forwarder,
            lab,
        })
    }

    fn shell(&self, words: &str) -> Result<String> {
        self.lab.cluster().shell(Path::new("."), words)
    }

    fn kubectl(&self, words: &str) -> Result<String> {
        self.shell(&format!("kubectl {words}"))
    }

    /// A Job of pods of one CPU, in queue `team`.
    fn make(&self, name: &str, class: &str, pods: usize) -> Result<()> {
        let mut object = job(name, pods);
        let spec = &mut object["spec"];
        spec["queue"] = json!("team");
        spec["priorityClassName"] = json!(class);
        spec["policies"] = json!([{"event": "PodFailed", "action": "RestartJob"}]);
        let container = &mut spec["tasks"][0]["template"]["spec"]["containers"][0];
        container["resources"] = json!({"requests": {"cpu": "1"}});
        self.lab.rest().create(JOBS, &object).map(|_| ())
    }

    /// Most CPUs that the queue gives.
    fn limit_queue(&self, cpu: &str) -> Result<()> {
        let spec = json!({"weight": 1, "capability": {"cpu": cpu}});
        match self.lab.rest().get(&format!("{QUEUES}/team")) {
            Ok(_) => {
                let path = format!("{QUEUES}/team");
                self.lab.rest().patch(&path, &json!({"spec": spec}))?;
            }
            Err(_) => {
                let queue = json!({
                    "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                    "metadata": {"name": "team"}, "spec": spec,
                });
                self.lab.rest().create(QUEUES, &queue)?;
            }
        }
        Ok(())
    }

    fn pods(&self) -> Result<Vec<Value>> {
        let mut pods = self.lab.rest().list(PODS)?;
        pods.retain(|pod| text(&pod["metadata"]["name"]).starts_with("life-"));
        Ok(pods)
    }

    /// Waits until every place says this: the first line of the user tool, and a part of why.
    fn all_say(&self, first: &str, why: &str) -> Result<()> {
        let what = format!("all say {first:?}, {why:?}");
        self.scheduler.eventually(LONG, &what, || {
            let said = self.said_by_tool()?;
            ensure!(
                said.first == format!("Job default/life  {first}"),
                "{said:?}"
            );
            ensure!(said.message.contains(why), "{said:?}");
            self.said_by_objects(&said)?;
            Ok(Some(()))
        })
    }

    /// What the user tool says, which is the same in each of its forms.
    fn said_by_tool(&self) -> Result<Said> {
        let json = self.shell("pumice explain job/life -o json")?;
        let json: Value = serde_json::from_str(&json)?;
        let why = &json["account"]["why"];
        if json["name"].is_string() {
            ensure!(json["reason"] == why["reason"], "two reasons: {json}");
            ensure!(json["message"] == why["message"], "two messages: {json}");
        }
        let message = text(&why["message"]);
        let short = json["summary"].as_str().unwrap_or(&message).to_owned();
        ensure!(
            message.starts_with(&short),
            "{short:?} is no beginning: {json}"
        );
        ensure!(short.len() < 200, "long: {short}");
        let line = format!("\n  Why       {short}");
        let mut first = String::new();
        for words in ["explain job/life", "explain job/life -v", "job view life"] {
            let shown = self.shell(&format!("pumice {words}"))?;
            let begins = shown.lines().next().unwrap_or_default().to_owned();
            ensure!(first.is_empty() || begins == first, "{first:?}: {shown}");
            let is_told = shown.contains(&line) && !short.is_empty();
            ensure!(is_told || !shown.contains("\n  Why"), "{line}: {shown}");
            first = begins;
        }
        Ok(Said {
            first,
            phase: text(&json["account"]["phase"]),
            reason: text(&why["reason"]),
            message,
            short,
        })
    }

    /// The objects, their events and kubectl say that too.
    fn said_by_objects(&self, said: &Said) -> Result<()> {
        let job = self.lab.rest().get(&format!("{JOBS}/life"))?;
        let state = &job["status"]["state"];
        ensure!(state["phase"] == *said.phase, "{state}");
        let line = self.kubectl("get vcjob life --no-headers")?;
        let columns: Vec<&str> = line.split_whitespace().collect();
        ensure!(columns.get(1) == Some(&&*said.phase), "{line}");
        let reason = text(&state["reason"]);
        ensure!(
            reason.is_empty() || columns.get(2) == Some(&&*reason),
            "{line}"
        );
        if said.reason.is_empty() {
            return self.nothing_keeps_the_group();
        }
        // The node's or the queue's words, without the pod that is named before.
        let (_, bare) = said
            .short
            .split_once("worker-")
            .unwrap_or(("", &said.short));
        let bare = bare.split_once(": ").map_or(bare, |(_, bare)| bare);
        let shown = self.kubectl("describe vcjob life")?;
        ensure!(shown.contains(bare), "{bare:?}: {shown}");
        if reason == said.reason {
            ensure!(state["message"] == *said.message, "{state}");
            return Ok(());
        }
        let group = self.group()?.context("there is a PodGroup")?;
        let condition = complaint(&group).context("the PodGroup says why it waits")?;
        let (word, message) = (text(&condition["reason"]), text(&condition["message"]));
        ensure!(word == said.reason, "{condition}");
        ensure!(message.ends_with(&said.message), "{message:?}: {said:?}");
        let pending = format!("is not placed: {word}: {message}");
        ensure!(shown.contains(&pending), "{pending:?}: {shown}");
        let pods = self.pods()?;
        let mut conditions = pods
            .iter()
            .flat_map(|pod| pod["status"]["conditions"].as_array());
        let of_pod = |one: &Value| one["status"] == "False" && text(&one["message"]).contains(bare);
        let is_told = conditions.any(|all| all.iter().any(of_pod));
        ensure!(is_told || pods.is_empty(), "no pod says {bare:?}: {pods:?}");
        Ok(())
    }

    fn group(&self) -> Result<Option<Value>> {
        let groups = self.lab.rest().list(GROUPS)?;
        let is_own = |group: &Value| text(&group["metadata"]["name"]).starts_with("life-");
        Ok(groups.into_iter().find(is_own))
    }

    fn nothing_keeps_the_group(&self) -> Result<()> {
        let group = self.group()?;
        let complaint = group.as_ref().and_then(complaint);
        ensure!(complaint.is_none(), "{complaint:?}");
        Ok(())
    }

    /// What was done with it stands on the Job, in its events and beside what keeps it now.
    fn all_tell(&self, what: &str) -> Result<()> {
        let wanted = format!("everybody tells {what:?}");
        self.scheduler.eventually(LONG, &wanted, || {
            let object = self.lab.rest().get(&format!("{JOBS}/life"))?;
            let state = &object["status"]["state"];
            ensure!(text(&state["message"]).contains(what), "{state}");
            for words in [
                "kubectl describe vcjob life",
                "pumice explain job/life",
                "pumice job view life",
            ] {
                let shown = self.shell(words)?;
                let told = shown.matches(what).count();
                // Once in the status or the step of the Job, once in an event.
                let least = if words.contains("explain") { 1 } else { 2 };
                ensure!(told >= least, "{words}: {shown}");
            }
            let json = self.shell("pumice explain job/life -o json")?;
            let json: Value = serde_json::from_str(&json)?;
            ensure!(
                text(&json["account"]["steps"][0]["says"]).contains(what),
                "{json}"
            );
            Ok(Some(()))
        })
    }
}

/// What the user tool says of a Job.
#[derive(Debug)]
struct Said {
    first: String,
    phase: String,
    reason: String,
    message: String,
    /// The beginning of the message.
    short: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The condition that says why a PodGroup waits.
fn complaint(group: &Value) -> Option<Value> {
    let mut conditions = group["status"]["conditions"].as_array()?.iter();
    let found = conditions.find(|one| one["type"] == "Unschedulable" && one["status"] == "True");
    found.cloned()
}

#[test]
fn everybody_says_the_same_of_a_job_at_each_moment_of_its_life() -> Result<()> {
    let life = OneLife::start()?;
    life.make("life", "low", 2)?;
    life.all_say("Pending: QueueNotReady", "queue \"team\" does not exist")?;
    life.limit_queue("1")?;
    life.all_say(
        "Pending: NotEnoughResources",
        "insufficient cpu (asks 2, more than its capability 1",
    )?;
    life.kubectl("cordon n-0 n-1")?;
    life.limit_queue("8")?;
    life.all_say(
        "Pending: NotEnoughResources",
        "Nodes control, n-0, n-1 are cordoned",
    )?;
    life.kubectl("uncordon n-0 n-1")?;
    life.all_say("Running", "")?;

    life.make("urgent", "high", 3)?;
    life.all_say("Pending: NotEnoughResources", "2 Insufficient cpu")?;
    life.all_tell("was evicted by scheduler volcano: preempt for PodGroup default/urgent-")?;
    let pods = life.pods()?;
    let runs = pods.iter().find(|pod| pod["status"]["phase"] == "Running");
    let name = text(&runs.context("one of two was left")?["metadata"]["name"]);
    end_pod(&life.lab, &name, 3)?;
    life.all_tell(&format!(
        "pod {name} failed with exit code 3 of container main"
    ))?;
    life.all_say("Pending: NotEnoughResources", "2 Insufficient cpu")?;
    life.kubectl("delete vcjob urgent")?;
    life.all_say("Running", "")?;

    let pods = life.pods()?;
    let node = text(&pods.first().context("a pod")?["spec"]["nodeName"]);
    let there = pods.iter().filter(|pod| pod["spec"]["nodeName"] == *node);
    let names: Vec<String> = there.map(|pod| text(&pod["metadata"]["name"])).collect();
    // Both stand on one node where the last pods of the other Job went from it first.
    let evicted = match names.as_slice() {
        [name] => format!("pod {name} was"),
        names => format!("{} pods ({}) were", names.len(), names.join(", ")),
    };
    life.kubectl(&format!("drain {node} --force --timeout=60s"))?;
    life.all_tell(&format!(
        "{evicted} evicted through the Eviction API, as kubectl drain does"
    ))?;
    life.all_say("Running", "")?;
    life.lab.kubelet().end_images();
    life.all_say("Completed", "")
}
