//! What was measured of the use of nodes.

use pumice_model::Nodes;
use pumice_model::object::NodeUsage;

/// Whether it is heard by the nodes it is about.
#[derive(Default)]
pub struct ToldUsage {
    /// What was measured, until all nodes are known.
    early: Vec<(String, NodeUsage)>,
    /// It is told by names that no node has, and that was said.
    is_of_strangers: bool,
}

impl ToldUsage {
    /// Looks at what was measured; what is to be told of it, once.
    pub fn look(
        &mut self,
        measured: &[(String, NodeUsage)],
        nodes: &Nodes,
        are_all_known: bool,
    ) -> Option<String> {
        if !are_all_known {
            self.early = measured.to_vec();
        }
        let (first, count) = (&measured.first()?.0, measured.len());
        if measured.iter().any(|(node, _)| nodes.find(node).is_some()) {
            self.is_of_strangers = false;
            return None;
        }
        if !are_all_known || std::mem::replace(&mut self.is_of_strangers, true) {
            return None;
        }
        Some(format!(
            "the source of node usage tells of {count} nodes by names that no node has, such as \
             {first}: it has to name nodes as the API server does"
        ))
    }

    /// It is told by names that no node has, and that was said.
    pub fn is_of_strangers(&self) -> bool {
        self.is_of_strangers
    }

    /// Whether that was said.
    pub fn set_of_strangers(&mut self, was_said: bool) {
        self.is_of_strangers = was_said;
    }

    /// All nodes are known: what was measured before.
    pub fn take_early(&mut self) -> Vec<(String, NodeUsage)> {
        std::mem::take(&mut self.early)
    }
}
