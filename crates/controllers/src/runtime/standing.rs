//! What was told already.

use std::collections::{BTreeSet, HashMap};

use super::controller::ObjectEvent;

/// Events that stay true for as long as nothing changes, and are told once: looking again at an
/// object tells only what is new. Forgetting it says things again, nothing more.
#[derive(Debug, Default)]
pub struct StandingEvents {
    told: HashMap<String, BTreeSet<(&'static str, String)>>,
}

impl StandingEvents {
    /// Events about the object with this UID that are true now and were not when it was looked at last.
    pub fn news(&mut self, uid: &str, events: Vec<ObjectEvent>) -> Vec<ObjectEvent> {
        if events.is_empty() {
            self.told.remove(uid);
            return events;
        }
        let key = |event: &ObjectEvent| (event.reason, event.message.clone());
        let now: BTreeSet<_> = events.iter().map(key).collect();
        let before = self.told.insert(uid.to_owned(), now).unwrap_or_default();
        let is_new = |event: &ObjectEvent| !before.contains(&key(event));
        events.into_iter().filter(is_new).collect()
    }

    /// The object is gone.
    pub fn forget(&mut self, uid: &str) {
        self.told.remove(uid);
    }
}
