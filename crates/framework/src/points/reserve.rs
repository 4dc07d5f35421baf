//! Places that are kept for jobs that wait. Asked once a cycle.

use crate::reserved::ReservationSettings;

/// A plugin that lets jobs have places kept.
pub trait KeepsPlaces {
    /// How places are kept.
    fn reservation_settings(&self) -> ReservationSettings;
}
