//! `pumice ui` on a cluster: the page through the API server, and that it changes while one looks at it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    Identity, Lab, LabGuard, PortForwarder, Scheduler, Setup, Signal, eventually, programs,
};

use crate::live::leader_in_a_pod;
use crate::{LIMIT, PODS, bare_pod};

/// A page that is served, until it is dropped.
struct Ui {
    child: Child,
    port: u16,
}

impl Ui {
    fn start(lab: &LabGuard) -> Result<Self> {
        let mut child = Command::new(programs::ours("pumice")?)
            .args(["ui", "--no-open", "--listen", "0", "--kubeconfig"])
            .arg(lab.cluster().kubeconfig(Identity::Admin))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("standard output")?).read_line(&mut line)?;
        let port = line
            .split("127.0.0.1:")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let port = port
            .with_context(|| format!("an address: {line:?}"))?
            .parse()?;
        Ok(Self { child, port })
    }

    fn open(&self, path: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        let port = self.port;
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        )?;
        Ok(stream)
    }

    fn page(&self, path: &str) -> Result<String> {
        let mut text = String::new();
        self.open(path)?.read_to_string(&mut text)?;
        ensure!(text.starts_with("HTTP/1.0 200"), "{path}: {text}");
        Ok(text)
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_shows_what_happens_while_one_looks() -> Result<()> {
    let lab = Lab::take()?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    let mut scheduler = leader_in_a_pod(&lab, &forwarder)?;
    lab.nodes(1, "4", "8Gi")?;
    let ui = Ui::start(&lab)?;
    ensure!(ui.page("/nodes")?.contains("n-0"), "the node is on the map");
    // From what the page had, so that nothing is lost between both.
    let jobs = ui.page("/jobs?show=waiting")?;
    let stream = jobs
        .split("sse-connect=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next());
    let stream = stream.context("a stream")?.replace("&amp;", "&");
    let mut changes = BufReader::new(ui.open(&stream)?);
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
