//! Clocks of processes. Each is the wall clock of its machine as it was when the process started, moved on without jumps,
//! as that of the daemon is: a wall clock that is set forwards or back reaches a process at its next start. What one clock
//! can do while a process lives is to leap forwards, where the whole machine stood still.

use super::Simulation;

/// The clock of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessClock {
    /// How far it is ahead of the clock of the API server; behind it below 0.
    ahead_ms: i64,
}

impl ProcessClock {
    /// How far it is ahead of the clock of the API server, milliseconds; behind it below 0.
    pub fn ahead_ms(self) -> i64 {
        self.ahead_ms
    }

    /// It leaps forwards.
    pub fn leap(&mut self, ms: u64) {
        self.ahead_ms = self.ahead_ms.saturating_add_unsigned(ms);
    }

    /// What it says at a moment of the server, milliseconds.
    pub fn now_ms(self, server_ms: u64) -> u64 {
        server_ms.saturating_add_signed(self.ahead_ms)
    }

    /// What it says at a moment of the server, whole seconds.
    pub fn now_s(self, server_ms: u64) -> i64 {
        i64::try_from(self.now_ms(server_ms) / 1000).unwrap_or(i64::MAX)
    }
}

impl Simulation {
    /// The wall clock of a machine is set: processes that start there from now on go by it.
    pub fn set_wall_clock(&mut self, slot: usize, ahead_ms: i64) {
        self.slots[slot].wall_clock = ProcessClock { ahead_ms };
        let text = format!("the clock of slot {slot} is set {ahead_ms} ms ahead");
        self.history.push(text);
    }
}
