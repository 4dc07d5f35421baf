//! How much work a plan may be.

/// How much work a plan may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanBounds {
    /// Most cycles of one course.
    pub cycles: u32,
    /// Most changes that are tried for what waits.
    pub tries: u32,
}

impl Default for PlanBounds {
    fn default() -> Self {
        Self {
            cycles: 100,
            tries: 40,
        }
    }
}

/// Whether whoever asks still waits for the answer: looked at between cycles.
pub type Patience<'a> = &'a dyn Fn() -> bool;
