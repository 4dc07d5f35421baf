//! A cluster's scheduler as the source of the page.

use std::time::{Duration, Instant};

use pumice_engine::view::{Ask, View};
use pumice_page::{PageDecision, PageStanding, Source};
use pumice_plan::PlanView;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::desk::PlanningSource;
use super::questions::PlanForm;
use crate::live::scheduler::{Scheduler, SchedulerPlace};

/// An answer is told again for so long, however many watch.
const FRESH: Duration = Duration::from_millis(900);
/// Answers kept.
const MAX_KEPT: usize = 32;

/// Asks a scheduler.
pub struct ClusterSource {
    scheduler: Scheduler,
    of: String,
    kept: Vec<(Ask, Instant, Result<View, String>)>,
}

impl ClusterSource {
    /// Finds the scheduler.
    pub fn open(place: &SchedulerPlace) -> anyhow::Result<Self> {
        let scheduler = place.open()?;
        // Whether it answers, and this user may ask.
        let _: serde::de::IgnoredAny = scheduler.get_known(&["top"])?;
        Ok(Self {
            of: place.name(),
            scheduler,
            kept: Vec::new(),
        })
    }

    fn fetch(&self, ask: &Ask) -> Result<View, String> {
        Ok(match ask {
            Ask::Pod { .. } => View::Pod(self.view(ask)?),
            Ask::Job { .. } => View::Job(self.view(ask)?),
            Ask::Queue(_) => View::Queue(self.view(ask)?),
            Ask::Queues => View::Queues(self.view(ask)?),
            Ask::Cards(_) => View::Cards(self.view(ask)?),
            Ask::Top => View::Top(self.view(ask)?),
            Ask::Mix => View::Mix(self.view(ask)?),
            Ask::Waiting => return Err("nobody asks this alone".to_owned()),
            Ask::Jobs(_) => View::Jobs(self.view(ask)?),
            Ask::Nodes => View::Nodes(self.view(ask)?),
            Ask::Node(_) => View::Node(self.view(ask)?),
        })
    }

    fn view<T: DeserializeOwned>(&self, ask: &Ask) -> Result<T, String> {
        let answer = self.scheduler.view(ask);
        answer.map_err(|error| error.to_string())?
    }
}

/// The page of decisions.
#[derive(Deserialize)]
struct JournalPage {
    decisions: Vec<PageDecision>,
}

impl Source for ClusterSource {
    fn ask(&mut self, ask: &Ask) -> Result<View, String> {
        self.kept.retain(|(_, at, _)| at.elapsed() < FRESH);
        if let Some((.., view)) = self.kept.iter().find(|(known, ..)| known == ask) {
            return view.clone();
        }
        let view = self.fetch(ask);
        if self.kept.len() < MAX_KEPT {
            self.kept.push((ask.clone(), Instant::now(), view.clone()));
        }
        view
    }

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        let page = self.scheduler.get(&["decisions"]);
        let page: JournalPage = page.map_err(|error| error.to_string())??;
        let mut all = page.decisions;
        all.reverse();
        Ok(all)
    }

    fn standing(&mut self) -> PageStanding {
        PageStanding {
            of: self.of.clone(),
            is_live: true,
            plans: true,
            ..PageStanding::default()
        }
    }
}

impl PlanningSource for ClusterSource {
    fn plan(&mut self, asked: &PlanForm) -> Result<PlanView, String> {
        let request = asked.request(self.scheduler.namespace())?;
        let question = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        let answer = self.scheduler.post(&["plan"], &question);
        answer.map_err(|error| error.to_string())
    }
}
