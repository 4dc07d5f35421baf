//! The questions the kernel answers, against a loop over all nodes that follows the rules literally.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use pumice_actions::Kernel;
use pumice_conf::Enabled;
use pumice_fixtures::{BuildNode as _, BuildPod as _, Cluster, node, pod};
use pumice_framework::plugins::Member;
use pumice_framework::points;
use pumice_framework::points::{
    CandidateScore, CandidateScores, Cell, ChangedDomains, Class, CountedCluster, Counting,
    DomainFilter, DomainFilters, NodeFilter, NodeFilters, NodeScore, NodeScores, Normalised,
    StaticClass, StaticPart,
};
use pumice_framework::{Plugin, Plugins, ReasonId, ReasonKind, ReasonTable, Session, Unobserved};
use pumice_model::domains::Domains;
use pumice_model::resource::CPU;
use pumice_model::{JobIx, LoadMoment, NodeIx, State, TaskIx, TaskStatus};

const NODES: usize = 7;
const PODS: usize = 24;
const CPU_OF_NODE: i64 = 4000;
const ZONES: usize = 3;
const MAX_PODS: i64 = 4;
const MAX_PODS_OF_ZONE: i64 = 7;

/// Which rules are in force.
#[derive(Clone, Copy, Debug)]
struct Switches {
    normalised: bool,
    domains: bool,
    compared: bool,
}

/// A plugin with an answer of every reach.
#[derive(Clone)]
struct Rules {
    switches: Switches,
    broken: ReasonId,
    full: ReasonId,
    crowded: ReasonId,
}

impl Rules {
    fn new(switches: Switches, table: &mut ReasonTable) -> Self {
        Self {
            switches,
            broken: table.intern("broken", ReasonKind::Unresolvable),
            full: table.intern("full", ReasonKind::Unschedulable),
            crowded: table.intern("crowded", ReasonKind::Unschedulable),
        }
    }
}

fn label(state: &State, node: usize, key: &str) -> i64 {
    let labels = &state.nodes().object(NodeIx(node as u32)).labels;
    let found = labels.iter().find(|(known, _)| known == key);
    found.and_then(|(_, text)| text.parse().ok()).unwrap_or(0)
}

fn pods(state: &State, node: usize) -> i64 {
    state.nodes().pod_count[node]
}

fn pods_of_zone(state: &State, zone: i64) -> i64 {
    let nodes = (0..state.nodes().len()).filter(|node| label(state, *node, "zone") == zone);
    nodes.map(|node| pods(state, node)).sum()
}

fn own_score(state: &State, node: usize) -> (i64, f64) {
    let used = state.nodes().used.get(CPU, NodeIx(node as u32));
    (-used / 1000, 0.25 * pods(state, node) as f64)
}

impl Plugin for Rules {
    fn name(&self) -> &'static str {
        "rules"
    }

    points!(
        self;
        as_node_filters: NodeFilters,
        as_node_scores: NodeScores,
        as_domain_filters: DomainFilters if self.switches.domains,
    );

    fn as_candidate_scores(&self) -> Option<&dyn CandidateScores> {
        self.switches
            .compared
            .then_some(self as &dyn CandidateScores)
    }
}

impl NodeFilters for Rules {
    fn static_filter(
        &self,
        state: &State,
        _: StaticClass<'_>,
        _: &mut ReasonTable,
        part: &mut StaticPart,
    ) {
        for node in 0..state.nodes().len() {
            if label(state, node, "broken") > 0 {
                part.verdict[node].get_or_insert(self.broken);
            }
        }
    }

    fn node_filters(&self, _: &State, _: &Class) -> Vec<Box<dyn NodeFilter>> {
        vec![Box::new(PodLimit(self.full))]
    }
}

struct PodLimit(ReasonId);

impl NodeFilter for PodLimit {
    fn before_static(&self) -> bool {
        true
    }

    fn reject(
        &self,
        state: &State,
        range: Range<usize>,
        _: LoadMoment,
        out: &mut [Option<ReasonId>],
    ) {
        for (out, node) in out.iter_mut().zip(range) {
            if pods(state, node) >= MAX_PODS {
                *out = Some(self.0);
            }
        }
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl NodeScores for Rules {
    fn static_score(&self, state: &State, _: StaticClass<'_>, part: &mut StaticPart) {
        if self.switches.normalised {
            let nodes = 0..state.nodes().len();
            part.normalised.push(Normalised {
                raw: nodes.map(|node| label(state, node, "raw")).collect(),
                weight: 1,
                reverse: false,
            });
        }
    }

    fn node_scores(&self, _: &State, _: &Class) -> Vec<Box<dyn NodeScore>> {
        vec![Box::new(LoadScore)]
    }
}

struct LoadScore;

impl NodeScore for LoadScore {
    fn add_whole(&self, state: &State, range: Range<usize>, out: &mut [i64]) {
        for (out, node) in out.iter_mut().zip(range) {
            *out += own_score(state, node).0;
        }
    }

    fn add_fraction(&mut self, state: &State, range: Range<usize>, out: &mut [f64]) {
        for (out, node) in out.iter_mut().zip(range) {
            *out += own_score(state, node).1;
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}

impl DomainFilters for Rules {
    fn domain_filters(
        &self,
        with: &mut Counting<'_>,
        _: &Class,
        filters: &mut Vec<Box<dyn DomainFilter>>,
    ) {
        let domains = with.domains("zone");
        let mut limit = ZoneLimit {
            keys: vec!["zone".to_owned()],
            pods: vec![0; domains.count],
            domains,
            reason: self.crowded,
        };
        limit.count(with.state());
        filters.push(Box::new(limit));
    }
}

/// No zone has more than so many pods.
struct ZoneLimit {
    keys: Vec<String>,
    domains: Arc<Domains>,
    pods: Vec<i64>,
    reason: ReasonId,
}

impl ZoneLimit {
    fn count(&mut self, state: &State) {
        self.pods.fill(0);
        for node in 0..state.nodes().len() {
            self.pods[self.domains.of_node[node] as usize] += pods(state, node);
        }
    }
}

impl DomainFilter for ZoneLimit {
    fn keys(&self) -> &[String] {
        &self.keys
    }

    fn catch_up(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        touched: &[NodeIx],
        changed: &mut ChangedDomains,
    ) {
        self.count(state);
        let domain = |node: &NodeIx| (0, self.domains.of_node[node.at()]);
        changed.some.extend(touched.iter().map(domain));
    }

    fn reject(&self, cell: Cell<'_>, _: LoadMoment) -> Option<ReasonId> {
        let pods = self.pods[cell.domain(0) as usize];
        (pods >= MAX_PODS_OF_ZONE).then_some(self.reason)
    }

    fn sums(&self) -> usize {
        1
    }
}

impl CandidateScores for Rules {
    fn candidate_scores(
        &self,
        _: &mut Counting<'_>,
        _: &Class,
        scores: &mut Vec<Box<dyn CandidateScore>>,
    ) {
        scores.push(Box::new(Company));
    }
}

/// A node is worth more by the number of candidates in its zone.
struct Company;

impl CandidateScore for Company {
    fn catch_up(&mut self, _: CountedCluster<'_>, _: &[NodeIx]) {}

    fn add(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        candidates: &[u32],
        scores: &mut [i64],
    ) {
        for (score, node) in scores.iter_mut().zip(candidates) {
            *score += company(state, candidates, *node);
        }
    }

    fn sums(&self) -> usize {
        0
    }
}

fn company(state: &State, candidates: &[u32], node: u32) -> i64 {
    let zone = label(state, node as usize, "zone");
    let same = |other: &&u32| label(state, **other as usize, "zone") == zone;
    candidates.iter().filter(same).count() as i64
}

/// What the rules say of a node: it fits now, it fits later, or everything against it.
#[derive(Clone, Debug, PartialEq)]
enum Judged {
    Now,
    Later,
    Against(Vec<String>),
}

fn judge(state: &State, switches: Switches, task: TaskIx, node: usize) -> Judged {
    let ix = NodeIx(node as u32);
    let asked = state.shape(task).request.get(CPU);
    let mut against = Vec::new();
    let mut say = |when: bool, reason: &str| {
        if when {
            against.push(reason.to_owned());
        }
    };
    say(
        asked > state.nodes().future_idle(CPU, ix),
        "Insufficient cpu",
    );
    say(pods(state, node) >= MAX_PODS, "full");
    say(label(state, node, "broken") > 0, "broken");
    let zone = label(state, node, "zone");
    let crowded = switches.domains && pods_of_zone(state, zone) >= MAX_PODS_OF_ZONE;
    say(crowded, "crowded");
    match against.is_empty() {
        false => Judged::Against(against),
        true if asked > state.nodes().idle.get(CPU, ix) => Judged::Later,
        true => Judged::Now,
    }
}

/// Scores of candidates, compared with each other.
fn scores(state: &State, switches: Switches, candidates: &[u32]) -> Vec<f64> {
    let raw = |node: &u32| label(state, *node as usize, "raw");
    let max = candidates.iter().map(raw).max().unwrap_or(0);
    let score = |node: &u32| {
        let (mut whole, fraction) = own_score(state, *node as usize);
        if switches.normalised && max > 0 {
            whole += 100 * raw(node) / max;
        }
        if switches.compared {
            whole += company(state, candidates, *node);
        }
        whole as f64 + fraction
    };
    candidates.iter().map(score).collect()
}

/// The best of some nodes, and whether it has room now.
fn best(state: &State, rules: Switches, task: TaskIx, nodes: &[u32]) -> Option<(u32, bool)> {
    for wanted in [Judged::Now, Judged::Later] {
        let fits = |node: &u32| judge(state, rules, task, *node as usize) == wanted;
        let fitting: Vec<u32> = nodes.iter().copied().filter(fits).collect();
        let scores = scores(state, rules, &fitting);
        let mut best: Option<(f64, u32)> = None;
        for (score, node) in scores.into_iter().zip(fitting) {
            if best.is_none_or(|(other, _)| score > other) {
                best = Some((score, node));
            }
        }
        if let Some((_, node)) = best {
            return Some((node, wanted == Judged::Now));
        }
    }
    None
}

/// Nodes that fit or could after evictions, with what is said of them and their scores, best first.
fn candidates(state: &State, rules: Switches, task: TaskIx) -> Vec<(u32, Judged, f64)> {
    let mut nodes = Vec::new();
    let mut verdicts = Vec::new();
    for node in 0..state.nodes().len() {
        let verdict = judge(state, rules, task, node);
        let hopeless = |reason: &String| reason == "broken";
        if matches!(&verdict, Judged::Against(reasons) if reasons.iter().any(hopeless)) {
            continue;
        }
        nodes.push(node as u32);
        verdicts.push(verdict);
    }
    let scores = scores(state, rules, &nodes);
    let mut found: Vec<(u32, Judged, f64)> = nodes
        .into_iter()
        .zip(verdicts)
        .zip(scores)
        .map(|((node, verdict), score)| (node, verdict, score))
        .collect();
    found.sort_by(|l, r| r.2.total_cmp(&l.2));
    found
}

/// Labels of a node: zone, raw value, broken or not.
type Labels = (u8, u8, bool);

fn cluster(nodes: &[Labels], running: &[(u8, u8)]) -> State {
    let nodes = nodes.iter().enumerate();
    let nodes = nodes.map(|(at, (zone, raw, broken))| {
        let labels = format!("broken={} raw={raw} zone={zone}", u8::from(*broken));
        node(&format!("n{at}"), &format!("cpu={CPU_OF_NODE} pods=110")).labels(&labels)
    });
    let pods = (0..PODS).map(|at| {
        // Three classes of waiting pods.
        let pod = pod(&format!("p{at}"), &format!("{}m", 1000 + 500 * (at % 3)));
        match running.get(at) {
            Some((node, _)) => pod.on(&format!("n{node}")),
            None => pod,
        }
    });
    Cluster::default().all(nodes).all(pods).state()
}

fn texts(table: &ReasonTable, reasons: &[ReasonId]) -> Vec<String> {
    let text = |id: &ReasonId| table.reason(*id).text.clone();
    reasons.iter().map(text).collect()
}

/// Asks the kernel everything about a task and compares it with the loop over all nodes.
fn compare(
    session: &mut Session,
    kernel: &mut Kernel,
    rules: Switches,
    task: TaskIx,
    some: &[u32],
) {
    let place = |found: Result<pumice_framework::Choice, _>| {
        let found: Result<_, pumice_framework::FitError> = found;
        found.ok().map(|choice| (choice.node.0, choice.idle))
    };
    let (state, plugins) = (&mut *session.state, &*session.plugins);
    let all: Vec<u32> = (0..state.nodes().len() as u32).collect();
    let expected = best(state, rules, task, &all);
    assert_eq!(place(kernel.best(state, plugins, task)), expected);

    let mut sorted = some.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let expected = best(state, rules, task, &sorted);
    let nodes: Vec<NodeIx> = some.iter().copied().map(NodeIx).collect();
    let found = kernel.best_among(state, plugins, task, &nodes);
    if let Err(error) = &found {
        let counted: u32 = error.counts.iter().map(|(_, count)| count).sum();
        assert_eq!(
            (error.nodes, counted),
            (sorted.len() as u32, sorted.len() as u32)
        );
    }
    assert_eq!(place(found), expected);

    for node in &all {
        // A kernel that knows nothing looks at a single node without an index.
        let mut table = ReasonTable::default();
        Rules::new(rules, &mut table);
        let mut other = kernel.for_reasons(table);
        let node = [NodeIx(*node)];
        let found = other.places_among(state, plugins, task, &node, u64::MAX);
        let of_index = kernel.places_among(state, plugins, task, &node, u64::MAX);
        assert_eq!(found, of_index, "places on {node:?}");
        let room = state.nodes().future_idle(CPU, node[0]).max(0);
        let most = (room / state.shape(task).request.get(CPU)) as u64;
        match judge(state, rules, task, node[0].at()) {
            Judged::Now | Judged::Later => assert!((1..=most).contains(&found.most)),
            Judged::Against(reasons) if reasons != ["crowded"] => assert_eq!(found.most, 0),
            Judged::Against(_) => {}
        }
    }

    for node in all {
        let expected = best(state, rules, task, &[node]);
        let found = kernel.fits(state, plugins, task, NodeIx(node));
        assert_eq!(place(found), expected);
    }

    let helps = |table: &ReasonTable, reasons: &[ReasonId]| table.evictions_can_help(reasons);
    let found = kernel
        .candidates(state, plugins, task, &helps)
        .expect("no reason against all");
    let table = &kernel.reasons;
    let judged = |verdict: pumice_framework::Verdict| match verdict.reasons() {
        Some(set) => Judged::Against(texts(table, table.members(set))),
        None if verdict == pumice_framework::Verdict::IDLE => Judged::Now,
        None => Judged::Later,
    };
    let found: Vec<_> = found
        .into_iter()
        .map(|candidate| (candidate.node.0, judged(candidate.verdict), candidate.score))
        .collect();
    assert_eq!(found, candidates(state, rules, task));
}

proptest! {
    #[test]
    fn every_answer_is_that_of_a_loop_over_all_nodes(
        nodes in prop::collection::vec((0..ZONES as u8, 0u8..4, prop::bool::weighted(0.2)), NODES),
        running in prop::collection::vec((0..NODES as u8, any::<u8>()), 0..PODS - 6),
        flags in (any::<bool>(), any::<bool>(), any::<bool>()),
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..12),
        some in prop::collection::vec(0..NODES as u32, 0..NODES),
        budget in prop::sample::select(vec![None, Some(0), Some(80)]),
    ) {
        let rules = Switches { normalised: flags.0, domains: flags.1, compared: flags.2 };
        let mut state = cluster(&nodes, &running);
        let mut reasons = ReasonTable::default();
        let plugin = Rules::new(rules, &mut reasons);
        let member = Member::new(Box::new(plugin), &Enabled::default());
        let mut plugins = Plugins::new(vec![vec![member]]);
        let mut session = Session::open(&mut state, &mut plugins, false, 0, &mut Unobserved);
        let mut kernel = Kernel::new(reasons);
        if let Some(bytes) = budget {
            kernel.set_index_budget_bytes(bytes);
        }
        kernel.begin_cycle(session.state);
        let of_status = |session: &Session, status| -> Vec<TaskIx> {
            let tasks = session.state.population().tasks();
            tasks.filter(|(_, task)| task.status == status).map(|(ix, _)| ix).collect()
        };
        for (places, which) in steps {
            let pending = of_status(&session, TaskStatus::Pending);
            if let Some(task) = pending.first() {
                compare(&mut session, &mut kernel, rules, *task, &some);
            }
            let running = of_status(&session, TaskStatus::Running);
            if places && !pending.is_empty() {
                let task = *which.get(&pending);
                if let Ok(choice) = kernel.best(session.state, session.plugins, task) {
                    session.place(task, choice);
                }
            } else if !running.is_empty() {
                session.evict(*which.get(&running), "preempt", JobIx(0));
            }
        }
    }
}
