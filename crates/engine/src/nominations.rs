//! Pods that wait on a node for those that are evicted for them: `status.nominatedNodeName`
//! (spec/07 §7).

use pumice_actions::{JobNominees, Kernel};
use pumice_framework::{Plan, Session};
use pumice_model::{NodeIx, State, TaskIx};
use rustc_hash::FxHashMap;

use crate::Engine;

/// Seconds after which a nomination ends that nothing has come of.
const EXPIRY_S: i64 = 600;

/// A nomination that stands.
#[derive(Clone, Debug)]
struct Nomination {
    /// The node by name: indices move when nodes come and go.
    node: String,
    /// When it was promised, or the first cycle since it was read.
    since_s: Option<i64>,
    /// When it was promised, among others; read ones come after those.
    turn: Option<u64>,
}

/// All nominations.
#[derive(Clone, Default)]
pub(crate) struct Nominations {
    standing: FxHashMap<TaskIx, Nomination>,
    /// Pods whose nomination ended, until their objects show none: what they say is not to be believed.
    ended: FxHashMap<TaskIx, String>,
    turns: u64,
}

impl Nominations {
    /// A cycle has decided. A nomination stands until the pod is bound or gone, or gets another one.
    pub fn take_in(&mut self, state: &State, plan: &Plan, now_s: i64) {
        for bind in &plan.binds {
            self.forget(bind.task);
        }
        for (task, node) in &plan.nominations {
            self.turns += 1;
            self.ended.remove(task);
            let nomination = Nomination {
                node: state.nodes().object(*node).name.clone(),
                since_s: Some(now_s),
                turn: Some(self.turns),
            };
            self.standing.insert(*task, nomination);
        }
    }

    /// The object of a pod was read: what it says counts where nothing else is known.
    pub fn read(&mut self, state: &State, ix: TaskIx) {
        let task = state.task(ix);
        let named = task.nominated_node.as_deref();
        if self.ended.get(&ix).map(String::as_str) == named && named.is_some() {
            return;
        }
        if !self.ended.is_empty() {
            self.ended.remove(&ix);
        }
        let is_read = |known: &Nomination| known.turn.is_none();
        let is_other = |known: &Nomination| named != Some(known.node.as_str());
        if self
            .standing
            .get(&ix)
            .is_some_and(|known| is_read(known) && is_other(known))
        {
            // Whoever wrote it has taken it back, or moved it.
            self.standing.remove(&ix);
        }
        let Some(node) = named else { return };
        let waits = task.ours && task.status.is_undecided();
        if waits && !self.standing.contains_key(&ix) {
            let nomination = Nomination {
                node: node.to_owned(),
                since_s: None,
                turn: None,
            };
            self.standing.insert(ix, nomination);
        }
    }

    /// The pod is on a node, or gone.
    pub fn forget(&mut self, task: TaskIx) {
        if !self.standing.is_empty() {
            self.standing.remove(&task);
        }
        if !self.ended.is_empty() {
            self.ended.remove(&task);
        }
    }

    /// The pod's object names a node where it will not be, until that is written.
    fn disbelieve(&mut self, task: TaskIx, node: &str) {
        self.standing.remove(&task);
        self.ended.insert(task, node.to_owned());
    }

    /// Nothing came of it: the pod's object says so once that is written.
    fn end(&mut self, task: TaskIx) {
        if let Some(nomination) = self.standing.remove(&task) {
            self.ended.insert(task, nomination.node);
        }
    }

    /// When the next one ends by itself, seconds since the epoch.
    pub fn next_s(&self) -> Option<i64> {
        let since_s = self.standing.values().filter_map(|one| one.since_s);
        since_s.map(|since_s| since_s + EXPIRY_S).min()
    }

    /// A cycle begins: nominees are placed on their nodes. Returns the pods whose nominations end: too old,
    /// their nodes gone or too small by now.
    pub fn renew(&mut self, session: &mut Session, kernel: &mut Kernel) -> Vec<TaskIx> {
        for nomination in self.standing.values_mut() {
            nomination.since_s.get_or_insert(session.now_s);
        }
        let (by_job, mut ended) = self.due(session.state, session.now_s);
        let unfit = pumice_actions::place_nominees(session, kernel, &by_job);
        ended.extend(unfit);
        ended.iter().for_each(|task| self.end(*task));
        ended
    }

    /// Those that stand, job by job in the order of promises, and the pods of those that do not.
    fn due(&self, state: &State, now_s: i64) -> (Vec<JobNominees>, Vec<TaskIx>) {
        let (mut ended, mut by_job) = (Vec::new(), FxHashMap::default());
        for (task, nomination) in &self.standing {
            let node = state.nodes().find(&nomination.node);
            let record = state.find_task(*task);
            let job = record.and_then(|task| task.job);
            let is_old = |since_s: i64| now_s >= since_s + EXPIRY_S;
            match (node, job) {
                (Some(node), Some(job)) if !nomination.since_s.is_some_and(is_old) => {
                    let (turn, nominees) = by_job.entry(job).or_insert((u64::MAX, Vec::new()));
                    *turn = (*turn).min(nomination.turn.unwrap_or(u64::MAX));
                    nominees.push((*task, node));
                }
                _ => ended.push(*task),
            }
        }
        ended.sort_unstable();
        let mut by_turn: Vec<(u64, JobNominees)> = by_job
            .into_iter()
            .map(|(job, (turn, mut pods))| {
                pods.sort_unstable();
                (turn, JobNominees { job, pods })
            })
            .collect();
        by_turn.sort_by(|(l_turn, l), (r_turn, r)| {
            let by_key = || state.job_key_order(l.job, r.job);
            l_turn.cmp(r_turn).then_with(by_key)
        });
        let by_job = by_turn.into_iter().map(|(_, nominees)| nominees);
        (by_job.collect(), ended)
    }
}

impl Engine {
    /// The node on which a pod waits for others that are evicted for it.
    pub fn nominated_node(&self, task: TaskIx) -> Option<NodeIx> {
        let nomination = self.nominations.standing.get(&task)?;
        self.state.nodes().find(&nomination.node)
    }

    /// The Binding of a pod waited, its object was to say so ([`PodReport`](crate::PodReport) of a pod that is
    /// Binding), and nothing came of it.
    pub fn expect_no_more(&mut self, uid: &str, node: &str) {
        if let Some(task) = self.state.task_by_uid(uid) {
            self.nominations.disbelieve(task, node);
        }
    }

    /// The pod with this UID, if its eviction was decided and its object does not show that yet.
    pub(crate) fn evicted(&self, uid: &str) -> Option<TaskIx> {
        let task = self.state.task_by_uid(uid)?;
        self.state.evicted_from(task).map(|_| task)
    }

    /// Pods whose nominations ended with this cycle, which have got no other one and still wait: even those that
    /// hold another place for now, since their objects name the old one.
    pub(crate) fn still_waiting(&self, ended: Vec<TaskIx>) -> Vec<TaskIx> {
        let standing = &self.nominations.standing;
        let waits = |task: &TaskIx| {
            let record = self.state.find_task(*task);
            let waits = record.is_some_and(|record| record.status.is_undecided());
            waits && !standing.contains_key(task)
        };
        ended.into_iter().filter(waits).collect()
    }
}
