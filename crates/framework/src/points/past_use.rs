//! Who used how much lately: what is told of it, and what is kept of it for whoever comes next.
//!
//! Orders by it are at [`crate::points::order`]. Asked when somebody wants to know, and when a leader writes what it knows.

use pumice_model::{JobIx, QueueIx, State};

/// What somebody used, as of the last cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PastUse {
    /// Billionths of a unit times seconds; what was used a half-life ago counts half.
    pub used: u128,
    /// As of when orders were made last: by this they are.
    pub ordered: u128,
    /// Billionths of a unit that are used now.
    pub rate: u64,
}

/// What a user of a queue used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserUse {
    /// Queue by name.
    pub queue: String,
    /// Name of the user, empty for jobs of whom no user is known; `None` for all who are not told apart.
    pub user: Option<String>,
    /// What it is.
    pub past: PastUse,
}

/// A plugin that knows who used how much.
pub trait KeepsUse {
    /// What one unit is, for people.
    fn unit(&self) -> &'static str;

    /// What is measured, as it is written in the configuration.
    fn measure(&self) -> String;

    /// How long ago something was used that counts half, in seconds.
    fn half_life_s(&self) -> i64;

    /// What all of a queue used.
    fn of_queue(&self, queue: QueueIx) -> PastUse;

    /// What the user of a job used in its queue; `None` where users do not count, or the job is in none.
    fn of_job(&self, job: JobIx) -> Option<UserUse>;

    /// How little was used for the share of the job's user in its queue, or where users do not count of its queue: 2^(−use/share),
    /// both as parts of all, from 0 to 1 in parts of one ([`crate::points::FACTOR_PARTS`]), as of when orders were made.
    fn use_factor(&self, state: &State, job: JobIx) -> u64;

    /// How often orders were made: what they go by changes with it alone.
    fn orders_made(&self) -> u64;

    /// All users of queues, by queue and name.
    fn users(&self) -> Vec<UserUse>;

    /// When something was used last of which this process knows, seconds since the epoch; 0 where nothing was.
    fn last_used_s(&self) -> i64;

    /// What was used so far, as a text that another process can begin with: never longer than a ConfigMap may be, and
    /// empty where nothing is known.
    fn use_to_keep(&self) -> String;
}
