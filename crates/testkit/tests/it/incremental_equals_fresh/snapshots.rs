//! A copy for questions tells what the engine would have told when it was taken, whatever the engine does then.

use pumice_engine::view::{Ask, JobsAsk, JobsShown, TopologyAsk, View};
use pumice_engine::{Engine, Knowledge, ViewSnapshot};

/// Pods, jobs, queues and nodes of each that are asked for.
const ASKED: usize = 3;

/// A copy, and what the engine told when it was taken.
pub struct TakenAnswers {
    snapshot: ViewSnapshot,
    told: Vec<(Ask, Result<View, String>)>,
}

impl TakenAnswers {
    pub fn of(engine: &mut Engine) -> Self {
        let asks = asks(engine.known(), engine);
        let told = asks.into_iter().map(|ask| {
            let view = answer(engine.known(), &ask);
            (ask, view)
        });
        Self {
            told: told.collect(),
            snapshot: ViewSnapshot::of(engine),
        }
    }

    /// It tells the same.
    pub fn check(&self, context: &str) {
        for (ask, told) in &self.told {
            let view = answer(self.snapshot.known(), ask);
            assert_eq!(&view, told, "{ask:?}: {context}");
        }
    }
}

fn answer(known: Knowledge<'_>, ask: &Ask) -> Result<View, String> {
    known.view(ask).map_err(|absent| absent.to_string())
}

/// Everything of which there is one, and some of what there are many of.
fn asks(known: Knowledge<'_>, engine: &Engine) -> Vec<Ask> {
    let mut asks = vec![
        Ask::Queues,
        Ask::Cards(None),
        Ask::Top,
        Ask::Mix,
        Ask::Waiting,
        Ask::Nodes,
        Ask::Topology(TopologyAsk::default()),
    ];
    asks.extend([JobsShown::All, JobsShown::Waiting].map(|shown| {
        let all = JobsAsk::default();
        Ask::Jobs(JobsAsk { shown, ..all })
    }));
    let state = engine.state();
    let population = state.population();
    let names = |key: String| {
        let (namespace, name) = key.split_once('/').expect("both");
        (namespace.to_owned(), name.to_owned())
    };
    // Those that wait have most to tell.
    let tasks = population.tasks().map(|(ix, _)| ix);
    let pods = tasks.filter(|ix| known.why_pending(*ix).is_some());
    asks.extend(pods.take(ASKED).map(|ix| {
        let (namespace, name) = names(population.task_key(ix));
        Ask::Pod { namespace, name }
    }));
    let jobs = state.journal().waiting_jobs().into_iter();
    asks.extend(jobs.take(ASKED).map(|ix| {
        let (namespace, name) = names(population.job_key(ix));
        Ask::Job { namespace, name }
    }));
    let queues = population.queues().iter().take(ASKED);
    asks.extend(queues.map(|(_, queue)| Ask::Queue(queue.object.name.clone())));
    let nodes = state.nodes().known().into_iter().take(ASKED);
    asks.extend(nodes.map(|node| Ask::Node(node.name.clone())));
    asks
}
