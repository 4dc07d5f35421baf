//! What somebody writes into the form of the page, as a question.

use std::time::{Duration, Instant};

use pumice_api::keys;
use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_page_server::{PlanForm, PlanningSource};
use pumice_plan::{PlanBounds, PlanQuestion, PlanRequest, PlanView};

use crate::live::plan::{PlanManifests, named};
use crate::simulate::SimulatedSource;

/// How long a plan over a simulation may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What is asked; what names no namespace is in this one.
pub fn question(form: &PlanForm, namespace: &str) -> Result<PlanRequest, String> {
    let lines = form
        .about
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let names = [keys::DEFAULT_SCHEDULER.to_owned()];
    let request = PlanRequest {
        objects: PlanManifests::of_text(&form.manifests).objects(&names, namespace)?,
        about: lines.map(|line| named(line, namespace)).collect(),
        ..PlanRequest::default()
    };
    match request == PlanRequest::default() {
        true => Err("what would happen if what? Give manifests, or the name of a job".to_owned()),
        false => Ok(request),
    }
}

impl PlanningSource for SimulatedSource {
    fn plan(&mut self, asked: &PlanForm) -> Result<PlanView, String> {
        let question = question(asked, "default")?.read(&pumice_engine::REGISTRY);
        let question = question.map_err(|wrong| wrong.to_string())?;
        let (engine, config) = self.parts();
        plan_on(engine, config, &question)
    }
}

fn plan_on(
    engine: &mut Engine,
    config: &Config,
    question: &PlanQuestion,
) -> Result<PlanView, String> {
    let until = Instant::now() + LIMIT;
    let now_s = engine.known().now_s();
    let patience = || Instant::now() < until;
    let bounds = PlanBounds::default();
    let plan = pumice_plan::answer(engine.fork(), config, question, now_s, bounds, &patience);
    plan.map_err(|wrong| wrong.to_string())
}
