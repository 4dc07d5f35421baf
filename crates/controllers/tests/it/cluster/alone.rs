//! One controller alone with what it is told: whom a change concerns.

use jiff::Timestamp;
use pumice_controllers::runtime::{
    Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, Reconciliation, read_object,
};
use serde_json::Value;

/// A controller and what is known.
pub struct Alone {
    controller: Box<dyn Controller>,
    cache: ObjectCache,
}

impl Alone {
    pub fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            controller,
            cache: ObjectCache::default(),
        }
    }

    /// An object is made, or is another now: whom that concerns.
    pub fn told(&mut self, kind: ManagedKind, object: &Value) -> Vec<ManagedRef> {
        let read = read_object(kind, object.to_string().as_bytes());
        let object = read.expect("of its kind").expect("a kind that is followed");
        let of = object.reference();
        let before = self.cache.apply(object).expect("news");
        let change = ObjectChange {
            of: &of,
            before: before.as_ref(),
            after: self.cache.get(&of),
        };
        self.controller.concerned(change, &self.cache)
    }

    /// A look at an object.
    pub fn look(&mut self, of: &ManagedRef) -> Reconciliation {
        let now = Timestamp::UNIX_EPOCH;
        self.controller.reconcile(of, &self.cache, now)
    }
}
