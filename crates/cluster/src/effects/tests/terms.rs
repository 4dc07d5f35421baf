//! What was decided in a term that is over is not written, not even when this process has another.

use tokio::time::Instant;

use super::*;
use crate::lease::{Term, TermSender};

fn begin(sender: &TermSender) {
    sender.send_replace(Term::Until(Instant::now() + Duration::from_secs(60)));
}

/// How a write ends that waits for its next try when the lease is lost and taken again at once; then what was
/// written of the same, decided anew.
async fn across_terms(write: Write) -> (Outcome, Vec<String>) {
    let (sender, term) = TermWatch::new(Duration::from_secs(60));
    begin(&sender);
    let put_off = |_: &Seen| Answer::RetryAfter(429, 2);
    let mut bench = Bench::with(put_off, options(), term).await;
    bench.effects.submit(write.clone());
    bench.server.until("/pods/p", 1).await;
    sender.send_replace(Term::None);
    begin(&sender);
    bench.server.change(|_| Answer::ok());
    let outcome = bench.outcome().await;
    let before = bench.server.all("/pods/p").len();
    assert_eq!(before, 1, "{:?}", bench.server.lines());
    bench.effects.submit(write);
    bench.effects.idle().await;
    let mut lines = bench.server.lines();
    lines.retain(|line| line.contains("/pods/p"));
    (outcome, lines.split_off(before))
}

#[tokio::test]
async fn a_binding_that_waits_when_the_term_ends_fails_and_another_one_is_sent() {
    let (outcome, lines) = across_terms(bind()).await;
    let (failed, why) = failure(outcome);
    assert_eq!(
        (failed, why.as_str()),
        (BindFailure::GaveUp, "no longer the leader")
    );
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[tokio::test]
async fn an_eviction_that_waits_when_the_term_ends_fails_and_another_one_is_sent() {
    let (outcome, lines) = across_terms(evict::evict()).await;
    let message = "no longer the leader".to_owned();
    assert_eq!(
        outcome,
        Outcome::EvictFailed {
            pod: pod(),
            message
        }
    );
    assert!(
        lines.iter().any(|line| line.starts_with("DELETE")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_condition_that_waits_when_the_term_ends_is_told_to_be_lost() {
    let (outcome, lines) = across_terms(condition("Unschedulable", "no room")).await;
    assert_eq!(outcome, Outcome::ConditionFailed { pod: pod() });
    assert_eq!(
        lines.len(),
        1,
        "the same text is no echo of before: {lines:?}"
    );
}

#[tokio::test]
async fn what_is_written_once_is_written_again_in_another_term() {
    let (sender, term) = TermWatch::new(Duration::from_secs(60));
    begin(&sender);
    let bench = Bench::with(|_| Answer::ok(), options(), term).await;
    let tell = || condition("Unschedulable", "no room");
    bench.written([tell()]).await;
    bench.written([tell()]).await;
    assert_eq!(bench.server.all("PATCH").len(), 1, "an echo");
    sender.send_replace(Term::None);
    begin(&sender);
    bench.written([tell()]).await;
    assert_eq!(
        bench.server.all("PATCH").len(),
        2,
        "another may have led in between"
    );
}

#[tokio::test]
async fn what_was_decided_in_a_term_is_not_taken_after_it() {
    let (sender, term) = TermWatch::new(Duration::from_secs(60));
    begin(&sender);
    let first = term.this_one();
    let mut bench = Bench::with(|_| Answer::ok(), options(), term).await;
    sender.send_replace(Term::None);
    begin(&sender);
    bench.effects.submit_in(&first, bind());
    assert_eq!(failure(bench.outcome().await).0, BindFailure::GaveUp);
    assert!(bench.server.lines().is_empty());
}
