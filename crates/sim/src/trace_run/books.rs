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

/// What a queue has and wants.
#[derive(Clone, Debug)]
pub struct QueueBook {
    /// What its jobs have: cards in thousandths, or cpu where the cluster has no cards.
    pub has: Curve,
    /// What all its jobs that run or wait ask, in the same unit.
    pub wants: Curve,
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
    pub queues: Vec<QueueBook>,
}

impl TraceBooks {
    /// Empty books of so many queues, and of nodes with so many cards each, in thousandths.
    pub fn new(
        (start_s, width_s): (i64, i64),
        queues: usize,
        all_cpu_milli: i64,
        nodes: &[i64],
    ) -> Self {
        let curve = || Curve::new(start_s, width_s);
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
            queues: vec![
                QueueBook {
                    has: curve(),
                    wants: curve()
                };
                queues
            ],
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
        for book in &mut self.queues {
            book.has.advance(now_s);
            book.wants.advance(now_s);
        }
    }
}
