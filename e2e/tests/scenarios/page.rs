//! The page on a cluster: `pumice ui` through the API server, and the scheduler's own, for whom roles let ask; and that
//! it changes while one looks at it.

use std::io::BufRead as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use http::Method;
use pumice_e2e::{
    Identity, Lab, LabGuard, PortForwarder, Rest, Scheduler, Setup, Signal, Ui, eventually,
};
use serde_json::json;

use crate::controllers::JOBS;
use crate::live::leader_in_a_pod;
use crate::secure::{client, status, token_of};
use crate::{GROUPS, LIMIT, PODS, bare_pod, wait_running};

#[test]
fn the_page_shows_what_happens_while_one_looks() -> Result<()> {
    let lab = Lab::take()?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    let mut scheduler = leader_in_a_pod(&lab, &forwarder)?;
    lab.nodes(1, "4", "8Gi")?;
    let kubeconfig = lab.cluster().kubeconfig(Identity::Admin);
    let ui = Ui::start(["--kubeconfig".as_ref(), kubeconfig.as_os_str()])?;
    ensure!(ui.page("/nodes")?.contains("n-0"), "the node is on the map");
    let mut changes = ui.changes("/jobs?show=waiting")?;
    lab.rest()
        .create(PODS, &bare_pod("looked-for", Some("40")))?;
    let since = Instant::now();
    let mut line = String::new();
    while !line.contains("default/looked-for") {
        line.clear();
        ensure!(changes.read_line(&mut line)? > 0, "the stream has ended");
        ensure!(since.elapsed() < LIMIT, "nothing has come");
    }
    let page = ui.page("/jobs/default/looked-for")?;
    ensure!(page.contains("cpu"), "{page}");
    ensure!(
        ui.page("/decisions")?.contains("id=\"content\""),
        "decisions may be read"
    );
    drop(changes);
    the_job_of_a_podgroup_is_told(&lab, &ui)?;
    // One that leads after it is found.
    scheduler.process().signal(Signal::TERM);
    eventually(LIMIT, "the page says that nobody answers", || {
        Ok(ui.page("/nodes").is_err().then_some(()))
    })?;
    let _other = Scheduler::start_in_pod(
        lab.cluster(),
        "volcano-scheduler-1",
        "control",
        Setup::default(),
    )?;
    eventually(LIMIT, "the page is there again", || {
        Ok(ui.page("/nodes").ok().filter(|page| page.contains("n-0")))
    })?;
    Ok(())
}

/// The Job that owns a PodGroup is read by the rights of the one who looks; another of that name is not.
fn the_job_of_a_podgroup_is_told(lab: &LabGuard, ui: &Ui) -> Result<()> {
    let template = bare_pod("unused", Some("40"))["spec"].clone();
    let policies = json!([{"action": "RestartJob", "events": ["PodFailed", "PodEvicted"]}]);
    let job = json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "train"}, "spec": {
        "minAvailable": 2, "maxRetry": 5, "policies": policies,
        "tasks": [{"name": "worker", "replicas": 3, "template": {"spec": template}}]}});
    let job = lab.rest().create(JOBS, &job)?;
    let owned = |uid: &str, name: &str| {
        let owner = json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": uid, "controller": true});
        json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
            "metadata": {"name": name, "ownerReferences": [owner]}, "spec": {"minMember": 2, "queue": "default"}})
    };
    let uid = job["metadata"]["uid"].as_str().context("a UID")?;
    lab.rest().create(GROUPS, &owned(uid, "of-train"))?;
    let gone = "00000000-0000-4000-8000-000000000000";
    let page = eventually(LIMIT, "the page of the PodGroup", || {
        Ok(ui.page("/jobs/default/of-train").ok())
    })?;
    let told = [
        "0 of 5",
        "2 of 3",
        "RestartJob on PodFailed, PodEvicted",
        "worker",
    ];
    for words in told {
        ensure!(page.contains(words), "{words}: {page}");
    }
    // Kubernetes' garbage collector deletes what has an owner that is not there; so it stays for as long as it is looked at.
    let mut another = owned(gone, "of-another");
    another["metadata"]["finalizers"] = json!(["example.com/looked-at"]);
    lab.rest().create(GROUPS, &another)?;
    let other = eventually(LIMIT, "the page of the other one", || {
        ui.page("/jobs/default/of-another").map(Some)
    });
    let free = json!({"metadata": {"finalizers": null}});
    lab.rest().patch(&format!("{GROUPS}/of-another"), &free)?;
    let other = other?;
    ensure!(!other.contains("RestartJob"), "{other}");
    Ok(())
}

/// What the scheduler serves of its page.
const SERVED: [&str; 8] = [
    "/ui",
    "/ui/",
    "/ui/nodes",
    "/ui/queues/default",
    "/ui/jobs/default/runs",
    "/ui/decisions",
    "/ui/json/nodes",
    "/ui/nothing",
];

/// A token of a new account in the namespace `default` that has this ClusterRole there, and the ClusterRole with these
/// pages everywhere.
fn tenant(lab: &LabGuard, role: &str, pages: &[&str]) -> Result<String> {
    let name = format!("has-{role}");
    let kubectl = |words: &[&str]| lab.cluster().kubectl(words, "");
    kubectl(&["create", "serviceaccount", &name])?;
    let subject = format!("--serviceaccount=default:{name}");
    let of_role = format!("--clusterrole={role}");
    kubectl(&["create", "rolebinding", &name, &of_role, &subject])?;
    if !pages.is_empty() {
        let reads = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"nonResourceURLs": pages, "verbs": ["get"]}]});
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        lab.rest().create(roles, &reads)?;
        let of_pages = format!("--clusterrole={name}");
        kubectl(&["create", "clusterrolebinding", &name, &of_pages, &subject])?;
    }
    Ok(kubectl(&["create", "token", &name])?.trim().to_owned())
}

#[test]
fn the_scheduler_serves_its_page_to_whom_roles_let_ask_and_to_nobody_else() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let setup = Setup {
        is_closed: true,
        flags: vec!["--enable-ui".to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("runs", Some("1")))?;
    wait_running(&lab, &scheduler, "runs", 1)?;

    let port = scheduler.secure_port();
    let of = |account: &str| -> Result<Rest> {
        let token = token_of(&lab, account, &["--audience=pumice.sh"])?;
        client(port, Some(token))
    };
    let explain = of("volcano-scheduler-explain")?;
    let strangers = [
        client(port, None)?,
        client(port, Some("forged".to_owned()))?,
    ];
    let denied = [
        of("volcano-scheduler-dump")?,
        of("volcano-scheduler")?,
        // All that there is in a namespace opens nothing of the page.
        client(port, Some(tenant(&lab, "admin", &[])?))?,
    ];
    for page in SERVED {
        for stranger in &strangers {
            ensure!(status(stranger, Method::GET, page)? == 401, "{page}");
        }
        for one in &denied {
            ensure!(status(one, Method::GET, page)? == 403, "{page}");
        }
        let there = if page == "/ui/nothing" { 404 } else { 200 };
        let found = status(&explain, Method::GET, page)?;
        ensure!(found == there, "{page}: {found}");
        // On the port of metrics there is nothing of all this.
        ensure!(scheduler.get(page)?.0 == 404, "{page}");
    }
    ensure!(status(&explain, Method::POST, "/ui/what-if")? == 403);
    // Who has one page has no other, and nothing of what changes on it.
    let nodes = client(port, Some(tenant(&lab, "view", &["/ui/nodes"])?))?;
    ensure!(status(&nodes, Method::GET, "/ui/nodes")? == 200);
    for page in [
        "/ui",
        "/ui/nodes/n-0",
        "/ui/jobs",
        "/ui/live/nodes",
        "/ui/json/nodes",
    ] {
        ensure!(status(&nodes, Method::GET, page)? == 403, "{page}");
    }

    let overview = explain.get("/ui")?;
    let overview = overview.as_str().context("a page")?;
    ensure!(
        overview.contains("href=\"/ui/nodes?lang=en\""),
        "{overview}"
    );
    lab.rest()
        .create(PODS, &bare_pod("looked-for", Some("40")))?;
    let stream = "/ui/live/jobs?show=waiting&lang=en&seen=0";
    explain.until_line_with(stream, "default/looked-for", LIMIT)
}
