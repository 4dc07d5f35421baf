//! A copy of the cluster, for questions: what would happen if.

use super::State;

/// A fork may be asked on another thread.
const fn is_sent<T: Send>() {}
const _: () = is_sent::<State>();

impl State {
    /// A copy that goes its own way from here on. What there is most of, tasks and jobs, is shared until one side changes
    /// it, so a copy costs a fraction of the population; `pumice bench fork` measures it.
    pub fn fork(&mut self) -> Self {
        Self {
            population: self.population.fork(),
            ground: self.ground.fork(),
            supplies: self.supplies.fork(),
            journal: self.journal.clone(),
        }
    }
}
