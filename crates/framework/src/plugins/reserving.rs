//! What plugins say of places that are kept for jobs that wait.

use pumice_model::{QueueIx, ResIx, State};

use super::Plugins;
use crate::reserved::ReservationSettings;

/// Plugins, for who keeps places.
#[derive(Clone, Copy)]
pub struct ReservationRules<'a>(pub(super) &'a Plugins);

impl ReservationRules<'_> {
    /// How places are kept, if they are.
    pub fn settings(self) -> Option<ReservationSettings> {
        let Self(plugins) = self;
        let mut all = plugins.ask(&plugins.points.keeps_places, |x| x.as_keeps_places());
        all.next().map(|plugin| plugin.reservation_settings())
    }

    /// How much more of each resource a queue may hold by its limits and those above it, where there is one.
    pub fn room(self, state: &State, queue: QueueIx) -> Vec<(ResIx, i64)> {
        let Self(plugins) = self;
        let room = |ix: ResIx| {
            let limits = plugins.ask(&plugins.points.allocatable, |x| x.as_allocatable());
            limits.map(|plugin| plugin.room(state, queue, ix)).min()
        };
        let all = state.resources().in_order().iter();
        let all = all.filter_map(|ix| Some((*ix, room(*ix)?)));
        all.filter(|(_, room)| *room < i64::MAX).collect()
    }
}
