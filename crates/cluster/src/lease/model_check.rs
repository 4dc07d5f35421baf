//! Every interleaving of two candidates and one Lease, walked through.
//!
//! Clocks run at different rates; requests are delayed, lost, or land after the sender gave up;
//! candidates stop for any time at any point, crash and come back under a new name, and shut down.
//! Law: never are two terms running at once.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::time::Duration;

use rustc_hash::FxHasher;

use super::{CandidateView, ElectionSettings, ElectionStep, LeaseRecord, Mono, decide};

/// Where every candidate's clock is moved to after each step.
const BASE: Mono = Mono(Duration::from_secs(1000));

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Read,
    Create,
    Hold,
    Release,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Answer {
    Ok(Option<LeaseRecord>),
    Conflict,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Request {
    kind: Kind,
    identity: u8,
    base: Option<i64>,
    sent: Mono,
    answer: Option<Answer>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Candidate {
    identity: u8,
    observed: CandidateView,
    known: Option<i64>,
    request: Option<Request>,
    stopped: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    lease: Option<LeaseRecord>,
    version: i64,
    candidates: [Candidate; 2],
    /// A request whose sender no longer waits for it.
    ghost: Option<Request>,
    crashes: u8,
    ghosts: u8,
    releases: u8,
}

/// One experiment: durations in seconds of each local clock, and by how much each clock advances
/// in one tick.
struct Experiment {
    lease: u64,
    renew: u64,
    retry: u64,
    rates: [u64; 2],
    /// How often a candidate may crash.
    crashes: u8,
    /// How often a request may land after its sender gave up, and how often a holder shuts down.
    ghosts: u8,
    releases: u8,
    /// The mistake of counting a term from its answer.
    from_answer: bool,
}

struct Outcome {
    states: usize,
    overlap: bool,
    led: [bool; 4],
}

impl Experiment {
    fn settings(&self, identity: u8) -> ElectionSettings {
        let mut settings = ElectionSettings::new(identity.to_string());
        settings.lease_duration = Duration::from_secs(self.lease);
        settings.renew_deadline = Duration::from_secs(self.renew);
        settings.retry_period = Duration::from_secs(self.retry);
        settings
    }

    fn leads(&self, candidate: &Candidate) -> bool {
        let end = |from: Mono| from.plus(Duration::from_secs(self.renew));
        let from = candidate.observed.term_from();
        from.is_some_and(|from| BASE < end(from))
    }

    fn run(&self) -> Outcome {
        let mut outcome = Outcome {
            states: 0,
            overlap: false,
            led: [false; 4],
        };
        let hasher = BuildHasherDefault::<FxHasher>::default();
        let mut seen = HashSet::<u64, BuildHasherDefault<FxHasher>>::default();
        let mut stack = vec![World::start(self)];
        while let Some(world) = stack.pop() {
            if !seen.insert(hasher.hash_one(&world)) {
                continue;
            }
            outcome.states += 1;
            let leads = [0, 1].map(|i| self.leads(&world.candidates[i]));
            outcome.overlap |= leads[0] && leads[1];
            for i in [0, 1] {
                outcome.led[usize::from(world.candidates[i].identity)] |= leads[i];
            }
            if outcome.overlap {
                return outcome;
            }
            self.steps(&world, &mut stack);
        }
        outcome
    }

    fn steps(&self, world: &World, next: &mut Vec<World>) {
        next.push(self.tick(world));
        for i in [0, 1] {
            next.extend(self.decided(world, i));
            next.extend(self.processed(world, i));
            next.extend(self.delivered(world, i));
            next.extend(self.crashed(world, i));
            next.extend(self.shut_down(world, i));
        }
        next.extend(self.ghost_lands(world));
    }

    /// Time passes. Who has waited for an answer for half a renew deadline waits no longer.
    fn tick(&self, world: &World) -> World {
        let mut next = world.clone();
        let mut now = [BASE; 2];
        for i in [0, 1] {
            now[i] = BASE.plus(Duration::from_secs(self.rates[i]));
            let candidate = &mut next.candidates[i];
            let limit = Duration::from_secs(self.renew) / 2;
            let late = |request: &mut Request| request.sent.plus(limit) < now[i];
            if let Some(request) = candidate.request.take_if(late) {
                candidate.observed.conflict();
                if request.answer.is_none() && next.ghosts > 0 && request.kind != Kind::Read {
                    next.ghosts -= 1;
                    next.ghost = Some(request);
                }
            }
        }
        self.normal(next, now)
    }

    fn decided(&self, world: &World, i: usize) -> Option<World> {
        let candidate = &world.candidates[i];
        if candidate.request.is_some() || candidate.stopped {
            return None;
        }
        let settings = self.settings(candidate.identity);
        let kind = match decide(&candidate.observed, &settings, BASE) {
            ElectionStep::Wait(_) => return None,
            ElectionStep::Lost(_) => {
                let mut next = world.clone();
                next.candidates[i].observed.drop_term();
                return Some(self.normal(next, [BASE; 2]));
            }
            ElectionStep::Read => Kind::Read,
            ElectionStep::Create => Kind::Create,
            ElectionStep::Take | ElectionStep::Renew => Kind::Hold,
        };
        Some(self.normal(world.sending(i, kind), [BASE; 2]))
    }

    fn processed(&self, world: &World, i: usize) -> Option<World> {
        let request = world.candidates[i].request.clone()?;
        if request.answer.is_some() {
            return None;
        }
        let mut next = world.clone();
        let answer = next.serve(&request, self.lease);
        next.candidates[i].request.as_mut()?.answer = Some(answer);
        Some(self.normal(next, [BASE; 2]))
    }

    fn ghost_lands(&self, world: &World) -> Option<World> {
        let mut next = world.clone();
        let ghost = next.ghost.take()?;
        next.serve(&ghost, self.lease);
        Some(self.normal(next, [BASE; 2]))
    }

    fn delivered(&self, world: &World, i: usize) -> Option<World> {
        let mut next = world.clone();
        let candidate = &mut next.candidates[i];
        let request = candidate
            .request
            .take_if(|request| request.answer.is_some())?;
        let sent = if self.from_answer { BASE } else { request.sent };
        let observed = &mut candidate.observed;
        match (request.answer?, request.kind) {
            (Answer::Conflict, _) => observed.conflict(),
            (Answer::Ok(record), Kind::Read | Kind::Release) => {
                candidate.known = record.as_ref().and_then(|record| record.renewed_us);
                observed.saw(record, BASE);
            }
            (Answer::Ok(record), Kind::Create | Kind::Hold) => {
                let record = record?;
                candidate.known = record.renewed_us;
                observed.held(record, sent, BASE);
            }
        }
        Some(self.normal(next, [BASE; 2]))
    }

    fn crashed(&self, world: &World, i: usize) -> Option<World> {
        let mut next = world.clone();
        next.crashes = next.crashes.checked_sub(1)?;
        let gone = std::mem::take(&mut next.candidates[i]);
        next.candidates[i].identity = gone.identity + 2;
        if next.ghosts > 0 && gone.request.as_ref().is_some_and(|r| r.answer.is_none()) {
            next.ghosts -= 1;
            next.ghost = gone.request;
        }
        Some(self.normal(next, [BASE; 2]))
    }

    /// Ends its term, then gives the Lease back.
    fn shut_down(&self, world: &World, i: usize) -> Option<World> {
        let candidate = &world.candidates[i];
        if candidate.observed.term_from().is_none() || candidate.request.is_some() {
            return None;
        }
        let mut next = world.sending(i, Kind::Release);
        next.releases = next.releases.checked_sub(1)?;
        next.candidates[i].observed.drop_term();
        next.candidates[i].stopped = true;
        Some(self.normal(next, [BASE; 2]))
    }

    /// Moves every clock back to [`BASE`] and numbers versions anew.
    fn normal(&self, mut world: World, now: [Mono; 2]) -> World {
        let mut versions: Vec<i64> = world.stamps();
        versions.sort_unstable();
        versions.dedup();
        let rename = |old: i64| versions.binary_search(&old).map_or(-1, |ix| ix as i64);
        let reach = Duration::from_secs(self.lease + 1);
        for (candidate, now) in world.candidates.iter_mut().zip(now) {
            candidate.observed = candidate.observed.rebased(now, BASE, reach, &rename);
            candidate.known = candidate.known.map(rename);
            if let Some(request) = &mut candidate.request {
                request.sent = Mono(BASE.0 - request.sent.until(now).min(reach));
                request.rename(&rename);
            }
        }
        if let Some(ghost) = &mut world.ghost {
            ghost.sent = BASE;
            ghost.rename(&rename);
        }
        if let Some(lease) = &mut world.lease {
            lease.renewed_us = lease.renewed_us.map(rename);
        }
        world.version = versions.len() as i64;
        world
    }
}

impl Request {
    fn rename(&mut self, rename: &dyn Fn(i64) -> i64) {
        self.base = self.base.map(rename);
        if let Some(Answer::Ok(Some(record))) = &mut self.answer {
            record.renewed_us = record.renewed_us.map(rename);
        }
    }

    fn stamps(&self) -> impl Iterator<Item = i64> {
        let answer = match &self.answer {
            Some(Answer::Ok(Some(record))) => record.renewed_us,
            _ => None,
        };
        self.base.into_iter().chain(answer)
    }
}

impl World {
    fn start(experiment: &Experiment) -> Self {
        let candidate = |identity| Candidate {
            identity,
            ..Candidate::default()
        };
        Self {
            lease: None,
            version: 0,
            candidates: [candidate(0), candidate(1)],
            ghost: None,
            crashes: experiment.crashes,
            ghosts: experiment.ghosts,
            releases: experiment.releases,
        }
    }

    fn stamps(&self) -> Vec<i64> {
        let mut stamps: Vec<i64> = Vec::new();
        stamps.extend(self.lease.as_ref().and_then(|lease| lease.renewed_us));
        let requests = self.candidates.iter().filter_map(|c| c.request.as_ref());
        stamps.extend(
            requests
                .chain(self.ghost.as_ref())
                .flat_map(Request::stamps),
        );
        for candidate in &self.candidates {
            stamps.extend(candidate.known);
            stamps.extend(candidate.observed.last().and_then(|last| last.renewed_us));
        }
        stamps
    }

    fn sending(&self, i: usize, kind: Kind) -> Self {
        let mut next = self.clone();
        let candidate = &mut next.candidates[i];
        candidate.request = Some(Request {
            kind,
            identity: candidate.identity,
            base: candidate.known,
            sent: BASE,
            answer: None,
        });
        next
    }

    /// What an API server does: optimistic concurrency on the version.
    fn serve(&mut self, request: &Request, lease_s: u64) -> Answer {
        let current = self.lease.as_ref().and_then(|lease| lease.renewed_us);
        let fits = match request.kind {
            Kind::Read => return Answer::Ok(self.lease.clone()),
            Kind::Create => self.lease.is_none(),
            Kind::Hold | Kind::Release => self.lease.is_some() && request.base == current,
        };
        if !fits {
            return Answer::Conflict;
        }
        self.version += 1;
        let released = request.kind == Kind::Release;
        self.lease = Some(LeaseRecord {
            holder: match released {
                true => String::new(),
                false => request.identity.to_string(),
            },
            duration: Some(Duration::from_secs(if released { 1 } else { lease_s })),
            renewed_us: Some(self.version),
            transitions: 0,
        });
        Answer::Ok(self.lease.clone())
    }
}

fn experiment(lease: u64, renew: u64, rates: [u64; 2]) -> Experiment {
    Experiment {
        lease,
        renew,
        retry: renew / 2,
        rates,
        crashes: 1,
        ghosts: 0,
        releases: 0,
        from_answer: false,
    }
}

fn holds(experiment: &Experiment) {
    let outcome = experiment.run();
    assert!(!outcome.overlap, "two terms at once");
    let reborn = experiment.crashes > 0;
    assert_eq!(
        outcome.led,
        [true, true, reborn, reborn],
        "everybody leads at some time"
    );
    assert!(outcome.states > 10_000, "{} states", outcome.states);
}

#[test]
fn two_terms_never_overlap_when_requests_land_late() {
    let mut late = experiment(3, 2, [1, 1]);
    late.ghosts = 1;
    late.crashes = 0;
    holds(&late);
}

#[test]
fn two_terms_never_overlap_when_a_holder_shuts_down() {
    let mut polite = experiment(3, 2, [1, 1]);
    polite.releases = 1;
    polite.crashes = 0;
    holds(&polite);
}

#[test]
fn two_terms_never_overlap_when_clocks_differ_by_lease_over_deadline() {
    holds(&experiment(6, 4, [2, 3]));
}

#[test]
fn the_check_finds_clocks_that_differ_too_much() {
    assert!(experiment(3, 2, [1, 3]).run().overlap);
}

#[test]
fn the_check_finds_a_term_counted_from_its_answer() {
    let mut wrong = experiment(5, 4, [1, 1]);
    wrong.from_answer = true;
    assert!(wrong.run().overlap);
}
