//! A cluster's scheduler as the source of the page.

use std::time::{Duration, Instant};

use pumice_engine::view::{Ask, JobView, Time, View};
use pumice_page::{PageDecision, PageStanding, PlansAsked, Source, ToldWorkload};
use pumice_page_server::{PlanForm, PlanningSource};
use pumice_plan::PlanView;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::questions::question;
use crate::job_told::told;
use crate::live::account::job_of_group;
use crate::live::scheduler::{Scheduler, SchedulerPlace, is_denied, is_gone};
use crate::live::user::ClusterUser;

/// A scheduler that does not answer is looked for anew this often: another one may lead by now.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Longest wait for a scheduler, and for the begin of its answer, before whoever looks is told that there is none.
const PATIENCE: Duration = Duration::from_secs(4);
/// A scheduler that has gone is told from one that is silent by this: then another one is asked at once.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Longest wait for an object: of what it says one can do without.
const OBJECT_PATIENCE: Duration = Duration::from_secs(1);

/// Asks a scheduler.
pub struct ClusterSource {
    place: SchedulerPlace,
    scheduler: Scheduler,
    /// The API server as the one who looks may read it; `None` where the scheduler itself is named.
    user: Option<ClusterUser>,
    looked_at: Instant,
    /// Nobody answered when it was last asked.
    unanswered: bool,
}

impl ClusterSource {
    /// Finds the scheduler.
    pub fn open(place: &SchedulerPlace) -> anyhow::Result<Self> {
        let scheduler = place.open_within(PATIENCE)?;
        // Whether it answers, and this user may ask.
        let _: serde::de::IgnoredAny = scheduler.get_known(&["top"])?;
        Ok(Self {
            place: place.clone(),
            scheduler,
            user: place.cluster().and_then(|cluster| cluster.open().ok()),
            looked_at: Instant::now(),
            unanswered: false,
        })
    }

    /// Asks, and notes whether somebody answers.
    fn asked<T>(&mut self, ask: impl Fn(&Scheduler) -> anyhow::Result<T>) -> Result<T, String> {
        let answer = self.answer(ask);
        // Who refuses one page has answered.
        self.unanswered = answer.as_ref().is_err_and(|error| !is_denied(error));
        answer.map_err(|error| {
            let error = error.to_string();
            error.strip_prefix("error: ").unwrap_or(&error).to_owned()
        })
    }

    /// Asks, and asks another one where the one that was found has gone.
    fn answer<T>(&mut self, ask: impl Fn(&Scheduler) -> anyhow::Result<T>) -> anyhow::Result<T> {
        // Whoever stands by answers only as long as nobody leads.
        if self.scheduler.standby().is_some() && self.may_look_again() {
            self.look_again();
        }
        let since = Instant::now();
        let error = match ask(&self.scheduler) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let is_silent = since.elapsed() >= AT_ONCE;
        if !is_gone(&error) || !self.may_look_again() || !self.look_again() || is_silent {
            return Err(error);
        }
        ask(&self.scheduler)
    }

    fn may_look_again(&self) -> bool {
        self.looked_at.elapsed() >= LOOK_AGAIN
    }

    fn look_again(&mut self) -> bool {
        self.looked_at = Instant::now();
        let found = self.place.open_within(PATIENCE).ok();
        let is_found = found.is_some();
        if let Some(found) = found {
            self.scheduler = found;
        }
        is_found
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

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        let page: JournalPage = self.asked(|scheduler| scheduler.get(&["decisions"]))??;
        let mut all = page.decisions;
        all.reverse();
        Ok(all)
    }

    fn workload(&mut self, of: &JobView) -> ToldWorkload {
        let Some(user) = &self.user else {
            return ToldWorkload::elsewhere(of);
        };
        let Some(group) = of.name.split_once('/').filter(|_| of.kind == "PodGroup") else {
            return ToldWorkload::Nothing;
        };
        match job_of_group(user, group, OBJECT_PATIENCE) {
            Ok(Some(job)) => ToldWorkload::Job(Box::new(told(&job))),
            Ok(None) => ToldWorkload::Nothing,
            Err(why) => ToldWorkload::Unread(why.to_string()),
        }
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
            plans: PlansAsked::Here,
            unanswered: self.unanswered,
        }
    }
}

impl PlanningSource for ClusterSource {
    fn plan(&mut self, asked: &PlanForm) -> Result<PlanView, String> {
        let request = question(asked, self.scheduler.namespace())?;
        let question = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        // A question is posted once.
        let answer = self.scheduler.post(&["plan"], &question);
        answer.map_err(|error| error.to_string())
    }
}
