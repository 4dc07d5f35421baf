//! The term as the writers see it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Until when this process may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// We do not hold the Lease.
    None,
    /// We hold it, at least until then.
    Until(Instant),
    /// There is no election.
    Always,
}

impl Term {
    /// Whether it lasts for at least so long from now.
    fn lasts(self, time: Duration) -> bool {
        match self {
            Self::None => false,
            Self::Until(end) => Instant::now() + time < end,
            Self::Always => true,
        }
    }
}

/// There is no term to write in.
#[derive(Debug)]
pub struct NoTerm;

/// The term, and the how manieth of this process it is: one that begins after another has ended has
/// the next number.
#[derive(Clone, Copy, Debug)]
struct NumberedTerm {
    term: Term,
    number: u64,
}

/// Says whether this process may write. Cheap to clone and to ask; ask right before each write.
#[derive(Clone, Debug)]
pub struct TermWatch {
    term: watch::Receiver<NumberedTerm>,
    holder: watch::Receiver<String>,
    longest: Option<Duration>,
    /// The only term that counts; `None`: any.
    only: Option<u64>,
}

/// Where the elector says what it knows.
pub(crate) struct TermSender {
    /// Term that the elector has now, with its number.
    term: watch::Sender<NumberedTerm>,
    /// Who holds the Lease, as last seen; empty for nobody.
    pub holder: watch::Sender<String>,
}

impl TermSender {
    /// Sets the term. One that had ended, if only by itself, does not go on: another begins.
    pub fn send_replace(&self, term: Term) {
        self.term.send_modify(|last| {
            if term != Term::None && !last.term.lasts(Duration::ZERO) {
                last.number += 1;
            }
            last.term = term;
        });
    }
}

impl TermWatch {
    /// A term that never ends, for `--leader-elect=false`.
    pub fn always() -> Self {
        let (_, term) = watch::channel(NumberedTerm {
            term: Term::Always,
            number: 0,
        });
        let (_, holder) = watch::channel(String::new());
        Self {
            term,
            holder,
            longest: None,
            only: None,
        }
    }

    /// A term set by whoever has the sender; it is never longer than `longest`.
    pub(crate) fn new(longest: Duration) -> (TermSender, Self) {
        let (term_sender, term) = watch::channel(NumberedTerm {
            term: Term::None,
            number: 0,
        });
        let (holder_sender, holder) = watch::channel(String::new());
        let sender = TermSender {
            term: term_sender,
            holder: holder_sender,
        };
        let longest = Some(longest);
        let watch = Self {
            term,
            holder,
            longest,
            only: None,
        };
        (sender, watch)
    }

    /// The term that runs now, or the last one that ran, alone: once it is over it stays over, even
    /// when this process gets another. For what was decided in it.
    #[must_use]
    pub fn this_one(&self) -> Self {
        Self {
            only: Some(self.only.unwrap_or_else(|| self.term.borrow().number)),
            ..self.clone()
        }
    }

    /// Whether both are about one and the same term.
    pub fn is_same(&self, other: &Self) -> bool {
        self.only == other.only
    }

    /// The term, as far as it counts here.
    fn counting(&self, last: NumberedTerm) -> Term {
        match self.only {
            Some(number) if number != last.number => Term::None,
            _ => last.term,
        }
    }

    /// Who held the Lease when it was last looked at; `None` for nobody, and without election.
    pub fn holder(&self) -> Option<String> {
        let holder = self.holder.borrow();
        (!holder.is_empty()).then(|| holder.clone())
    }

    /// Whether the term lasts for at least so long from now. By the monotonic clock, so a process
    /// that was stopped and goes on finds its term over.
    pub fn term_valid_for(&self, time: Duration) -> bool {
        self.counting(*self.term.borrow()).lasts(time)
    }

    /// Whether this process may write at this moment.
    pub fn is_leader(&self) -> bool {
        self.term_valid_for(Duration::ZERO)
    }

    /// The longest a term can last from now; `None` without election. A write whose deadline is
    /// longer would never go out.
    pub fn longest(&self) -> Option<Duration> {
        self.longest
    }

    /// Waits until a term begins, is renewed, or is lost.
    pub async fn changed(&mut self) {
        if self.term.changed().await.is_err() {
            // Nobody will ever change it again.
            std::future::pending::<()>().await;
        }
    }

    /// Waits until this process may write.
    pub async fn leading(&mut self) {
        while !self.is_leader() {
            self.changed().await;
        }
    }

    /// Waits until the term lasts for so long from now.
    ///
    /// # Errors
    /// This process may not write (any more).
    pub async fn lasting(&self, time: Duration) -> Result<(), NoTerm> {
        let mut term = self.clone();
        while !term.term_valid_for(time) {
            if !term.is_leader() {
                return Err(NoTerm);
            }
            // The renewal is late: a write sent now could outlive the term.
            let mut lost = self.clone();
            tokio::select! {
                () = term.changed() => {}
                () = lost.lost() => return Err(NoTerm),
            }
        }
        Ok(())
    }

    /// Waits until this process may no longer write.
    pub async fn lost(&mut self) {
        loop {
            let last = *self.term.borrow_and_update();
            match self.counting(last) {
                Term::None => return,
                Term::Always => std::future::pending().await,
                Term::Until(end) => {
                    if tokio::time::timeout_at(end, self.changed()).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_by_itself() {
        let (sender, mut term) = TermWatch::new(Duration::from_secs(10));
        assert!(!term.is_leader());
        sender.send_replace(Term::Until(Instant::now() + Duration::from_secs(10)));
        term.leading().await;
        assert!(term.term_valid_for(Duration::from_secs(9)));
        assert!(!term.term_valid_for(Duration::from_secs(10)));
        term.lost().await;
        assert!(!term.is_leader());
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewed_term_is_not_lost() {
        let (sender, mut term) = TermWatch::new(Duration::from_secs(10));
        sender.send_replace(Term::Until(Instant::now() + Duration::from_secs(10)));
        let renew = async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            sender.send_replace(Term::Until(Instant::now() + Duration::from_secs(10)));
        };
        let lost = tokio::time::timeout(Duration::from_secs(18), term.lost());
        let (lost, ()) = tokio::join!(lost, renew);
        assert!(lost.is_err(), "the term lasts until second 19");
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_that_is_over_stays_over_when_another_one_begins() {
        let (sender, term) = TermWatch::new(Duration::from_secs(10));
        let begin = || sender.send_replace(Term::Until(Instant::now() + Duration::from_secs(10)));
        let never = term.this_one();
        begin();
        let first = term.this_one();
        begin();
        assert!(first.is_leader(), "a renewal is the same term");
        assert!(term.this_one().is_same(&first));
        let ends: [(&str, u64, bool); 2] = [("lost", 0, true), ("it has run out", 11, false)];
        for (how, seconds, told) in ends {
            let mut before = term.this_one();
            assert!(before.is_leader(), "{how}");
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            if told {
                sender.send_replace(Term::None);
            }
            begin();
            assert!(term.is_leader() && term.this_one().is_leader(), "{how}");
            assert!(!before.is_leader() && !first.is_leader(), "{how}");
            assert!(!term.this_one().is_same(&before), "{how}");
            before.lost().await;
            assert!(before.lasting(Duration::ZERO).await.is_err(), "{how}");
        }
        assert!(!never.is_leader());
    }

    #[tokio::test]
    async fn without_election_the_term_lasts_for_ever() {
        let mut term = TermWatch::always();
        assert!(term.term_valid_for(Duration::from_secs(1 << 30)));
        term.leading().await;
        assert_eq!(term.longest(), None);
    }
}
