//! `pumice ui` as a browser meets it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::programs;

/// Longest wait for more of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A page that `pumice ui` serves, until it is dropped.
pub struct Ui {
    child: Child,
    port: u16,
}

impl Ui {
    /// Starts it with these arguments, and waits until it says where the page is.
    ///
    /// # Errors
    /// It was not built, or ends.
    pub fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Result<Self> {
        let mut child = Command::new(programs::ours("pumice")?)
            .args(["ui", "--no-open", "--listen", "0"])
            .args(arguments)
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

    /// What comes for this path: a head and a body, as long as there is more.
    ///
    /// # Errors
    /// Nobody listens.
    pub fn open(&self, path: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let port = self.port;
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        )?;
        Ok(stream)
    }

    /// A page with its head.
    ///
    /// # Errors
    /// It has another status than 200.
    pub fn page(&self, path: &str) -> Result<String> {
        let mut text = String::new();
        self.open(path)?.read_to_string(&mut text)?;
        ensure!(text.starts_with("HTTP/1.0 200"), "{path}: {text}");
        Ok(text)
    }

    /// What changes of a page from what it has on, so that nothing is lost between both.
    ///
    /// # Errors
    /// As [`Ui::page`].
    pub fn changes(&self, path: &str) -> Result<BufReader<TcpStream>> {
        let page = self.page(path)?;
        let stream = page
            .split("sse-connect=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let stream = stream.context("a stream")?.replace("&amp;", "&");
        Ok(BufReader::new(self.open(&stream)?))
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
