//! The choice of cards, one container after the other (spec/04 §7.4 and §7.5, R15).

use smallvec::SmallVec;

use crate::nvidia::vgpu::check::{Candidates, CardCandidate, Check, PodOnNode};
use crate::nvidia::vgpu::containers::ContainerRequest;
use crate::nvidia::vgpu::failure::Stop;
use crate::nvidia::vgpu::sharing::{MODES, SharingMode, mode};
use crate::settings::Policy;

/// Place of a card in the order of the policy; smaller is earlier.
pub type Rank = (i64, i64);

/// What was seen of the cards while none was found.
#[derive(Default)]
struct Tally {
    possible: [u32; MODES],
    modes: u8,
    of_mode: bool,
    of_uuid: bool,
    fixed: Option<Check>,
    passing: Option<Check>,
}

impl PodOnNode<'_> {
    /// Cards for one container: the best of each mode, of these the best score. They are added to
    /// `own`; the answer is their score.
    pub fn place(&self, need: &ContainerRequest, own: &mut Candidates) -> Result<f64, Stop> {
        if (self.cards.cards.len() as u64) < u64::from(need.count) {
            return Err(Stop::Count);
        }
        if need.count == 1 {
            let (candidate, score) = self.place_one(need, own)?;
            own.push(candidate);
            return Ok(score);
        }
        self.place_several(need, own)
    }

    /// One card for one container.
    pub fn place_one(
        &self,
        need: &ContainerRequest,
        own: &[CardCandidate],
    ) -> Result<(CardCandidate, f64), Stop> {
        let mut best: [Option<(Rank, CardCandidate)>; MODES] = [None; MODES];
        let cards = &self.cards.cards;
        let last_first = self.config.policy == Policy::None;
        for at in 0..cards.len() {
            // The likeliest come first; the others then need no check.
            let at = if last_first { cards.len() - 1 - at } else { at };
            let card = &cards[at];
            let best = &mut best[mode(card).at()];
            let rank = self.rank(at, own);
            if best.is_some_and(|(known, _)| known < rank) || self.allows(need, at).is_err() {
                continue;
            }
            if let Ok(candidate) = self.admits(need, at, own, None) {
                *best = Some((rank, candidate));
            }
        }
        let mut found: Option<(CardCandidate, f64)> = None;
        for (_, candidate) in best.into_iter().flatten() {
            let score = self.worth(&candidate, own);
            if found.is_none_or(|(_, known)| score > known) {
                found = Some((candidate, score));
            }
        }
        found.ok_or_else(|| self.stop(need, own))
    }

    fn place_several(&self, need: &ContainerRequest, own: &mut Candidates) -> Result<f64, Stop> {
        let mut fitting: SmallVec<[(SharingMode, Rank, CardCandidate); 16]> = SmallVec::new();
        for (at, card) in self.cards.cards.iter().enumerate() {
            if self.allows(need, at).is_ok()
                && let Ok(candidate) = self.admits(need, at, own, None)
            {
                fitting.push((mode(card), self.rank(at, own), candidate));
            }
        }
        fitting.sort_unstable_by_key(|(mode, rank, _)| (*mode, *rank));
        let count = need.count as usize;
        let mut best: Option<(usize, f64)> = None;
        for mode in SharingMode::ALL {
            let from = fitting.partition_point(|(known, _, _)| *known < mode);
            let of_mode = fitting[from..]
                .iter()
                .take_while(|(known, _, _)| *known == mode);
            if of_mode.clone().count() < count {
                continue;
            }
            let worths = of_mode
                .take(count)
                .map(|(_, _, candidate)| self.worth(candidate, own));
            let score = worths.sum::<f64>();
            if best.is_none_or(|(_, known)| score > known) {
                best = Some((from, score));
            }
        }
        let Some((from, score)) = best else {
            return Err(self.stop(need, own));
        };
        own.extend(
            fitting[from..from + count]
                .iter()
                .map(|(_, _, candidate)| *candidate),
        );
        Ok(score)
    }

    /// Cards for all containers, in order; a choice is never taken back.
    pub fn place_all(&self, needs: &[ContainerRequest], own: &mut Candidates) -> Result<f64, Stop> {
        let mut sum = 0.0;
        for need in needs {
            sum += self.place(need, own)?;
        }
        Ok(sum)
    }

    /// Place of a card in the order of the policy.
    pub fn rank(&self, at: usize, own: &[CardCandidate]) -> Rank {
        let index = at as i64;
        match self.config.policy {
            Policy::None => (0, -index),
            Policy::Binpack | Policy::Fragmentation => (-self.used(at, own).memory, index),
            Policy::Spread => (self.used(at, own).sharers, index),
        }
    }

    /// Score of a card that is taken after `own` ones. With spread a card counts that was idle
    /// before this pod, once.
    pub fn worth(&self, candidate: &CardCandidate, own: &[CardCandidate]) -> f64 {
        let at = usize::from(candidate.card);
        match self.config.policy {
            Policy::None | Policy::Fragmentation => 0.0,
            Policy::Binpack => {
                let used = self.used(at, own).memory + candidate.charged;
                100.0 * used as f64 / self.capacity(at).memory as f64
            }
            Policy::Spread if self.used(at, own).sharers == 0 => 100.0,
            Policy::Spread => 0.0,
        }
    }

    /// Why there are not enough cards for a container.
    #[cold]
    fn stop(&self, need: &ContainerRequest, own: &[CardCandidate]) -> Stop {
        let mut tally = Tally::default();
        // On an idle node nobody can be evicted.
        let mut idle = true;
        for (at, card) in self.cards.cards.iter().enumerate() {
            tally.modes |= 1 << mode(card).at();
            tally.of_mode |= self.limits.mode.is_none_or(|asked| asked == mode(card));
            tally.of_uuid |= self.limits.allow_uuid(card);
            idle &= self.used(at, &[]).sharers == 0;
            match self.allows(need, at) {
                Err(check) => tally.fixed = tally.fixed.max(Some(check)),
                Ok(()) => {
                    tally.possible[mode(card).at()] += 1;
                    let failed = self.admits(need, at, own, None).err();
                    tally.passing = tally.passing.max(failed);
                }
            }
        }
        let possible = tally.possible.into_iter().max().unwrap_or(0);
        match tally.passing {
            Some(check) if possible >= need.count => Stop::Cards(check, !idle),
            _ if !tally.of_mode => Stop::Mode(tally.modes),
            _ if !tally.of_uuid => Stop::Uuid,
            _ => Stop::Cards(tally.fixed.unwrap_or(Check::Mode), false),
        }
    }
}
