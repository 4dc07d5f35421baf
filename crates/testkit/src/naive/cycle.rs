//! One scheduling cycle under way: what every part of the naive scheduler is handed.
//!
//! The parts import it from here, so that the scheduler (`mod.rs`) calls its parts and no part imports
//! the scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_conf::{Config, PluginConf};

use super::queue_share;
use super::state::{SubJob, World};

/// One scheduling cycle.
pub struct Cycle<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The world as it was when the cycle began.
    pub open: Arc<World>,
    /// Deserved amounts of the queues, which hold for the whole cycle (spec/02 §7.1).
    pub deserved: BTreeMap<String, queue_share::Shares>,
    /// The world now.
    pub world: World,
    /// Seconds since the epoch.
    pub now_s: i64,
    /// Names of the plugins that are due to name pods they want gone.
    pub due: BTreeSet<String>,
    /// Jobs that left Pending through the enqueue action, in order.
    pub admitted: Vec<String>,
    /// (job, sub-job, role) of tasks that found no node in this cycle.
    pub failed: BTreeSet<(String, SubJob, String)>,
    /// UIDs of pods that fitted on no node when they were tried, now or later.
    pub in_vain: BTreeSet<String>,
    /// Number of the cycle, from 0.
    pub number: u32,
}

impl<'a> Cycle<'a> {
    /// The cycle that begins with the world as it is.
    pub fn new(config: &'a Config, mut world: World) -> Self {
        queue_share::learn_admissions(&mut world);
        Self {
            config,
            open: Arc::new(world.clone()),
            deserved: queue_share::deserved(&world),
            world,
            now_s: 0,
            due: BTreeSet::new(),
            admitted: Vec::new(),
            failed: BTreeSet::new(),
            in_vain: BTreeSet::new(),
            number: 0,
        }
    }

    /// A copy of the cycle that goes on with another world.
    pub fn with_world(&self, world: World) -> Self {
        Self {
            config: self.config,
            open: self.open.clone(),
            deserved: self.deserved.clone(),
            world,
            now_s: self.now_s,
            due: self.due.clone(),
            admitted: self.admitted.clone(),
            failed: self.failed.clone(),
            in_vain: self.in_vain.clone(),
            number: self.number,
        }
    }

    /// All plugins in conf order.
    pub fn plugins(&self) -> impl Iterator<Item = &'a PluginConf> + use<'a> {
        self.config.tiers.iter().flat_map(|tier| &tier.plugins)
    }

    /// The plugin with a name.
    pub fn plugin(&self, name: &str) -> Option<&'a PluginConf> {
        self.plugins().find(|plugin| plugin.name == name)
    }

    /// A task of that role and sub-job found no node.
    pub fn has_failed(&self, job: &str, sub_job: &SubJob, role: &str) -> bool {
        let key = (job.to_owned(), sub_job.clone(), role.to_owned());
        self.failed.contains(&key)
    }
}
