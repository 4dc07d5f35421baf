//! Kinds of reasons for which pods wait: few enough to be counted, named and translated.

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $name:literal;)*) => {
        /// For which kind of reason a pod waits.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WaitKind { $($(#[$doc])* $kind,)* }

        impl WaitKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// As metrics and programs name it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// What it gets is being given back by others.
    Releasing: "releasing";
    /// It has room, or was not looked at, since its gang has not.
    Gang: "gang";
    /// The gang has too few pods to be tried.
    GangIncomplete: "gang-incomplete";
    /// A device plugin has to answer on the node first.
    DevicePlugin: "device-plugin";
    /// It could not be bound, and is tried again.
    BindFailed: "bind-failed";
    /// No node has room for it.
    NoNode: "no-node";
    /// No domain of the network has room for all of it.
    Topology: "topology";
    /// The room that it would have is kept for others.
    Reserved: "reserved";
    /// Somebody has put a gate before it.
    Gated: "gated";
    /// A quota of its queue or namespace is used up.
    QueueQuota: "queue-quota";
    /// The user of the job has as much as a user may have in its queue.
    UserLimit: "user-limit";
    /// The PodGroup that it names is not there.
    NoPodGroup: "no-podgroup";
    /// The PodGroup that it needs is being made.
    AwaitsPodGroup: "awaits-podgroup";
    /// The queue that it names is not there.
    NoQueue: "no-queue";
    /// The queue has not admitted the job.
    NotAdmitted: "not-admitted";
    /// The queue has more than its share.
    QueueOverused: "queue-overused";
    /// Nobody passes the first job that waits in its queue.
    Behind: "behind";
    /// An extender has not agreed.
    Extender: "extender";
    /// It goes on in the next cycle.
    Postponed: "postponed";
}

impl WaitKind {
    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|kind| kind.name() == name)
    }
}
