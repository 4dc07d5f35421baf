//! How processes end.

use clap::Parser as _;
use pumice_cluster::contact::Contact;
use tokio::sync::{mpsc, oneshot};

use super::*;

/// A process whose writes end when the test says so.
struct Writer(oneshot::Receiver<()>);

impl Running for Writer {
    async fn failed(&mut self) -> anyhow::Error {
        std::future::pending().await
    }

    fn publish(&mut self) {}

    async fn rest(&mut self) {
        let _ = (&mut self.0).await;
    }
}

/// An election whose elector ends when the lease is to be released, and what tells that it is.
fn election() -> (Election, cell::Receiver<bool>) {
    let (release, released) = cell::channel(false);
    let elector = tokio::spawn(told(released.clone()));
    (Election { elector, release }, released)
}

#[tokio::test]
async fn the_lease_is_released_after_the_writes_have_ended() {
    let (end, ended) = oneshot::channel();
    let (election, released) = election();
    let ordered = tokio::spawn(async move {
        orderly(&mut Writer(ended), Some(election)).await;
    });
    tokio::task::yield_now().await;
    assert!(!*released.borrow());
    end.send(()).expect("it waits");
    ordered.await.expect("it ends");
    assert!(*released.borrow());
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_kept_while_a_write_may_be_under_way() {
    let (_end, ended) = oneshot::channel();
    let (election, released) = election();
    orderly(&mut Writer(ended), Some(election)).await;
    assert!(!*released.borrow());
    // The elector is gone, so nobody renews what runs out.
    assert!(released.has_changed().is_err());
}

/// The flags of a process.
#[derive(clap::Parser)]
struct Flags {
    #[command(flatten)]
    connection: ApiServerFlags,
    #[command(flatten)]
    lease: LeaseFlags,
    #[command(flatten)]
    serving: ServingFlags,
}

/// A process that comes as far in its start as the test says, and whose writes never end.
struct Sluggish {
    starts: bool,
    election: Option<Election>,
    /// Told when it is to decide nothing more.
    rests: oneshot::Sender<()>,
}

struct Endless(Option<oneshot::Sender<()>>);

impl App for Sluggish {
    type Running = Endless;

    fn settings(&self) -> ShellSettings {
        let flags = Flags::parse_from(["tests"]);
        ShellSettings {
            name: "tests",
            program: "tests/0",
            connection: flags.connection,
            lease: flags.lease,
            stands: true,
            serving: flags.serving,
            log_json: false,
            warnings: Vec::new(),
        }
    }

    async fn start(self, shell: &mut Shell) -> anyhow::Result<Endless> {
        if !self.starts {
            std::future::pending::<()>().await;
        }
        shell.election = self.election;
        Ok(Endless(Some(self.rests)))
    }
}

impl Running for Endless {
    async fn failed(&mut self) -> anyhow::Error {
        std::future::pending().await
    }

    fn publish(&mut self) {}

    async fn rest(&mut self) {
        self.0.take().map(|rests| rests.send(()));
        std::future::pending().await
    }
}

/// A shell that talks to nobody.
fn shell(app: &impl App) -> Shell {
    let client = || {
        let config = kube::Config::new("http://127.0.0.1:1".parse().expect("a URL"));
        kube::Client::try_from(config).expect("a client")
    };
    Shell {
        clients: Clients {
            reads: client(),
            writes: client(),
            lease: client(),
            probe: client(),
            contact: Contact::default(),
            server: String::new(),
        },
        status: Arc::default(),
        level: log::LevelHandle::new(0, |_| Ok(())),
        settings: app.settings(),
        election: None,
    }
}

#[tokio::test]
async fn a_signal_ends_what_has_not_started_yet() {
    let (signals, mut signalled) = mpsc::channel(1);
    let app = Sluggish {
        starts: false,
        election: None,
        rests: oneshot::channel().0,
    };
    let shell = shell(&app);
    signals.send("SIGTERM").await.expect("it listens");
    let end = async move || signalled.recv().await.expect("the test goes on");
    live(app, shell, end).await.expect("nothing is wrong");
}

#[tokio::test(start_paused = true)]
async fn another_signal_ends_at_once_and_leaves_the_lease_to_run_out() {
    let (signals, mut signalled) = mpsc::channel(1);
    let (rests, rested) = oneshot::channel();
    let (release, released) = cell::channel(false);
    let (gives_back, given_back) = oneshot::channel::<()>();
    let elector = tokio::spawn(async move {
        told(released).await;
        let _ = gives_back.send(());
    });
    let app = Sluggish {
        starts: true,
        election: Some(Election { elector, release }),
        rests,
    };
    let shell = shell(&app);
    let end = async move || signalled.recv().await.expect("the test goes on");
    let life = live(app, shell, end);
    let ends_it = async {
        signals.send("SIGTERM").await.expect("it listens");
        rested.await.expect("it is told to rest");
        signals.send("SIGTERM").await.expect("it listens");
    };
    let (ended, ()) = tokio::join!(life, ends_it);
    ended.expect("nothing is wrong");
    // A write is under way still. The clock is the test's: whatever else could happen has happened before an hour is over.
    let hour = Duration::from_secs(3600);
    assert!(
        timeout(hour, given_back).await.is_err(),
        "the lease is given back"
    );
}
