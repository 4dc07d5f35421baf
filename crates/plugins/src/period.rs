//! What plugins do once in a while: naming pods for action `shuffle`.

use pumice_units::duration::parse_go_duration;

const NANOS_PER_S: i64 = 1_000_000_000;

/// A duration in whole seconds.
///
/// # Errors
/// What is wrong with the text: it is no duration, or one of less than a second.
pub fn seconds(text: &str) -> Result<i64, String> {
    match parse_go_duration(text) {
        Ok(ns) if ns < NANOS_PER_S => Err("is too short".to_owned()),
        Ok(ns) => Ok(ns / NANOS_PER_S),
        Err(error) => Err(format!("is no duration: {error}")),
    }
}

/// Something that is due in the first cycle, and then once in so many seconds.
#[derive(Clone, Debug)]
pub struct Period {
    /// Seconds.
    pub length_s: i64,
    last_s: Option<i64>,
    is_due: bool,
}

impl Period {
    /// A period of so many seconds.
    pub fn new(length_s: i64) -> Self {
        Self {
            length_s,
            last_s: None,
            is_due: false,
        }
    }

    /// When it was due last, and whether that is in this cycle, as one of another process is told of it.
    pub fn keep(&self) -> [Option<i64>; 2] {
        [self.last_s, Some(i64::from(self.is_due))]
    }

    /// What one of another process told of.
    pub fn restore(&mut self, last_s: Option<i64>, is_due: bool) {
        (self.last_s, self.is_due) = (last_s, is_due);
    }

    /// A cycle begins: whether it is due in it.
    pub fn open(&mut self, now_s: i64) -> bool {
        let since = self.last_s.map(|last| now_s.saturating_sub(last));
        self.is_due = since.is_none_or(|since| since >= self.length_s);
        if self.is_due {
            self.last_s = Some(now_s);
        }
        self.is_due
    }

    /// It is due in this cycle.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// When it is due next, seconds since the epoch; `None` before the first cycle.
    pub fn next_s(&self) -> Option<i64> {
        self.last_s.map(|last| last.saturating_add(self.length_s))
    }
}
