//! The controllers under test, as a process.

use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::process::{Process, free_ports};
use crate::scheduler::{fetch, sum_of, usage_of};
use crate::wait::eventually;
use crate::{Cluster, Identity, Setup, Signal, Usage, programs, scratch};

/// How long the controllers may take until they have read everything and say so.
const READY: Duration = Duration::from_secs(60);

/// How long they may take to end.
const END: Duration = Duration::from_secs(15);

/// A running `pumice-controllers`. Killed when dropped, or when the thread that started it ends.
pub struct Controllers {
    process: Process,
    port: u16,
    secure_port: u16,
}

impl Controllers {
    /// Starts the controllers under their own role, without waiting for anything.
    ///
    /// # Errors
    /// When they were not built or cannot be started.
    pub fn launch(cluster: &Cluster, setup: &Setup) -> Result<Self> {
        let folder = scratch("controllers")?;
        let [port, health_port, secure_port] = free_ports()?;
        let own = cluster.kubeconfig(Identity::Controllers);
        let kubeconfig = setup.kubeconfig.as_ref().unwrap_or(&own);
        let mut command = Command::new(programs::control_plane()?);
        command
            .arg("guard")
            .arg(programs::ours("pumice-controllers")?)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--listen-address=127.0.0.1:{port}"))
            .arg(format!("--healthz-address=127.0.0.1:{health_port}"))
            .arg(format!("--secure-address=127.0.0.1:{secure_port}"))
            .arg(format!("--leader-elect={}", setup.elects))
            .args(["--enable-healthz=true", "--enable-metrics=true"])
            .args(&setup.flags)
            .envs(setup.env.iter().map(|(key, value)| (key, value)));
        let log = folder.join("controllers.log");
        let process = Process::spawn("pumice-controllers", command, &log)?;
        Ok(Self {
            process,
            port,
            secure_port,
        })
    }

    /// Starts the controllers and waits until they are ready.
    ///
    /// # Errors
    /// When they end or do not become ready; with the end of their log.
    pub fn start(cluster: &Cluster, setup: &Setup) -> Result<Self> {
        let mut controllers = Self::launch(cluster, setup)?;
        let ready = eventually(READY, "the controllers are ready", || {
            if let Some(status) = controllers.process.ended() {
                return Ok(Some(Err(anyhow!("the controllers ended with {status}"))));
            }
            let (status, _) = fetch(controllers.port, "/readyz")?;
            Ok((status == 200).then_some(Ok(())))
        });
        match ready.and_then(|ready| ready) {
            Ok(()) => Ok(controllers),
            Err(error) => Err(controllers.explain(error)),
        }
    }

    /// Waits for a condition; a failure comes with the end of the controllers' log.
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

    /// Port of its server for what is of all namespaces.
    pub fn secure_port(&self) -> u16 {
        self.secure_port
    }

    /// Status and body of a page.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub fn get(&self, path: &str) -> Result<(u16, String)> {
        fetch(self.port, path)
    }

    /// Sum of all series of a metric, `None` if there is none.
    ///
    /// # Errors
    /// When the metrics cannot be read.
    pub fn metric(&self, name: &str) -> Result<Option<f64>> {
        sum_of(self.port, name)
    }

    /// Asks it to end and waits until it has.
    ///
    /// # Errors
    /// When it is still running after a while.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        self.process.signal(Signal::TERM);
        self.process.wait_end(END)
    }

    /// What it has used so far.
    ///
    /// # Errors
    /// When it is not running any more.
    pub fn usage(&self) -> Result<Usage> {
        usage_of(self.process.id())
    }
}
