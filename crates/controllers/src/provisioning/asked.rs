//! For which pods room is asked for.

/// Pods of one template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedSet {
    /// Position of the tally that it was chosen of: of the task in a Job, of the shape in a PodGroup.
    pub at: usize,
    /// Number of pods.
    pub count: i32,
}

/// Pods that are alike, of which a request names one as template.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetTally {
    /// Fewest of them that have to have nodes for the others to start.
    pub minimum: i32,
    /// Pods that have a node, or have done their work.
    pub placed: i32,
    /// Pods that lack one, and wait for this request.
    pub lacking: i32,
}

/// What the pods of one who asks lack.
#[derive(Clone, Debug, Default)]
pub struct PodTally {
    /// Pods that are alike, in the order in which they are chosen.
    pub sets: Vec<SetTally>,
    /// Pods that have to have nodes before any starts.
    pub to_start: i32,
    /// Pods of all sets that have a node, or have done their work.
    pub placed: i32,
    /// Nothing is known yet of some pod without node.
    pub is_undecided: bool,
    /// Some pod without node waits for the request, be it that it lacks a node or something else.
    pub waits: bool,
}

/// Pods for which room is asked for: of who has not started those that it lacks to start, so that it starts where there is
/// no room for all; then the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodsToAskFor {
    sets: Vec<AskedSet>,
}

impl PodTally {
    /// Pods to ask for. Nothing while some of those that are needed to start wait for something else.
    pub fn chosen(&self) -> PodsToAskFor {
        let need = self.to_start.saturating_sub(self.placed);
        match need > 0 {
            true => self.chosen_to_start(need).unwrap_or_default(),
            // A request cannot be changed, so it waits until it knows them all.
            false if self.is_undecided => PodsToAskFor::default(),
            false => self.all(),
        }
    }

    /// All that lack nodes.
    pub fn all(&self) -> PodsToAskFor {
        PodsToAskFor::of(self.sets.iter().map(|set| set.lacking))
    }

    /// So many pods, with those that sets lack of their minimums; `None` if there are not as many.
    fn chosen_to_start(&self, mut need: i32) -> Option<PodsToAskFor> {
        let least: i32 = self.sets.iter().map(|set| set.minimum).sum();
        let has_minimums = least <= self.to_start;
        let mut counts = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            let short = set.minimum - set.placed;
            if has_minimums && short > set.lacking {
                return None;
            }
            let count = short.clamp(0, set.lacking);
            need -= count;
            counts.push(count);
        }
        for (count, set) in counts.iter_mut().zip(&self.sets) {
            let more = need.clamp(0, set.lacking - *count);
            *count += more;
            need -= more;
        }
        (need <= 0).then(|| PodsToAskFor::of(counts))
    }
}

impl PodsToAskFor {
    /// So many of each set.
    fn of(counts: impl IntoIterator<Item = i32>) -> Self {
        let sets = counts.into_iter().enumerate();
        let sets = sets.filter(|(_, count)| *count > 0);
        Self {
            sets: sets.map(|(at, count)| AskedSet { at, count }).collect(),
        }
    }

    /// Nothing is lacking.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Pods of each set that has some.
    pub fn sets(&self) -> &[AskedSet] {
        &self.sets
    }

    /// What is told when room is asked for.
    pub fn words(&self, request: &str, class: &str) -> String {
        let pods: i32 = self.sets.iter().map(|set| set.count).sum();
        format!(
            "asks for room for {pods} pods at once, by ProvisioningRequest {request} of class {class}"
        )
    }
}
