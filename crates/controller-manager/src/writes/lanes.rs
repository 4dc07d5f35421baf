//! Lanes of writes: so many under way at once, namespaces by turns; and the room before them in which
//! Secrets get their keys.

use std::sync::Arc;

use pumice_controllers::runtime::{ApiVerb, ApiWrite, WriteId};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use pumice_cluster::lease::TermWatch;
use pumice_cluster::turns::FairReceiver;

use super::keys;
use super::{SharedWrites, unsent};

/// A write that waits for its place.
pub(super) struct QueuedWrite {
    pub(super) id: WriteId,
    pub(super) write: ApiWrite,
    /// The term in which it was decided.
    pub(super) term: TermWatch,
}

fn by_turns(queue: UnboundedReceiver<QueuedWrite>) -> FairReceiver<QueuedWrite> {
    FairReceiver::new(queue, |queued| &queued.write.of.namespace)
}

/// Sends what comes, at most so many at once.
pub(super) async fn run_lane(
    shared: Arc<SharedWrites>,
    queue: UnboundedReceiver<QueuedWrite>,
    most: usize,
) {
    let mut queue = by_turns(queue);
    let places = Arc::new(Semaphore::new(most));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Some(QueuedWrite { id, write, term }) = queue.next().await else {
            return;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let answer = shared.carry_out(&write, &term).await;
            drop(place);
            shared.tell(id, write.of, answer).await;
        });
    }
}

/// Gives Secrets their keys, one after the other, and hands them on to the lane that creates them.
pub(super) async fn make_keys(
    shared: Arc<SharedWrites>,
    queue: UnboundedReceiver<QueuedWrite>,
    lane: UnboundedSender<QueuedWrite>,
) {
    let mut queue = by_turns(queue);
    while let Some(QueuedWrite { id, write, term }) = queue.next().await {
        let of = write.of.clone();
        let ready = match with_keys(write).await {
            Ok(write) => lane.send(QueuedWrite { id, write, term }),
            Err(why) => {
                shared.tell(id, of, unsent(why)).await;
                continue;
            }
        };
        if ready.is_err() {
            // The runtime is going down.
            return;
        }
    }
}

/// The write with the keys that its Secret asks for.
async fn with_keys(write: ApiWrite) -> Result<ApiWrite, String> {
    let ApiWrite { of, verb } = write;
    let ApiVerb::CreateWithSshKeys(mut secret) = verb else {
        return Ok(ApiWrite { of, verb });
    };
    let filled = tokio::task::spawn_blocking(move || keys::fill(&mut secret).map(|()| secret));
    let secret = filled.await.map_err(|error| error.to_string())??;
    let verb = ApiVerb::Create(secret);
    Ok(ApiWrite { of, verb })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pumice_controllers::runtime::{ManagedKind, ManagedRef, ManagerInput, WriteOutcome};
    use serde_json::json;
    use tokio::sync::mpsc::channel;

    use super::super::{ControllerWrites, WriteMeter, WriteOptions};
    use super::*;
    use pumice_cluster::contact::Contact;
    use pumice_scripted::{Answer, Server};

    struct NoMeter;

    impl WriteMeter for NoMeter {
        fn write(&self, _: &'static str, _: &'static str, _: &'static str, _: f64) {}
    }

    fn secret(namespace: &str, name: &str) -> ApiWrite {
        let object = json!({"metadata": {"name": name, "namespace": namespace}, "data": {}});
        ApiWrite {
            of: ManagedRef::new(ManagedKind::Secret, namespace, name),
            verb: ApiVerb::CreateWithSshKeys(object),
        }
    }

    #[tokio::test]
    async fn keys_of_many_jobs_hold_up_no_other_namespace_and_every_secret_has_its_own() {
        const MANY: usize = 300;
        // It takes whatever is created.
        let server = Server::start(|seen| Answer::Json(200, seen.body.clone())).await;
        let (inputs, mut ends) = channel(1_000);
        let options = WriteOptions {
            most_others: 1,
            request_timeout: Duration::from_secs(60),
            ..WriteOptions::default()
        };
        let contact = Contact::default();
        let term = TermWatch::always();
        let meter = Arc::new(NoMeter);
        let writes =
            ControllerWrites::start(server.client(), &contact, &term, options, inputs, meter);
        for number in 0..MANY {
            let id = WriteId(number as u64);
            writes.submit(&term, id, secret("much", &format!("s{number}")));
        }
        writes.submit(&term, WriteId(MANY as u64), secret("little", "s"));
        for _ in 0..=MANY {
            let Some(ManagerInput::Ended(_, outcome)) = ends.recv().await else {
                panic!("an end");
            };
            assert!(matches!(outcome, WriteOutcome::Done(_)), "{outcome:?}");
        }
        let log = server.log();
        let at = log.iter().position(|seen| seen.path.contains("/little/"));
        // Nothing is sent before this task waits; from then on they take turns.
        assert!(at.is_some_and(|at| at < 3), "{at:?}");
        let mut keys: Vec<_> = log
            .iter()
            .map(|seen| seen.body["data"]["id_rsa"].to_string())
            .collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), MANY + 1);
    }
}
