//! Which MIG partition of a card a pod gets: the partitions of a model sorted for best fit.

use smallvec::SmallVec;

use crate::ledger::Partition;
use crate::nvidia::config::ModelGeometry;

/// Partitions of a card in use.
pub type InUse = SmallVec<[Partition; 16]>;

/// Equal partitions of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PartitionRun {
    memory_mib: i64,
    group: u16,
    start: u16,
    count: u16,
}

/// The partitions cards of some models may have.
#[derive(Debug)]
pub struct PartitionTable {
    /// Name of each group, and how many partitions it has.
    groups: Vec<(String, u16)>,
    /// By memory, then group, then position: the first that will do is the best fit (spec/04 R19).
    runs: Vec<PartitionRun>,
}

impl PartitionTable {
    pub fn new(geometry: &ModelGeometry) -> Self {
        let mut runs = Vec::new();
        let mut groups = Vec::new();
        for (at, group) in geometry
            .groups
            .iter()
            .enumerate()
            .take(usize::from(u16::MAX))
        {
            let mut start = 0u16;
            for instance in &group.instances {
                let count = instance.count.min(u16::MAX - start);
                runs.push(PartitionRun {
                    memory_mib: instance.memory_mib,
                    group: at as u16,
                    start,
                    count,
                });
                start += count;
            }
            groups.push((group.name.clone(), start));
        }
        runs.retain(|run| run.count > 0);
        runs.sort_unstable();
        Self { groups, runs }
    }

    /// Memory of the largest partition in MiB; 0 if there is none.
    pub fn largest_mib(&self) -> i64 {
        self.runs.last().map_or(0, |run| run.memory_mib)
    }

    /// Number of groups.
    pub fn groups(&self) -> u16 {
        self.groups.len() as u16
    }

    /// The name of the group of a partition.
    pub fn group_name(&self, unit: Partition) -> Option<&str> {
        let group = self.groups.get(usize::from(unit.group))?;
        Some(&group.0)
    }

    /// The partition with a name, and its memory in MiB.
    pub fn unit(&self, group: &str, position: &str) -> Option<(Partition, i64)> {
        let digits = !position.is_empty() && position.bytes().all(|b| b.is_ascii_digit());
        let position = digits.then(|| position.parse::<u16>().ok()).flatten()?;
        let at = self.groups.iter().position(|(name, _)| name == group)?;
        let group = at as u16;
        let holds = |run: &&PartitionRun| {
            run.group == group && position >= run.start && position - run.start < run.count
        };
        let run = self.runs.iter().find(holds)?;
        Some((Partition { group, position }, run.memory_mib))
    }

    /// Partitions that nobody has in the group of those in use, by position: name and memory in MiB. None before one is
    /// in use, since any group may be taken then.
    pub fn free(&self, in_use: &[Partition]) -> Vec<(String, i64)> {
        let Ok(Some(group)) = self.fixed(in_use) else {
            return Vec::new();
        };
        let mut free = Vec::new();
        for run in self.runs.iter().filter(|run| run.group == group) {
            for position in run.start..run.start + run.count {
                let is_free = in_use.iter().all(|unit| unit.position != position);
                free.extend(is_free.then_some((position, run.memory_mib)));
            }
        }
        free.sort_unstable();
        let name = &self.groups[usize::from(group)].0;
        let named = free.into_iter();
        named
            .map(|(position, mib)| (format!("{name}-{position}"), mib))
            .collect()
    }

    /// The group in which further partitions may be given out: `None` if any may be, an error if
    /// what is in use cannot be told or contradicts itself.
    fn fixed(&self, in_use: &[Partition]) -> Result<Option<u16>, ()> {
        let Some(first) = in_use.first() else {
            return Ok(None);
        };
        let alike = in_use.iter().all(|unit| unit.group == first.group);
        if alike && first.group < self.groups() {
            Ok(Some(first.group))
        } else {
            Err(())
        }
    }

    /// The smallest free partition with at least this memory, and its memory in MiB; a request for
    /// more than the largest gets the largest. `only` restricts it to a group.
    pub fn best(
        &self,
        need_mib: i64,
        in_use: &[Partition],
        only: Option<u16>,
    ) -> Option<(Partition, i64)> {
        let need = need_mib.min(self.largest_mib());
        let fixed = self.fixed(in_use).ok()?;
        let open = |group: u16| {
            fixed.is_none_or(|known| known == group) && only.is_none_or(|known| known == group)
        };
        let from = self.runs.partition_point(|run| run.memory_mib < need);
        let fitting = self.runs[from..].iter().filter(|run| open(run.group));
        let found = fitting.filter_map(|run| Some((run.free(in_use)?, run.memory_mib)));
        found.into_iter().next()
    }
}

impl PartitionRun {
    fn free(&self, in_use: &[Partition]) -> Option<Partition> {
        let units = (0..self.count).map(|at| Partition {
            group: self.group,
            position: self.start + at,
        });
        // Ends after at most one more step than there are partitions in use.
        units.into_iter().find(|unit| !in_use.contains(unit))
    }
}
