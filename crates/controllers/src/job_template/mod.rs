//! JobTemplates: which Jobs were made from them (spec/03 C5).

use jiff::Timestamp;
use pumice_api::JobTemplate;
use pumice_api::job_template::JobTemplateStatus;

use crate::options::ControllerOptions;
use crate::runtime::{
    ApiVerb, ApiWrite, Controller, ManagedKind, ManagedRef, ObjectCache, ObjectChange, Observed,
    Reconciliation, template_of,
};

/// The controller of JobTemplates.
#[derive(Default)]
pub struct JobTemplateController;

impl JobTemplateController {
    /// Name in `--controllers`.
    pub const NAME: &'static str = "jobtemplate-controller";

    /// Makes it for the list of controllers.
    pub fn make(_: &ControllerOptions) -> Box<dyn Controller> {
        Box::new(Self)
    }
}

impl Controller for JobTemplateController {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn concerned(&mut self, change: ObjectChange<'_>, _: &ObjectCache) -> Vec<ManagedRef> {
        let template = |object: &Observed| match object {
            Observed::Job(job) => {
                let namespace = &change.of.namespace;
                let name = template_of(job)?;
                Some(ManagedRef::new(ManagedKind::JobTemplate, namespace, name))
            }
            _ => None,
        };
        match (change.of.kind, change.before, change.after) {
            (ManagedKind::JobTemplate, _, _) => vec![change.of.clone()],
            (ManagedKind::Job, before, after) => {
                let (before, after) = (before.and_then(template), after.and_then(template));
                match before == after {
                    // The list has names only.
                    true => Vec::new(),
                    false => before.into_iter().chain(after).collect(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn reconcile(&mut self, of: &ManagedRef, cache: &ObjectCache, _: Timestamp) -> Reconciliation {
        let Some(template) = cache.job_template(&of.namespace, &of.name) else {
            return Reconciliation::nothing();
        };
        let jobs = cache.jobs_of_template(&of.namespace, &of.name);
        let status = JobTemplateStatus {
            job_depends_on_list: jobs.filter_map(|job| job.metadata.name.clone()).collect(),
        };
        if status == template.status || template.metadata.deletion_timestamp.is_some() {
            return Reconciliation::nothing();
        }
        let changed = JobTemplate {
            status,
            ..template.clone()
        };
        let verb = ApiVerb::ReplaceStatus(serde_json::to_value(&changed).unwrap_or_default());
        Reconciliation {
            writes: vec![ApiWrite {
                of: of.clone(),
                verb,
            }],
            ..Reconciliation::default()
        }
    }
}
