//! What a namespace may: PodDisruptionBudgets and ResourceQuotas, by namespace and name.

use std::collections::BTreeMap;

use crate::delta::Delta;
use crate::intern::Interner;
use crate::object::{BudgetObject, QuotaObject};
use crate::selector::selects;
use crate::task::Task;

/// A PodDisruptionBudget as last seen.
#[derive(Clone, Debug)]
pub struct KnownBudget {
    /// What is read of the PodDisruptionBudget.
    pub object: BudgetObject,
    /// Moves with every change of the object, and never comes back.
    pub version: u64,
}

/// By namespace, then by name.
type Spaced<T> = BTreeMap<String, BTreeMap<String, T>>;

/// PodDisruptionBudgets and ResourceQuotas.
#[derive(Clone, Default)]
pub struct Allowances {
    budgets: Spaced<KnownBudget>,
    quotas: Spaced<QuotaObject>,
    /// Versions given out.
    versions: u64,
}

/// Takes an entry out, and its namespace with the last one.
fn remove<T>(all: &mut Spaced<T>, namespace: &str, name: &str) -> bool {
    let Some(own) = all.get_mut(namespace) else {
        return false;
    };
    let found = own.remove(name).is_some();
    if own.is_empty() {
        all.remove(namespace);
    }
    found
}

impl Allowances {
    /// Takes in a change of one of them; whether it is news.
    pub(super) fn apply(&mut self, delta: Delta) -> bool {
        match delta {
            Delta::BudgetApply(object) => {
                let own = self.budgets.entry(object.namespace.clone()).or_default();
                let known = own.get(&object.name);
                if known.is_some_and(|known| known.object == *object) {
                    return false;
                }
                self.versions += 1;
                let budget = KnownBudget {
                    object: *object,
                    version: self.versions,
                };
                own.insert(budget.object.name.clone(), budget);
                true
            }
            Delta::QuotaApply(object) => {
                let own = self.quotas.entry(object.namespace.clone()).or_default();
                own.insert(object.name.clone(), (*object).clone()) != Some(*object)
            }
            Delta::BudgetDelete(namespace, name) => remove(&mut self.budgets, &namespace, &name),
            Delta::QuotaDelete(namespace, name) => remove(&mut self.quotas, &namespace, &name),
            _ => false,
        }
    }

    /// Changes that make the same allowances.
    pub(in crate::state) fn dump(&self, out: &mut Vec<Delta>) {
        let budgets = self.budgets.values().flat_map(BTreeMap::values);
        out.extend(budgets.map(|budget| Delta::BudgetApply(Box::new(budget.object.clone()))));
        let quotas = self.quotas.values().flat_map(BTreeMap::values);
        out.extend(quotas.map(|quota| Delta::QuotaApply(Box::new(quota.clone()))));
    }

    /// The PodDisruptionBudgets of a namespace, by name.
    pub fn budgets(&self, namespace: &str) -> impl Iterator<Item = &KnownBudget> {
        let own = self.budgets.get(namespace);
        own.into_iter().flat_map(BTreeMap::values)
    }

    /// The PodDisruptionBudgets that select a pod, by name.
    pub fn budgets_of<'a>(
        &'a self,
        names: &'a Interner,
        task: &'a Task,
    ) -> impl Iterator<Item = &'a KnownBudget> {
        self.budgets(names.text(task.namespace))
            .filter(move |budget| {
                let selector = budget.object.selector.as_ref();
                selector.is_some_and(|selector| selects(names, selector, &task.labels))
            })
    }

    /// A PodDisruptionBudget.
    pub fn budget(&self, namespace: &str, name: &str) -> Option<&KnownBudget> {
        self.budgets.get(namespace)?.get(name)
    }

    /// The ResourceQuotas of a namespace, by name.
    pub fn quotas(&self, namespace: &str) -> impl Iterator<Item = &QuotaObject> {
        let own = self.quotas.get(namespace);
        own.into_iter().flat_map(BTreeMap::values)
    }
}
