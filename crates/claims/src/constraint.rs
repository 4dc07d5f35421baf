//! Constraints over the devices of one claim, kept in step with a search.

use crate::device::{Attribute, DraDevice};
use crate::request::{AttributeRule, ClaimConstraint, ClaimRequest};

/// One constraint, with what was chosen so far.
pub struct Constrained<'a> {
    constraint: &'a ClaimConstraint,
    values: Vec<&'a Attribute>,
}

impl<'a> Constrained<'a> {
    /// A constraint that nothing was chosen for.
    pub fn new(constraint: &'a ClaimConstraint) -> Self {
        let values = Vec::new();
        Self { constraint, values }
    }

    /// Takes a device in if the constraint still holds then.
    pub fn add(
        &mut self,
        request: &ClaimRequest,
        choice: usize,
        driver: &str,
        device: &'a DraDevice,
    ) -> bool {
        let (AttributeRule::Same(name) | AttributeRule::Distinct(name)) = &self.constraint.rule
        else {
            // Whom it is about is not known either.
            return false;
        };
        if !self.constraint.is_about(request, choice) {
            return true;
        }
        let Some(value) = device.attribute(driver, name) else {
            return false;
        };
        let holds = match &self.constraint.rule {
            AttributeRule::Same(_) => self.values.first().is_none_or(|first| *first == value),
            _ => !self.values.contains(&value),
        };
        if holds {
            self.values.push(value);
        }
        holds
    }

    /// Takes the device out that was added last.
    pub fn remove(&mut self, request: &ClaimRequest, choice: usize) {
        if self.constraint.is_about(request, choice) {
            self.values.pop();
        }
    }
}
