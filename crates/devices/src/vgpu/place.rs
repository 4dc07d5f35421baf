//! The choice of cards, one container after the other (spec/04 §7.4 and §7.5, R15).

use smallvec::SmallVec;

use crate::settings::Policy;
use crate::vgpu::check::{Check, Room, Take, Takes};
use crate::vgpu::failure::Stop;
use crate::vgpu::plan::MODES;
use crate::vgpu::request::Need;

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

impl Room<'_> {
    /// Cards for one container: the best of each mode, of these the best score. They are added to
    /// `own`; the answer is their score.
    pub fn place(&self, need: &Need, own: &mut Takes) -> Result<f64, Stop> {
        if (self.cards.cards.len() as u64) < u64::from(need.count) {
            return Err(Stop::Count);
        }
        if need.count == 1 {
            let (take, score) = self.place_one(need, own)?;
            own.push(take);
            return Ok(score);
        }
        self.place_several(need, own)
    }

    /// One card for one container.
    pub fn place_one(&self, need: &Need, own: &[Take]) -> Result<(Take, f64), Stop> {
        let mut best: [Option<(Rank, Take)>; MODES] = [None; MODES];
        for (at, card) in self.cards.cards.iter().enumerate() {
            let best = &mut best[usize::from(card.mode)];
            let rank = self.rank(at, own);
            if best.is_some_and(|(known, _)| known < rank) || self.allows(need, card).is_err() {
                continue;
            }
            if let Ok(take) = self.admits(need, at, own, None) {
                *best = Some((rank, take));
            }
        }
        let mut found: Option<(Take, f64)> = None;
        for (_, take) in best.into_iter().flatten() {
            let score = self.worth(&take, own);
            if found.is_none_or(|(_, known)| score > known) {
                found = Some((take, score));
            }
        }
        found.ok_or_else(|| self.stop(need, own))
    }

    fn place_several(&self, need: &Need, own: &mut Takes) -> Result<f64, Stop> {
        let mut fitting: SmallVec<[(u8, Rank, Take); 16]> = SmallVec::new();
        for (at, card) in self.cards.cards.iter().enumerate() {
            if self.allows(need, card).is_ok()
                && let Ok(take) = self.admits(need, at, own, None)
            {
                fitting.push((card.mode, self.rank(at, own), take));
            }
        }
        fitting.sort_unstable_by_key(|(mode, rank, _)| (*mode, *rank));
        let count = need.count as usize;
        let mut best: Option<(usize, f64)> = None;
        for mode in 0..MODES as u8 {
            let from = fitting.partition_point(|(known, _, _)| *known < mode);
            let of_mode = fitting[from..]
                .iter()
                .take_while(|(known, _, _)| *known == mode);
            if of_mode.clone().count() < count {
                continue;
            }
            let worths = of_mode
                .take(count)
                .map(|(_, _, take)| self.worth(take, own));
            let score = worths.sum::<f64>();
            if best.is_none_or(|(_, known)| score > known) {
                best = Some((from, score));
            }
        }
        let Some((from, score)) = best else {
            return Err(self.stop(need, own));
        };
        own.extend(fitting[from..from + count].iter().map(|(_, _, take)| *take));
        Ok(score)
    }

    /// Cards for all containers, in order; a choice is never taken back.
    pub fn place_all(&self, needs: &[Need], own: &mut Takes) -> Result<f64, Stop> {
        let mut sum = 0.0;
        for need in needs {
            sum += self.place(need, own)?;
        }
        Ok(sum)
    }

    /// Place of a card in the order of the policy.
    pub fn rank(&self, at: usize, own: &[Take]) -> Rank {
        let index = at as i64;
        match self.plan.policy {
            Policy::None => (0, -index),
            Policy::Binpack => (-self.used(at, own).memory, index),
            Policy::Spread => (i64::from(self.used(at, own).slots), index),
        }
    }

    /// Score of a card that is taken after `own` ones. With spread a card counts that was idle
    /// before this pod, once.
    pub fn worth(&self, take: &Take, own: &[Take]) -> f64 {
        let at = usize::from(take.card);
        match self.plan.policy {
            Policy::None => 0.0,
            Policy::Binpack => {
                let used = self.used(at, own).memory + take.charged;
                100.0 * used as f64 / self.card(at).memory as f64
            }
            Policy::Spread if self.used(at, own).slots == 0 => 100.0,
            Policy::Spread => 0.0,
        }
    }

    /// Why there are not enough cards for a container.
    #[cold]
    fn stop(&self, need: &Need, own: &[Take]) -> Stop {
        let mut tally = Tally::default();
        let mut idle = own.is_empty();
        for (at, card) in self.cards.cards.iter().enumerate() {
            tally.modes |= 1 << card.mode;
            tally.of_mode |= self.limits.mode.is_none_or(|mode| mode == card.mode);
            tally.of_uuid |= self.limits.allow_uuid(card);
            idle &= self.cards.used(at, self.view).slots == 0;
            match self.allows(need, card) {
                Err(check) => tally.fixed = tally.fixed.max(Some(check)),
                Ok(()) => {
                    tally.possible[usize::from(card.mode)] += 1;
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
