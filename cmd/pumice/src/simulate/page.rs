//! A simulation as a page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pumice_api::Job;
use pumice_engine::Engine;
use pumice_engine::view::{Ask, JobView, View};
use pumice_page::{
    PageDecision, PageLanguage, PageStanding, PlansAsked, Source, ToldWorkload, document,
};
use pumice_sim::Simulated;
use pumice_sim::report::Report;

use crate::bad_input::BadInput;
use crate::job_told::told;

/// How things stand after a simulation.
pub struct SimulatedSource {
    of: String,
    note: String,
    engine: Engine,
    #[cfg(feature = "live")]
    config: pumice_conf::Config,
    decisions: Vec<PageDecision>,
    jobs: BTreeMap<String, Job>,
}

impl SimulatedSource {
    /// What became of these files.
    pub fn new(paths: &[&PathBuf], done: Simulated) -> Self {
        let names: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let aside = done.problems.iter().filter(|problem| !problem.kept).count();
        Self {
            of: names.join(", "),
            note: match aside {
                0 => String::new(),
                aside => {
                    format!("{aside} of the objects were set aside: `pumice simulate` says why")
                }
            },
            decisions: decisions(&done.report),
            engine: done.engine,
            jobs: done.jobs,
            #[cfg(feature = "live")]
            config: done.config,
        }
    }

    /// The engine and its configuration, for a question.
    #[cfg(feature = "live")]
    pub fn parts(&mut self) -> (&mut Engine, &pumice_conf::Config) {
        (&mut self.engine, &self.config)
    }
}

fn decisions(report: &Report) -> Vec<PageDecision> {
    let group = |group: &str, pod: &str| match group == pod {
        true => String::new(),
        false => group.to_owned(),
    };
    let binds = report.binds.iter().map(|bind| PageDecision {
        pod: bind.pod.clone(),
        node: bind.node.clone(),
        group: group(&bind.group, &bind.pod),
        cards: bind.cards.clone(),
        ..PageDecision::default()
    });
    let evictions = report.evictions.iter().map(|eviction| PageDecision {
        pod: eviction.pod.clone(),
        node: eviction.node.clone(),
        group: group(&eviction.group, &eviction.pod),
        action: eviction.action.clone(),
        evicted_for: eviction.by.clone(),
        cards: eviction.cards.clone(),
        ..PageDecision::default()
    });
    // Newest first, of each kind.
    binds.rev().chain(evictions.rev()).collect()
}

impl Source for SimulatedSource {
    fn ask(&mut self, ask: &Ask) -> Result<View, String> {
        let view = self.engine.known().view(ask);
        view.map_err(|absent| absent.to_string())
    }

    fn decisions(&mut self) -> Result<Vec<PageDecision>, String> {
        Ok(self.decisions.clone())
    }

    fn workload(&mut self, of: &JobView) -> ToldWorkload {
        match self.jobs.get(&of.name) {
            Some(job) => ToldWorkload::Job(Box::new(told(job))),
            None => ToldWorkload::Nothing,
        }
    }

    fn standing(&mut self) -> PageStanding {
        PageStanding {
            of: self.of.clone(),
            note: self.note.clone(),
            plans: PlansAsked::Here,
            ..PageStanding::default()
        }
    }
}

/// Writes a page that needs nothing but itself.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, mut source: SimulatedSource) -> anyhow::Result<()> {
    let html = document(PageLanguage::English, &mut source);
    std::fs::write(path, html).map_err(|error| {
        let path = path.display();
        BadInput(format!(
            "error: {path} cannot be written: {error}\n  = help: name another file"
        ))
        .into()
    })
}
