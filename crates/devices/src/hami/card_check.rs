//! The checks that a card passes, or not.

/// A check of a card, in the order they are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CardCheck {
    /// The kind that is asked.
    #[default]
    Kind,
    /// Healthy, and given out at all.
    Usable,
    /// Shared as asked.
    Mode,
    /// Type allowed.
    Type,
    /// UUID allowed.
    Uuid,
    /// Large enough when idle.
    Size,
    /// Several cards are whole ones, and no part was named.
    Part,
    /// The chip's neighbour fits too, where chips are handed out in pairs.
    Pair,
    /// No other container of the pod has the chip.
    Beside,
    /// The app classes of the pods on it.
    Class,
    /// The QoS policy of the pods on it.
    Qos,
    /// A free slot.
    Slots,
    /// The card is not shared in the other way: by templates or by hami-core, in parts of another size.
    Mixed,
    /// Idle, where only such will do.
    Idle,
    /// Memory left.
    Memory,
    /// Cores left.
    Cores,
    /// All cores of a card are for one alone.
    Exclusive,
    /// Nobody has all its cores.
    Held,
    /// AI cores left.
    AiCores,
    /// AI CPUs left.
    AiCpus,
    /// A free place for an instance, where it is split.
    Instance,
}
