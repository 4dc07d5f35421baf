//! What of claimed devices counts for queues (spec/09 §7), as the configuration says.

use std::borrow::Cow;

use pumice_model::claim::ClaimedDevices;
use pumice_model::resource::device_class_of;
use pumice_model::{Queue, QueueIx, ResVec, State, TaskIx};

use crate::capability::device_amounts;

/// Whether devices count, and what is claimed of their capacities.
#[derive(Clone, Copy)]
pub(super) struct CountedDevices {
    pub devices: bool,
    pub capacities: bool,
}

impl Default for CountedDevices {
    fn default() -> Self {
        Self {
            devices: true,
            capacities: true,
        }
    }
}

impl CountedDevices {
    /// What a queue has, and what of that pods have whose eviction may be refused.
    pub fn held(self, state: &State, queue: &Queue) -> (ResVec, ResVec) {
        let (mut held, mut in_doubt) = (queue.held(), queue.in_doubt.clone());
        let ClaimedDevices {
            allocated,
            pipelined,
            in_doubt: doubted,
        } = &queue.devices;
        if self.devices {
            held.add(&self.of(state, allocated));
            held.add(&self.of(state, pipelined));
            in_doubt.add(&self.of(state, doubted));
        }
        (held, in_doubt)
    }

    /// What a task counts for its queue.
    pub fn charged(self, state: &State, task: TaskIx) -> Cow<'_, ResVec> {
        match (self.devices, self.capacities) {
            (false, _) => state.charges().charged(task),
            (true, true) => state.charges().counted(task),
            (true, false) => match state.charges().counted(task) {
                Cow::Owned(amounts) => Cow::Owned(self.of(state, &amounts).into_owned()),
                same => same,
            },
        }
    }

    /// What of that its queue has anyway as long as pods are there whose eviction was decided.
    pub fn in_doubt(self, state: &State, task: TaskIx) -> Option<ResVec> {
        let amounts = state
            .charges()
            .counted_in_doubt(task)
            .filter(|_| self.devices)?;
        Some(self.of(state, &amounts).into_owned())
    }

    /// Classes of devices that amounts of a queue name and that do not exist.
    pub fn without_class(self, state: &State, queue: QueueIx) -> Option<String> {
        let stock = state.supplies().resource_claims().stock();
        let is_unknown =
            |name: &&str| device_class_of(name).is_some_and(|(_, class)| !stock.has_class(class));
        let named = device_amounts(&state.queue(queue).object).into_iter();
        let unknown: Vec<&str> = named.filter(is_unknown).collect();
        (self.devices && !unknown.is_empty()).then(|| {
            let list = unknown.join(", ");
            format!("amounts of a DeviceClass that does not exist: {list}; correct the name, or make the class")
        })
    }

    fn of<'a>(self, state: &State, amounts: &'a ResVec) -> Cow<'a, ResVec> {
        if self.capacities {
            return Cow::Borrowed(amounts);
        }
        let mut left = amounts.clone();
        for (ix, _) in amounts.iter() {
            if let Some((Some(_), _)) = device_class_of(state.resources().name(ix)) {
                left.set(ix, 0);
            }
        }
        Cow::Owned(left)
    }
}
