//! A cluster's scheduler as the source of the page.

use std::time::{Duration, Instant};

use pumice_engine::view::{Ask, View};
use pumice_page::{PageDecision, PageStanding, Source};
use pumice_plan::PlanView;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::questions::{PlanForm, PlanningSource};
use crate::live::scheduler::{Scheduler, SchedulerPlace};

/// An answer is told again for so long, however many watch.
const FRESH: Duration = Duration::from_millis(900);
/// Answers kept.
const MAX_KEPT: usize = 32;
/// A scheduler that does not answer is looked for anew this often: another one may lead by now.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Asks a scheduler.
pub struct ClusterSource {
    place: SchedulerPlace,
    scheduler: Scheduler,
    looked_at: Instant,
    kept: Vec<(Ask, Instant, Result<View, String>)>,
}

impl ClusterSource {
    /// Finds the scheduler.
    pub fn open(place: &SchedulerPlace) -> anyhow::Result<Self> {
        let scheduler = place.open()?;
        // Whether it answers, and this user may ask.
        let _: serde::de::IgnoredAny = scheduler.get_known(&["top"])?;
        Ok(Self {
            place: place.clone(),
            scheduler,
            looked_at: Instant::now(),
            kept: Vec::new(),
        })
    }

    /// Asks, and asks another one where the one that was found has gone.
    fn asked<T>(&mut self, ask: impl Fn(&Scheduler) -> anyhow::Result<T>) -> Result<T, String> {
        let answer = ask(&self.scheduler);
        let error = match answer {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if self.looked_at.elapsed() < LOOK_AGAIN {
            return Err(error.to_string());
        }
        self.looked_at = Instant::now();
        self.scheduler = self.place.open().map_err(|_| error.to_string())?;
        ask(&self.scheduler).map_err(|error| error.to_string())
    }

    fn fetch(&mut self, ask: &Ask) -> Result<View, String> {
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

    fn view<T: DeserializeOwned>(&mut self, ask: &Ask) -> Result<T, String> {
        self.asked(|scheduler| scheduler.view(ask))?
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
        let page: JournalPage = self.asked(|scheduler| scheduler.get(&["decisions"]))??;
        let mut all = page.decisions;
        all.reverse();
        Ok(all)
    }

    fn standing(&mut self) -> PageStanding {
        PageStanding {
            of: self.place.name(),
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
        self.asked(|scheduler| scheduler.post(&["plan"], &question))
    }
}
