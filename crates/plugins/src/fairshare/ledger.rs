//! Who used how much: an account a queue, and one a user of it.
//!
//! ```text
//!  shift: somebody holds more, or less ─► settle: accounts whose rate is another are brought to now, then go on at the new one
//!  order: what all accounts have is taken down, and by that jobs and queues are ordered until the next time
//! ```
//!
//! Between two changes of its rate nothing is done for an account: what it has at a moment follows from what it had and its rate.

use pumice_model::{ResVec, ResourceNames};
use rustc_hash::FxHashMap;

use super::decay::{HalfLife, MAX_USE, USE_BITS};
use super::held::HeldUse;
use super::measure::{PARTS, UseMeasure};

/// More users of one queue are told apart only once others are forgotten: they count together.
pub(super) const MAX_USERS: usize = 256;

/// A clock that goes back by less waits: nothing is charged twice. One that goes back by more begins anew, in seconds.
const MAX_STEP_BACK_S: i64 = 3600;

/// Less is forgotten, once nobody is there whom it counts for: a millionth of a unit, for a second.
const LEAST: u128 = ((PARTS / 1_000_000) as u128) << USE_BITS;

/// Place of an account in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AccountIx(u32);

/// Whose it is, within a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum AccountOwner {
    /// All of the queue.
    Queue,
    /// A user; without a name those of whom none is known.
    User(Box<str>),
    /// Users that are not told apart.
    Others,
}

/// What is known of one account.
#[derive(Clone, Debug)]
pub(super) struct UseAccount {
    pub queue: Box<str>,
    pub owner: AccountOwner,
    held: HeldUse,
    pub rate: u64,
    /// As of a moment, with [`USE_BITS`] bits of fraction.
    pub used: u128,
    pub as_of_s: i64,
    /// What it had when the order was made.
    pub ordered: u128,
    /// Jobs that are charged to it, and its queue while that is there.
    needs: u32,
}

/// All accounts.
#[derive(Clone)]
pub(super) struct UseLedger {
    pub measure: UseMeasure,
    half_life: HalfLife,
    now_s: i64,
    accounts: Vec<Option<UseAccount>>,
    free: Vec<AccountIx>,
    by_owner: FxHashMap<(Box<str>, AccountOwner), AccountIx>,
    /// Users told apart, by queue.
    users: FxHashMap<Box<str>, usize>,
    touched: Vec<AccountIx>,
    /// Accounts with a rate.
    moving: usize,
    /// Some rate is another one since the order was made.
    has_moved: bool,
    /// When something was charged last.
    charged_s: i64,
    totals: ResVec,
}

impl UseLedger {
    pub fn new(measure: UseMeasure, half_life: HalfLife) -> Self {
        Self {
            measure,
            half_life,
            now_s: i64::MIN,
            accounts: Vec::new(),
            free: Vec::new(),
            by_owner: FxHashMap::default(),
            users: FxHashMap::default(),
            touched: Vec::new(),
            moving: 0,
            has_moved: false,
            charged_s: 0,
            totals: ResVec::default(),
        }
    }

    /// Nothing is known, as of a moment.
    pub fn restart(&mut self, now_s: i64) {
        let totals = std::mem::take(&mut self.totals);
        *self = Self {
            now_s,
            totals,
            ..Self::new(self.measure.clone(), self.half_life)
        };
    }

    pub fn half_life_s(&self) -> i64 {
        self.half_life.seconds()
    }

    pub fn now_s(&self) -> i64 {
        self.now_s
    }

    /// It is so late now.
    pub fn advance(&mut self, now_s: i64) {
        let back_s = self.now_s.saturating_sub(now_s);
        if back_s <= 0 {
            self.now_s = now_s;
        } else if back_s > MAX_STEP_BACK_S {
            self.now_s = now_s;
            for account in self.accounts.iter_mut().flatten() {
                account.as_of_s = account.as_of_s.saturating_sub(back_s);
            }
        }
        if self.moving > 0 {
            self.charged_s = self.now_s;
        }
    }

    /// The cluster is so large: shares are of that from now on.
    pub fn set_totals(&mut self, totals: &ResVec) {
        if self.totals != *totals {
            self.totals = totals.clone();
            self.touch_all();
        }
    }

    /// The account of a queue as a whole.
    pub fn of_queue(&mut self, queue: &str) -> AccountIx {
        self.find(queue, AccountOwner::Queue)
    }

    /// The account of a user of a queue.
    pub fn of_user(&mut self, queue: &str, user: &str) -> AccountIx {
        let owner = AccountOwner::User(user.into());
        let is_known = self
            .by_owner
            .contains_key(&(Box::from(queue), owner.clone()));
        let users = self.users.get(queue).copied().unwrap_or(0);
        match is_known || users < MAX_USERS {
            true => self.find(queue, owner),
            false => self.find(queue, AccountOwner::Others),
        }
    }

    fn find(&mut self, queue: &str, owner: AccountOwner) -> AccountIx {
        let key = (Box::from(queue), owner);
        if let Some(known) = self.by_owner.get(&key) {
            return *known;
        }
        let account = UseAccount {
            queue: key.0.clone(),
            owner: key.1.clone(),
            held: HeldUse::default(),
            rate: 0,
            used: 0,
            as_of_s: self.now_s,
            ordered: 0,
            needs: 0,
        };
        if matches!(key.1, AccountOwner::User(_)) {
            *self.users.entry(key.0.clone()).or_default() += 1;
        }
        let ix = match self.free.pop() {
            Some(free) => free,
            None => {
                self.accounts.push(None);
                AccountIx((self.accounts.len() - 1) as u32)
            }
        };
        self.accounts[ix.0 as usize] = Some(account);
        self.by_owner.insert(key, ix);
        ix
    }

    /// What is known of an account.
    pub fn account(&self, ix: AccountIx) -> Option<&UseAccount> {
        self.accounts.get(ix.0 as usize)?.as_ref()
    }

    fn account_mut(&mut self, ix: AccountIx) -> Option<&mut UseAccount> {
        self.accounts.get_mut(ix.0 as usize)?.as_mut()
    }

    /// It is needed once more, or once less: by a job that is charged to it, by its queue.
    pub fn count_need(&mut self, ix: AccountIx, by: i32) {
        if let Some(account) = self.account_mut(ix) {
            account.needs = account.needs.saturating_add_signed(by);
        }
    }

    /// So much more is held, or less.
    pub fn shift(&mut self, ix: AccountIx, held: &HeldUse, by: i64) {
        if let Some(account) = self.account_mut(ix) {
            account.held.shift(held, by);
            self.touched.push(ix);
        }
    }

    /// All accounts are to be settled.
    pub fn touch_all(&mut self) {
        let all = 0..self.accounts.len() as u32;
        self.touched = all.map(AccountIx).collect();
    }

    /// Accounts that hold something else since the last time go on at another rate from now on.
    pub fn settle(&mut self, names: &ResourceNames) {
        for ix in std::mem::take(&mut self.touched) {
            let Some(account) = self.account(ix) else {
                continue;
            };
            let rate = self.measure.rate(&account.held, &self.totals, names);
            if rate == account.rate {
                continue;
            }
            let (used, now_s) = (self.used(account), self.now_s);
            self.has_moved = true;
            self.charged_s = now_s;
            let Some(account) = self.account_mut(ix) else {
                continue;
            };
            let before = std::mem::replace(&mut account.rate, rate);
            (account.used, account.as_of_s) = (used, account.as_of_s.max(now_s));
            self.moving = self.moving + usize::from(rate > 0) - usize::from(before > 0);
        }
    }

    /// What an account has now.
    pub fn used(&self, account: &UseAccount) -> u128 {
        let passed_s = self.now_s.saturating_sub(account.as_of_s);
        self.half_life.after(account.used, account.rate, passed_s)
    }

    /// Takes down what all have, to order by, and forgets accounts of next to nothing. Whether some user may be told
    /// apart now who was not.
    pub fn order(&mut self) -> bool {
        let is_full = |users: &usize| *users >= MAX_USERS;
        let full = self.users.values().filter(|users| is_full(users)).count();
        self.has_moved = false;
        for at in 0..self.accounts.len() {
            let Some(account) = self.accounts[at].as_ref() else {
                continue;
            };
            let used = self.used(account);
            if used < LEAST && account.rate == 0 && account.needs == 0 {
                self.forget(at);
            } else if let Some(account) = self.accounts[at].as_mut() {
                account.ordered = used;
            }
        }
        full > self.users.values().filter(|users| is_full(users)).count()
    }

    fn forget(&mut self, at: usize) {
        let Some(account) = self.accounts[at].take() else {
            return;
        };
        self.free.push(AccountIx(at as u32));
        if matches!(account.owner, AccountOwner::User(_))
            && let Some(users) = self.users.get_mut(&account.queue)
        {
            *users -= 1;
            if *users == 0 {
                self.users.remove(&account.queue);
            }
        }
        self.by_owner.remove(&(account.queue, account.owner));
    }

    /// The order may be another one when it is made the next time.
    pub fn may_reorder(&self) -> bool {
        self.has_moved || self.moving > 0
    }

    /// Some rate is another one since the order was made.
    pub fn has_moved(&self) -> bool {
        self.has_moved
    }

    /// Goes on from what is remembered, and looks at all accounts.
    pub fn go_on(&mut self, charged_s: i64, has_moved: bool) {
        (self.charged_s, self.has_moved) = (charged_s, has_moved);
        self.touch_all();
    }

    /// When something was charged last; 0 where nothing was.
    pub fn charged_s(&self) -> i64 {
        self.charged_s
    }

    /// All accounts, in no order.
    pub fn each(&self) -> impl Iterator<Item = &UseAccount> {
        self.accounts.iter().flatten()
    }

    /// All accounts, by queue and owner.
    pub fn all(&self) -> Vec<&UseAccount> {
        let mut all: Vec<&UseAccount> = self.accounts.iter().flatten().collect();
        all.sort_unstable_by(|left, right| {
            (&left.queue, &left.owner).cmp(&(&right.queue, &right.owner))
        });
        all
    }

    /// Somebody had used so much by now, besides what is known.
    pub fn bring(&mut self, queue: &str, owner: AccountOwner, used: u128) {
        let ix = match &owner {
            AccountOwner::User(user) => self.of_user(queue, user),
            AccountOwner::Queue | AccountOwner::Others => self.find(queue, owner),
        };
        if let Some(account) = self.account_mut(ix) {
            account.used = (account.used + used).min(MAX_USE);
        }
    }

    /// An account is as another ledger had it.
    pub fn resume(
        &mut self,
        queue: &str,
        owner: AccountOwner,
        known: (u128, u128),
        (rate, as_of_s): (u64, i64),
    ) {
        let ix = self.find(queue, owner);
        self.moving += usize::from(rate > 0);
        if let Some(account) = self.account_mut(ix) {
            (account.used, account.ordered) = known;
            (account.rate, account.as_of_s) = (rate, as_of_s);
        }
    }
}

#[cfg(test)]
mod tests;
