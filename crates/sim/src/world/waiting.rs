//! Controllers that wait for a time: pauses after a failure, counters that are written later, timeouts.

use pumice_ingest::Options;

use super::World;

impl World {
    /// Lets time pass from `now_s` on until a controller has changed something, at most until
    /// `until_s`: when that was. `None` if nothing happens.
    pub fn wait_for_controllers(
        &mut self,
        options: &Options,
        mut now_s: i64,
        until_s: i64,
    ) -> Option<i64> {
        while self.deltas.is_empty() {
            now_s = self.controllers.due_s()?.max(now_s.saturating_add(1));
            if now_s > until_s {
                return None;
            }
            self.run_controllers(options, now_s);
            self.run_supplies();
        }
        Some(now_s)
    }
}
