//! What an API server makes of devices that are given back: mostly what was asked, at once or later; some claims
//! keep them, and some are changed meanwhile by somebody else.

use std::collections::BTreeMap;

use pumice_model::ClaimReturn;
use pumice_model::delta::Delta;
use pumice_model::object::ResourceClaimObject;

use super::Key;

/// What becomes of one return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is carried out.
    Done,
    /// The API server refuses the return.
    Refused,
    /// Somebody else writes first.
    Overtaken(Other),
}

/// What somebody else does to the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Other {
    /// Nothing that counts.
    Nothing,
    /// He reserves it.
    Reserves,
    /// He frees its devices.
    Frees,
}

/// The API server.
#[derive(Clone, Debug)]
pub struct ApiServer {
    /// Turns fates, so that the same names meet with others.
    turn: usize,
    /// Cycle before which each is answered.
    late: Vec<(u32, Fate, ClaimReturn)>,
}

impl ApiServer {
    /// One in whose cluster there are so many objects.
    #[must_use]
    pub fn new(objects: usize) -> Self {
        Self {
            turn: objects,
            late: Vec::new(),
        }
    }

    /// What is told before the cycle of that number, which follows the one that asked.
    pub fn answer(
        &mut self,
        asked: &[ClaimReturn],
        claims: &mut BTreeMap<Key, ResourceClaimObject>,
        cycle: u32,
    ) -> Vec<Delta> {
        let mut asked = asked.to_vec();
        asked.sort_by_key(key);
        for one in asked {
            let (fate, delay) = self.fate(&one);
            self.late.push((cycle + delay, fate, one));
        }
        let all = std::mem::take(&mut self.late).into_iter();
        let (now, late): (Vec<_>, Vec<_>) = all.partition(|(at, ..)| *at <= cycle);
        self.late = late;
        let told = now
            .iter()
            .flat_map(|(_, fate, one)| tell(*fate, one, claims));
        told.collect()
    }

    /// What becomes of it, and how many cycles later than at once.
    fn fate(&self, asked: &ClaimReturn) -> (Fate, u32) {
        let bytes = asked.claim_uid.bytes().map(usize::from).sum::<usize>();
        let number = self.turn + bytes + asked.version as usize;
        match number % 7 {
            0 | 1 => (Fate::Done, 0),
            2 | 3 => (Fate::Done, 1),
            4 => (Fate::Refused, 0),
            5 => (Fate::Refused, 1),
            _ => {
                let others = [Other::Nothing, Other::Reserves, Other::Frees];
                (Fate::Overtaken(others[number / 7 % others.len()]), 0)
            }
        }
    }
}

fn key(asked: &ClaimReturn) -> Key {
    (asked.namespace.clone(), asked.claim.clone())
}

/// What is told of it.
fn tell(
    fate: Fate,
    asked: &ClaimReturn,
    claims: &mut BTreeMap<Key, ResourceClaimObject>,
) -> Vec<Delta> {
    let kept = Delta::DevicesKept(asked.clone());
    let claim = claims.get_mut(&key(asked));
    let same = |claim: &&mut ResourceClaimObject| {
        claim.uid == asked.claim_uid && claim.version == asked.version
    };
    let Some(claim) = claim.filter(same) else {
        return vec![kept];
    };
    let written = |claim: &mut ResourceClaimObject| {
        claim.version += 1;
        Delta::ResourceClaimApply(Box::new(claim.clone()))
    };
    match fate {
        Fate::Refused => vec![kept],
        Fate::Done => {
            *claim = freed(claim);
            vec![Delta::ResourceClaimApply(Box::new(claim.clone()))]
        }
        Fate::Overtaken(other) => {
            match other {
                Other::Nothing => {}
                Other::Reserves => claim.reserved_for.push("somebody".to_owned()),
                Other::Frees => free(claim),
            }
            vec![written(claim), kept]
        }
    }
}

/// The claim without devices.
fn free(claim: &mut ResourceClaimObject) {
    claim.allocation = None;
    claim.reserved_for.clear();
}

/// The claim with its devices given back, as the next version.
#[must_use]
pub fn freed(claim: &ResourceClaimObject) -> ResourceClaimObject {
    let mut claim = claim.clone();
    free(&mut claim);
    claim.version += 1;
    claim
}
