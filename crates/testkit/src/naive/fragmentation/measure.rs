//! The waste of a node (spec/10 §2).

use pumice_model::object::NodeObject;

use super::classes::AlikeTasks;
use crate::naive::cycle::Cycle;
use crate::naive::devices::{CardFamily, CardUse, Shelf};
use crate::naive::state::{Res, get};

/// Pieces of a card that are counted.
const MAX_PIECES: i128 = 64;

/// Thousandths of a card, rounded up.
fn thousandths(used: i64, all: i64) -> i128 {
    let (used, all) = (i128::from(used), i128::from(all));
    (1000 * used + all - 1).div_euclid(all)
}

/// Thousandths of a card of which nobody has any.
pub fn free(card: &CardUse) -> i128 {
    match card {
        CardUse {
            given_out: false, ..
        } => 0,
        CardUse {
            all: 0, holders, ..
        } => 1000 * i128::from(*holders == 0),
        CardUse { used, all, .. } => (1000 - thousandths(*used, *all)).max(0),
    }
}

/// How many pieces a card gives one after the other, and the thousandths that they take.
fn pieces(cycle: &Cycle, class: &AlikeTasks, shelf: &dyn Shelf, at: usize) -> (i128, i128) {
    let (mut left, mut count) = (shelf.only(at), 0);
    let before = left.uses()[0].used;
    while count < MAX_PIECES
        && let Some(less) = left.piece(cycle, &class.task)
    {
        left = less;
        count += 1;
    }
    let after = &left.uses()[0];
    let taken = match after.all {
        0 => 1000 * i128::from(count > 0),
        all => thousandths(after.used - before, all),
    };
    (count, taken)
}

/// What cards of a family on a node are to a class.
#[derive(Default)]
pub struct ShelfWorth {
    /// Tasks that find room; 0 where the node does not admit them.
    pub tasks: i128,
    /// Thousandths of cards that are free.
    pub free: i128,
    /// Those of cards of which one more task gets something.
    pub usable: i128,
    /// What remains when as many have come as find room.
    rest: i128,
}

/// What the cards are to a class.
pub fn value(
    cycle: &Cycle,
    class: &AlikeTasks,
    (node, shelf): (&NodeObject, &dyn Shelf),
    idle: &Res,
) -> ShelfWorth {
    let frees: Vec<i128> = shelf.uses().iter().map(free).collect();
    let mut value = ShelfWorth {
        free: frees.iter().sum(),
        ..ShelfWorth::default()
    };
    if !class.is_admitted(node) {
        return value;
    }
    let at_once = shelf.at_once(&class.task).max(1) as i128;
    let all = (0..frees.len()).map(|at| pieces(cycle, class, shelf, at));
    let all: Vec<(i128, i128)> = all.collect();
    let count: i128 = all.iter().map(|(count, _)| count).sum();
    let part: i128 = all.iter().map(|(_, part)| part).sum();
    let with_room = |tasks: i128| {
        let cards = all.iter().map(|(count, _)| (*count).min(tasks));
        let amounts = class.amounts.iter();
        let mut amounts = amounts.filter(|(_, amount)| **amount > 0);
        cards.sum::<i128>() >= at_once * tasks
            && amounts.all(|(name, each)| i128::from(*each) * tasks <= i128::from(get(idle, name)))
    };
    while with_room(value.tasks + 1) {
        value.tasks += 1;
    }
    if value.tasks > 0 {
        let own = all.iter().zip(&frees).filter(|((count, _), _)| *count > 0);
        value.usable = own.map(|(_, free)| free).sum();
        let taken = part * value.tasks * at_once / count;
        value.rest = (value.free - taken).max(0);
    }
    value
}

/// Thousandths of cards of the family that are of no use there, by weight.
pub fn waste(
    cycle: &Cycle,
    family: CardFamily,
    (node, shelf): (&NodeObject, &dyn Shelf),
    idle: &Res,
) -> i128 {
    let mix = cycle.world.mix.as_deref();
    let classes = mix.into_iter().flat_map(|mix| mix.of(family));
    let of = |(class, weight): &(_, i128)| {
        let value = value(cycle, class, (node, shelf), idle);
        let each = match value.tasks {
            0 => 2 * value.free,
            _ => value.free - value.usable + value.rest,
        };
        weight * each
    };
    classes.map(of).sum()
}
