//! Answers that are told again for a while, however many look at the page.

use std::time::{Duration, Instant};

use pumice_engine::view::{Ask, JobView, View};
use pumice_page::{PageDecision, PageStanding, Source, ToldWorkload};
use pumice_plan::PlanView;

use crate::source::{PlanForm, PlanningSource};

/// An answer is told again for so long at least.
const FRESH: Duration = Duration::from_millis(400);
/// Whoever makes answers has other things to do: one is told again for so many times what it took, up to [`BUSY_FRESH`].
const TIMES_TAKEN: u32 = 20;
/// For longer than this one is told again only if it took very long.
const BUSY_FRESH: Duration = Duration::from_millis(700);
/// Then for so many times what it took.
const TIMES_TAKEN_LONG: u32 = 5;
/// What a Job says itself is told again for so long at least: whoever is asked for it is not the scheduler.
const JOB_FRESH: Duration = Duration::from_secs(3);
/// Longest time for which one is told again.
const MAX_FRESH: Duration = Duration::from_secs(10);
/// Where nobody has answered it is tried anew after so long: whoever asks meanwhile need not wait for it again.
const TRIED_ANEW: Duration = Duration::from_secs(2);
/// Answers kept.
const MAX_KEPT: usize = 32;

/// For how long an answer is told again that took so long.
fn lasts(took: Duration) -> Duration {
    let wanted = (took * TIMES_TAKEN).min(BUSY_FRESH);
    wanted.max(took * TIMES_TAKEN_LONG).clamp(FRESH, MAX_FRESH)
}

/// A source that is asked the same once in 0.4 s at most, and less often what takes it longer than 20 ms.
pub(crate) struct FreshAnswers<S> {
    source: S,
    /// With when each is to be asked again.
    kept: Vec<(Ask, Instant, Result<View, String>)>,
    /// By name, with when each is to be asked for again.
    workloads: Vec<(String, Instant, ToldWorkload)>,
    decided: Option<(Instant, Result<Vec<PageDecision>, String>)>,
    /// When nobody answered, and why.
    away: Option<(Instant, String)>,
    /// When the first of the answers told since somebody asked for this is to be asked for again.
    lasts_until: Option<Instant>,
}

impl<S> FreshAnswers<S> {
    /// Before this source.
    pub fn of(source: S) -> Self {
        Self {
            source,
            kept: Vec::new(),
            workloads: Vec::new(),
            decided: None,
            away: None,
            lasts_until: None,
        }
    }

    /// What is made of answers, and until when they are the newest there are.
    pub fn lasting<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> (T, Instant) {
        self.lasts_until = None;
        let made = make(self);
        let until = self.lasts_until.take();
        (made, until.unwrap_or_else(|| Instant::now() + FRESH))
    }

    /// An answer is told that lasts until then.
    fn note(&mut self, until: Instant) {
        let first = self.lasts_until.map_or(until, |first| first.min(until));
        self.lasts_until = Some(first);
    }
}

#[cfg(test)]
impl<S> FreshAnswers<S> {
    /// Who is asked.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// As if much time had passed.
    pub fn age(&mut self) {
        self.kept.clear();
        self.workloads.clear();
        self.decided = None;
    }
}

impl<S: Source> FreshAnswers<S> {
    /// Why it is not asked now.
    fn is_away(&self) -> Result<(), String> {
        match &self.away {
            Some((at, why)) if at.elapsed() < TRIED_ANEW => Err(why.clone()),
            _ => Ok(()),
        }
    }

    /// Whether an answer is kept: not where nobody gave one.
    fn is_answer<T>(&mut self, answer: &Result<T, String>) -> bool {
        self.away = match answer {
            Err(why) if self.source.standing().unanswered => Some((Instant::now(), why.clone())),
            _ => None,
        };
        self.away.is_none()
    }
}

impl<S: Source> Source for FreshAnswers<S> {
    fn ask(&mut self, ask: &Ask) -> Result<View, String> {
        self.is_away()?;
        let now = Instant::now();
        self.kept.retain(|(_, until, _)| now < *until);
        if let Some((_, until, view)) = self.kept.iter().find(|(known, ..)| known == ask) {
            let (until, view) = (*until, view.clone());
            self.note(until);
            return view;
        }
        let view = self.source.ask(ask);
        if self.is_answer(&view) {
            // The one that is asked anew soonest makes room.
            let kept = self.kept.iter().enumerate();
            let first = kept.min_by_key(|(_, (_, until, _))| *until);
            if let Some((at, _)) = first.filter(|_| self.kept.len() >= MAX_KEPT) {
                drop(self.kept.swap_remove(at));
            }
            let until = Instant::now() + lasts(now.elapsed());
            self.note(until);
            self.kept.push((ask.clone(), until, view.clone()));
        }
        view
    }

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        self.is_away()?;
        let now = Instant::now();
        if let Some((until, known)) = self.decided.as_ref().filter(|(until, _)| now < *until) {
            let (until, known) = (*until, known.clone());
            self.note(until);
            return known;
        }
        let decided = self.source.decisions();
        let until = Instant::now() + lasts(now.elapsed());
        let kept = self.is_answer(&decided);
        if kept {
            self.note(until);
        }
        self.decided = kept.then(|| (until, decided.clone()));
        decided
    }

    fn workload(&mut self, of: &JobView) -> ToldWorkload {
        let now = Instant::now();
        self.workloads.retain(|(_, until, _)| now < *until);
        let known = self.workloads.iter().find(|(known, ..)| *known == of.name);
        if let Some((.., told)) = known {
            return told.clone();
        }
        let told = self.source.workload(of);
        // The oldest makes room.
        if self.workloads.len() >= MAX_KEPT {
            drop(self.workloads.remove(0));
        }
        let until = Instant::now() + lasts(now.elapsed()).max(JOB_FRESH);
        self.workloads.push((of.name.clone(), until, told.clone()));
        told
    }

    fn standing(&mut self) -> PageStanding {
        self.source.standing()
    }
}

impl<S: PlanningSource> PlanningSource for FreshAnswers<S> {
    fn plan(&mut self, asked: &PlanForm) -> Result<PlanView, String> {
        self.source.plan(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as it is told, and counts.
    #[derive(Default)]
    struct Counted {
        asked: usize,
        is_away: bool,
    }

    impl Source for Counted {
        fn ask(&mut self, ask: &Ask) -> Result<View, String> {
            self.asked += 1;
            Err(format!("{ask:?} {}", self.asked))
        }

        fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
            self.asked += 1;
            Ok(Vec::new())
        }

        fn workload(&mut self, of: &JobView) -> ToldWorkload {
            self.asked += 1;
            ToldWorkload::AskedBy(of.name.clone())
        }

        fn standing(&mut self) -> PageStanding {
            PageStanding {
                unanswered: self.is_away,
                ..PageStanding::default()
            }
        }
    }

    #[test]
    fn the_same_is_asked_once_and_something_else_for_itself() {
        let mut fresh = FreshAnswers::of(Counted::default());
        for (ask, said) in [
            (Ask::Top, "Top 1"),
            (Ask::Nodes, "Nodes 2"),
            (Ask::Top, "Top 1"),
        ] {
            assert_eq!(fresh.ask(&ask).err().as_deref(), Some(said));
        }
        assert!(fresh.decisions().is_ok() && fresh.decisions().is_ok());
        assert_eq!(fresh.source.asked, 3);
    }

    #[test]
    fn jobs_are_asked_for_once_in_a_while_each_and_so_many_are_kept() {
        let mut fresh = FreshAnswers::of(Counted::default());
        let of = |name: usize| JobView {
            name: name.to_string(),
            ..JobView::default()
        };
        for name in [0, 1, 0, 1] {
            let told = fresh.workload(&of(name));
            assert_eq!(told, ToldWorkload::AskedBy(name.to_string()));
        }
        assert_eq!(fresh.source.asked, 2);
        for name in 0..MAX_KEPT * 2 {
            fresh.workload(&of(name));
        }
        assert_eq!(fresh.workloads.len(), MAX_KEPT);
    }

    #[test]
    fn what_takes_longer_is_asked_less_often() {
        let ms = Duration::from_millis;
        assert_eq!(lasts(ms(1)), FRESH);
        assert_eq!(lasts(ms(30)), ms(600));
        assert_eq!(lasts(ms(100)), ms(700));
        assert_eq!(lasts(ms(500)), ms(2500));
        assert_eq!(lasts(ms(60_000)), MAX_FRESH);
    }

    #[test]
    fn where_nobody_answers_nobody_else_waits_for_that_again() {
        let mut fresh = FreshAnswers::of(Counted {
            is_away: true,
            ..Counted::default()
        });
        for ask in [Ask::Top, Ask::Nodes, Ask::Queues] {
            assert_eq!(fresh.ask(&ask).err().as_deref(), Some("Top 1"));
        }
        assert_eq!(fresh.decisions().err().as_deref(), Some("Top 1"));
        // Time has passed, and somebody is there.
        fresh.source.is_away = false;
        fresh.away = fresh
            .away
            .map(|(at, why)| (at.checked_sub(TRIED_ANEW).expect("a time"), why));
        assert_eq!(fresh.ask(&Ask::Nodes).err().as_deref(), Some("Nodes 2"));
        assert_eq!(fresh.ask(&Ask::Top).err().as_deref(), Some("Top 3"));
    }

    #[test]
    fn more_questions_than_are_kept_are_asked_again_and_take_no_more_memory() {
        let mut fresh = FreshAnswers::of(Counted::default());
        for node in 0..MAX_KEPT * 2 {
            assert!(fresh.ask(&Ask::Node(node.to_string())).is_err());
        }
        assert_eq!(fresh.kept.len(), MAX_KEPT);
        let asked = fresh.source.asked;
        // The newest are kept, and those that were asked first are asked anew.
        for (node, times) in [("63", 0), ("0", 1), ("0", 1)] {
            assert!(fresh.ask(&Ask::Node(node.to_owned())).is_err());
            assert_eq!(fresh.source.asked, asked + times, "{node}");
        }
    }
}
