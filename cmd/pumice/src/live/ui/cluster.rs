//! A cluster's scheduler as the source of the page.

use std::time::{Duration, Instant};

use pumice_engine::view::{Ask, JobsShown, View};
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
            Ask::Pod { namespace, name } => {
                View::Pod(self.get(&["explain", namespace, name], &[])?)
            }
            Ask::Job { namespace, name } => View::Job(self.get(&["jobs", namespace, name], &[])?),
            Ask::Queue(name) => View::Queue(self.get(&["queues", name], &[])?),
            Ask::Queues => View::Queues(self.get(&["queues"], &[])?),
            Ask::Cards(None) => View::Cards(self.get(&["cards"], &[])?),
            Ask::Cards(Some(node)) => View::Cards(self.get(&["cards", node], &[])?),
            Ask::Top => View::Top(self.get(&["top"], &[])?),
            Ask::Mix => View::Mix(self.get(&["mix"], &[])?),
            Ask::Waiting => return Err("nobody asks this alone".to_owned()),
            Ask::Jobs(of) => {
                let shown = match of.shown {
                    JobsShown::All => "all",
                    JobsShown::Waiting => "waiting",
                    JobsShown::Running => "running",
                };
                let from = of.from.to_string();
                let query = [
                    ("search", of.search.as_str()),
                    ("queue", &of.queue),
                    ("reason", &of.reason),
                    ("shown", shown),
                    ("from", &from),
                ];
                View::Jobs(self.get(&["jobs"], &query)?)
            }
            Ask::Nodes => View::Nodes(self.get(&["nodes"], &[])?),
            Ask::Node(name) => View::Node(self.get(&["nodes", name], &[])?),
        })
    }

    fn get<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, String> {
        let answer = self.scheduler.get_with(parts, query);
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
        let page: JournalPage = self.get(&["decisions"], &[])?;
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
