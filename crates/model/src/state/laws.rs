//! What is true of the state whatever happens: looked at where a decision is made from it.

use pumice_devices::Load;

use super::State;
use crate::ix::{NodeIx, TaskIx};
use crate::resource::ResVec;

impl State {
    /// What the node's sums say that its tasks do not hold; `None` where they agree. Costs a look at
    /// every task of the node: for debug builds and tests.
    pub fn imbalance(&self, node: NodeIx) -> Option<String> {
        let (mut used, mut releasing, mut waits) = <(ResVec, ResVec, ResVec)>::default();
        for ix in self.nodes.tasks(node) {
            let task = self.task(*ix);
            let request = &self.shapes.get(task.shape).request;
            match task.status.load() {
                Some(Load::Held) => used.add(request),
                Some(Load::Releasing) => {
                    used.add(request);
                    releasing.add(request);
                }
                Some(Load::Pipelined) => waits.add(request),
                None => return Some(format!("{} is there and holds nothing", self.task_key(*ix))),
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
        None
    }

    /// Whether what is in use of each card of a task is the sum of what tasks hold of it.
    pub fn cards_are_balanced(&self, ix: TaskIx) -> bool {
        let task = self.task(ix);
        let (Some(holding), Some(node)) = (&task.holding, task.node) else {
            return true;
        };
        let devices = &self.nodes.devices[node.at()];
        holding.parts.iter().all(|(family, allocations)| {
            let cards = devices.family(*family);
            let mut own = allocations.iter().filter_map(|allocation| allocation.card);
            cards.is_none_or(|cards| own.all(|card| cards.is_balanced(usize::from(card))))
        })
    }
}
