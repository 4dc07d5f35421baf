//! Gangs of gangs: what of a tree of PodGroups has to be placed at once, and whether that is so (spec/03 §B11).
//!
//! ```text
//!  root  needs 2 ─┬─ group 0  (as many pods as its policy says)
//!                 ├─ group 1
//!                 └─ node 1  needs 1 ─┬─ group 2
//!                                     └─ group 3
//! ```
//!
//! Groups are the sub-group policies of the job that stands for the tree, nodes are CompositePodGroups.

use super::TopologyRequest;

/// What of a tree has to be placed at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangTree {
    /// CompositePodGroups, the root first, each before those within.
    pub nodes: Vec<GangNode>,
}

/// One CompositePodGroup of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangNode {
    /// Name of the CompositePodGroup.
    pub name: String,
    /// How many of its groups have to be placed at once.
    pub needs: usize,
    /// PodGroups that name this one as their parent, as indices of sub-group policies.
    pub groups: Vec<u16>,
    /// CompositePodGroups that name this one as their parent, as indices of nodes.
    pub nodes: Vec<u16>,
    /// Where all pods below have to be; None at the root, whose job asks for that.
    pub topology: Option<TopologyRequest>,
}

impl GangTree {
    /// Whether each node holds, where these groups do.
    pub fn nodes_that_hold(&self, groups: &[bool]) -> Vec<bool> {
        let mut holds = vec![false; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let has = |all: &[bool], at: &u16| all.get(*at as usize).copied().unwrap_or(false);
            let of_groups = node.groups.iter().filter(|at| has(groups, at)).count();
            let of_nodes = node.nodes.iter().filter(|at| has(&holds, at)).count();
            holds[at] = of_groups + of_nodes >= node.needs;
        }
        holds
    }

    /// The nodes in which one of these groups is.
    pub fn nodes_around(&self, groups: &[bool]) -> Vec<bool> {
        let mut around = vec![false; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let of_groups = node.groups.iter().any(|at| groups[*at as usize]);
            around[at] = of_groups || node.nodes.iter().any(|at| around[*at as usize]);
        }
        around
    }

    /// Whether each group holds and is part of nothing that does not, where these groups hold.
    pub fn groups_that_stand(&self, holds: &[bool]) -> Vec<bool> {
        let mut nodes = self.nodes_that_hold(holds);
        let mut groups = vec![false; holds.len()];
        // A node comes before those below it.
        for (at, node) in self.nodes.iter().enumerate() {
            for below in &node.nodes {
                nodes[*below as usize] &= nodes[at];
            }
            for group in &node.groups {
                groups[*group as usize] = holds[*group as usize] && nodes[at];
            }
        }
        groups
    }

    /// Every group below a node.
    pub fn groups_below(&self, node: u16) -> Vec<u16> {
        let mut found = Vec::new();
        let mut next = vec![node];
        while let Some(at) = next.pop() {
            let node = &self.nodes[at as usize];
            found.extend(&node.groups);
            next.extend(&node.nodes);
        }
        found
    }

    /// Nodes that ask for a place and have a group below them, the outermost first.
    pub fn asking_around(&self, group: u16) -> Vec<u16> {
        let asks = |node: &u16| self.nodes[*node as usize].topology.is_some();
        let all = (0..).take(self.nodes.len()).filter(asks);
        all.filter(|node| self.groups_below(*node).contains(&group))
            .collect()
    }

    /// How many pods each node takes at least, of groups that take so many; more than there can be, where it has fewer
    /// groups than it needs.
    pub fn least_pods(&self, groups: &[i32]) -> Vec<i32> {
        let mut least = vec![0_i32; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let of_groups = node.groups.iter().map(|at| groups[*at as usize]);
            let of_nodes = node.nodes.iter().map(|at| least[*at as usize]);
            let mut all: Vec<i32> = of_groups.chain(of_nodes).collect();
            all.sort_unstable();
            least[at] = match all.get(..node.needs) {
                Some(needed) => needed.iter().copied().fold(0, i32::saturating_add),
                None => i32::MAX,
            };
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root that needs two of: group 0, group 1, a node that needs one of groups 2 and 3.
    fn tree() -> GangTree {
        let node = |needs, groups: &[u16], nodes: &[u16]| GangNode {
            name: String::new(),
            needs,
            groups: groups.to_vec(),
            nodes: nodes.to_vec(),
            topology: None,
        };
        GangTree {
            nodes: vec![node(2, &[0, 1], &[1]), node(1, &[2, 3], &[])],
        }
    }

    #[test]
    fn a_node_holds_with_as_many_of_its_groups_as_it_needs() {
        for (groups, expected) in [
            ([false; 4], [false, false]),
            ([true, false, false, false], [false, false]),
            ([true, true, false, false], [true, false]),
            ([false, false, true, true], [false, true]),
            ([true, false, false, true], [true, true]),
        ] {
            assert_eq!(tree().nodes_that_hold(&groups), expected, "{groups:?}");
        }
    }

    #[test]
    fn the_least_number_of_pods_is_that_of_the_smallest_groups() {
        assert_eq!(tree().least_pods(&[5, 3, 7, 2]), [5, 2]);
        assert_eq!(tree().least_pods(&[1, 1, 7, 9]), [2, 7]);
        assert_eq!(
            tree().least_pods(&[i32::MAX, i32::MAX, 9, 9]),
            [i32::MAX, 9]
        );
        let mut too_few = tree();
        too_few.nodes[1].groups.clear();
        assert_eq!(too_few.least_pods(&[5, 3, 7, 2]), [8, i32::MAX]);
        too_few.nodes[0].groups.pop();
        assert_eq!(too_few.least_pods(&[5, 3, 7, 2]), [i32::MAX; 2]);
    }
}
