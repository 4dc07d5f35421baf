//! Binds of pods that are gone from their places, and that may still write what their claims were given.

use rustc_hash::FxHashMap;

use super::ResourceClaimIx;

/// Which binds may write which claims; a bind is known by the UID of its pod.
#[derive(Clone, Default)]
pub(super) struct AdriftBinds {
    claims: FxHashMap<String, Vec<ResourceClaimIx>>,
    /// Pods whose binds may write a claim, by claim.
    pods: FxHashMap<ResourceClaimIx, Vec<String>>,
}

impl AdriftBinds {
    /// A bind may write a claim.
    pub(super) fn insert(&mut self, pod: &str, claim: ResourceClaimIx) {
        let claims = self.claims.entry(pod.to_owned()).or_default();
        if !claims.contains(&claim) {
            claims.push(claim);
            self.pods.entry(claim).or_default().push(pod.to_owned());
        }
    }

    /// All binds, in order, each with what it may write, named so.
    pub(super) fn all<N>(&self, name: impl Fn(ResourceClaimIx) -> N) -> Vec<(String, Vec<N>)> {
        let all = self.claims.iter().map(|(pod, claims)| {
            let names = claims.iter().map(|claim| name(*claim));
            (pod.clone(), names.collect())
        });
        let mut all: Vec<(String, Vec<N>)> = all.collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Whether any bind may write a claim.
    pub(super) fn may_write(&self, claim: ResourceClaimIx) -> bool {
        self.pods.contains_key(&claim)
    }

    /// A bind has come to its end: the claims that it could write, in the order of the pod.
    pub(super) fn end(&mut self, pod: &str) -> Vec<ResourceClaimIx> {
        let claims = self.claims.remove(pod).unwrap_or_default();
        for claim in &claims {
            drop_from(&mut self.pods, claim, &pod.to_owned());
        }
        claims
    }

    /// What a claim was given is nothing that could be written any more.
    pub(super) fn forget(&mut self, claim: ResourceClaimIx) {
        for pod in self.pods.remove(&claim).unwrap_or_default() {
            drop_from(&mut self.claims, &pod, &claim);
        }
    }
}

fn drop_from<K: Eq + std::hash::Hash, V: PartialEq>(
    lists: &mut FxHashMap<K, Vec<V>>,
    key: &K,
    value: &V,
) {
    if let Some(list) = lists.get_mut(key) {
        list.retain(|listed| listed != value);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ResourceClaimIx = ResourceClaimIx(0);
    const B: ResourceClaimIx = ResourceClaimIx(1);

    #[test]
    fn a_claim_may_be_written_until_the_last_bind_has_ended() {
        let mut adrift = AdriftBinds::default();
        adrift.insert("p", A);
        adrift.insert("p", A);
        adrift.insert("p", B);
        adrift.insert("q", A);
        assert_eq!(adrift.end("p"), [A, B]);
        assert!(adrift.may_write(A) && !adrift.may_write(B));
        assert_eq!(adrift.end("p"), []);
        assert_eq!(adrift.end("q"), [A]);
        assert!(!adrift.may_write(A));
    }

    #[test]
    fn a_bind_writes_nothing_of_a_claim_that_is_forgotten() {
        let mut adrift = AdriftBinds::default();
        adrift.insert("p", A);
        adrift.insert("p", B);
        adrift.forget(A);
        assert!(!adrift.may_write(A));
        assert_eq!(adrift.end("p"), [B]);
    }
}
