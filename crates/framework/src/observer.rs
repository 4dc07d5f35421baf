//! Who wants to know how a cycle goes on: the core has no clock, so others measure.

/// A part of a cycle. Parts may lie within others: plugins open while the session opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage<'a> {
    /// The session opens: changes are sealed, plugins open.
    Open,
    /// A plugin opens, by name.
    PluginOpen(&'a str),
    /// An action runs, by name.
    Action(&'a str),
    /// PodGroup status is brought up to date.
    Close,
}

/// Told when a part of a cycle begins and ends. A skipped cycle has no parts.
pub trait Observer {
    /// A part begins.
    fn begin(&mut self, stage: Stage<'_>);

    /// The part ends.
    fn end(&mut self, stage: Stage<'_>);
}

/// Nobody wants to know.
pub struct Unobserved;

impl Observer for Unobserved {
    fn begin(&mut self, _: Stage<'_>) {}

    fn end(&mut self, _: Stage<'_>) {}
}
