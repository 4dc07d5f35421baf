//! An extender for tests: an HTTP service on loopback that answers as a test wants it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// Longest time it keeps somebody waiting who is still there.
const LONGEST: Duration = Duration::from_secs(30);

/// What it answers.
#[derive(Clone, Debug)]
pub enum ExtenderSays {
    /// This.
    Answer(Value),
    /// Something that is no answer.
    Garbage,
    /// Nothing, however long somebody waits.
    Silence,
}

/// What it answers to a verb and a message.
type ExtenderMind = Arc<dyn Fn(&str, &Value) -> ExtenderSays + Send + Sync>;

/// What it was sent, and what it makes of it.
struct Shared {
    heard: Mutex<Vec<(String, Value)>>,
    mind: Mutex<ExtenderMind>,
}

/// A running extender. Its threads end with the program.
pub struct ExtenderStandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl ExtenderStandIn {
    /// Starts one that answers so.
    ///
    /// # Errors
    /// When there is no port for it.
    pub fn start(
        mind: impl Fn(&str, &Value) -> ExtenderSays + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("find a port")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            heard: Mutex::default(),
            mind: Mutex::new(Arc::new(mind)),
        });
        let of_listener = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&of_listener);
                // Who has gone away hears nothing.
                thread::spawn(move || serve(&stream, &shared).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// It answers so from now on.
    pub fn change_mind(&self, mind: impl Fn(&str, &Value) -> ExtenderSays + Send + Sync + 'static) {
        *lock(&self.shared.mind) = Arc::new(mind);
    }

    /// What it was sent for a verb, in that order.
    pub fn heard(&self, verb: &str) -> Vec<Value> {
        let heard = lock(&self.shared.heard);
        let of_verb = heard.iter().filter(|(known, _)| known == verb);
        of_verb.map(|(_, message)| message.clone()).collect()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request after the other.
fn serve(stream: &TcpStream, shared: &Shared) -> Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().context("a length")?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body).context("a message")?;
        let path = first.split_whitespace().nth(1).unwrap_or_default();
        let verb = path.trim_start_matches('/').to_owned();
        let mind = Arc::clone(&lock(&shared.mind));
        let says = mind(&verb, &message);
        lock(&shared.heard).push((verb, message));
        let text = match says {
            ExtenderSays::Answer(answer) => answer.to_string(),
            ExtenderSays::Garbage => "<html>".to_owned(),
            ExtenderSays::Silence => {
                thread::sleep(LONGEST);
                return Ok(());
            }
        };
        let length = text.len();
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}"
        )?;
    }
}
