//! A moment of a recording as the source of the page.

use pumice_engine::view::{Ask, JobView, Time, View};
use pumice_page::{PageDecision, PageStanding, Source, ToldWorkload};
use pumice_page_server::{PlanForm, PlanningSource};
use pumice_plan::PlanView;

use crate::recordings::{PastMoment, rfc3339};

/// What a scheduler knew.
pub struct PastSource {
    /// Names of the files.
    pub of: String,
    /// The scheduler as it was.
    pub moment: PastMoment,
}

impl Source for PastSource {
    fn ask(&mut self, ask: &Ask) -> Result<View, String> {
        let engine = self.moment.replay.engine();
        let engine = engine.ok_or("nothing is known of that time")?;
        let view = engine.known().view(ask);
        view.map_err(|absent| absent.to_string())
    }

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        let decided = self.moment.decided().map(|one| PageDecision {
            time: rfc3339(one.at),
            pod: one.pod.clone(),
            node: one.node.clone().unwrap_or_default(),
            group: if one.job == one.pod {
                String::new()
            } else {
                one.job.clone()
            },
            ..PageDecision::default()
        });
        Ok(decided.collect())
    }

    // A recording has no Jobs, and what one says now is not what it said then.
    fn workload(&mut self, _: &JobView) -> ToldWorkload {
        ToldWorkload::Nothing
    }

    fn standing(&mut self) -> PageStanding {
        PageStanding {
            of: self.of.clone(),
            as_of: Some(Time(rfc3339(self.moment.at()))),
            note: self.moment.notes().join("; "),
            ..PageStanding::default()
        }
    }
}

impl PlanningSource for PastSource {
    fn plan(&mut self, _: &PlanForm) -> Result<PlanView, String> {
        Err("of the past it is not asked what would happen if".to_owned())
    }
}
