//! What this program, the control plane and the scheduler use together.
//!
//! On a machine whose processors are all busy a bind rate is one over the processor time of a bind.
//! Unlike the rate that time hardly depends on what else the machine does.

use std::fs;

use anyhow::{Context, Result};

/// Clock ticks per second in `/proc` (USER_HZ, the same on every Linux).
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor seconds so far of this process and its children that still run.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn seconds() -> Result<f64> {
    let own = std::process::id();
    let mut ticks = 0.0;
    for entry in fs::read_dir("/proc").context("read /proc")?.flatten() {
        // A process that has ended meanwhile has no file any more.
        if let Ok(text) = fs::read_to_string(entry.path().join("stat"))
            && let Some(stat) = Stat::of(&text)
            && (stat.id == own || stat.parent == own)
        {
            ticks += stat.ticks;
        }
    }
    Ok(ticks / TICKS_PER_SECOND)
}

/// Processor seconds so far of one process.
///
/// # Errors
/// When it does not run.
pub fn of(process: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).context("read its times")?;
    let stat = Stat::of(&text).context("a line of /proc/<pid>/stat")?;
    Ok(stat.ticks / TICKS_PER_SECOND)
}

/// A line of `/proc/<pid>/stat`.
struct Stat {
    id: u32,
    parent: u32,
    ticks: f64,
}

impl Stat {
    fn of(text: &str) -> Option<Self> {
        // The name in parentheses may contain spaces.
        let (id, _) = text.split_once(' ')?;
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(Self {
            id: id.parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            ticks: number(11)? + number(12)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let text = "7 (a (b) c) S 3 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 5 6 7";
        let stat = Stat::of(text).expect("a line");
        assert_eq!((stat.id, stat.parent, stat.ticks), (7, 3, 300.0));
        assert!(Stat::of("7").is_none());
    }
}
