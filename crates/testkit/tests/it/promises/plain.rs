//! Reservations by a plain list of who is on a node until when, of clusters in which only cores and slots count
//! (spec/12): for every moment the world is made anew from the list.

use std::collections::BTreeSet;

/// Who holds how much of which node, and until when: `None` for ever.
#[derive(Clone, Debug)]
pub struct Holder {
    pub node: usize,
    pub cores: i64,
    pub until_s: Option<i64>,
}

/// Behind so many gangs for which no moment is known nobody has places kept.
const MAX_IN_VAIN: usize = 16;

/// A node: its cores and slots.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub cores: i64,
    pub slots: i64,
}

/// A gang of equal pods that waits.
#[derive(Clone, Debug)]
pub struct Gang {
    pub pods: usize,
    pub cores: i64,
    /// What its pods say of how long they run: as expected, and at most.
    pub expected_s: Option<i64>,
    pub limit_s: Option<i64>,
}

/// A reservation: its gang, when it begins and ends, and the node of each pod.
#[derive(Clone, Debug)]
pub struct Kept {
    pub gang: usize,
    pub at_s: i64,
    pub until_s: Option<i64>,
    pub nodes: Vec<usize>,
}

/// The list.
#[derive(Clone, Debug)]
pub struct Plain {
    pub now_s: i64,
    pub nodes: Vec<Node>,
    pub holders: Vec<Holder>,
    /// In the order of their queue.
    pub gangs: Vec<Gang>,
    /// First gangs that have places kept.
    pub jobs: usize,
    pub default_limit_s: Option<i64>,
    pub slack_s: i64,
    pub kept: Vec<Kept>,
    /// Gangs that were bound, with their nodes.
    pub bound: Vec<(usize, Vec<usize>)>,
}

impl Plain {
    /// How long a pod is taken to be there that is on a node.
    fn bound_s(&self, gang: &Gang) -> Option<i64> {
        gang.limit_s.or(gang.expected_s).or(self.default_limit_s)
    }

    /// How long a pod is there at most that gets its node at a moment to come.
    fn stay_s(&self, gang: &Gang) -> Option<i64> {
        // No default is below what is expected.
        let default_s = self
            .default_limit_s
            .map(|limit_s| limit_s.max(gang.expected_s.unwrap_or(0)));
        let limit_s = gang.limit_s.or(default_s);
        limit_s.map(|limit_s| limit_s + self.slack_s)
    }

    /// When a pod on a node ends whose time is over then: soon where it is not late by more than the slack, else never.
    pub fn end_s(&self, over_s: i64) -> Option<i64> {
        match over_s - self.now_s {
            1.. => Some(over_s),
            late_s if -late_s < self.slack_s => Some(self.now_s + 1),
            _ => None,
        }
    }

    /// Each gang once, in order.
    pub fn cycle(&mut self) {
        let mut in_vain = 0;
        for at in 0..self.gangs.len() {
            let gang = self.gangs[at].clone();
            if let Some(nodes) = self.greedy(&gang, self.now_s) {
                let until_s = self.bound_s(&gang).map(|bound_s| self.now_s + bound_s);
                let cores = gang.cores;
                let holders = nodes.iter().map(|&node| Holder {
                    node,
                    cores,
                    until_s,
                });
                self.holders.extend(holders);
                self.bound.push((at, nodes));
                continue;
            }
            if self.kept.len() == self.jobs || in_vain == MAX_IN_VAIN {
                continue;
            }
            let found = self.moments().into_iter().find_map(|moment_s| {
                let nodes = self.greedy(&gang, moment_s)?;
                Some((moment_s, nodes))
            });
            // Pods are equal: what the greedy search misses is nowhere.
            let any = self
                .moments()
                .into_iter()
                .find(|moment_s| self.fits_anyhow(&gang, *moment_s));
            assert_eq!(found.as_ref().map(|(at_s, _)| *at_s), any, "{self:?}");
            in_vain += usize::from(found.is_none());
            if let Some((at_s, nodes)) = found {
                self.kept.push(Kept {
                    gang: at,
                    at_s,
                    until_s: self
                        .stay_s(&gang)
                        .map(|stay_s| at_s + stay_s - self.slack_s),
                    nodes,
                });
            }
        }
    }

    /// When something changes by itself.
    fn moments(&self) -> BTreeSet<i64> {
        let ends = self.holders.iter().filter_map(|one| one.until_s);
        let begin = self.kept.iter().map(|one| one.at_s);
        let end = self.kept.iter().filter_map(|one| one.until_s);
        let all = ends.chain(begin).chain(end);
        all.filter(|moment_s| *moment_s > self.now_s).collect()
    }

    /// Cores and slots of a node that are free at a moment, beside those holders, and without that reservation.
    fn free(&self, node: usize, moment_s: i64, more: &[Holder], without: Option<usize>) -> Node {
        let there = |until_s: Option<i64>| until_s.is_none_or(|until_s| until_s > moment_s);
        let mut free = self.nodes[node];
        let holders = self.holders.iter().chain(more);
        for one in holders.filter(|one| one.node == node && there(one.until_s)) {
            free.cores -= one.cores;
            free.slots -= 1;
        }
        for (at, kept) in self.kept.iter().enumerate() {
            if Some(at) == without || kept.at_s > moment_s || !there(kept.until_s) {
                continue;
            }
            let pods = kept.nodes.iter().filter(|there| **there == node).count() as i64;
            free.cores -= pods * self.gangs[kept.gang].cores;
            free.slots -= pods;
        }
        free
    }

    /// The last of the holders, who comes at a moment, is not in the way of any reservation.
    fn is_clear(&self, more: &[Holder], from_s: i64, stay_s: Option<i64>) -> bool {
        let Some(last) = more.last() else {
            return true;
        };
        self.kept.iter().enumerate().all(|(at, kept)| {
            let is_gone = stay_s.is_some_and(|stay_s| from_s + stay_s <= kept.at_s);
            let pods = kept.nodes.iter().filter(|node| **node == last.node).count() as i64;
            let free = self.free(last.node, kept.at_s, more, Some(at));
            let cores = pods * self.gangs[kept.gang].cores;
            kept.at_s <= from_s
                || is_gone
                || (free.cores >= cores && free.slots >= pods)
                || pods == 0
        })
    }

    /// The pod fits beside the others at a moment, and is in nobody's way.
    fn takes(&self, gang: &Gang, node: usize, moment_s: i64, more: &mut Vec<Holder>) -> bool {
        let free = self.free(node, moment_s, more, None);
        let stay_s = self.stay_s(gang);
        // Now it is bound in this cycle, for whoever comes after it; it is itself looked at as one that stays.
        let bound_s = match moment_s == self.now_s {
            true => self.bound_s(gang),
            false => stay_s,
        };
        if let Some(last) = more.last_mut() {
            last.until_s = bound_s.map(|bound_s| moment_s + bound_s);
        }
        more.push(Holder {
            node,
            cores: gang.cores,
            until_s: None,
        });
        let takes =
            free.cores >= gang.cores && free.slots >= 1 && self.is_clear(more, moment_s, stay_s);
        if !takes {
            more.pop();
        }
        takes
    }

    /// Each pod on the first node that takes it.
    fn greedy(&self, gang: &Gang, moment_s: i64) -> Option<Vec<usize>> {
        let mut more = Vec::new();
        for _ in 0..gang.pods {
            let mut nodes = 0..self.nodes.len();
            nodes.find(|node| self.takes(gang, *node, moment_s, &mut more))?;
        }
        Some(more.iter().map(|one| one.node).collect())
    }

    /// Some way to place all pods is there at that moment.
    fn fits_anyhow(&self, gang: &Gang, moment_s: i64) -> bool {
        let ways = self.nodes.len().pow(gang.pods as u32);
        (0..ways).any(|way| {
            let mut more = Vec::new();
            let mut rest = way;
            (0..gang.pods).all(|_| {
                let node = rest % self.nodes.len();
                rest /= self.nodes.len();
                self.takes(gang, node, moment_s, &mut more)
            })
        })
    }
}
