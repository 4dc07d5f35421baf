//! Who has how much, from event to event.

use super::curve::Curve;
use super::objects::PodKind;

/// Cards of a node, in thousandths of one.
#[derive(Clone, Copy, Debug, Default)]
struct CardsOfNode {
    all: i64,
    used: i64,
}

impl CardsOfNode {
    /// Free cards of a node of which others are in use.
    fn scattered(self) -> i64 {
        match self.used > 0 {
            true => self.all - self.used,
            false => 0,
        }
    }
}

/// What a queue has and wants, or a user.
#[derive(Clone, Debug)]
pub struct AccountBook {
    /// What its jobs have: cards in thousandths, or cpu where the cluster has no cards.
    pub has: Curve,
    /// What all its jobs that run or wait ask, in the same unit.
    pub wants: Curve,
}

/// Whose a job is, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobOwner {
    /// The queue that the job is in.
    pub queue: u32,
    /// Who submitted it, where the trace tells users.
    pub user: Option<u32>,
}

/// All books.
#[derive(Clone, Debug)]
pub struct TraceBooks {
    start_s: i64,
    width_s: i64,
    nodes: Vec<CardsOfNode>,
    /// Thousandths of cores of all nodes that take pods.
    pub all_cpu_milli: i64,
    /// Thousandths of cards of the same.
    pub all_cards_milli: i64,
    /// Jobs that wait.
    pub waiting: Curve,
    /// Jobs that run.
    pub running: Curve,
    /// Thousandths of cores in use.
    pub cpu: Curve,
    /// Thousandths of cards in use.
    pub cards: Curve,
    /// Thousandths of free cards on nodes of which others are in use.
    pub scattered: Curve,
    /// Thousandths of free cards that no task of the mix could use, where a plugin keeps one.
    pub useless: Option<Curve>,
    /// By number of the queue.
    pub queues: Vec<AccountBook>,
    /// By number of the user.
    pub users: Vec<AccountBook>,
}

impl TraceBooks {
    /// Empty books of so many queues and users, and of nodes with so many cards each, in thousandths.
    pub fn new(
        (start_s, width_s): (i64, i64),
        (queues, users): (usize, usize),
        all_cpu_milli: i64,
        nodes: &[i64],
    ) -> Self {
        let curve = || Curve::new(start_s, width_s);
        let account = || AccountBook {
            has: curve(),
            wants: curve(),
        };
        Self {
            start_s,
            width_s,
            nodes: nodes
                .iter()
                .map(|all| CardsOfNode { all: *all, used: 0 })
                .collect(),
            all_cpu_milli,
            all_cards_milli: nodes.iter().sum(),
            waiting: curve(),
            running: curve(),
            cpu: curve(),
            cards: curve(),
            scattered: curve(),
            useless: None,
            queues: vec![account(); queues],
            users: vec![account(); users],
        }
    }

    /// A pod takes so much of a node, or gives it back: `sign` is 1 or -1.
    pub fn occupy(
        &mut self,
        now_s: i64,
        node: usize,
        (cpu_milli, cards_milli): (i64, i64),
        sign: i64,
    ) {
        self.cpu.add(now_s, sign * cpu_milli);
        if cards_milli == 0 {
            return;
        }
        self.cards.add(now_s, sign * cards_milli);
        let Some(of_node) = self.nodes.get_mut(node) else {
            return;
        };
        let before = of_node.scattered();
        of_node.used += sign * cards_milli;
        let more = of_node.scattered() - before;
        self.scattered.add(now_s, more);
    }

    fn accounts(&mut self, of: JobOwner) -> impl Iterator<Item = &mut AccountBook> {
        let queue = self.queues.get_mut(of.queue as usize);
        let user = of.user.and_then(|user| self.users.get_mut(user as usize));
        queue.into_iter().chain(user)
    }

    /// Whose jobs have so much more, or less.
    pub fn note_had(&mut self, now_s: i64, of: JobOwner, more: i64) {
        self.accounts(of).for_each(|book| book.has.add(now_s, more));
    }

    /// Whose jobs ask for so much more, or less.
    pub fn note_wish(&mut self, now_s: i64, of: JobOwner, more: i64) {
        self.accounts(of)
            .for_each(|book| book.wants.add(now_s, more));
    }

    /// How much a pod counts for its queue.
    pub fn weight(&self, kind: &PodKind) -> i64 {
        match self.all_cards_milli > 0 {
            true => kind.cards_milli,
            false => kind.cpu_milli,
        }
    }

    /// How much pods of a job count for its queue.
    pub fn weight_of(&self, kinds: &[PodKind]) -> i64 {
        let weight = |kind: &PodKind| self.weight(kind) * i64::from(kind.members);
        kinds.iter().map(weight).sum()
    }

    /// Free cards of which tasks of the mix could use none.
    pub fn note_useless(&mut self, now_s: i64, milli: i64) {
        let curve = Curve::new(self.start_s, self.width_s);
        self.useless.get_or_insert(curve).set(now_s, milli);
    }

    /// Every sum goes up to now.
    pub fn advance(&mut self, now_s: i64) {
        let own = [
            &mut self.waiting,
            &mut self.running,
            &mut self.cpu,
            &mut self.cards,
            &mut self.scattered,
        ];
        own.into_iter().for_each(|curve| curve.advance(now_s));
        self.useless
            .iter_mut()
            .for_each(|curve| curve.advance(now_s));
        for book in self.queues.iter_mut().chain(&mut self.users) {
            book.has.advance(now_s);
            book.wants.advance(now_s);
        }
    }
}
