//! What becomes of decisions outside: an API server that accepts every write, but for some that give devices
//! back, kubelets whose pods take their time to go, controllers that make others in their place.

use std::collections::BTreeMap;

use pumice_engine::{Decisions, Engine};
use pumice_model::object::PodObject;
use pumice_model::{Delta, TaskIx};
use pumice_testkit::naive;
use pumice_testkit::naive::claims::ApiServer;

use crate::run;

/// Pods and claims as the API server has them.
pub struct Outside {
    /// By `namespace/name`.
    pub pods: BTreeMap<String, PodObject>,
    storage: run::Storage,
    claims: run::Claims,
    server: ApiServer,
    /// Evicted pods that are still there: first cycle without them, name, UID.
    leaving: Vec<(u32, String, String)>,
}

impl Outside {
    /// As the objects say.
    pub fn new(objects: &[Delta]) -> Self {
        let pods = objects.iter().filter_map(|delta| match delta {
            Delta::PodApply(pod) => {
                let key = format!("{}/{}", pod.namespace, pod.name);
                Some((key, PodObject::clone(pod)))
            }
            _ => None,
        });
        Self {
            pods: pods.collect(),
            storage: run::Storage::new(objects),
            claims: run::Claims::new(objects),
            server: ApiServer::new(objects.len()),
            leaving: Vec::new(),
        }
    }

    fn change(&mut self, key: &str, change: impl FnOnce(&mut PodObject)) -> Delta {
        let pod = self.pods.get_mut(key).expect("a known pod");
        change(pod);
        Delta::PodApply(Box::new(pod.clone()))
    }

    /// The decisions of that cycle come true; what is told of it before the next one, at `next_s`.
    pub fn carry_out(
        &mut self,
        engine: &Engine,
        decisions: &Decisions,
        (cycle, next_s): (u32, i64),
    ) -> Vec<Delta> {
        let state = engine.state();
        let name = |task: TaskIx| state.population().task_key(task);
        let returns = &decisions.device_returns;
        let claims = &mut self.claims.claims;
        let mut told = self.server.answer(returns, claims, cycle + 1);
        for bind in &decisions.binds {
            let steps = bind.volumes.iter();
            told.extend(steps.flat_map(|step| self.storage.take(step)));
            let uid = &state.task(bind.task).uid;
            let steps = bind.claims.iter();
            told.extend(steps.filter_map(|step| self.claims.take(step, uid)));
            told.push(self.change(&name(bind.task), |pod| {
                pod.node = Some(state.nodes().object(bind.node).name.clone());
                pod.records = run::records(bind);
            }));
        }
        for (task, node) in &decisions.nominations {
            let node = state.nodes().object(*node).name.clone();
            told.push(self.change(&name(*task), |pod| pod.nominated_node = Some(node)));
        }
        for task in &decisions.nominations_ended {
            told.push(self.change(&name(*task), |pod| pod.nominated_node = None));
        }
        for eviction in &decisions.evictions {
            let key = name(eviction.task);
            told.push(self.change(&key, |pod| pod.deleting = true));
            let uid = self.pods[&key].uid.clone();
            let last = cycle + naive::cycles_until_gone(&uid);
            self.leaving.push((last, key, uid));
        }
        told.extend(self.leave(cycle + 1, next_s));
        told
    }

    /// Before the cycle of that number and time the pods leave whose time has come, and their controllers
    /// make others.
    fn leave(&mut self, cycle: u32, now_s: i64) -> Vec<Delta> {
        let all = std::mem::take(&mut self.leaving).into_iter();
        let (gone, still): (Vec<_>, Vec<_>) = all.partition(|(last, _, _)| *last == cycle);
        self.leaving = still;
        let mut told = Vec::new();
        for (_, key, uid) in gone {
            told.push(Delta::PodDelete(uid));
            let pod = self.pods.remove(&key).expect("a known pod");
            told.extend(claims_without(&mut self.claims, &pod));
            if let Some(next) = naive::successor(&pod, now_s) {
                told.push(Delta::PodApply(Box::new(next.clone())));
                self.pods.insert(key, next);
            }
        }
        told
    }
}

/// What becomes of the claims of a pod that is gone.
fn claims_without(known: &mut run::Claims, pod: &PodObject) -> Vec<Delta> {
    let mut told = Vec::new();
    let names = pod.resource_claims.iter();
    for name in names.filter_map(|entry| entry.claim.as_ref()) {
        let key = (pod.namespace.clone(), name.clone());
        let Some(claim) = known.claims.remove(&key) else {
            continue;
        };
        told.push(match naive::claims::without_user(&claim, &pod.uid) {
            Some(left) => {
                known.claims.insert(key, left.clone());
                Delta::ResourceClaimApply(Box::new(left))
            }
            None => Delta::ResourceClaimDelete(key.0, key.1),
        });
    }
    told
}
