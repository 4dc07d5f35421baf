//! Pods that wait on a node for those that are evicted for them: `status.nominatedNodeName`
//! (spec/07 §7).

use pumice_actions::{JobNominees, Kernel};
use pumice_framework::{Plan, Session};
use pumice_model::{Applied, NodeIx, PodChange, State, TaskId, TaskIx};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::backoffs::is_placed;

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
    standing: FxHashMap<TaskId, Nomination>,
    /// Pods whose nomination ended, until their objects show none: what they say is not to be believed.
    ended: FxHashMap<TaskId, String>,
    turns: u64,
}

/// A nomination as another engine is told of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct NominationTold {
    uid: String,
    node: String,
    since_s: Option<i64>,
    turn: Option<u64>,
}

/// All nominations as another engine is told of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NominationMemory {
    standing: Vec<NominationTold>,
    ended: Vec<NominationTold>,
    turns: u64,
}

impl Nominations {
    /// As another engine is told of them.
    pub fn keep(&self, state: &State) -> NominationMemory {
        let standing = self.standing.iter().filter_map(|(id, known)| {
            Some(NominationTold {
                uid: id.uid(state.population())?.to_owned(),
                node: known.node.clone(),
                since_s: known.since_s,
                turn: known.turn,
            })
        });
        let ended = self.ended.iter().filter_map(|(id, node)| {
            Some(NominationTold {
                uid: id.uid(state.population())?.to_owned(),
                node: node.clone(),
                since_s: None,
                turn: None,
            })
        });
        let mut told = NominationMemory {
            standing: standing.collect(),
            ended: ended.collect(),
            turns: self.turns,
        };
        told.standing.sort_unstable();
        told.ended.sort_unstable();
        told
    }

    /// Takes what another engine told in the place of what pods' objects say.
    pub fn restore(&mut self, told: NominationMemory, state: &State) {
        let pod = |uid: &str| TaskId::by_uid(state.population(), uid);
        let standing = told.standing.into_iter().filter_map(|one| {
            let nomination = Nomination {
                node: one.node,
                since_s: one.since_s,
                turn: one.turn,
            };
            Some((pod(&one.uid)?, nomination))
        });
        self.standing = standing.collect();
        let ended = told.ended.into_iter();
        let ended = ended.filter_map(|one| Some((pod(&one.uid)?, one.node)));
        self.ended = ended.collect();
        self.turns = told.turns;
    }

    /// A cycle has decided. A nomination stands until the pod is bound or gone, or gets another one.
    pub fn take_in(&mut self, state: &State, plan: &Plan, now_s: i64) {
        for bind in &plan.binds {
            self.forget(state.population().task_id(bind.task));
        }
        for (task, node) in &plan.nominations {
            self.turns += 1;
            let task = state.population().task_id(*task);
            self.ended.remove(&task);
            let nomination = Nomination {
                node: state.nodes().object(*node).name.clone(),
                since_s: Some(now_s),
                turn: Some(self.turns),
            };
            self.standing.insert(task, nomination);
        }
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied, state: &State) {
        match applied.pod {
            Some(PodChange::New(id)) => self.read(state, id),
            Some(PodChange::Read { task: id, .. }) => {
                self.read(state, id);
                let task = state.population().known_task(id).map(|ix| state.task(ix));
                if task.is_some_and(is_placed) {
                    self.forget(id);
                }
            }
            Some(PodChange::Gone { task, .. }) => self.forget(task),
            None => {}
        }
    }

    /// The object of a pod was read: what it says counts where nothing else is known.
    fn read(&mut self, state: &State, id: TaskId) {
        let Some(ix) = state.population().known_task(id) else {
            return;
        };
        let task = state.task(ix);
        let named = task.nominated_node.as_deref();
        if self.ended.get(&id).map(String::as_str) == named && named.is_some() {
            return;
        }
        if !self.ended.is_empty() {
            self.ended.remove(&id);
        }
        let is_read = |known: &Nomination| known.turn.is_none();
        let is_other = |known: &Nomination| named != Some(known.node.as_str());
        if self
            .standing
            .get(&id)
            .is_some_and(|known| is_read(known) && is_other(known))
        {
            // Whoever wrote it has taken it back, or moved it.
            self.standing.remove(&id);
        }
        let Some(node) = named else { return };
        let waits = task.ours && task.status.is_undecided();
        if waits && !self.standing.contains_key(&id) {
            let nomination = Nomination {
                node: node.to_owned(),
                since_s: None,
                turn: None,
            };
            self.standing.insert(id, nomination);
        }
    }

    /// The pod is on a node, or gone.
    fn forget(&mut self, task: TaskId) {
        if !self.standing.is_empty() {
            self.standing.remove(&task);
        }
        if !self.ended.is_empty() {
            self.ended.remove(&task);
        }
    }

    /// The pod's object names a node where it will not be, until that is written.
    pub fn disbelieve(&mut self, task: TaskId, node: &str) {
        self.standing.remove(&task);
        self.ended.insert(task, node.to_owned());
    }

    /// Nothing came of it: the pod's object says so once that is written.
    fn end(&mut self, task: TaskId) {
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
    pub fn renew(&mut self, session: &mut Session, kernel: &mut Kernel) -> Vec<TaskId> {
        for nomination in self.standing.values_mut() {
            nomination.since_s.get_or_insert(session.now_s);
        }
        let (by_job, mut ended) = self.due(session.state, session.now_s);
        let unfit = pumice_actions::place_nominees(session, kernel, &by_job);
        ended.extend(
            unfit
                .into_iter()
                .map(|ix| session.state.population().task_id(ix)),
        );
        for task in &ended {
            self.end(*task);
        }
        ended
    }

    /// Those that stand, job by job in the order of promises, and the pods of those that do not.
    fn due(&self, state: &State, now_s: i64) -> (Vec<JobNominees>, Vec<TaskId>) {
        let (mut ended, mut by_job) = (Vec::new(), FxHashMap::default());
        for (id, nomination) in &self.standing {
            let node = state.nodes().find(&nomination.node);
            let task = state.population().known_task(*id);
            let job = task.and_then(|task| state.task(task).job);
            let is_old = |since_s: i64| now_s >= since_s + EXPIRY_S;
            match (node, task.zip(job)) {
                (Some(node), Some((task, job))) if !nomination.since_s.is_some_and(is_old) => {
                    let (turn, nominees) = by_job.entry(job).or_insert((u64::MAX, Vec::new()));
                    *turn = (*turn).min(nomination.turn.unwrap_or(u64::MAX));
                    nominees.push((task, node));
                }
                _ => ended.push(*id),
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
            let by_key = || state.population().job_key_order(l.job, r.job);
            l_turn.cmp(r_turn).then_with(by_key)
        });
        let by_job = by_turn.into_iter().map(|(_, nominees)| nominees);
        (by_job.collect(), ended)
    }

    /// The node on which a pod waits for others that are evicted for it.
    pub fn node_of(&self, state: &State, task: TaskIx) -> Option<NodeIx> {
        if self.standing.is_empty() || state.population().find_task(task).is_none() {
            return None;
        }
        let nomination = self.standing.get(&state.population().task_id(task))?;
        state.nodes().find(&nomination.node)
    }

    /// Pods whose nominations ended with this cycle, which have got no other one and still wait: even those that
    /// hold another place for now, since their objects name the old one.
    pub fn still_waiting(&self, state: &State, ended: Vec<TaskId>) -> Vec<TaskIx> {
        let waits = |id: TaskId| {
            let task = state.population().known_task(id)?;
            let waits = state.task(task).status.is_undecided();
            (waits && !self.standing.contains_key(&id)).then_some(task)
        };
        ended.into_iter().filter_map(waits).collect()
    }
}
