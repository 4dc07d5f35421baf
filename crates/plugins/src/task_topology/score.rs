//! How many pods of a bucket a node has or could take (spec/02 §20.3).

use std::sync::Arc;

use pumice_framework::points::{CandidateScore, CountedCluster};
use pumice_model::{NodeIx, ResIx, ResVec, State};

use super::buckets::{JobBuckets, is_waiting, node_of};
use super::rules::RoleRules;

/// The score of one class of pods: those of one role in one bucket.
pub struct BucketScore {
    rules: Arc<RoleRules>,
    buckets: Arc<JobBuckets>,
    bucket: usize,
    role: usize,
    request: ResVec,
    weight: i64,
    /// Pods of the bucket on each node, less those there that the role keeps apart from. Kept as space.
    there: Vec<i64>,
}

impl BucketScore {
    pub fn new(
        state: &State,
        rules: Arc<RoleRules>,
        buckets: Arc<JobBuckets>,
        bucket: usize,
        role: usize,
        request: &ResVec,
        weight: i64,
    ) -> Self {
        Self {
            rules,
            buckets,
            bucket,
            role,
            request: request.clone(),
            weight,
            there: vec![0; state.nodes().len()],
        }
    }

    /// What is placed of the job speaks for and against the nodes it is on.
    fn count_placed(&mut self, state: &State) {
        self.there.fill(0);
        let apart = &self.rules.rule(self.role).apart;
        for member in &self.buckets.members {
            let Some(node) = node_of(state.task(member.task)) else {
                continue;
            };
            let there = &mut self.there[node.at()];
            *there += i64::from(member.bucket == self.bucket);
            *there -= i64::from(apart.contains(&member.role));
        }
    }

    /// For each resource that is asked for: what the pod itself asks, then with the first of the others that
    /// wait in the bucket, with the first two …; and how many that are in all.
    fn sums_of_waiting(&self, state: &State) -> (usize, Vec<(ResIx, Vec<i64>)>) {
        let waiting =
            self.buckets.members.iter().filter(|member| {
                member.bucket == self.bucket && is_waiting(state.task(member.task))
            });
        let mut others: Vec<(usize, &ResVec)> = waiting
            .map(|member| (member.role, &state.shape(member.task).request))
            .collect();
        let is_same = |request: &ResVec| {
            let (own, other) = (self.request.iter(), request.iter());
            own.eq(other)
        };
        // One of those that cannot be told from the pod is the pod.
        let own = others
            .iter()
            .position(|(role, request)| *role == self.role && is_same(request));
        own.map(|own| others.remove(own));
        let count = state.resources().len() as u16;
        let resources = (0..count).map(ResIx).filter_map(|resource| {
            let mut sum = self.request.get(resource);
            let mut sums = vec![sum];
            for (_, request) in &others {
                sum = sum.saturating_add(request.get(resource));
                sums.push(sum);
            }
            (sum > 0).then_some((resource, sums))
        });
        (others.len() + 1, resources.collect())
    }
}

impl CandidateScore for BucketScore {
    fn catch_up(&mut self, _: CountedCluster<'_>, _: &[NodeIx]) {}

    fn add(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        candidates: &[u32],
        scores: &mut [i64],
    ) {
        self.count_placed(state);
        let (all, sums) = self.sums_of_waiting(state);
        for (score, node) in scores.iter_mut().zip(candidates) {
            let node = NodeIx(*node);
            let room = sums.iter().map(|(resource, sums)| {
                let room = state.nodes().future_idle(*resource, node);
                sums.partition_point(|sum| *sum <= 0 || *sum <= room)
            });
            let fitting = room.fold(all, usize::min) as i64;
            if fitting > 0 {
                let pods = self.there[node.at()] + fitting;
                let largest = self.buckets.largest.max(1) as i64;
                *score += (pods * 100 * self.weight).div_euclid(largest);
            }
        }
    }

    fn sums(&self) -> usize {
        1
    }
}
