//! What tasks ask, and how often such tasks came: what came long ago counts less.

use std::sync::Arc;

use pumice_framework::CycleInfo;
use pumice_model::{DeviceRequestIx, State, TaskIx};
use rustc_hash::FxHashMap;

use super::asked_class::{AskedClass, CountedClass, MASS, MAX_COUNTED};
use super::kept::{KeptCensus, ReadCensus};

/// A class of less mass is forgotten: a thousandth of a task.
const LEAST: u64 = MASS >> 10;
/// Most that may be known at a time, between one look at which are the lightest and the next.
const MAX_KNOWN: usize = 2 * MAX_COUNTED;
/// Another mix is due when so many tasks came, or a sixteenth of all that count.
const LEAST_ARRIVALS: u64 = 32;

/// How unlike two classes are; amounts in sixteenths of a doubling, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClassDistance {
    pub other_nodes: bool,
    pub other_resources: bool,
    pub cards: u64,
    pub amounts: u64,
}

impl ClassDistance {
    pub fn is_within(self, most: Self) -> bool {
        self.other_nodes <= most.other_nodes
            && self.other_resources <= most.other_resources
            && self.cards <= most.cards
            && self.amounts <= most.amounts
    }
}

/// What is asked of cards is at most a sixteenth of a doubling apart, and all amounts together at most a fourth.
const NEARLY_THE_SAME: ClassDistance = ClassDistance {
    other_nodes: false,
    other_resources: false,
    cards: 1,
    amounts: 4,
};

/// Tasks that came.
#[derive(Clone)]
pub(super) struct Census {
    half_life_s: i64,
    classes: Vec<CountedClass>,
    by_asked: FxHashMap<Arc<AskedClass>, usize>,
    /// Classes by serials of shape and of what is asked of devices.
    by_serials: FxHashMap<(u64, u64), usize>,
    /// The last task that was looked at, and the last one that was counted since the process began.
    last_serial: u64,
    last_counted: u64,
    /// When the last of those that were counted was made.
    newest_s: i64,
    /// When masses were as they stand.
    as_of_s: Option<i64>,
    /// Who was made by then is counted already, of those whom this process has not looked at yet.
    known_until_s: Option<i64>,
    /// All tasks that are there are to be looked at, whatever has changed.
    looks_at_all: bool,
    arrivals: u64,
    due_after: u64,
}

impl Census {
    pub fn new(half_life_s: i64) -> Self {
        Self {
            half_life_s: half_life_s.max(1),
            classes: Vec::new(),
            by_asked: FxHashMap::default(),
            by_serials: FxHashMap::default(),
            last_serial: 0,
            last_counted: 0,
            newest_s: i64::MIN,
            as_of_s: None,
            known_until_s: None,
            looks_at_all: true,
            arrivals: 0,
            due_after: 0,
        }
    }

    /// Counts the tasks that came since this was last called, in the order in which they came.
    pub fn count(&mut self, state: &State, cycle: &CycleInfo) {
        let (last, population) = (self.last_serial, state.population());
        let mut came: Vec<(u64, TaskIx)> = Vec::new();
        let mut look_at = |task: TaskIx| {
            let serial = population.task_id(task).serial();
            came.extend((serial > last).then_some((serial, task)));
        };
        let all = std::mem::take(&mut self.looks_at_all);
        match cycle.changed.jobs.as_ref().filter(|_| !all) {
            None => population.tasks().for_each(|(task, _)| look_at(task)),
            Some(jobs) => {
                for job in jobs.iter().filter(|job| population.has_job(**job)) {
                    state.job(*job).tasks.iter().copied().for_each(&mut look_at);
                }
            }
        }
        came.sort_unstable();
        let known_until_s = self.known_until_s.take().unwrap_or(i64::MIN);
        for (serial, task) in came {
            self.last_serial = serial;
            if state.task(task).created_s > known_until_s {
                self.count_task(state, task, cycle.now_s);
            }
        }
    }

    fn count_task(&mut self, state: &State, ix: TaskIx, now_s: i64) {
        let task = state.task(ix);
        if task.demand == DeviceRequestIx::NONE {
            return;
        }
        let devices = state.supplies().devices();
        let shapes = state.ground().shapes();
        let serials = (shapes.serial(task.shape), devices.serial(task.demand));
        let class = match self.by_serials.get(&serials) {
            Some(class) => *class,
            None => {
                if self.classes.len() >= MAX_KNOWN || self.by_serials.len() >= MAX_KNOWN {
                    self.forget_lightest();
                }
                let class = self.find(asked(state, ix));
                self.by_serials.insert(serials, class);
                class
            }
        };
        let age_s = now_s.saturating_sub(task.created_s);
        self.newest_s = self.newest_s.max(task.created_s);
        self.last_counted = self.last_serial;
        self.classes[class].mass += faded(MASS, age_s, self.half_life_s);
        self.arrivals += 1;
    }

    fn find(&mut self, asked: AskedClass) -> usize {
        if let Some(known) = self.by_asked.get(&asked) {
            return *known;
        }
        let (asked, at) = (Arc::new(asked), self.classes.len());
        self.by_asked.insert(Arc::clone(&asked), at);
        self.classes.push(CountedClass { asked, mass: 0 });
        at
    }

    /// So many tasks came that the mix may be another one.
    pub fn is_other(&self) -> bool {
        self.arrivals >= self.due_after
    }

    /// The serial of the last task that was looked at.
    pub fn last(&self) -> u64 {
        self.last_serial
    }

    /// The serial of the last task that was counted here; 0 where none was.
    pub fn last_counted(&self) -> u64 {
        self.last_counted
    }

    /// What is known, for a text; nothing before masses were looked at.
    pub fn as_kept(&self) -> Option<KeptCensus<'_>> {
        Some(KeptCensus {
            as_of_s: self.as_of_s?,
            newest_s: self.newest_s,
            classes: &self.classes,
        })
    }

    /// Goes on from what was counted before: up to the task of this serial, or where none is given of tasks that were made by
    /// then.
    pub fn go_on(&mut self, before: ReadCensus, last: Option<u64>) {
        self.classes = before.classes;
        self.forget_lightest();
        (self.as_of_s, self.newest_s) = (Some(before.as_of_s), before.newest_s);
        self.known_until_s = last.is_none().then_some(before.newest_s);
        self.last_serial = last.unwrap_or(0);
        (self.looks_at_all, self.due_after) = (true, 0);
    }

    /// The heaviest classes of those that count, at most so many; the mass of each of the others is with the one
    /// that is most alike.
    pub fn take(
        &mut self,
        now_s: i64,
        most: usize,
        counts: impl Fn(&AskedClass) -> bool,
    ) -> Vec<CountedClass> {
        self.fade(now_s);
        let sum: u64 = self.classes.iter().map(|class| class.mass / MASS).sum();
        self.arrivals = 0;
        self.due_after = (sum / 16).max(LEAST_ARRIVALS);
        let classes = self.classes.iter().filter(|class| counts(&class.asked));
        together(classes.cloned().collect(), most)
    }

    /// Brings masses to now, and forgets classes that have next to none.
    fn fade(&mut self, now_s: i64) {
        let before_s = self.as_of_s.replace(now_s).unwrap_or(now_s);
        let passed_s = now_s.saturating_sub(before_s);
        for class in &mut self.classes {
            class.mass = faded(class.mass, passed_s, self.half_life_s);
        }
        self.classes.retain(|class| class.mass >= LEAST);
        self.forget_lightest();
    }

    /// Forgets the lightest classes where there are too many. Whoever makes pods of ever other kinds gets no more
    /// memory than that.
    fn forget_lightest(&mut self) {
        if self.classes.len() > MAX_COUNTED {
            self.classes
                .sort_by_key(|class| std::cmp::Reverse(class.mass));
            self.classes.truncate(MAX_COUNTED / 2);
        }
        self.by_serials.clear();
        let numbered = self.classes.iter().enumerate();
        self.by_asked = numbered
            .map(|(at, class)| (Arc::clone(&class.asked), at))
            .collect();
    }
}

/// A mass after some time: half of it after each half-life, and on a straight line between.
fn faded(mass: u64, passed_s: i64, half_life_s: i64) -> u64 {
    let passed_s = passed_s.max(0);
    let halves = passed_s / half_life_s;
    if halves >= 63 {
        return 0;
    }
    let mass = u128::from(mass >> halves);
    let (rest, all) = ((passed_s % half_life_s) as u128, half_life_s as u128);
    (mass * (2 * all - rest) / (2 * all)) as u64
}

/// Puts classes together that are nearly the same, and rare ones with those that are most alike, so that so many
/// remain.
pub(super) fn together(mut classes: Vec<CountedClass>, most: usize) -> Vec<CountedClass> {
    classes.sort_by_key(|class| std::cmp::Reverse(class.mass));
    let mut kept: Vec<CountedClass> = Vec::new();
    for class in classes {
        let distances = kept
            .iter()
            .map(|known| known.asked.distance(&class.asked))
            .enumerate();
        match distances.min_by_key(|(_, distance)| *distance) {
            Some((at, distance)) if distance.is_within(NEARLY_THE_SAME) || kept.len() >= most => {
                kept[at].mass += class.mass;
            }
            _ => kept.push(class),
        }
    }
    kept
}

impl AskedClass {
    /// Extended resources that containers ask.
    fn extended(&self) -> impl Iterator<Item = (&str, i64)> {
        let containers = self.facts.containers.iter();
        let amounts = containers.flat_map(|container| container.amounts.iter());
        amounts.map(|(name, amount)| (name.as_str(), *amount))
    }

    fn requested(&self) -> impl Iterator<Item = (&str, i64)> {
        self.amounts
            .iter()
            .map(|(name, amount)| (name.as_str(), *amount))
    }

    /// Both ask the same resources of cards, in whatever amounts.
    pub fn names_the_cards_of(&self, other: &Self) -> bool {
        same_names(self.extended(), other.extended())
    }

    /// How unlike two classes are.
    pub fn distance(&self, other: &Self) -> ClassDistance {
        let is_of_other_nodes = self.node_selector != other.node_selector
            || self.node_affinity != other.node_affinity
            || self.tolerations != other.tolerations;
        let asks_alike = self.names_the_cards_of(other)
            && same_names(self.requested(), other.requested())
            && self.facts.annotations == other.facts.annotations
            && self.facts.labels == other.facts.labels;
        ClassDistance {
            other_nodes: is_of_other_nodes,
            other_resources: !asks_alike,
            cards: apart(self.extended(), || other.extended()),
            amounts: apart(self.requested(), || other.requested()),
        }
    }
}

fn same_names<'a>(
    own: impl Iterator<Item = (&'a str, i64)>,
    others: impl Iterator<Item = (&'a str, i64)>,
) -> bool {
    own.map(|(name, _)| name).eq(others.map(|(name, _)| name))
}

/// How far amounts of the same name are apart.
fn apart<'a, Others: Iterator<Item = (&'a str, i64)>>(
    own: impl Iterator<Item = (&'a str, i64)>,
    others: impl Fn() -> Others,
) -> u64 {
    let pairs = own.filter_map(|(name, amount)| {
        let (_, same) = others().find(|(known, _)| *known == name)?;
        Some(doublings(amount).abs_diff(doublings(same)))
    });
    pairs.sum()
}

/// The logarithm of an amount to the base of 2, in sixteenths, on straight lines between whole ones.
fn doublings(amount: i64) -> u64 {
    let amount = amount.max(1) as u64;
    let whole = u64::from(amount.ilog2());
    let rest = match whole {
        0..4 => (amount << (4 - whole)) & 15,
        _ => (amount >> (whole - 4)) & 15,
    };
    16 * whole + rest
}

/// What a task asks.
fn asked(state: &State, ix: TaskIx) -> AskedClass {
    let task = state.task(ix);
    let shape = state.ground().shapes().get(task.shape);
    let rules = state.ground().shapes().rules(shape.rules);
    let amounts = shape.asked(state.resources());
    let mut amounts: Vec<(String, i64)> = amounts
        .map(|(_, name, amount)| (name.to_owned(), amount))
        .collect();
    amounts.sort();
    AskedClass {
        amounts,
        node_selector: rules.node_selector.clone(),
        node_affinity: rules.node_affinity.clone(),
        tolerations: rules.tolerations.clone(),
        facts: state.supplies().devices().facts(task.demand).clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(mass: u64, cpu_milli: i64, memory: i64, zone: &str) -> CountedClass {
        let amounts = vec![("cpu".to_owned(), cpu_milli), ("memory".to_owned(), memory)];
        let node_selector = vec![("zone".to_owned(), zone.to_owned())];
        let asked = AskedClass {
            amounts,
            node_selector,
            ..AskedClass::default()
        };
        CountedClass {
            asked: Arc::new(asked),
            mass,
        }
    }

    #[test]
    fn a_mass_halves_with_each_half_life_and_falls_straight_between() {
        let after = |passed_s: i64| faded(1_000, passed_s, 100);
        let all = [-5, 0, 50, 100, 150, 200, 6_300].map(after);
        assert_eq!(all, [1_000, 1_000, 750, 500, 375, 250, 0]);
    }

    /// A tenant who makes pods of ever other kinds gets memory for so many, and the frequent kinds stay.
    #[test]
    fn however_many_kinds_come_no_more_are_remembered_and_the_frequent_ones_stay() {
        let mut census = Census::new(1_000);
        let frequent = class(0, 1, 1, "a").asked;
        for at in 0..10_000 {
            if census.classes.len() >= MAX_KNOWN {
                census.forget_lightest();
            }
            let kind = class(0, 1_000 + at, 1, "b").asked;
            for asked in [&kind, &frequent] {
                let class = census.find((**asked).clone());
                census.classes[class].mass += MASS;
            }
            assert!(census.classes.len() <= MAX_KNOWN + 1, "{at}");
            assert_eq!(census.by_asked.len(), census.classes.len());
        }
        let at = census.by_asked[&frequent];
        assert_eq!(census.classes[at].mass, 10_000 * MASS);
    }

    #[test]
    fn rare_classes_count_as_the_kept_one_that_is_most_alike() {
        let all = vec![
            class(5, 3_000, 1_000, "a"),
            class(100, 1_000, 1_000, "a"),
            class(90, 4_000, 1_000, "a"),
            class(7, 1_000, 1_000, "b"),
            class(80, 64_000, 1_000, "b"),
        ];
        let masses: Vec<u64> = together(all, 3).iter().map(|class| class.mass).collect();
        assert_eq!(masses, [100, 95, 87]);
    }

    #[test]
    fn amounts_are_as_far_apart_as_they_are_doublings() {
        let all = [0, 1, 2, 3, 4, 6, 16, 24, 1 << 40].map(doublings);
        assert_eq!(all, [0, 0, 16, 24, 32, 40, 64, 72, 640]);
    }
}
