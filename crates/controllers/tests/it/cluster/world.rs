//! A manager of controllers and an API server, step by step or until they rest.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use pumice_controllers::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, Manager, ManagerInput, ManagerOutput,
    ObjectEvent, PodProbe, ProbeId, ProbeOutcome, WriteId, WriteOutcome,
};

use super::kubelet::Dice;
use super::server::ApiServer;

type Make = fn() -> Vec<Box<dyn Controller>>;

/// Rounds until a world that does not come to rest is given up.
const MAX_ROUNDS: usize = 5_000;

/// Controllers at work on an API server.
pub struct World {
    pub server: ApiServer,
    make: Make,
    manager: Manager,
    pub now: Timestamp,
    /// In [`World::step`] one answer of twenty is lost: nobody knows whether the write was done.
    pub loses_answers: bool,
    /// Events told, in order.
    pub events: Vec<ObjectEvent>,
    /// Writes the server has not got yet.
    writes: Vec<(WriteId, ApiWrite)>,
    /// Answers the manager has not got yet.
    answers: Vec<(WriteId, WriteOutcome)>,
    /// Text of the controllers' configuration.
    configuration: String,
    /// Questions to pods that hold; all others fail.
    pub holding: Vec<PodProbe>,
    /// Questions asked so far.
    pub asked: Vec<PodProbe>,
    /// Questions nobody has answered yet.
    probes: Vec<(ProbeId, PodProbe)>,
}

impl World {
    /// The server answers a list of a kind with nothing.
    pub fn lists_none(&mut self, kind: ManagedKind) {
        self.manager.tell(ManagerInput::ListBegins(kind), self.now);
        let there = BTreeSet::new();
        self.manager
            .tell(ManagerInput::Listed { kind, there }, self.now);
    }

    /// A world without objects, at 2026-01-01.
    pub fn new(make: Make) -> Self {
        let now = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut world = Self {
            server: ApiServer::new(now),
            make,
            manager: Manager::new(Vec::new()),
            now,
            loses_answers: false,
            events: Vec::new(),
            writes: Vec::new(),
            answers: Vec::new(),
            configuration: String::new(),
            holding: Vec::new(),
            asked: Vec::new(),
            probes: Vec::new(),
        };
        world.restart();
        world
    }

    /// The process is killed and started again. Writes on their way are lost.
    pub fn restart(&mut self) {
        self.writes.clear();
        self.answers.clear();
        self.probes.clear();
        self.server.feed.clear();
        self.manager = Manager::new((self.make)());
        for object in self.server.list() {
            self.manager.tell(ManagerInput::Seen(object), self.now);
        }
        self.tell_configuration();
        self.manager.tell(ManagerInput::Synced, self.now);
    }

    /// The controllers' configuration changes.
    pub fn configure(&mut self, text: &str) {
        text.clone_into(&mut self.configuration);
        self.tell_configuration();
    }

    fn tell_configuration(&mut self) {
        let configured = ManagerInput::Configured {
            at: ManagedRef::new(ManagedKind::ConfigMap, "volcano-system", "configuration"),
            uid: "configuration".to_owned(),
            text: self.configuration.clone(),
        };
        self.manager.tell(configured, self.now);
    }

    fn answer_probes(&mut self) {
        for (id, probe) in std::mem::take(&mut self.probes) {
            let outcome = match self.holding.contains(&probe) {
                true => ProbeOutcome::Holds,
                false => ProbeOutcome::Fails("connection refused".to_owned()),
            };
            self.asked.push(probe);
            self.manager
                .tell(ManagerInput::Probed(id, outcome), self.now);
        }
    }

    /// The process is killed and started again; of the writes on their way, chance says which the
    /// server still gets.
    pub fn kill(&mut self, dice: &mut Dice) {
        for (_, write) in std::mem::take(&mut self.writes) {
            if dice.roll(2) == 0 {
                self.server.execute(&write);
            }
        }
        self.restart();
    }

    /// One thing happens: a watch tells something, the manager looks, the server does a write, the
    /// manager hears how it ended. `false` if there is nothing to happen now.
    pub fn step(&mut self, dice: &mut Dice) -> bool {
        let told: Vec<_> = self
            .server
            .feed
            .iter()
            .filter(|(_, f)| !f.is_empty())
            .collect();
        let kinds: Vec<_> = told.into_iter().map(|(kind, _)| *kind).collect();
        let choices = [kinds.len(), self.writes.len(), self.answers.len()];
        let mut at = dice.roll(choices.iter().sum::<usize>() + 1);
        if at < kinds.len() {
            let feed = self.server.feed.get_mut(&kinds[at]);
            let input = feed.and_then(std::collections::VecDeque::pop_front);
            input
                .into_iter()
                .for_each(|input| self.manager.tell(input, self.now));
            return true;
        }
        at -= kinds.len();
        if at < self.writes.len() {
            let (id, write) = self.writes.swap_remove(at);
            self.answers.push((id, self.server.execute(&write)));
            return true;
        }
        at -= self.writes.len();
        if at < self.answers.len() {
            let (id, mut outcome) = self.answers.swap_remove(at);
            if self.loses_answers && dice.roll(20) == 0 {
                outcome = WriteOutcome::NoAnswer("timed out".to_owned());
            }
            self.manager
                .tell(ManagerInput::Ended(id, outcome), self.now);
            return true;
        }
        self.answer_probes();
        self.work() || choices.iter().any(|count| *count > 0)
    }

    /// Everything that is due now happens, in order.
    pub fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            for input in std::mem::take(&mut self.server.feed)
                .into_values()
                .flatten()
            {
                self.manager.tell(input, self.now);
            }
            self.answer_probes();
            let is_working = self.work();
            for (id, write) in std::mem::take(&mut self.writes) {
                self.answers.push((id, self.server.execute(&write)));
            }
            let answers = std::mem::take(&mut self.answers);
            let is_at_rest = answers.is_empty() && !is_working && self.server.feed.is_empty();
            for (id, outcome) in answers {
                self.manager
                    .tell(ManagerInput::Ended(id, outcome), self.now);
            }
            if is_at_rest {
                return;
            }
        }
        panic!("does not come to rest: {:#?}", self.server.log.last());
    }

    /// Time passes, and everything that comes due happens.
    pub fn pass(&mut self, time: SignedDuration) {
        let until = self.now + time;
        self.settle();
        while let Some(at) = self.manager.next_at().filter(|at| *at <= until) {
            self.set_time(at.max(self.now));
            self.settle();
        }
        self.set_time(until);
        self.settle();
    }

    /// Seconds pass.
    pub fn pass_seconds(&mut self, seconds: i64) {
        self.pass(SignedDuration::from_secs(seconds));
    }

    /// Time passes, and nothing happens yet.
    pub fn set_time(&mut self, now: Timestamp) {
        self.now = now;
        self.server.now = now;
    }

    /// Writes that were done or refused, as `create Pod ns/name`.
    pub fn written(&self) -> Vec<String> {
        self.server
            .log
            .iter()
            .map(|(write, _)| in_words(write))
            .collect()
    }

    /// Reasons of the events told.
    pub fn reasons(&self) -> Vec<&'static str> {
        self.events.iter().map(|event| event.reason).collect()
    }

    fn work(&mut self) -> bool {
        let orders = self.manager.work(self.now);
        let is_working = !orders.is_empty();
        for order in orders {
            match order {
                ManagerOutput::Write(id, write) => self.writes.push((id, write)),
                ManagerOutput::Event(event) => self.events.push(event),
                ManagerOutput::Probe(id, probe) => self.probes.push((id, probe)),
            }
        }
        is_working
    }
}

fn in_words(write: &ApiWrite) -> String {
    let verb = match &write.verb {
        ApiVerb::Create(_) | ApiVerb::CreateWithSshKeys(_) => "create",
        ApiVerb::ReplaceStatus(_) => "status",
        ApiVerb::Merge { status: true, .. } => "status",
        ApiVerb::Merge { .. } | ApiVerb::MergeOwned { .. } => "patch",
        ApiVerb::Apply { .. } => "apply",
        ApiVerb::Delete { .. } => "delete",
    };
    format!("{verb} {}", write.of)
}
