//! What is true of the state whatever happens: looked at where a decision is made from it.

use pumice_devices::Load;

use super::Ground;
use crate::ix::NodeIx;
use crate::resource::ResVec;
use crate::state::population::Population;

impl Ground {
    /// What the node's sums say that its tasks do not hold; `None` where they agree. Costs a look at
    /// every task of the node: for debug builds and tests.
    pub fn imbalance(&self, population: &Population, node: NodeIx) -> Option<String> {
        let (mut used, mut releasing, mut waits) = <(ResVec, ResVec, ResVec)>::default();
        for ix in self.nodes.tasks(node) {
            let task = population.task(*ix);
            let request = &self.shapes.get(task.shape).request;
            match task.status.load() {
                Some(Load::Held) => used.add(request),
                Some(Load::Releasing) => {
                    used.add(request);
                    releasing.add(request);
                }
                Some(Load::Pipelined) => waits.add(request),
                None => {
                    return Some(format!(
                        "{} is there and holds nothing",
                        population.task_key(*ix)
                    ));
                }
            }
        }
        let nodes = &self.nodes;
        let sums = [
            ("used", used, &nodes.used),
            ("releasing", releasing, &nodes.releasing),
            ("pipelined", waits, &nodes.pipelined),
        ];
        for (name, sum, columns) in sums {
            for resource in self.resources.in_order() {
                let (held, says) = (sum.get(*resource), columns.get(*resource, node));
                if held != says {
                    let resource = self.resources.name(*resource);
                    return Some(format!(
                        "{name} {resource} is {says}, its tasks hold {held}"
                    ));
                }
            }
        }
        let cpus = self.nodes.cpus(node);
        cpus.filter(|cpus| !cpus.is_balanced())
            .map(|_| "a CPU is lost, or two tasks will have it".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use pumice_devices::Load;

    use crate::ix::TaskIx;
    use crate::node::Burden;
    use crate::object::{NodeObject, PodObject};
    use crate::{Delta, State};

    #[test]
    fn a_sum_that_is_not_what_tasks_hold_is_named() {
        let mut state = State::new("default");
        let amounts = |milli| vec![("cpu".to_owned(), milli)];
        state.apply(Delta::NodeApply(Box::new(NodeObject {
            name: "n".to_owned(),
            allocatable: amounts(4000),
            ..NodeObject::default()
        })));
        state.apply(Delta::PodApply(Box::new(PodObject {
            name: "p".to_owned(),
            uid: "u".to_owned(),
            node: Some("n".to_owned()),
            request: amounts(1000),
            ..PodObject::default()
        })));
        state.seal();
        let node = state.ground().nodes().find("n").expect("a node");
        assert_eq!(state.ground().imbalance(state.population(), node), None);
        let task: TaskIx = state.ground().nodes().tasks(node)[0];
        let more = state.ground.resources_mut().vector(&amounts(500));
        let burden = Burden {
            request: &more,
            nonzero_cpu_milli: 0,
            nonzero_memory_bytes: 0,
            ports: &[],
            volumes: None,
        };
        let slot = state
            .ground
            .nodes_mut()
            .put(node, task, Load::Held, &burden);
        let told = state
            .ground()
            .imbalance(state.population(), node)
            .expect("the task is there twice");
        assert_eq!(told, "used cpu is 1500, its tasks hold 2000");
        let _moved = state
            .ground
            .nodes_mut()
            .take(node, slot, Load::Held, &burden);
        assert_eq!(state.ground().imbalance(state.population(), node), None);
    }
}
