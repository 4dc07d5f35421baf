//! What is written for a plan that evicts, and whom it is told to (spec/07 §9.1).

use std::collections::BTreeMap;

use pumice_engine::{Decisions, Engine, Eviction, TIME_OVER};
use pumice_model::write::{ObjectRef, PodRef, Write};
use pumice_model::{JobIx, NodeIx, TaskIx, TaskStatus};

use crate::effect_list::EffectList;
use crate::object_refs::{group_or_pod_ref, group_ref, pod_ref};

/// Pods named in one message.
const MAX_NAMED: usize = 5;

/// Writes evictions and nominations as the engine has decided them.
pub struct EvictionWriter<'a> {
    pub engine: &'a Engine,
    pub effects: &'a mut EffectList,
}

impl EvictionWriter<'_> {
    /// Evictions of a cycle, and the pods that wait for them. The pods first: whoever takes over finds
    /// out from them that the room is spoken for.
    pub fn write_evictions(&mut self, decisions: &Decisions) {
        for (task, node) in &decisions.nominations {
            let pod = pod_ref(self.engine, *task);
            self.nominate(pod, Some(*node));
        }
        for task in &decisions.nominations_ended {
            let pod = pod_ref(self.engine, *task);
            self.nominate(pod, None);
        }
        self.tell_preemptors(decisions);
        for eviction in &decisions.evictions {
            let Eviction {
                task, reason, by, ..
            } = eviction;
            self.write_eviction(*task, reason, *by);
        }
    }

    /// One pod is evicted; for a job, or for nobody in particular.
    pub fn write_eviction(&mut self, task: TaskIx, reason: &str, by: Option<JobIx>) {
        let state = self.engine.state();
        let job = state.task(task).job;
        // Whose time is over goes whatever budgets say (spec/11 §3).
        let minds_budgets = reason != TIME_OVER;
        let guarded_by_budget = state
            .supplies()
            .allowances()
            .budgets_of(state.names(), state.task(task))
            .next()
            .is_some();
        self.effects.write(Write::Evict {
            pod: pod_ref(self.engine, task),
            reason: reason.to_owned(),
            group: job.and_then(|job| group_ref(self.engine, job)),
            beneficiary: by.and_then(|by| group_or_pod_ref(self.engine, by)),
            guarded_by_budget: guarded_by_budget && minds_budgets,
        });
    }

    fn nominate(&mut self, pod: PodRef, node: Option<NodeIx>) {
        let name = |node| self.engine.state().nodes().object(node).name.clone();
        let node = node.map(name);
        self.effects.write(Write::Nominate { pod, node });
    }

    /// What was to be written of a pod's nomination was not: it is made anew, if the pod still waits.
    pub fn renominate(&mut self, pod: PodRef) {
        let state = self.engine.state();
        let Some(task) = state.population().task_by_uid(&pod.uid) else {
            return;
        };
        let waits = [
            TaskStatus::Pending,
            TaskStatus::Allocated,
            TaskStatus::Pipelined,
        ];
        if waits.contains(&state.task(task).status) {
            self.nominate(pod, self.engine.known().nominated_node(task));
        }
    }

    /// Tells those who get the room who goes for them.
    fn tell_preemptors(&mut self, decisions: &Decisions) {
        let mut needs: BTreeMap<(JobIx, &'static str), Vec<TaskIx>> = BTreeMap::new();
        for Eviction {
            task, reason, by, ..
        } in &decisions.evictions
        {
            if let Some(by) = by {
                needs.entry((*by, reason)).or_default().push(*task);
            }
        }
        for ((by, action), victims) in needs {
            let state = self.engine.state();
            let waits = |(task, _): &&(TaskIx, NodeIx)| state.task(*task).job == Some(by);
            let nominees: Vec<(TaskIx, NodeIx)> = decisions
                .nominations
                .iter()
                .filter(waits)
                .copied()
                .collect();
            let going = self.named(&victims, true);
            let mut events: Vec<(ObjectRef, String)> = Vec::new();
            if let Some(group) = group_ref(self.engine, by) {
                let waiting: Vec<TaskIx> = nominees.iter().map(|(task, _)| *task).collect();
                let text = match waiting.as_slice() {
                    [] => format!("{action} evicts {going}"),
                    some => format!("{action} evicts {going} for {}", self.named(some, false)),
                };
                events.push((group, text));
            }
            for (task, node) in &nominees {
                let node = &state.nodes().object(*node).name;
                let text = format!("{action} evicts {going}; the pod waits for node {node}");
                events.push((pod_ref(self.engine, *task).object(), text));
            }
            for (about, message) in events {
                self.effects
                    .write_event(about, false, "Preempting", message);
            }
        }
    }

    /// `pod ns/a on n1`, `3 pods (ns/a on n1 card 0, …)`.
    fn named(&self, tasks: &[TaskIx], with_node: bool) -> String {
        let state = self.engine.state();
        let name = |task: &TaskIx| {
            let node = state.task(*task).node.filter(|_| with_node);
            let node = node.map(|node| &state.nodes().object(node).name);
            match node {
                Some(node) => match self.engine.known().card_names(*task) {
                    cards if cards.is_empty() => {
                        format!("{} on {node}", state.population().task_key(*task))
                    }
                    cards => format!(
                        "{} on {node}, {}",
                        state.population().task_key(*task),
                        cards.join(", ")
                    ),
                },
                None => state.population().task_key(*task),
            }
        };
        let mut names: Vec<String> = tasks.iter().take(MAX_NAMED).map(name).collect();
        match tasks.len() {
            1 => format!("pod {}", names[0]),
            count => {
                if count > MAX_NAMED {
                    names.push("…".to_owned());
                }
                format!("{count} pods ({})", names.join(", "))
            }
        }
    }
}
