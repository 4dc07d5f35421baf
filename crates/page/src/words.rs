//! Every word of the page, in both languages: the one place for translators.
//!
//! Names, quantities and the scheduler's own sentences are told as they are, so that they can be searched for.

/// Language of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageLanguage {
    /// `en`
    #[default]
    English,
    /// `zh`
    Chinese,
}

impl PageLanguage {
    /// Both.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// As addresses and `lang` name it.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// As its readers call it.
    pub(crate) fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "中文",
        }
    }

    /// The language of that code.
    pub fn named(code: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.code() == code)
    }

    /// The first that a browser accepts and that there is, else English.
    pub fn accepted(header: &str) -> Self {
        let mut codes = header.split(',').map(|one| one.trim());
        let known = codes.find_map(|one| Self::named(one.get(..2)?));
        known.unwrap_or_default()
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $english:literal, $chinese:literal;)*) => {
        /// A word or sentence of the page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Word { $($name,)* }

        impl Word {
            /// In a language.
            pub(crate) fn in_language(self, language: PageLanguage) -> &'static str {
                match (self, language) {
                    $(
                        (Self::$name, PageLanguage::English) => $english,
                        (Self::$name, PageLanguage::Chinese) => $chinese,
                    )*
                }
            }
        }

        #[cfg(test)]
        const ALL: &[Word] = &[$(Word::$name,)*];
    };
}

words! {
    Overview: "Overview", "总览";
    Queues: "Queues", "队列";
    Queue: "Queue", "队列";
    Jobs: "Jobs", "作业";
    Job: "Job", "作业";
    Pods: "Pods", "Pod";
    Pod: "Pod", "Pod";
    Nodes: "Nodes", "节点";
    Node: "Node", "节点";
    Cards: "Cards", "卡";
    Card: "Card", "卡";
    Decisions: "Decisions", "决策";
    Decision: "Decision", "决策";
    WhatIf: "What if", "假设";
    PlansByCommand: "This page does not ask what would happen if; these commands do:", "此页面不做假设推演；请使用命令：";
    PlansNowhere: "What is shown is past, and of the past it is not asked what would happen if.", "此处显示的是过去的状态，不能对过去做假设推演。";
    LastHour: "In the last hour", "最近一小时";
    PodsBound: "pods bound", "个 Pod 已绑定";
    PodsEvicted: "evicted", "个被驱逐";
    DecidingSince: "deciding since", "调度始于";
    InUse: "In use", "使用中";
    Slots: "Slots", "可共享数";
    TheJobSays: "What the Job says itself", "Job 对象自己的说明";
    JobAskedBy: "Its policies, restarts and tasks are told by", "其策略、重启和任务由此命令给出：";
    JobUnread: "The Job cannot be read", "无法读取 Job";
    Restarts: "Restarts", "重启次数";
    Minimum: "Minimum", "最少";
    Policies: "Policies", "策略";
    Tasks: "Tasks", "任务";
    Task: "Task", "任务";
    Replicas: "Replicas", "副本数";
    TimeLine: "Time line", "时间线";
    TimeLineIsOf: "From what this scheduler has seen since it started and from the latest decisions that are kept.", "依据本调度器启动以来所见，以及保留的最近决策。";
    From: "From", "开始";
    Took: "For how long", "时长";
    What: "What", "状态";
    SoFar: "so far", "至今";
    Ended: "Ended", "已结束";
    HasNoPods: "No pods", "没有 Pod";
    WaitsReleasing: "others are giving back what it gets", "等待其他 Pod 释放资源";
    WaitsGang: "its gang has no room as a whole", "成组整体放不下";
    WaitsGangIncomplete: "its gang has too few pods", "成组的 Pod 数不足";
    WaitsDevicePlugin: "a device plugin has to answer", "等待设备插件应答";
    WaitsBindFailed: "it could not be bound", "绑定失败";
    WaitsNoNode: "no node has room", "没有节点能容纳";
    WaitsTopology: "no domain of the network has room", "没有网络域能容纳";
    WaitsReserved: "its room is kept for others", "空位为其他作业保留";
    WaitsGated: "somebody has put a gate before it", "有调度门（gate）未解除";
    WaitsQueueQuota: "a quota is used up", "配额已用完";
    WaitsNoPodGroup: "its PodGroup is not there", "PodGroup 不存在";
    WaitsAwaitsPodGroup: "its PodGroup is being made", "PodGroup 正在创建";
    WaitsNoQueue: "its queue is not there", "队列不存在";
    WaitsNotAdmitted: "its queue has not admitted it", "队列尚未准入";
    WaitsQueueOverused: "its queue has more than its share", "队列已超出其份额";
    WaitsUserLimit: "the limit of its user is reached", "用户的上限已满";
    WaitsBehind: "nobody passes the first of its queue", "队列按先后顺序，前面还有作业";
    WaitsExtender: "an extender has not agreed", "扩展器未同意";
    WaitsPostponed: "it goes on in the next cycle", "下一轮继续";
    Topology: "Topology", "拓扑";
    Domain: "Domain", "域";
    Tier: "Tier", "层级";
    MadeOfHyperNodes: "Domains are what HyperNodes make them.", "域由 HyperNode 构成。";
    MadeOfLabels: "Domains are what labels of nodes (hypernode.labels) make them.", "域由节点标签（hypernode.labels）构成。";
    MadeOfNothing: "There are neither HyperNodes nor labels that make domains: the cluster is the only one.", "既没有 HyperNode，也没有构成域的标签：整个集群是唯一的域。";
    TheCluster: "the cluster", "整个集群";
    Free: "Free", "空闲";
    FreeCards: "Free cards", "空闲卡";
    RoomForPodsOf: "Room for pods of the job (NAMESPACE/NAME)", "按作业的 Pod 计算可容纳数（命名空间/名称）";
    HowManyPods: "how many; empty for its gang", "数量；留空为其成组数";
    RoomLike: "Room is counted for pods like", "按此类 Pod 计算可容纳数";
    DomainsWithRoom: "domains with room for", "个域可容纳";
    Room: "Room for pods", "可容纳 Pod";
    RoomByDomain: "room for its pods, by domain of the network", "按网络域查看可容纳的 Pod 数";
    AtLeast: "at least", "至少";
    Enough: "enough", "足够";
    NotEnough: "not enough", "不够";
    MayBeEnough: "not known: counting was stopped", "未知：计数已提前停止";
    DomainsUnknown: "of which it is not known, since counting was stopped", "个域未知，因计数已提前停止";
    LeftOut: "Left out of the tree", "未纳入的部分";
    Search: "Search", "搜索";
    Show: "Show", "显示";
    All: "All", "全部";
    Waiting: "Waiting", "等待中";
    Running: "Running", "运行中";
    Phase: "Phase", "阶段";
    Status: "Status", "状态";
    Priority: "Priority", "优先级";
    Created: "Created", "创建时间";
    Placed: "Placed", "已放置";
    Pending: "Pending", "待放置";
    Needs: "Needs", "至少需要";
    WhyItWaits: "Why it waits", "等待原因";
    Reason: "Reason", "原因";
    Reasons: "What waits, and why", "等待的作业与原因";
    NothingWaits: "Nothing waits.", "没有作业在等待。";
    Planned: "Planned", "计划";
    ToChange: "What would have to change (any one may be enough)", "怎样才能运行（任意一项可能就够）";
    PlaceInQueue: "Place in the queue", "排队位置";
    Resource: "Resource", "资源";
    Resources: "Resources", "资源";
    Used: "Used", "已用";
    InAll: "In all", "总量";
    Guarantee: "Guarantee", "保障";
    Deserved: "Deserved", "应得";
    Capability: "Capability", "上限";
    Allocated: "Allocated", "已分配";
    Reserved: "Reserved", "已预留";
    Share: "Share", "份额";
    Weight: "Weight", "权重";
    Memory: "Memory", "显存";
    Cores: "Cores", "算力";
    Sharers: "Sharers", "共享数";
    Healthy: "Healthy", "健康";
    Unhealthy: "Not usable", "不可用";
    NoCards: "No shared cards.", "没有共享卡。";
    NoNodes: "No nodes.", "没有节点。";
    NoJobs: "No jobs match.", "没有符合条件的作业。";
    NoDecisions: "Nothing was decided yet.", "还没有决策。";
    ByResource: "by fullest resource", "按最满的资源";
    ByCards: "by memory of cards", "按显存";
    ByFragmentation: "by free memory in pieces", "按空闲显存的碎片";
    ByNoUse: "by free cards of no use", "按无用的空闲卡";
    OfNoUse: "of the free cards is of use to no task of the mix", "的空闲卡对任务组合中的任何任务都无用";
    OfNoUseIs: "How much of what is free of its cards no task of this cluster's own mix can use.", "其卡的空闲部分中，本集群自身任务组合里没有任务能用的比例。";
    ByHealth: "by health", "按健康状况";
    InPieces: "of the free memory of cards is on cards in use", "的空闲显存位于使用中的卡上";
    Parts: "Parts of the card", "卡的切分";
    NumaNodes: "NUMA nodes", "NUMA 节点";
    NumaNode: "NUMA node", "NUMA 节点";
    FreeCpus: "Free CPUs", "空闲 CPU";
    AllWell: "takes pods, all cards well", "可调度，卡均健康";
    ColourBy: "Colours", "着色";
    Time: "Time", "时间";
    Bound: "bound", "绑定";
    Evicted: "evicted", "驱逐";
    NoMatch: "Nothing matches.", "没有符合条件的内容。";
    EvictedBy: "evicted by", "驱逐，动作";
    For: "for", "为了";
    Waits: "waits", "等待";
    Holds: "Holds", "占用";
    Asks: "Asks", "请求";
    Of: "of", "/";
    More: "more", "更多";
    Next: "Next", "下一页";
    Previous: "Previous", "上一页";
    Json: "JSON", "JSON";
    AsOf: "as of", "截至";
    Live: "live", "实时";
    Configuration: "The newest configuration is not in use", "最新的配置未生效";
    NobodyAnswers: "Nobody answers at the moment", "暂时无人应答";
    ComesBack: "This page comes by itself as soon as somebody does.", "一旦有人应答，本页会自动出现。";
    NotThere: "There is nothing to show", "没有可显示的内容";
    SkipToContent: "Skip to content", "跳到内容";
    Language: "Language", "语言";
    PasteManifest: "Manifests of what there would be (YAML)", "假设要提交的清单（YAML）";
    OrPickJobs: "or jobs that exist, one NAMESPACE/NAME a line", "或已有的作业，每行一个 命名空间/名称";
    PickWaiting: "or pick a job that waits", "或选择一个等待中的作业";
    PlanOnMap: "On the map of the nodes", "在节点图上";
    PodsCome: "pods come", "个 Pod 到来";
    PodsComeAndGo: "both", "两者皆有";
    PodsGo: "pods are evicted", "个 Pod 被驱逐";
    WhatIfIt: "What would happen to it now", "推演现在会怎样";
    PlanIt: "Plan", "推演";
    NothingIsDone: "nothing of this is done", "不会真正执行";
    ItRuns: "It runs now.", "现在就能运行。";
    ItWaits: "It waits.", "需要等待。";
    OthersGo: "Others are evicted for it.", "会驱逐其他 Pod。";
    WouldHelp: "Tried, and enough alone", "试过，单独即可";
    InState: "Jobs by phase", "各阶段的作业";
    Warnings: "Warnings", "警告";
    OfGang: "gang", "成组";
    Schedulable: "nodes that take pods", "可调度的节点";
    PodsOnNodes: "pods on nodes", "已在节点上的 Pod";
    PodsWaiting: "pods waiting", "等待中的 Pod";
    JobsWaiting: "jobs waiting", "等待中的作业";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_in_both_languages() {
        for word in ALL {
            for language in PageLanguage::ALL {
                assert!(!word.in_language(language).is_empty(), "{word:?}");
            }
        }
    }

    #[test]
    fn a_browser_gets_the_first_language_that_there_is() {
        for (header, language) in [
            ("", PageLanguage::English),
            ("de-DE,de;q=0.9", PageLanguage::English),
            ("zh-CN,zh;q=0.9,en;q=0.8", PageLanguage::Chinese),
            ("fr, zh-TW", PageLanguage::Chinese),
            ("é", PageLanguage::English),
        ] {
            assert_eq!(PageLanguage::accepted(header), language, "{header}");
        }
    }
}
