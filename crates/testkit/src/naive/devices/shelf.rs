//! What every family tells of its cards on a node, so that none is known to who measures them (spec/10).

use pumice_model::object::Pairs;

use super::super::cycle::Cycle;
use super::super::state::Task;

/// What is in use of a card, by its first dimension.
pub struct CardUse {
    pub used: i64,
    pub all: i64,
    /// Pods that have some of it.
    pub holders: i64,
    pub given_out: bool,
}

/// What a task gets.
#[derive(Clone)]
pub struct CardChoice {
    /// As its annotations say it.
    pub held: Pairs,
    /// Score of the node.
    pub score: i64,
    /// Places of the cards.
    pub cards: Vec<usize>,
}

/// Cards of one family on a node, and what is in use of them.
pub trait Shelf {
    /// What is in use of each.
    fn uses(&self) -> Vec<CardUse>;

    /// One card alone.
    fn only(&self, at: usize) -> Box<dyn Shelf>;

    /// Number of different cards that the container asks that asks most; 0 where none asks any.
    fn at_once(&self, task: &Task) -> usize;

    /// The cards of a shelf of one once they have given this container what it gets of it.
    fn piece(&self, cycle: &Cycle, task: &Task) -> Option<Box<dyn Shelf>>;

    /// What the family itself gives the task of its cards, or of some of them alone.
    fn choose(&self, cycle: &Cycle, task: &Task, among: Option<&[usize]>) -> Option<CardChoice>;

    /// The cards once a task has what it holds.
    fn with(&self, task: &Task) -> Box<dyn Shelf>;
}
