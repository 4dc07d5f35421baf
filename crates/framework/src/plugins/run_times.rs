//! Who knows how long jobs ran.

use super::Plugins;
use crate::points::EstimatesRunTimes;

/// The first plugin that learns how long jobs run.
pub fn run_time_estimator(plugins: &Plugins) -> Option<&dyn EstimatesRunTimes> {
    let points = &plugins.points.estimates_run_times;
    plugins.ask(points, |x| x.as_estimates_run_times()).next()
}
