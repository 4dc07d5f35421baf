//! The log from which counters catch up: what has changed of who stands where.

use super::Stay;
use crate::ix::{AppearanceIx, NodeIx, RulesIx};

/// So far back the log reaches at least; twice that far at most.
const MAX_NEWS: usize = 1 << 15;

/// A pod that is put on a node, or taken off it.
#[derive(Clone, Copy, Debug)]
pub struct PodShift {
    /// Rules of the pod, and with them the terms it carries.
    pub rules: RulesIx,
    /// What it looks like to selectors.
    pub look: AppearanceIx,
    /// Node that it is put on, or taken off.
    pub node: NodeIx,
    /// How long it stays there.
    pub stay: Stay,
    /// 1: it is put there, −1: it is taken off.
    pub by: i8,
}

/// A change.
#[derive(Clone, Copy, Debug)]
pub(super) enum TopologyNews {
    /// A pod came or left.
    Pod(PodShift),
    /// Rules whose pods carry terms are new; no pod that has them is placed.
    Learnt(RulesIx),
    /// Nobody has these rules any more.
    Unlearnt(RulesIx),
}

/// Changes one after another, as far back as is worth keeping.
#[derive(Default)]
pub(super) struct NewsLog {
    news: Vec<TopologyNews>,
    base: u64,
}

/// A copy reaches back no further than to where it was made: who searches it begins anew.
impl Clone for NewsLog {
    fn clone(&self) -> Self {
        Self {
            news: Vec::new(),
            base: self.end(),
        }
    }
}

impl NewsLog {
    #[inline]
    pub(super) fn push(&mut self, news: TopologyNews) {
        if self.news.len() >= 2 * MAX_NEWS {
            self.news.drain(..MAX_NEWS);
            self.base += MAX_NEWS as u64;
        }
        self.news.push(news);
    }

    /// Nobody is to catch up with what was before.
    pub(super) fn forget(&mut self) {
        self.base = self.end() + 1;
        self.news.clear();
    }

    /// Where it ends now.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.base + self.news.len() as u64
    }

    /// What has changed since; `None` when the log no longer reaches back so far.
    pub(super) fn since(&self, cursor: u64) -> Option<&[TopologyNews]> {
        let from = cursor.checked_sub(self.base)?;
        self.news.get(usize::try_from(from).ok()?..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(log: &NewsLog, cursor: u64) -> Option<Vec<u32>> {
        let number = |news: &TopologyNews| match news {
            TopologyNews::Learnt(rules) | TopologyNews::Unlearnt(rules) => rules.0,
            TopologyNews::Pod(shift) => shift.rules.0,
        };
        Some(log.since(cursor)?.iter().map(number).collect())
    }

    #[test]
    fn who_has_fallen_behind_too_far_is_told_so() {
        let mut log = NewsLog::default();
        for number in 0..3 * MAX_NEWS as u32 {
            log.push(TopologyNews::Learnt(RulesIx(number)));
        }
        let end = 3 * MAX_NEWS as u32;
        assert_eq!(
            rules(&log, u64::from(end) - 2),
            Some(vec![end - 2, end - 1])
        );
        assert_eq!(rules(&log, u64::from(end)), Some(vec![]));
        assert_eq!(rules(&log, 1), None);
        assert!(log.news.len() <= 2 * MAX_NEWS);
        let copy = log.clone();
        assert_eq!(rules(&copy, u64::from(end)), Some(vec![]));
        assert_eq!(rules(&copy, u64::from(end) - 1), None);
        log.forget();
        assert_eq!(rules(&log, u64::from(end)), None);
    }
}
