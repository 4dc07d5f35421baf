//! A question as it travels: JSON, to the page `/debug/plan`.

use pumice_conf::{Registry, parse};
use pumice_model::Delta;
use serde::{Deserialize, Serialize};

use crate::ask::PlanQuestion;
use crate::error::PlanError;
use crate::what_if::{PlannedJob, WhatIf};
use crate::when::WhenAbout;

/// Most objects of a question.
const MAX_OBJECTS: usize = 20_000;
/// Most what-ifs of a question.
const MAX_WHAT_IFS: usize = 100;
/// Most jobs that are asked about.
const MAX_JOBS: usize = 100;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PlanRequest {
    /// Objects that there would be, as a dump has them.
    pub objects: Vec<Delta>,
    /// What else would be otherwise, one after the other.
    pub what_ifs: Vec<WhatIf>,
    /// Jobs that exist and are asked about.
    pub about: Vec<PlannedJob>,
    /// Text of the configuration that there would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
}

/// The question when jobs start, to the same page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhenRequest {
    /// The jobs.
    pub when: WhenAbout,
}

impl PlanRequest {
    /// The question, once all of it can be read.
    ///
    /// # Errors
    /// There is too much of it, or the configuration is not valid.
    pub fn read(self, registry: &Registry) -> Result<PlanQuestion, PlanError> {
        for (what, count, most) in [
            ("objects", self.objects.len(), MAX_OBJECTS),
            ("what-ifs", self.what_ifs.len(), MAX_WHAT_IFS),
            ("jobs", self.about.len(), MAX_JOBS),
        ] {
            if count > most {
                return Err(PlanError::TooMany { what, count, most });
            }
        }
        let config = match &self.configuration {
            None => None,
            Some(text) => {
                let parsed = parse(text, registry);
                let wrong = parsed.diagnostics.iter().map(|one| one.brief());
                let wrong: Vec<String> = wrong.collect();
                let config = parsed.config;
                let config = config.ok_or_else(|| PlanError::Configuration(wrong.join("; ")))?;
                Some(Box::new(config))
            }
        };
        Ok(PlanQuestion {
            objects: self.objects,
            what_ifs: self.what_ifs,
            about: self.about,
            config,
        })
    }
}
