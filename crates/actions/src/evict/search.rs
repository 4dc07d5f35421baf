//! The cheapest node for a preemptor.

use std::sync::Arc;

use pumice_framework::points::{ClassKey, Purpose, Signature};
use pumice_framework::{ForeignPods, Overruns, Session, VictimCounts, may_take};
use pumice_model::{JobIx, NodeIx, ShapeIx, State, Sym, TaskIx, TaskStatus};
use rustc_hash::{FxHashMap, FxHashSet};

use super::candidates::{self, RankedVictim, Scope};
use super::cost::Cost;
use super::foreign_pods::foreign_pods;
use super::node_table::NodeTable;
use super::over::are_idle;
use super::seniority::Seniority;
use super::victim_sets::{self, Preemptor};
use crate::kernel::Kernel;

/// Tables of classes that are kept at a time: those asked for last.
const TABLES: usize = 8;

/// What tells tables apart: the class, with the serials of what it asks of volumes and claims, and its
/// signature.
type TableKey = (ClassKey, (u64, u64), Signature);

/// Whom to evict where.
pub struct Found {
    /// Node on which the preemptor gets its place.
    pub node: NodeIx,
    /// Victims, cheapest first.
    pub victims: Vec<TaskIx>,
}

/// Searches of one run of an action.
#[derive(Default)]
pub struct VictimSearch {
    scope: Option<ScopeNodes>,
    /// What was told of scopes in which nobody was found.
    counts: FxHashMap<Scope, Arc<VictimCounts>>,
    /// Pods of other schedulers that hold what pods of a scope and shape lack.
    foreign_pods: FxHashMap<(Scope, ShapeIx), ForeignPods>,
}

/// Candidates of a scope by node, and what they cost classes of its preemptors.
struct ScopeNodes {
    scope: Scope,
    seniority: Seniority,
    /// Candidates by node, cheapest first.
    victims: Vec<Vec<RankedVictim>>,
    /// Number of nodes that have any.
    with_victims: usize,
    cursor: u64,
    gains: usize,
    served: usize,
    /// Jobs of victims, and roles and sub-jobs of them, that have no more to give.
    spent: FxHashSet<(JobIx, Sym, u16)>,
    tables: Vec<(TableKey, NodeTable)>,
    /// The job for which nodes were weighed.
    weighed_for: Option<JobIx>,
    /// Moves on with each weighing that another one depends on.
    evaluation: u64,
    /// Nodes that were weighed for a queue that could not take the pod, and in which evaluation: what goes
    /// on one node is of use on others then.
    limited: (u64, Vec<NodeIx>),
    sets: FxHashMap<NodeIx, Vec<TaskIx>>,
}

impl VictimSearch {
    /// The node on which the preemptor fits at the lowest cost, and the victims there. Nobody goes for
    /// resources of which its queue has what it deserves (`over`).
    pub fn cheapest(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        scope: Scope,
        preemptor: &Preemptor,
        over: &Overruns,
    ) -> Option<Found> {
        if self.scope.as_ref().is_none_or(|known| known.scope != scope) {
            let known = self.scope.take();
            let seniority = known.map_or_else(Seniority::default, |known| known.seniority);
            let new = ScopeNodes::new(session, seniority, scope, preemptor.task);
            self.scope = Some(new);
        }
        self.scope
            .as_mut()?
            .cheapest(session, kernel, preemptor, over)
    }

    /// Why nobody was found in a scope, of which `preemptor` is a task: counted once, and told to all.
    pub fn count(
        &mut self,
        session: &Session,
        scope: Scope,
        preemptor: TaskIx,
    ) -> Arc<VictimCounts> {
        let count = || candidates::count(session, &scope, preemptor);
        let known = self.counts.entry(scope);
        let all = known.or_insert_with(|| Arc::new(count()));
        match scope.own_reached(session, preemptor) {
            0 => Arc::clone(all),
            own => Arc::new(VictimCounts {
                not_lower: all.not_lower.saturating_sub(own),
                ..VictimCounts::clone(all)
            }),
        }
    }

    /// Who of other schedulers holds what a task lacks: looked up once for all of its shape.
    pub fn foreign_pods(&mut self, session: &Session, scope: Scope, task: TaskIx) -> ForeignPods {
        let state = &*session.state;
        let known = self.foreign_pods.entry((scope, state.task(task).shape));
        let known = known.or_insert_with(|| foreign_pods(state, &scope, task));
        known.clone()
    }

    /// Something was evicted or placed: what nodes cost may be more by now.
    pub fn moved(&mut self) {
        if let Some(scope) = &mut self.scope {
            scope.evaluation += 1;
        }
    }
}

impl ScopeNodes {
    fn new(session: &Session, mut seniority: Seniority, scope: Scope, preemptor: TaskIx) -> Self {
        let state = &*session.state;
        let on_node = |node| candidates::on_node(session, &mut seniority, &scope, preemptor, node);
        let victims: Vec<Vec<RankedVictim>> = state.nodes().indices().map(on_node).collect();
        Self {
            with_victims: victims.iter().filter(|there| !there.is_empty()).count(),
            victims,
            scope,
            seniority,
            cursor: state.nodes().touch_cursor(),
            gains: session.gains(),
            served: session.served().len(),
            spent: FxHashSet::default(),
            tables: Vec::new(),
            weighed_for: None,
            evaluation: 0,
            limited: (0, Vec::new()),
            sets: FxHashMap::default(),
        }
    }

    fn cheapest(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        preemptor: &Preemptor,
        over: &Overruns,
    ) -> Option<Found> {
        self.catch_up(session, preemptor);
        if self.with_victims == 0 {
            return None;
        }
        self.open_table(session, kernel, preemptor)?;
        loop {
            let (node, evaluation) = self.tables.last_mut()?.1.lowest()?;
            if evaluation == Some(self.evaluation) {
                let victims = self.sets.remove(&node)?;
                return Some(Found { node, victims });
            }
            if !are_idle(session.state, preemptor.task, over, node) {
                self.leave_out(session, node);
                continue;
            }
            self.weigh(session, kernel, preemptor, node);
        }
    }

    /// A node is out as long as the queue has what it deserves of something that is not idle there, which
    /// what is placed or goes elsewhere may change.
    fn leave_out(&mut self, session: &Session, node: NodeIx) {
        self.look_again_later(node);
        let evaluation = self.evaluation;
        if let Some((_, table)) = self.tables.last_mut() {
            table.weighed(session.state, node, None, (evaluation, true));
        }
    }

    fn look_again_later(&mut self, node: NodeIx) {
        self.limited.0 = self.evaluation;
        self.limited.1.push(node);
    }

    /// What a node really costs now.
    fn weigh(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        preemptor: &Preemptor,
        node: NodeIx,
    ) {
        let within = self.scope.purpose == Purpose::WithinJob;
        let of_others = |victim: &&RankedVictim| {
            within || session.state.task(victim.task).job != Some(preemptor.job)
        };
        let limited = is_limited(session, preemptor);
        if limited {
            self.look_again_later(node);
        }
        let there = &self.victims[node.at()];
        let mut victims: Vec<RankedVictim> = there.iter().filter(of_others).copied().collect();
        // Found out for this job, and perhaps not true of others.
        let of_job = victims.len() < there.len()
            || session
                .plugins
                .evictions()
                .victims_depend_on_job(self.scope.purpose)
            || session.plugins.job_ready(session.state, preemptor.job)
            || limited;
        let tasks: Vec<TaskIx> = victims.iter().map(|victim| victim.task).collect();
        let purpose = self.scope.purpose;
        let allowed =
            session
                .plugins
                .evictions()
                .victims(session.state, purpose, preemptor.task, &tasks);
        candidates::keep_allowed(&mut victims, allowed);
        if purpose != Purpose::Reclaim {
            session.tally.weighed(victims.len());
        }
        let set = victim_sets::cheapest(session, kernel, preemptor, node, &victims);
        let cost = set.as_ref().map(|set| {
            let ranks = set.iter().map(|at| victims[*at].rank);
            Cost::of(ranks)
        });
        if let Some(set) = set {
            let set = set.iter().map(|at| victims[*at].task).collect();
            self.sets.insert(node, set);
        }
        // Trying sets touched this node only, and left it as it was.
        let cursor = session.state.nodes().touch_cursor();
        self.cursor = cursor;
        let evaluation = self.evaluation;
        if let Some((_, table)) = self.tables.last_mut() {
            table.cursor = cursor;
            table.weighed(session.state, node, cost, (evaluation, of_job));
        }
    }

    /// Candidates follow what was touched, and jobs that gained a place.
    fn catch_up(&mut self, session: &Session, preemptor: &Preemptor) {
        let mut gained = session.gains_since(self.gains).to_vec();
        gained.sort_unstable();
        gained.dedup();
        self.gains = session.gains();
        let Some(touched) = session.state.nodes().touched_since(self.cursor) else {
            let seniority = std::mem::take(&mut self.seniority);
            *self = Self::new(session, seniority, self.scope, preemptor.task);
            return;
        };
        let mut again: Vec<NodeIx> = touched.collect();
        for job in gained {
            self.spent.retain(|(spent, ..)| *spent != job);
            again.extend(self.nodes_of(session.state, job));
        }
        for job in &session.served()[self.served..] {
            again.extend(nodes_of_pods(session.state, *job));
        }
        self.served = session.served().len();
        again.extend(self.nodes_of_spent(session, preemptor.task, &again));
        self.cursor = session.state.nodes().touch_cursor();
        again.sort_unstable();
        again.dedup();
        for node in again {
            self.look_again(session, preemptor, node);
        }
        if self.limited.0 != self.evaluation {
            for node in std::mem::take(&mut self.limited.1) {
                self.bound_again(session.state, node);
            }
        }
        // What was found out for another job need not hold for this one.
        if self.weighed_for != Some(preemptor.job) {
            self.weighed_for = Some(preemptor.job);
            self.evaluation += 1;
            for (_, table) in &mut self.tables {
                for node in table.take_weighed() {
                    table.look_again(session.state, node, &self.victims[node.at()]);
                }
            }
        }
    }

    fn look_again(&mut self, session: &Session, preemptor: &Preemptor, node: NodeIx) {
        let state = &*session.state;
        let (seniority, scope) = (&mut self.seniority, &self.scope);
        let victims = candidates::on_node(session, seniority, scope, preemptor.task, node);
        self.with_victims += usize::from(!victims.is_empty());
        self.with_victims -= usize::from(!self.victims[node.at()].is_empty());
        self.victims[node.at()] = victims;
        self.bound_again(state, node);
    }

    /// What a node costs at least, for all classes.
    fn bound_again(&mut self, state: &State, node: NodeIx) {
        for (_, table) in &mut self.tables {
            table.look_again(state, node, &self.victims[node.at()]);
        }
    }

    /// Nodes of jobs that have lost so many pods on some of these nodes that none of the others goes any more:
    /// they do not count there from now on (spec/07 §3).
    fn nodes_of_spent(
        &mut self,
        session: &Session,
        preemptor: TaskIx,
        touched: &[NodeIx],
    ) -> Vec<NodeIx> {
        let (state, purpose) = (&*session.state, self.scope.purpose);
        let mut nodes = Vec::new();
        let there = touched.iter().flat_map(|node| state.nodes().tasks(*node));
        for task in there.copied() {
            let record = state.task(task);
            let of_job = |job| (job, record.role, record.sub_job);
            if record.status == TaskStatus::Releasing
                && let Some(job) = record.job
                && !self.spent.contains(&of_job(job))
                && session
                    .plugins
                    .evictions()
                    .is_never_victim(state, purpose, preemptor, task)
            {
                self.spent.insert(of_job(job));
                nodes.extend(nodes_of_pods(state, job));
            }
        }
        nodes
    }

    /// Nodes whose candidates may be others because a job has gained a place.
    fn nodes_of(&self, state: &State, job: JobIx) -> Vec<NodeIx> {
        match self.scope.purpose {
            Purpose::Preempt | Purpose::WithinJob => nodes_of_pods(state, job),
            // Its queue has more now: all of its pods may go.
            Purpose::Reclaim if state.job(job).queue == Some(self.scope.queue) => Vec::new(),
            Purpose::Reclaim => state.nodes().indices().collect(),
        }
    }

    /// Brings the table of the preemptor's class to the end of the list.
    fn open_table(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        preemptor: &Preemptor,
    ) -> Option<()> {
        let (state, plugins) = (&mut *session.state, &*session.plugins);
        let signature = plugins.signature(state, preemptor.task).unwrap_or_default();
        let class = ClassKey::of(state, preemptor.task);
        let volumes = state.supplies().volumes().needs().serial(class.volumes);
        let claims = state
            .supplies()
            .resource_claims()
            .needs()
            .serial(class.claims);
        let key = (class, (volumes, claims), signature);
        if let Some(at) = self.tables.iter().position(|(known, _)| *known == key) {
            let table = self.tables.remove(at);
            self.tables.push(table);
            let spans_nodes = kernel.spans_nodes(state, plugins, preemptor.task);
            let (_, table) = self.tables.last_mut()?;
            if spans_nodes && table.cursor != state.nodes().touch_cursor() {
                // What is placed on one node matters to others.
                table.fill(state, |node| &self.victims[node.at()]);
            }
            table.cursor = state.nodes().touch_cursor();
            return Some(());
        }
        if self.tables.len() >= TABLES {
            self.tables.remove(0);
        }
        let static_part = kernel.static_part_of(state, plugins, preemptor.task);
        let request = &state.shape(preemptor.task).request;
        let mut table = NodeTable::new(state, request, static_part);
        table.fill(state, |node| &self.victims[node.at()]);
        table.cursor = state.nodes().touch_cursor();
        self.tables.push((key, table));
        Some(())
    }
}

/// Nodes on which a job has pods.
fn nodes_of_pods(state: &State, job: JobIx) -> Vec<NodeIx> {
    let tasks = state.job(job).tasks.iter();
    tasks.filter_map(|task| state.task(*task).node).collect()
}

/// The queue may not take the task as things stand, which evictions elsewhere may change.
fn is_limited(session: &Session, preemptor: &Preemptor) -> bool {
    let (plugins, state) = (&*session.plugins, &*session.state);
    let allowed = may_take(plugins, state, preemptor.queue, preemptor.task);
    allowed.is_err()
}
