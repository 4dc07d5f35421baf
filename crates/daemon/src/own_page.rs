//! The page in a browser, from this scheduler's own memory (`--enable-ui`).
//!
//! ```text
//!  --secure-address: /ui/… ─► whom the API server lets ask ─► pumice_page_server ─► the desk's thread
//!                                                                  OwnSource ◄─────┘ asks as `/debug` does
//! ```
//!
//! However many look, the thread that decides makes a copy from time to time ([`crate::shared_copy`]), and answers nothing itself.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pumice_admin::http::{OwnPages, Unanswered};
use pumice_engine::view::{Ask, JobView, View};
use pumice_page::{PageDecision, PageStanding, PlansAsked, Source, ToldWorkload};
use pumice_page_server::{PageDesk, PageVisitors, PlanForm, PlanningSource, router};
use pumice_plan::PlanView;
use pumice_process::identity;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::admin_api::AdminApi;
use crate::copied_answers::StandbyNote;
use crate::journal::JournalEntry;

/// Where the page lies.
const PATH: &str = "/ui";

/// Longest wait for an answer before whoever looks is told that there is none.
const LIMIT: Duration = Duration::from_secs(5);

/// The page of this scheduler.
///
/// Must be called within a Tokio runtime.
///
/// # Errors
/// The system has no thread for it.
pub fn pages(api: Arc<AdminApi>, program: &str) -> anyhow::Result<OwnPages> {
    let source = OwnSource {
        api,
        runtime: Handle::current(),
        of: identity::host(program),
        standby: None,
        unanswered: false,
    };
    let desk = PageDesk::start_with(move || Some(source));
    let desk = desk.context("the thread of the page cannot be started")?;
    Ok(OwnPages {
        path: PATH,
        pages: router(PATH, PageVisitors::Judged, desk),
    })
}

/// This scheduler.
struct OwnSource {
    api: Arc<AdminApi>,
    runtime: Handle,
    /// This replica, as people name it.
    of: String,
    /// Whether the last answer was of a replica that stands by.
    standby: Option<StandbyNote>,
    unanswered: bool,
}

impl Source for OwnSource {
    fn ask(&mut self, ask: &Ask) -> Result<View, String> {
        let asked = async { timeout(LIMIT, self.api.told(ask.clone())).await };
        let told = match self.runtime.block_on(asked) {
            Ok(told) => told,
            Err(_) => Err(Unanswered(format!(
                "the thread that decides has not answered within {LIMIT:?}: /debug/diag says what it does"
            ))),
        };
        self.unanswered = told.is_err();
        let told = told.map_err(|Unanswered(why)| why)??;
        self.standby = told.standby;
        Ok(told.view)
    }

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        self.unanswered = false;
        let newest = self.api.journal.newest();
        Ok(newest.into_iter().map(decision).collect())
    }

    fn workload(&mut self, of: &JobView) -> ToldWorkload {
        ToldWorkload::elsewhere(of)
    }

    fn standing(&mut self) -> PageStanding {
        let standby = self.standby.as_ref();
        PageStanding {
            of: self.of.clone(),
            as_of: standby.and_then(|standby| standby.as_of.clone()),
            note: standby.map_or_else(String::new, stands_by),
            is_live: true,
            plans: PlansAsked::ByCommand,
            unanswered: self.unanswered,
        }
    }
}

fn stands_by(standby: &StandbyNote) -> String {
    let leader = match &standby.leader {
        Some(leader) => format!("{leader} leads"),
        None => "nobody leads".to_owned(),
    };
    format!("this replica stands by and shows what it would decide; {leader}")
}

fn decision(entry: JournalEntry) -> PageDecision {
    let (action, evicted_for, cards) = match entry.eviction {
        Some(eviction) => (
            eviction.action.to_owned(),
            eviction.evicted_for,
            eviction.cards,
        ),
        None => Default::default(),
    };
    PageDecision {
        time: entry.time,
        cycle: entry.cycle,
        pod: entry.pod,
        node: entry.node,
        group: entry.group,
        action,
        evicted_for,
        cards,
    }
}

impl PlanningSource for OwnSource {
    fn plan(&mut self, _: &PlanForm) -> Result<PlanView, String> {
        Err("what would happen if is asked by `pumice plan` and `pumice ui`".to_owned())
    }
}

#[cfg(test)]
mod tests;
