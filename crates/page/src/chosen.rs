//! What is chosen on pages that have choices of their own.

use pumice_engine::view::TopologyAsk;

/// What is chosen on the page of the topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DomainChoice {
    /// `namespace/name` of a job for whose pods room is counted (`job`); empty for none.
    pub job: String,
    /// Pods there has to be room for (`pods`); 0 for as many as the job needs.
    pub pods: u64,
    /// Tier to which domains are narrowed (`tier`).
    pub tier: Option<i64>,
}

impl DomainChoice {
    /// Takes what a query says of it; anything else is left alone.
    pub(crate) fn take(&mut self, key: &str, value: &str) {
        match key {
            "job" => value.trim().clone_into(&mut self.job),
            "pods" => self.pods = value.trim().parse().unwrap_or(0),
            "tier" => self.tier = value.trim().parse().ok(),
            _ => {}
        }
    }

    /// As a query says it; empty where nothing is chosen.
    pub(crate) fn pairs(&self) -> [(&'static str, String); 3] {
        let pods = match self.pods {
            0 => String::new(),
            pods => pods.to_string(),
        };
        let tier = self.tier.map_or_else(String::new, |tier| tier.to_string());
        [("job", self.job.clone()), ("pods", pods), ("tier", tier)]
    }

    /// What is asked of the tree.
    pub(crate) fn ask(&self, search: &str, from: usize) -> TopologyAsk {
        TopologyAsk {
            search: search.to_owned(),
            tier: self.tier,
            job: self.job.clone(),
            pods: self.pods,
            from,
        }
    }
}

/// What nodes of the map are coloured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeColour {
    /// The most used of their resources.
    #[default]
    Resource,
    /// Memory of their cards in use.
    Cards,
    /// How much of what is free of their cards no task of the mix can use, or is in pieces where there is no mix.
    Fragmentation,
    /// Whether they and their cards may be used.
    Health,
}

impl NodeColour {
    pub(crate) const ALL: [Self; 4] = [
        Self::Resource,
        Self::Cards,
        Self::Fragmentation,
        Self::Health,
    ];

    /// As addresses name it; the first of them has no name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resource => "",
            Self::Cards => "cards",
            Self::Fragmentation => "fragmentation",
            Self::Health => "health",
        }
    }

    /// The one of that name; the first for any other.
    pub fn named(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|by| by.name() == name);
        known.unwrap_or_default()
    }
}
