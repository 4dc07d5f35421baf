//! Places pods of a tree, from the root down (spec/03 §B11).

use super::{Content, Part, order, sub_job};
use crate::naive::allocate::{Worksheet, allocate_tasks};
use crate::naive::cycle::Cycle;
use crate::naive::gates;
use crate::naive::network::{self, DomainNodes};
use crate::naive::state::World;

/// How often in a turn parts are tried once more without the one that was placed first.
const TIMES: usize = 8;

/// A turn of a job that is a tree.
struct Turn<'a> {
    job: &'a str,
    root: &'a Part,
    /// How often parts may still be tried without another one.
    left: usize,
}

/// One turn of a job that is a tree; says whether what was placed is to be kept.
pub fn allocate(cycle: &mut Cycle, job: &str, root: &Part, sheet: &mut Worksheet) -> bool {
    let before = cycle.world.clone();
    let mut turn = Turn {
        job,
        root,
        left: TIMES,
    };
    let all = cycle.world.network.cluster().clone();
    let placed = turn.place(cycle, root, sheet, &all);
    if placed > 0 && (gates::job_ready(cycle, job) || gates::job_pipelined(cycle, job)) {
        return true;
    }
    cycle.world = before;
    false
}

impl Turn<'_> {
    fn is_ready(&self, cycle: &Cycle, part: &Part) -> bool {
        let gang = || self.holds(cycle, part, false);
        match std::ptr::eq(part, self.root) {
            true => gates::all_of(cycle, |plugin| plugin.enabled.job_ready, gang),
            false => gates::all_of(cycle, |plugin| plugin.enabled.sub_job_ready, gang),
        }
    }

    fn holds(&self, cycle: &Cycle, part: &Part, with_pipelined: bool) -> bool {
        gates::part_holds(&cycle.world, self.job, part, with_pipelined)
    }

    fn is_pipelined(&self, cycle: &Cycle, part: &Part) -> bool {
        if std::ptr::eq(part, self.root) {
            return gates::job_pipelined(cycle, self.job);
        }
        gates::vote(cycle, |plugin| {
            let asked = plugin.enabled.sub_job_pipelined && plugin.name == "gang";
            asked.then(|| self.holds(cycle, part, true))
        })
    }

    /// Places pods of a part on nodes of one domain, with one value of the label that it asks for, until it holds,
    /// or one more. Gives the number placed; at 0 the world is as it was.
    fn place(
        &mut self,
        cycle: &mut Cycle,
        part: &Part,
        sheet: &mut Worksheet,
        within: &DomainNodes,
    ) -> u32 {
        if part.topology.is_none() {
            return self.place_in(cycle, part, sheet, within);
        }
        let mut waiting: Option<(World, Worksheet, u32)> = None;
        for domain in network::candidates_of_part(cycle, self.job, part, within) {
            let (before, mut rest) = (cycle.world.clone(), sheet.clone());
            let placed = self.place_in(cycle, part, &mut rest, &domain);
            if placed > 0 && self.is_ready(cycle, part) {
                *sheet = rest;
                return placed;
            }
            let world = std::mem::replace(&mut cycle.world, before);
            if placed > 0 && waiting.is_none() {
                waiting = Some((world, rest, placed));
            }
        }
        let Some((world, rest, placed)) = waiting else {
            if let Content::Pods(policy) = part.content {
                let sub_job = sub_job(&cycle.world, self.job, policy);
                sheet.tasks.remove(&sub_job);
            }
            return 0;
        };
        (cycle.world, *sheet) = (world, rest);
        placed
    }

    /// As [`Turn::place`], in a domain.
    fn place_in(
        &mut self,
        cycle: &mut Cycle,
        part: &Part,
        sheet: &mut Worksheet,
        domain: &DomainNodes,
    ) -> u32 {
        match &part.content {
            Content::Pods(policy) => self.place_pods(cycle, *policy, sheet, domain),
            Content::Parts(parts) if self.is_ready(cycle, part) => {
                let mut parts: Vec<&Part> = parts.iter().collect();
                parts.sort_by(|l, r| {
                    let by_need = self.is_ready(cycle, l).cmp(&self.is_ready(cycle, r));
                    by_need.then_with(|| order(cycle, self.job, l, r))
                });
                let mut parts = parts.into_iter();
                let mut placed = parts
                    .by_ref()
                    .map(|part| self.place(cycle, part, sheet, domain));
                placed.find(|placed| *placed > 0).unwrap_or(0)
            }
            Content::Parts(parts) => self.make_hold(cycle, (part, parts), sheet, domain),
        }
    }

    fn place_pods(
        &self,
        cycle: &mut Cycle,
        policy: usize,
        sheet: &mut Worksheet,
        domain: &DomainNodes,
    ) -> u32 {
        let sub_job = sub_job(&cycle.world, self.job, policy);
        let mut tasks = sheet.tasks.remove(&sub_job).unwrap_or_default();
        cycle
            .failed
            .retain(|key| key.0 != self.job || key.1 != sub_job);
        let placed = allocate_tasks(cycle, self.job, &sub_job, &mut tasks, Some(domain));
        let placed = placed.unwrap_or(0);
        if placed > 0 && !tasks.is_empty() {
            sheet.tasks.insert(sub_job, tasks);
        }
        placed
    }

    /// Parts in their order until the one around them holds; without the first that was placed, if that comes to nothing.
    fn make_hold(
        &mut self,
        cycle: &mut Cycle,
        (part, parts): (&Part, &[Part]),
        sheet: &mut Worksheet,
        domain: &DomainNodes,
    ) -> u32 {
        let (all, open): (Vec<&Part>, Vec<&Part>) =
            parts.iter().partition(|part| self.is_ready(cycle, part));
        let mut open = open;
        let is_short = all.len() + open.len() <= part.needs;
        open.sort_by(|l, r| {
            let by_need = (is_short && r.asks()).cmp(&(is_short && l.asks()));
            by_need.then_with(|| order(cycle, self.job, l, r))
        });
        loop {
            let (before, mut rest) = (cycle.world.clone(), sheet.clone());
            let (mut placed, mut first) = (0, None);
            for (at, one) in open.iter().enumerate() {
                let number = self.place(cycle, one, &mut rest, domain);
                placed += number;
                if number > 0 {
                    first = first.or(Some(at));
                }
                if placed > 0 && (self.is_ready(cycle, part) || self.is_pipelined(cycle, part)) {
                    *sheet = rest;
                    return placed;
                }
            }
            cycle.world = before;
            let Some(first) = first.filter(|_| self.left > 0) else {
                return 0;
            };
            self.left -= 1;
            open.drain(..=first);
        }
    }
}
