//! The scheduler under test, as a process.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;

use crate::process::{Process, free_ports};
use crate::wait::eventually;
use crate::{Cluster, Identity, Signal, programs, restricted, scratch};

/// How long the scheduler may take until it has read everything and says so.
const READY: Duration = Duration::from_secs(60);

/// Limit of one request to the scheduler.
const ANSWER: Duration = Duration::from_secs(10);

/// Clock ticks per second in `/proc` (USER_HZ, the same on every Linux).
const TICKS_PER_SECOND: f64 = 100.0;

/// How a scheduler is started.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Kubeconfig in place of the cluster's own for the scheduler (a proxy's).
    pub kubeconfig: Option<PathBuf>,
    /// Configuration file; without it the built-in configuration.
    pub conf: Option<PathBuf>,
    /// Whether it takes part in an election; without, it works at once.
    pub elects: bool,
    /// Whether its pages need a token, as they do for users; without, tests read them.
    pub is_closed: bool,
    /// Further flags.
    pub flags: Vec<String>,
    /// Further variables of its environment.
    pub env: Vec<(String, String)>,
}

/// A running `pumice-scheduler`. Killed when dropped, or when the thread that started it ends.
pub struct Scheduler {
    process: Process,
    folder: PathBuf,
    port: u16,
    health_port: u16,
    secure_port: u16,
}

/// What a process has used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Resident memory now, in bytes.
    pub rss_bytes: u64,
    /// Most resident memory so far, in bytes.
    pub peak_rss_bytes: u64,
    /// Processor time so far, in seconds.
    pub cpu_seconds: f64,
}

impl Scheduler {
    /// Starts a scheduler under its own role, without waiting for anything.
    ///
    /// # Errors
    /// When it was not built or cannot be started.
    pub fn launch(cluster: &Cluster, setup: &Setup) -> Result<Self> {
        let program = programs::ours("pumice-scheduler")?;
        let folder = scratch("scheduler")?;
        let [port, health_port, secure_port] = free_ports()?;
        let own = cluster.kubeconfig(Identity::Scheduler);
        let kubeconfig = setup.kubeconfig.as_ref().unwrap_or(&own);
        let mut command = Command::new(programs::control_plane()?);
        command
            .arg("guard")
            .arg(program)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--listen-address=127.0.0.1:{port}"))
            .arg(format!("--healthz-address=127.0.0.1:{health_port}"))
            .arg(format!("--secure-address=127.0.0.1:{secure_port}"))
            .arg(format!("--cache-dump-dir={}", folder.display()))
            .arg(format!("--leader-elect={}", setup.elects))
            .args(["--enable-healthz=true", "--enable-metrics=true"])
            .args(&setup.flags)
            .envs(setup.env.iter().map(|(key, value)| (key, value)));
        if !setup.is_closed {
            command.arg("--debug-open");
        }
        if let Some(conf) = &setup.conf {
            command.arg(format!("--scheduler-conf={}", conf.display()));
        }
        let log = folder.join("scheduler.log");
        let process = Process::spawn("pumice-scheduler", command, &log)?;
        Ok(Self {
            process,
            folder,
            port,
            health_port,
            secure_port,
        })
    }

    /// Starts a scheduler and waits until it is ready.
    ///
    /// # Errors
    /// When it ends or does not become ready; with the end of its log.
    pub fn start(cluster: &Cluster, setup: &Setup) -> Result<Self> {
        let mut scheduler = Self::launch(cluster, setup)?;
        scheduler.wait_ready()?;
        Ok(scheduler)
    }

    /// Starts a scheduler that takes part in an election as the one of a pod, and makes that pod on a
    /// node of a [`crate::PortForwarder`].
    ///
    /// # Errors
    /// When it does not become ready, or the pod is refused.
    pub fn start_in_pod(
        cluster: &Cluster,
        pod: &str,
        node: &str,
        mut setup: Setup,
    ) -> Result<Self> {
        setup.elects = true;
        setup.env.push(("HOSTNAME".to_owned(), pod.to_owned()));
        let scheduler = Self::start(cluster, &setup)?;
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": pod},
            "spec": {
                "nodeName": node,
                "serviceAccountName": "volcano-scheduler",
                "containers": [{
                    "name": "scheduler", "image": "example.com/none",
                    "args": [format!("--secure-address=127.0.0.1:{}", scheduler.secure_port)],
                }],
            },
        });
        let pods = "/api/v1/namespaces/volcano-system/pods";
        cluster.rest().create(pods, &restricted(pod))?;
        Ok(scheduler)
    }

    /// Waits until `/readyz` says yes.
    ///
    /// # Errors
    /// When it ends or does not become ready; with the end of its log.
    pub fn wait_ready(&mut self) -> Result<()> {
        let ready = eventually(READY, "the scheduler is ready", || {
            if let Some(status) = self.process.ended() {
                return Ok(Some(Err(anyhow!("the scheduler ended with {status}"))));
            }
            let (status, _) = self.get("/readyz")?;
            Ok((status == 200).then_some(Ok(())))
        });
        ready
            .and_then(|ready| ready)
            .map_err(|error| self.explain(error))
    }

    /// Waits for a condition; a failure comes with the end of the scheduler's log.
    ///
    /// # Errors
    /// When it does not hold within `limit`.
    pub fn eventually<T>(
        &self,
        limit: Duration,
        what: &str,
        look: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        eventually(limit, what, look).map_err(|error| self.explain(error))
    }

    /// Adds the end of the log to an error.
    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        anyhow!("{error:#}\n{}", self.process.log_tail(40))
    }

    /// The running program, to be stopped or asked whether it has ended.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Everything it has printed.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Port of its server for metrics and debugging.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Status and body of a page of its server for metrics and debugging.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub fn get(&self, path: &str) -> Result<(u16, String)> {
        fetch(self.port, path)
    }

    /// Where its pages are to be had by everybody, unless it is closed.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Port of its server for what is of all namespaces.
    pub fn secure_port(&self) -> u16 {
        self.secure_port
    }

    /// Port of its health server.
    pub fn health_port(&self) -> u16 {
        self.health_port
    }

    /// Status and body of a page of its health server.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub fn get_health(&self, path: &str) -> Result<(u16, String)> {
        fetch(self.health_port, path)
    }

    /// Sum of all series of a metric, `None` if there is none.
    ///
    /// # Errors
    /// When the metrics cannot be read.
    pub fn metric(&self, name: &str) -> Result<Option<f64>> {
        sum_of(self.port, name)
    }

    /// Asks for a dump (SIGUSR2) and gives the path of the new file.
    ///
    /// # Errors
    /// When none appears.
    pub fn dump(&self) -> Result<PathBuf> {
        let before = self.dumps();
        self.process.signal(Signal::USR2);
        let mut size = 0;
        self.eventually(ANSWER, "a dump is written", || {
            let fresh = self.dumps().into_iter().find(|path| !before.contains(path));
            let Some(path) = fresh else { return Ok(None) };
            // Complete when it has stopped growing.
            let last = std::mem::replace(&mut size, fs::metadata(&path)?.len());
            Ok((size > 0 && size == last).then_some(path))
        })
    }

    fn dumps(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let path = |entry: fs::DirEntry| entry.path();
        let is_dump = |path: &PathBuf| path.extension().is_some_and(|end| end != "log");
        entries.map(path).filter(is_dump).collect()
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Errors
    /// When it is still running after ten seconds.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        self.process.signal(Signal::TERM);
        self.process.wait_end(ANSWER)
    }

    /// What it has used so far.
    ///
    /// # Errors
    /// When it is not running any more.
    pub fn usage(&self) -> Result<Usage> {
        usage_of(self.process.id())
    }
}

/// Metrics are made at most once in this time.
const METRICS_AGE: Duration = Duration::from_secs(1);

/// Sum of all series of a metric of the process at this port as it is now, `None` if there is none.
pub(crate) fn sum_of(port: u16, name: &str) -> Result<Option<f64>> {
    std::thread::sleep(METRICS_AGE);
    let (status, text) = fetch(port, "/metrics")?;
    if status != 200 {
        bail!("/metrics answered {status}");
    }
    let values = text.lines().filter_map(|line| value_of(line, name));
    let values: Vec<f64> = values.collect();
    Ok((!values.is_empty()).then(|| values.iter().sum()))
}

fn value_of(line: &str, name: &str) -> Option<f64> {
    let rest = line.strip_prefix(name)?;
    let is_whole = rest.starts_with(['{', ' ']);
    let (_, value) = rest.rsplit_once(' ').filter(|_| is_whole)?;
    value.parse().ok()
}

/// HTTP/1.0: the answer ends with the connection.
pub(crate) fn fetch(port: u16, path: &str) -> Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("an HTTP answer")?;
    let status = head.split_whitespace().nth(1).context("a status line")?;
    Ok((status.parse()?, body.to_owned()))
}

pub(crate) fn usage_of(pid: u32) -> Result<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let number = line.and_then(|line| line.split_whitespace().next());
        let number = number.with_context(|| format!("{key} of process {pid}"))?;
        anyhow::Ok(number.parse::<u64>()? * 1024)
    };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may contain spaces; utime and stime are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(')').context("a process has a name")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks =
        |at: usize| -> Result<f64> { Ok(fields.get(at).context("fields of stat")?.parse()?) };
    Ok(Usage {
        rss_bytes: kib("VmRSS:")?,
        peak_rss_bytes: kib("VmHWM:")?,
        cpu_seconds: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
    })
}
