//! What is read of a job.

/// A card in thousandths.
pub const WHOLE_CARD: i64 = 1000;

/// Most pods that a job may have.
pub const MAX_MEMBERS: u32 = 20_000;

/// Longest name of a user, in bytes.
pub const MAX_USER_BYTES: usize = 128;

/// A job of a trace: its pods start together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceJob {
    /// Name in the trace.
    pub name: String,
    /// When it came, seconds in the clock of the trace.
    pub submit_s: i64,
    /// Seconds from the start of its pods to their end, at least one; `None`: it does not end within the trace.
    pub lasts_s: Option<i64>,
    /// Seconds that its user allowed it, above 0; `None`: the trace does not tell.
    pub limit_s: Option<i64>,
    /// Pods, those that are alike together.
    pub roles: Vec<TraceRole>,
    /// Whose it is, where the trace tells it; else empty.
    pub user: String,
    /// Queue, virtual cluster or, where the trace knows none, user; empty where it knows neither.
    pub queue: String,
    /// Priority; 0 where the trace tells none.
    pub priority: i32,
}

/// Pods of a job that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceRole {
    /// How many.
    pub members: u32,
    /// What each asks of cpu, in thousandths of a core.
    pub cpu_milli: i64,
    /// What each asks of memory, in bytes.
    pub memory_bytes: i64,
    /// What each asks of cards, in thousandths of one: less than [`WHOLE_CARD`] is a share of one, all else is whole.
    pub cards_milli: i64,
    /// Models that may do; any, if there are none.
    pub models: Vec<String>,
    /// Members are single processors, of which a pod may have as many as a node holds.
    pub is_processors: bool,
}

impl TraceRole {
    /// So much, spread over so many members as evenly as whole numbers allow: the larger ones first.
    pub fn spread(members: u32, cpu_milli: i64, memory_bytes: i64, cards: i64) -> Vec<Self> {
        let count = i64::from(members.max(1));
        let larger = u32::try_from(cards % count).unwrap_or(0);
        let role = |members: u32, cards: i64| Self {
            members,
            cpu_milli: cpu_milli / count,
            memory_bytes,
            cards_milli: cards * WHOLE_CARD,
            ..Self::default()
        };
        let all = [
            role(larger, cards / count + 1),
            role(members.max(1) - larger, cards / count),
        ];
        all.into_iter().filter(|role| role.members > 0).collect()
    }
}

impl TraceJob {
    /// Number of its pods.
    pub fn members(&self) -> u32 {
        self.roles.iter().map(|role| role.members).sum()
    }

    /// What it asks of cores in all, in thousandths of one.
    pub fn cpu_milli(&self) -> i64 {
        let of = |role: &TraceRole| i64::from(role.members) * role.cpu_milli;
        self.roles.iter().map(of).sum()
    }

    /// What it asks of cards in all, in thousandths of one.
    pub fn cards_milli(&self) -> i64 {
        let of = |role: &TraceRole| i64::from(role.members) * role.cards_milli;
        self.roles.iter().map(of).sum()
    }
}
