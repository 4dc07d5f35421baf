//! The commands about a cluster against an API server in memory, as users with few rights meet it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use pumice_scripted::{Answer, Seen, Server};
use serde_json::{Value, json};

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/team/jobs";
const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups";
const ALL_GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
const ALL_JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/jobs";
const PODS: &str = "/api/v1/namespaces/team/pods";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases";

/// Answers by path: an object, a list, or a refusal. What is not there is not found.
#[derive(Default)]
struct ServedCluster {
    answers: BTreeMap<String, (u16, Value)>,
}

impl ServedCluster {
    /// One whose user may use its own namespace, and nothing else.
    fn of_an_editor() -> Self {
        let mut cluster = Self::default();
        for path in ["volcano", "vc-controller-manager"].map(|name| format!("{LEASES}/{name}")) {
            cluster.deny(&path, "get", "leases");
        }
        for (path, kind) in [(QUEUES, "queues"), (ALL_GROUPS, "podgroups")] {
            cluster.deny(path, "list", kind);
        }
        for path in [GROUPS, PODS, "/api/v1/namespaces/team/events"] {
            cluster.list(path, &[]);
        }
        cluster
    }

    fn deny(&mut self, path: &str, verb: &str, kind: &str) {
        let message =
            format!("{kind} is forbidden: User \"jane\" cannot {verb} resource \"{kind}\"");
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
            "reason": "Forbidden", "message": message});
        self.answers.insert(path.to_owned(), (403, status));
    }

    fn object(&mut self, path: &str, object: Value) {
        self.answers.insert(path.to_owned(), (200, object));
    }

    fn list(&mut self, path: &str, items: &[Value]) {
        let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items});
        self.object(path, list);
    }

    /// Serves, and runs the program against it: exit code, output, errors.
    fn run(self, words: &str) -> (Option<i32>, String, String) {
        let server = Server::apart(move |seen| self.answer(seen));
        let name = format!("served-{}.yaml", server.address().port());
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": server.url()}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "team"}}]});
        std::fs::write(&file, kubeconfig.to_string()).expect("a file");
        let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
            .args(words.split(' '))
            .env("KUBECONFIG", &file)
            .output()
            .expect("it runs");
        let _ = std::fs::remove_file(&file);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// What is created is as it was sent.
    fn answer(&self, seen: &Seen) -> Answer {
        let missing = || {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
                "reason": "NotFound", "message": "not found"});
            (404, status)
        };
        let known = || self.answers.get(seen.split().0).cloned();
        let (code, body) = match seen.method.as_str() {
            "POST" => (201, seen.body.clone()),
            _ => known().unwrap_or_else(missing),
        };
        Answer::Json(code, body)
    }
}

fn job(state: Value) -> Value {
    json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": "train", "namespace": "team", "uid": "u-1",
            "creationTimestamp": "2026-01-02T03:00:00Z"},
        "spec": {"minAvailable": 2, "queue": "nosuch", "tasks": [{"name": "t", "replicas": 3}]},
        "status": {"state": state}})
}

fn ensure_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

const GRANTS: &str = "kubectl -n volcano-system create rolebinding YOU-explain \
                      --role=volcano-scheduler-explain --user=YOU";

#[test]
fn who_may_not_ask_the_scheduler_is_told_what_the_job_says_and_how_to_get_the_right() {
    let mut cluster = ServedCluster::of_an_editor();
    let state = json!({"phase": "Pending", "reason": "QueueNotReady",
        "message": "queue nosuch does not exist"});
    cluster.object(&format!("{JOBS}/train"), job(state));
    let (code, out, error) = cluster.run("explain job/train");
    assert_eq!(code, Some(0), "{error}");
    let first = "Job team/train  Pending: QueueNotReady\n  Why       queue nosuch does not exist\n";
    assert!(out.starts_with(first), "{out}");
    ensure_says(
        &error,
        &[
            "note: this is what the objects of namespace team say",
            GRANTS,
        ],
    );
}

#[test]
fn a_deployment_is_followed_down_to_its_pods() {
    let mut cluster = ServedCluster::of_an_editor();
    let apps = "/apis/apps/v1/namespaces/team";
    let of = |name: &str, uid: &str, owner: &str| {
        json!({"metadata": {"name": name, "namespace": "team", "uid": uid,
            "creationTimestamp": "2026-01-02T03:00:00Z",
            "ownerReferences": [{"uid": owner, "controller": true}]}})
    };
    let mut deployment = of("web", "u-d", "");
    deployment["apiVersion"] = json!("apps/v1");
    cluster.object(&format!("{apps}/deployments/web"), deployment);
    let mut old = of("web-1", "u-1", "u-d");
    old["spec"]["replicas"] = json!(0);
    cluster.list(
        &format!("{apps}/replicasets"),
        &[of("web-2", "u-2", "u-d"), old],
    );
    let mut pod = of("web-2-x", "u-p", "u-2");
    pod["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled",
        "status": "False", "reason": "Unschedulable", "message": "no node has 9 cpu"}]});
    cluster.list(PODS, &[pod]);
    let (code, out, error) = cluster.run("explain job/web");
    assert_eq!(code, Some(0), "{error}");
    let parts = [
        "Deployment team/web  Unschedulable",
        "Why       no node has 9 cpu",
        "ReplicaSet web-2 owns the pods",
        "Pods      1 Pending",
    ];
    ensure_says(&out, &parts);
}

#[test]
fn a_pod_says_itself_why_it_has_no_node() {
    let mut cluster = ServedCluster::of_an_editor();
    let pod = json!({"metadata": {"name": "p", "namespace": "team"}, "spec": {"schedulerName": "volcano"},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available"}]}});
    cluster.object(&format!("{PODS}/p"), pod);
    let (code, out, error) = cluster.run("explain p");
    assert_eq!(code, Some(0), "{error}");
    ensure_says(
        &out,
        &[
            "pod team/p  Pending: Unschedulable",
            "0/3 nodes are available",
        ],
    );
}

#[test]
fn queues_and_what_waits_are_those_of_the_own_namespace_and_that_is_said() {
    let group = json!({"metadata": {"name": "g", "namespace": "team"},
        "spec": {"queue": "q", "minMember": 2}, "status": {"phase": "Inqueue", "conditions": [
            {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources",
                "message": "the cluster is full"}]}});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "gpu-1", "containers": [
        {"resources": {"limits": {"cpu": "1", "volcano.sh/vgpu-number": "1"}}}]},
        "status": {"phase": "Running"}});
    let cluster = || {
        let mut cluster = ServedCluster::of_an_editor();
        cluster.list(GROUPS, std::slice::from_ref(&group));
        cluster.list(PODS, std::slice::from_ref(&pod));
        cluster
    };
    for (words, parts) in [
        ("queues", &["NAME  WEIGHT", "q     -"][..]),
        (
            "top",
            &["q     -", "WAITING IN team", "the cluster is full"],
        ),
        ("cards", &["p    Running  gpu-1  volcano.sh/vgpu-number 1"]),
    ] {
        let (code, out, error) = cluster().run(words);
        assert_eq!(code, Some(2), "{words}: {error}");
        ensure_says(&out, parts);
        ensure_says(&error, &["error: not permitted", GRANTS]);
    }
    let (code, out, error) = cluster().run("queue list");
    assert_eq!(code, Some(0), "{error}");
    ensure_says(&out, &["q     -"]);
    let command = "create clusterrolebinding queue-viewers --clusterrole=queue-viewer --user=YOU";
    ensure_says(&error, &[command]);
    let (code, out, error) = cluster().run("explain queue/q");
    assert_eq!(code, Some(0), "{error}");
    ensure_says(&out, &["q     -"]);
}

#[test]
fn a_view_says_that_the_controllers_do_not_run() {
    let mut cluster = ServedCluster::of_an_editor();
    cluster.object(&format!("{JOBS}/train"), job(json!({})));
    let (code, out, error) = cluster.run("job view train");
    assert_eq!(code, Some(0), "{error}");
    let parts = [
        "Job team/train  Pending: NoController",
        "no controller has looked at the Job",
        "Phase:          Pending",
    ];
    ensure_says(&out, &parts);
    let mut cluster = ServedCluster::of_an_editor();
    let state = json!({"phase": "Pending"});
    cluster.object(&format!("{JOBS}/train"), job(state));
    let lease = json!({"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 15,
        "renewTime": "2026-01-02T03:00:00.000000Z"}});
    cluster.object(&format!("{LEASES}/vc-controller-manager"), lease);
    let (_, out, _) = cluster.run("job view train");
    ensure_says(
        &out,
        &["the controllers do not run: nobody has renewed their Lease"],
    );
}

#[test]
fn a_queue_with_a_job_in_it_is_deleted_by_force_alone() {
    let cluster = || {
        let mut cluster = ServedCluster::default();
        cluster.list(QUEUES, &[]);
        cluster.object(&format!("{QUEUES}/q"), json!({"metadata": {"name": "q"}}));
        let group = json!({"metadata": {"name": "g", "namespace": "team"}, "spec": {"queue": "q"},
            "status": {"phase": "Running"}});
        cluster.list(ALL_GROUPS, &[group]);
        cluster.list(ALL_JOBS, &[]);
        cluster
    };
    let (code, _, error) = cluster().run("queue delete q");
    assert_eq!(code, Some(2), "{error}");
    ensure_says(
        &error,
        &["queue q has a job in it: team/g (Running)", "--force"],
    );
    let (code, out, error) = cluster().run("queue delete q --force");
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "queue q is deleted\n"),
        "{error}"
    );
}

#[test]
fn a_job_for_a_queue_that_is_not_there_is_not_called_a_success() {
    let mut cluster = ServedCluster::default();
    cluster.object(&format!("{QUEUES}/q"), json!({"metadata": {"name": "q"}}));
    let (code, out, error) = cluster.run("job run j -q q");
    let expected = (Some(0), "run job j successfully\n");
    assert_eq!((code, out.as_str()), expected, "{error}");
    let (code, out, error) = ServedCluster::default().run("job run j -q nosuch");
    assert_eq!(code, Some(0), "{error}");
    assert!(
        out.starts_with("job j is created, and waits: queue nosuch does not exist"),
        "{out}"
    );
}

#[test]
fn logs_of_several_pods_say_whose_they_are() {
    let mut cluster = ServedCluster::of_an_editor();
    cluster.object(&format!("{JOBS}/train"), job(json!({"phase": "Running"})));
    let pod = |name: &str, index: &str| {
        json!({"metadata": {"name": name, "namespace": "team",
            "annotations": {"volcano.sh/task-spec": "t", "volcano.sh/task-index": index},
            "ownerReferences": [{"uid": "u-1"}]}, "status": {"phase": "Running"}})
    };
    cluster.list(PODS, &[pod("train-t-0", "0"), pod("train-t-1", "1")]);
    cluster.object(&format!("{PODS}/train-t-0/log"), json!("epoch 1"));
    cluster.object(&format!("{PODS}/train-t-1/log"), json!("epoch 2"));
    let (code, out, error) = cluster.run("job logs train --tail 3");
    assert_eq!(code, Some(0), "{error}");
    ensure_says(
        &out,
        &["[train-t-0] \"epoch 1\"\n", "[train-t-1] \"epoch 2\"\n"],
    );
}
