//! How processes end: killed, or told to end, when they write what they have decided and give the lease back.

use super::Simulation;

/// How long a process that is told to end may take, milliseconds.
const MAX_REST_MS: u64 = 10_000;

impl Simulation {
    /// A process is killed; another one is started after a while.
    pub fn kill(&mut self, slot: usize, down_ms: u64) {
        if let Some(process) = self.slots[slot].process.take() {
            let identity = process.elector.identity;
            self.left_claims.extend(process.writers.claims().cloned());
            self.history.push(format!(
                "process {identity} is gone, slot {slot} is empty for {down_ms} ms"
            ));
        }
        self.slots[slot].start_ms = self.server.now_ms() + down_ms;
    }

    /// A process is told to end: it writes what it has decided, gives the lease back and goes; another one is started
    /// after a while.
    pub fn stop(&mut self, slot: usize, down_ms: u64) {
        let until_ms = self.server.now_ms() + MAX_REST_MS;
        if let Some(process) = &mut self.slots[slot].process
            && process.ends.is_none()
        {
            process.rest(until_ms, down_ms);
            let identity = process.elector.identity;
            self.history
                .push(format!("process {identity} is told to end"));
        }
    }

    /// A process that was told to end does so once it has come to rest.
    pub(super) fn end(&mut self, at: usize, now_ms: u64) {
        let Some(process) = &mut self.slots[at].process else {
            return;
        };
        let Some(down_ms) = process.has_ended(now_ms) else {
            return;
        };
        // Otherwise the lease runs out, and with it whatever is under way.
        if process.writers.is_idle() && now_ms >= process.lease_cut_until_ms {
            process.elector.release(&mut self.lease, now_ms);
        }
        self.kill(at, down_ms);
    }
}
