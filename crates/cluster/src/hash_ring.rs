//! Several schedulers share one cluster by consistent hashing (spec/01 §1.7).
//!
//! The points of the ring, the key of a point and the search are those Volcano uses, so that its
//! schedulers and ours, running side by side during a change-over, agree on who owns what.
//!
//! Invariant: pure; who am I and how many are we come from outside.

use thiserror::Error;

/// Points of one member on the ring.
const POINTS: usize = 20;

/// Why there is no ring.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// The name of the own pod has no ordinal.
    #[error(
        "the pod name {0:?} does not end in -<number>; run the schedulers as a StatefulSet and set \
         SCHEDULER_POD_NAME to the name of the pod, or unset MULTI_SCHEDULER_ENABLE"
    )]
    NoOrdinal(String),
    /// The own pod is not one of the members.
    #[error(
        "the pod {0:?} is not one of the {1} schedulers {2}-0 … ; set SCHEDULER_NUM to the number \
         of replicas"
    )]
    NotAMember(String, usize, String),
}

/// Who owns which object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Hash and member, sorted by hash, each hash once.
    points: Vec<(u32, usize)>,
    /// The own member.
    own: usize,
}

impl Ring {
    /// The ring of the members `<base>-0` … `<base>-(count-1)`, where `<base>` is the own pod name
    /// up to its last `-` (`SCHEDULER_POD_NAME`, `SCHEDULER_NUM`).
    ///
    /// # Errors
    /// The pod name has no `-`, or is not the name of a member.
    pub fn new(pod_name: &str, count: usize) -> Result<Self, RingError> {
        let Some((base, _)) = pod_name.rsplit_once('-') else {
            return Err(RingError::NoOrdinal(pod_name.to_owned()));
        };
        let members: Vec<String> = (0..count).map(|at| format!("{base}-{at}")).collect();
        let Some(own) = members.iter().position(|member| member == pod_name) else {
            let base = base.to_owned();
            return Err(RingError::NotAMember(pod_name.to_owned(), count, base));
        };
        let point = |(at, name): (usize, &String)| -> [(u32, usize); POINTS] {
            std::array::from_fn(|i| (crc32fast::hash(format!("{i}{name}").as_bytes()), at))
        };
        let mut points: Vec<_> = members.iter().enumerate().flat_map(point).collect();
        // Where two members share a point, the later one has it.
        points.sort_by_key(|(hash, member)| (*hash, std::cmp::Reverse(*member)));
        points.dedup_by_key(|(hash, _)| *hash);
        Ok(Self { points, own })
    }

    /// Whether the own scheduler owns what has this key: the name of a node, or the first owner's
    /// name of a pod or PodGroup, else its own name.
    pub fn is_mine(&self, key: &str) -> bool {
        self.member(key) == self.own
    }

    /// Ordinal of the member that owns this key: that of the first point above its hash.
    fn member(&self, key: &str) -> usize {
        let hash = crc32fast::hash(key.as_bytes());
        let at = self.points.partition_point(|(point, _)| *point <= hash);
        self.points[at % self.points.len()].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CRC-32 (IEEE) bit by bit, so that the expectations below do not rest on the library.
    fn crc32(text: &str) -> u32 {
        let step = |crc: u32, byte: u8| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
            })
        };
        !text.bytes().fold(!0, step)
    }

    /// The rule of spec/01 §1.7 by trying every point.
    fn member_by_rule(base: &str, count: usize, key: &str) -> usize {
        let hash = crc32(key);
        let points = (0..count).flat_map(|at| (0..POINTS).map(move |i| (i, at)));
        let points = points.map(|(i, at)| (crc32(&format!("{i}{base}-{at}")), at));
        let points: Vec<_> = points.collect();
        let above = points.iter().filter(|(point, _)| *point > hash).min();
        above.or_else(|| points.iter().min()).unwrap().1
    }

    #[test]
    fn the_check_value_of_crc_32_ieee_is_met() {
        assert_eq!(crc32("123456789"), 0xCBF4_3926);
        assert_eq!(crc32fast::hash(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_key_belongs_to_the_first_point_above_its_hash() {
        for count in [1, 2, 3, 7] {
            let ring = Ring::new("volcano-scheduler-0", count).unwrap();
            for key in (0..500).map(|at| format!("node-{at}")) {
                let expected = member_by_rule("volcano-scheduler", count, &key);
                assert_eq!(ring.member(&key), expected, "{key} of {count}");
            }
        }
    }

    #[test]
    fn every_key_is_owned_by_exactly_one_member_and_no_member_by_none() {
        let rings: Vec<_> = (0..3)
            .map(|at| Ring::new(&format!("s-{at}"), 3).unwrap())
            .collect();
        let mut owned = [0; 3];
        for key in (0..1_000).map(|at| format!("pod-{at}")) {
            let owners: Vec<_> = (0..3).filter(|at| rings[*at].is_mine(&key)).collect();
            assert_eq!(owners.len(), 1, "{key}");
            owned[owners[0]] += 1;
        }
        assert!(owned.iter().all(|count| *count > 0), "{owned:?}");
    }

    #[test]
    fn a_key_on_a_point_belongs_to_the_next_one() {
        let ring = Ring::new("s-0", 4).unwrap();
        for (at, (point, _)) in ring.points.iter().enumerate() {
            let key = (0..4).flat_map(|m| (0..POINTS).map(move |i| format!("{i}s-{m}")));
            let key = key.into_iter().find(|key| crc32(key) == *point).unwrap();
            let next = ring.points[(at + 1) % ring.points.len()].1;
            assert_eq!(ring.member(&key), next, "{key}");
        }
    }

    #[test]
    fn a_pod_name_that_is_no_member_is_refused() {
        let cases = [
            ("scheduler", 2, "does not end in -<number>"),
            ("scheduler-2", 2, "SCHEDULER_NUM"),
            ("scheduler-x", 2, "SCHEDULER_NUM"),
            ("scheduler-0", 0, "SCHEDULER_NUM"),
        ];
        for (name, count, expected) in cases {
            let error = Ring::new(name, count).unwrap_err().to_string();
            assert!(error.contains(expected), "{name} of {count}: {error}");
        }
    }
}
