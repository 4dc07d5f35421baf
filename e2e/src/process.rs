//! Processes that end with the test.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

use crate::wait::eventually;

/// How long a process may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// A running process whose output goes to a file. Killed when dropped.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the command; what it prints is appended to `log`. Its standard input stays open as
    /// long as this value lives.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let file = File::options().create(true).append(true).open(log);
        let file = file.with_context(|| format!("open the log {}", log.display()))?;
        let child = command
            // Of its own, so that the kernel wakes up one that was stopped when the test has ended.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("start {name}"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        })
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal. One to a process that has ended is no error.
    pub fn signal(&self, signal: Signal) {
        let number = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = number {
            let _ = kill_process(pid, signal);
        }
    }

    /// Exit status of the process, once it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When it is still running after `limit`.
    pub fn wait_end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let what = format!("{} ends", self.name);
        eventually(limit, &what, || Ok(self.child.try_wait()?))
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, and ends it when it does not.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        if self.wait_end(GRACE).is_err() {
            self.kill();
        }
    }

    /// Everything it has printed.
    pub fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines it has printed.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let all: Vec<&str> = log.lines().collect();
        let tail = &all[all.len().saturating_sub(lines)..];
        format!("last lines of {}:\n{}", self.name, tail.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where ports are looked for: below those that the system gives to connections.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Loopback ports nobody listens on, none of them given before. Processes that run side by side look from
/// different ports on, since a port is free until whoever it was given to listens on it.
///
/// # Errors
/// When there are none left.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    static ASKED: AtomicU16 = AtomicU16::new(0);
    let number = PORTS.end - PORTS.start;
    let first = std::process::id() % 12 * 1_000;
    let mut ports = [0; N];
    for port in &mut ports {
        *port = loop {
            let asked = ASKED.fetch_add(1, Ordering::Relaxed);
            ensure!(asked < number, "no port is free in {PORTS:?}");
            let next = PORTS.start + ((first + u32::from(asked)) % u32::from(number)) as u16;
            if TcpListener::bind(("127.0.0.1", next)).is_ok() {
                break next;
            }
        };
    }
    Ok(ports)
}
