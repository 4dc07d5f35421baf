//! A cluster to ask, as a text.

use pumice_conf::{Config, parse};
use pumice_engine::Engine;
use pumice_fixtures::Cluster;
use pumice_model::Delta;
use pumice_plan::{PlanBounds, PlanError, PlanQuestion, PlanView, PlannedJob, WhatIf, answer};

/// Evicts within queues; queues have limits.
pub const CONF: &str = r#"
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
"#;

pub struct Asking {
    pub engine: Engine,
    pub config: Config,
}

impl Asking {
    /// The cluster after it has come to rest.
    pub fn of(cluster: &str) -> Self {
        Self::under(CONF, cluster)
    }

    /// The cluster after it has come to rest under a configuration.
    pub fn under(conf: &str, cluster: &str) -> Self {
        let config = parse(conf, &pumice_engine::REGISTRY).config;
        let config = config.expect("a configuration");
        let mut engine = Engine::new(&config, "default");
        objects(cluster).for_each(|delta| engine.apply(delta));
        let mut asking = Self { engine, config };
        asking.settle();
        asking
    }

    /// Runs until nothing changes; Bindings are accepted, evicted pods end. `pod node` of every bind, and who went.
    pub fn settle(&mut self) -> (Vec<String>, Vec<String>) {
        let (mut bound, mut gone) = (Vec::new(), Vec::new());
        for now_s in 0..100 {
            let decisions = self.engine.cycle(now_s);
            let state = self.engine.state();
            let uid = |task| state.task(task).uid.to_string();
            let key = |task| state.population().task_key(task);
            let mut news = Vec::new();
            for bind in &decisions.binds {
                let node = &state.nodes().object(bind.node).name;
                bound.push(format!("{} on {node}", key(bind.task)));
                let claims = Vec::new();
                news.push(Delta::PodBound {
                    uid: uid(bind.task),
                    claims,
                });
            }
            for eviction in &decisions.evictions {
                gone.push(key(eviction.task));
                news.push(Delta::PodDelete(uid(eviction.task)));
            }
            if decisions.settled && news.is_empty() {
                break;
            }
            news.into_iter().for_each(|delta| self.engine.apply(delta));
        }
        bound.sort();
        gone.sort();
        (bound, gone)
    }

    pub fn ask(&mut self, question: &PlanQuestion) -> Result<PlanView, PlanError> {
        let bounds = PlanBounds::default();
        let fork = self.engine.fork();
        answer(fork, &self.config, question, 200, bounds, &|| true)
    }

    /// What if there were these objects too.
    pub fn with(&mut self, objects_then: &str) -> PlanView {
        let question = PlanQuestion {
            objects: objects(objects_then).collect(),
            ..PlanQuestion::default()
        };
        self.ask(&question).expect("a plan")
    }

    /// What if that were so; asked about a job.
    pub fn if_so(&mut self, job: &str, what_ifs: &[WhatIf]) -> Result<PlanView, PlanError> {
        self.ask(&PlanQuestion {
            what_ifs: what_ifs.to_vec(),
            about: vec![name(job)],
            ..PlanQuestion::default()
        })
    }
}

pub fn name(job: &str) -> PlannedJob {
    PlannedJob {
        namespace: "ns".to_owned(),
        name: job.to_owned(),
    }
}

/// Objects of a text, without the default queue that each of them has.
fn objects(text: &str) -> impl Iterator<Item = Delta> {
    Cluster::of(text).0.into_iter()
}

/// `pod on node` of all jobs that were asked about.
pub fn places(view: &PlanView) -> Vec<String> {
    let pods = view.jobs.iter().flat_map(|job| &job.pods);
    let mut all: Vec<String> = pods
        .map(|one| format!("{} on {}", one.pod, one.node))
        .collect();
    all.sort();
    all
}
