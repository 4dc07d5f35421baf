//! What the ports tell to whom: pages behind tokens, dumps, probes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use http::Method;
use pumice_e2e::{
    Controllers, Identity, Lab, LabGuard, PortForwarder, Rest, Scheduler, Setup, eventually,
    is_status, programs, run, scratch,
};
use serde_json::json;

use crate::{LIMIT, bare_pod, wait_running};

/// A token of one of the accounts of the scheduler's namespace.
pub(crate) fn token_of(lab: &LabGuard, account: &str, audience: &[&str]) -> Result<String> {
    let words = ["-n", "volcano-system", "create", "token", account];
    let token = lab.cluster().kubectl(&[&words, audience].concat(), "")?;
    Ok(token.trim().to_owned())
}

/// A client of a secure port that shows this token.
pub(crate) fn client(port: u16, token: Option<String>) -> Result<Rest> {
    let mut config = kube::Config::new(format!("https://127.0.0.1:{port}").parse()?);
    config.accept_invalid_certs = true;
    config.default_retry = false;
    config.auth_info.token = token.map(Into::into);
    Ok(Rest::new(run(async { kube::Client::try_from(config) })?))
}

/// The status a request comes to.
pub(crate) fn status(client: &Rest, method: Method, path: &str) -> Result<u16> {
    let answered = match path {
        // A recording is no text.
        "/debug/record" if method == Method::GET => client.get_bytes(path, "*/*").map(drop),
        _ => client.call(method, path, None).map(drop),
    };
    let Err(refused) = answered else {
        return Ok(200);
    };
    let known = [400, 401, 403, 404, 500, 503];
    let status = known.into_iter().find(|code| is_status(&refused, *code));
    status.with_context(|| format!("{refused:#}"))
}

/// Pages that explain what waits, as `pumice` asks for them.
const OF_EXPLAIN: [&str; 13] = [
    "/debug/mix",
    "/debug/topology",
    "/debug/jobs",
    "/debug/nodes",
    "/debug/nodes/n-0",
    "/debug/decisions",
    "/debug/top",
    "/debug/queues",
    "/debug/queues/default",
    "/debug/cards",
    "/debug/cards/n-0",
    "/debug/explain/default/runs",
    "/debug/jobs/default/runs",
];

/// Pages that say nothing of what waits, beside those above.
const OTHERS: [&str; 6] = [
    "/configz",
    "/metrics",
    "/debug",
    "/debug/dump",
    "/debug/record",
    "/debug/loglevel",
];

#[test]
fn each_role_reads_its_pages_and_nothing_else_and_nobody_does_without_a_token() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let setup = Setup {
        is_closed: true,
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let pods = "/api/v1/namespaces/default/pods";
    lab.rest().create(pods, &bare_pod("runs", Some("1")))?;
    wait_running(&lab, &scheduler, "runs", 1)?;

    let ours = ["--audience=pumice.sh"];
    let port = scheduler.secure_port();
    let nobody = client(port, None)?;
    let forged = client(port, Some("forged".to_owned()))?;
    let explain = client(
        port,
        Some(token_of(&lab, "volcano-scheduler-explain", &ours)?),
    )?;
    let dump = client(port, Some(token_of(&lab, "volcano-scheduler-dump", &ours)?))?;
    let process = client(port, Some(token_of(&lab, "volcano-scheduler", &ours)?))?;
    let other = ["--audience=example.com"];
    let elsewhere = token_of(&lab, "volcano-scheduler-explain", &other)?;
    let elsewhere = client(port, Some(elsewhere))?;
    let admin = client(port, Some("token-of-admin".to_owned()))?;
    for page in OF_EXPLAIN.into_iter().chain(OTHERS) {
        let of = |client: &Rest| status(client, Method::GET, page);
        let is_of_explain = OF_EXPLAIN.contains(&page);
        for stranger in [&nobody, &forged, &elsewhere] {
            ensure!(of(stranger)? == 401, "{page}");
        }
        ensure!(of(&process)? == 403, "{page}");
        let is_of_dump = matches!(page, "/debug/dump" | "/debug/record");
        let expected = if is_of_dump { 200 } else { 403 };
        ensure!(of(&dump)? == expected, "{page}");
        let found = of(&explain)?;
        ensure!((found == 403) != is_of_explain, "{page}: {found}");
        let found = of(&admin)?;
        ensure!(matches!(found, 200 | 404), "{page}: {found}");
    }
    let level = "/debug/loglevel?v=4";
    ensure!(status(&explain, Method::PUT, level)? == 403);
    ensure!(status(&explain, Method::PUT, "/debug/top")? == 403);
    // A question may be posted; this one says nothing.
    ensure!(status(&explain, Method::POST, "/debug/plan")? == 400);
    for other in [&dump, &process] {
        ensure!(status(other, Method::POST, "/debug/plan")? == 403);
    }
    ensure!(status(&admin, Method::PUT, level)? == 200);
    ensure!(admin.get("/debug/loglevel")? == 4);

    // On the port of metrics there is nothing of all this.
    for page in ["/configz", "/debug", "/debug/top", "/debug/dump"] {
        ensure!(scheduler.get(page)?.0 == 403, "{page}");
    }
    ensure!(scheduler.get("/metrics")?.0 == 200);
    for page in ["/healthz", "/livez", "/readyz"] {
        ensure!(scheduler.get_health(page)?.0 == 200, "{page}");
        ensure!(scheduler.get(page)?.0 == 200, "{page}");
    }
    Ok(())
}

#[test]
fn the_controllers_tell_their_configuration_to_whom_roles_let_ask() -> Result<()> {
    let lab = Lab::take()?;
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    let port = controllers.secure_port();
    let admin = client(port, Some("token-of-admin".to_owned()))?;
    ensure!(admin.get("/configz")?["controllers"].is_array());
    ensure!(status(&client(port, None)?, Method::GET, "/configz")? == 401);
    ensure!(controllers.get("/configz")?.0 == 403);
    Ok(())
}

/// A user who has nothing but the Role of this name in the scheduler's namespace.
pub fn user_with(lab: &LabGuard, role: &str) -> Result<PathBuf> {
    // Scenarios of one cluster each get an account of their own.
    static USERS: AtomicU32 = AtomicU32::new(0);
    let number = USERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("has-{role}-{number}");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    lab.rest().create(accounts, &account)?;
    let kubectl = |words: &[&str]| lab.cluster().kubectl(words, "");
    let subject = format!("--serviceaccount=default:{name}");
    let role = format!("--role={role}");
    let namespace = ["-n", "volcano-system"];
    let binding = ["create", "rolebinding", &name, &role, &subject];
    kubectl(&[&namespace[..], &binding[..]].concat())?;
    let token = kubectl(&["create", "token", &name])?;
    let admin = std::fs::read_to_string(lab.cluster().kubeconfig(Identity::Admin))?;
    let file = scratch("user")?.join("kubeconfig");
    std::fs::write(&file, admin.replace("token-of-admin", token.trim()))?;
    Ok(file)
}

/// Exit code and everything printed.
pub fn pumice(words: &str, kubeconfig: &Path, folder: &Path) -> Result<(Option<i32>, String)> {
    let output = std::process::Command::new(programs::ours("pumice")?)
        .args(words.split(' '))
        .env("KUBECONFIG", kubeconfig)
        .current_dir(folder)
        .output()
        .context("run pumice")?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok((output.status.code(), text))
}

#[test]
fn a_dump_is_fetched_through_the_api_server_and_simulated() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "4", "8Gi")?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    lab.rest()
        .create("/api/v1/nodes", &forwarder.node("control"))?;
    let setup = Setup {
        is_closed: true,
        ..Setup::default()
    };
    let scheduler =
        Scheduler::start_in_pod(lab.cluster(), "volcano-scheduler-0", "control", setup)?;
    lab.gang("train", "default", 2, 2)?;
    wait_running(&lab, &scheduler, "train-", 2)?;
    lab.gang("waits", "default", 9, 9)?;
    scheduler.eventually(LIMIT, "the scheduler knows what waits", || {
        Ok((scheduler.metric("pumice_pending_pods")? >= Some(9.0)).then_some(()))
    })?;

    let explains = user_with(&lab, "volcano-scheduler-explain")?;
    let dumps = user_with(&lab, "volcano-scheduler-dump")?;
    let folder = scratch("dumps")?;
    let (code, text) = pumice("top", &explains, &folder)?;
    ensure!(code == Some(0) && text.contains("3 nodes"), "{text}");
    let (code, text) = pumice("dump", &explains, &folder)?;
    let denied = "grant the verb create on serviceaccounts/token in namespace volcano-system";
    ensure!(code == Some(2) && text.contains(denied), "{text}");
    ensure!(text.contains("--role=volcano-scheduler-dump"), "{text}");
    let file = folder.join("pumice-dump.json");
    ensure!(!file.exists(), "a refusal leaves no file");

    let (code, text) = pumice("dump", &dumps, &folder)?;
    let said = "`pumice simulate pumice-dump.json` shows what the scheduler sees";
    ensure!(code == Some(0) && text.contains(said), "{text}");
    let mode = std::fs::metadata(&file)?.permissions().mode();
    ensure!(mode & 0o777 == 0o600, "{mode:o}");
    let (code, text) = pumice("simulate pumice-dump.json", &dumps, &folder)?;
    ensure!(code == Some(0) && text.contains("default/waits"), "{text}");
    let (code, text) = pumice("dump", &dumps, &folder)?;
    ensure!(
        code == Some(2) && text.contains("name another file"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_new_certificate_is_shown_without_a_restart() -> Result<()> {
    let lab = Lab::take()?;
    let folder = scratch("certificates")?;
    let make = |name: &str| -> Result<()> {
        let made = folder.join(name);
        std::fs::create_dir_all(&made)?;
        let output = std::process::Command::new(programs::control_plane()?)
            .arg("keys")
            .arg(&made)
            .output()?;
        ensure!(output.status.success(), "no keys");
        for (from, to) in [("apiserver.crt", "tls.crt"), ("apiserver.key", "tls.key")] {
            std::fs::copy(made.join(from), folder.join(to))?;
        }
        Ok(())
    };
    make("first")?;
    let flag = |flag: &str, file: &str| format!("--{flag}={}", folder.join(file).display());
    let setup = Setup {
        flags: vec![
            flag("tls-cert-file", "tls.crt"),
            flag("tls-private-key-file", "tls.key"),
        ],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    make("second")?;
    eventually(LIMIT, "the certificate is read again", || {
        Ok(scheduler.log().contains("new certificate of").then_some(()))
    })?;
    let admin = client(scheduler.secure_port(), Some("token-of-admin".to_owned()))?;
    ensure!(status(&admin, Method::GET, "/configz")? == 200);
    Ok(())
}
