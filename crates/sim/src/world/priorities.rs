//! PriorityClasses: which there are, and what whoever names none is worth.

use std::collections::BTreeMap;

use pumice_model::object::PriorityClassObject;

/// PriorityClasses that every API server has, and their values.
pub(super) const SYSTEM_CLASSES: [(&str, i32); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// Values of classes.
pub(super) struct Priorities {
    /// By name of the class.
    pub(super) values: BTreeMap<String, i32>,
    /// Value of the global default.
    pub(super) default: Option<i32>,
}

impl Default for Priorities {
    /// Those of an API server without objects.
    fn default() -> Self {
        let values = SYSTEM_CLASSES.map(|(name, value)| (name.to_owned(), value));
        Self {
            values: values.into(),
            default: None,
        }
    }
}

impl Priorities {
    /// Takes a class in.
    pub(super) fn know(&mut self, class: &PriorityClassObject) {
        self.values.insert(class.name.clone(), class.value);
        if class.global_default {
            self.default = self.default.max(Some(class.value));
        }
    }

    /// The value for who names that class, or none; `None` where it is not known.
    pub(super) fn of(&self, class: Option<&str>) -> Option<i32> {
        match class {
            Some(class) => self.values.get(class).copied(),
            None => self.default,
        }
    }
}
