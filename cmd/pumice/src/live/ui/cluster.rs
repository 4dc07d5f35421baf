//! A cluster's scheduler as the source of the page.

use std::time::{Duration, Instant};

use pumice_engine::view::{Ask, Time, View};
use pumice_page::{PageDecision, PageStanding, Source};
use pumice_plan::PlanView;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::questions::{PlanForm, PlanningSource};
use crate::live::scheduler::{Scheduler, SchedulerPlace, is_gone};

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
    decided: Option<(Instant, Vec<PageDecision>)>,
}

impl ClusterSource {
    /// Finds the scheduler.
    pub fn open(place: &SchedulerPlace) -> anyhow::Result<Self> {
        let scheduler = place.open()?.silenced();
        // Whether it answers, and this user may ask.
        let _: serde::de::IgnoredAny = scheduler.get_known(&["top"])?;
        Ok(Self {
            place: place.clone(),
            scheduler,
            looked_at: Instant::now(),
            kept: Vec::new(),
            decided: None,
        })
    }

    /// Asks, and asks another one where the one that was found has gone.
    fn asked<T>(&mut self, ask: impl Fn(&Scheduler) -> anyhow::Result<T>) -> Result<T, String> {
        // Whoever stands by answers only as long as nobody leads.
        if self.scheduler.standby().is_some() && self.may_look_again() {
            self.look_again();
        }
        let error = match ask(&self.scheduler) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if !is_gone(&error) || !self.may_look_again() || !self.look_again() {
            return Err(error.to_string());
        }
        ask(&self.scheduler).map_err(|error| error.to_string())
    }

    fn may_look_again(&self) -> bool {
        self.looked_at.elapsed() >= LOOK_AGAIN
    }

    fn look_again(&mut self) -> bool {
        self.looked_at = Instant::now();
        let found = self.place.open().ok();
        let is_found = found.is_some();
        if let Some(found) = found {
            self.scheduler = found.silenced();
        }
        is_found
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
            Ask::Topology(_) => View::Topology(self.view(ask)?),
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
        if let Some((at, known)) = &self.decided
            && at.elapsed() < FRESH
        {
            return Ok(known.clone());
        }
        let page: JournalPage = self.asked(|scheduler| scheduler.get(&["decisions"]))??;
        let mut all = page.decisions;
        all.reverse();
        self.decided = Some((Instant::now(), all.clone()));
        Ok(all)
    }

    fn standing(&mut self) -> PageStanding {
        let standby = self.scheduler.standby();
        PageStanding {
            of: self.place.name(),
            as_of: standby
                .as_ref()
                .and_then(|standby| standby.as_of.clone())
                .map(Time),
            note: standby.map_or_else(String::new, |standby| standby.words()),
            is_live: true,
            plans: true,
        }
    }
}

impl PlanningSource for ClusterSource {
    fn plan(&mut self, asked: &PlanForm) -> Result<PlanView, String> {
        let request = asked.request(self.scheduler.namespace())?;
        let question = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        // A question is posted once.
        let answer = self.scheduler.post(&["plan"], &question);
        answer.map_err(|error| error.to_string())
    }
}
