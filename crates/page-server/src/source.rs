//! Who answers what is on the page, what would happen if among it.

use pumice_page::Source;
use pumice_plan::PlanView;
use serde::Deserialize;

/// A source that may be asked what would happen if, too.
pub trait PlanningSource: Source {
    /// The plan, or what is wrong with the question.
    ///
    /// # Errors
    /// What is wrong, or that nothing of the kind is asked here.
    fn plan(&mut self, asked: &PlanForm) -> Result<PlanView, String>;
}

/// What stands in the form.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PlanForm {
    /// YAML.
    pub manifests: String,
    /// Jobs, one a line.
    pub about: String,
}
