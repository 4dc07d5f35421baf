//! Static parts of classes: what depends on node objects alone, shared by all classes with the same
//! rules and signature.

use std::sync::Arc;

use pumice_framework::points::StaticPart;
use pumice_framework::{Class, Plugins, ReasonId, ReasonTable};
use pumice_model::State;
use rustc_hash::FxHashMap;

use super::known::SignatureIx;
use super::shard;

/// Bytes of static parts kept, about; beyond it those no class index uses are dropped.
const STATIC_BUDGET_BYTES: usize = 64 << 20;

/// Units of work of one test of a node by the rules of a class.
const UNITS_PER_RULE: u64 = 4;

/// All static parts that are known.
#[derive(Default)]
pub struct StaticParts {
    /// By serial of the rules and signature.
    parts: FxHashMap<(u64, SignatureIx), Arc<StaticPart>>,
    /// Parts that class indexes used when the others were dropped last.
    in_use: usize,
}

impl StaticParts {
    /// The static part of a class; the work it took is added to `effort`.
    pub fn of(
        &mut self,
        state: &State,
        plugins: &Plugins,
        class: &Class,
        signature: SignatureIx,
        (reasons, other_shard): (&mut ReasonTable, ReasonId),
        effort: &mut u64,
    ) -> Arc<StaticPart> {
        self.stay_within_budget(state.nodes().len());
        let rules = state.ground().shapes().rules_serial(class.shape.rules);
        let part = self.parts.entry((rules, signature)).or_insert_with(|| {
            let tests = UNITS_PER_RULE * (1 + class.rules.size() as u64);
            *effort += tests * state.nodes().len() as u64;
            let mut part = plugins.static_part(state, class.fixed(), reasons);
            shard::overlay(state, other_shard, &mut part);
            Arc::new(part)
        });
        Arc::clone(part)
    }

    /// Bytes of one, about: a verdict, a score and perhaps a raw value per node.
    pub fn bytes(nodes: usize) -> usize {
        24 * nodes
    }

    fn stay_within_budget(&mut self, nodes: usize) {
        let part_bytes = Self::bytes(nodes.max(1));
        if self.parts.len() > self.in_use + STATIC_BUDGET_BYTES / part_bytes {
            self.forget_unused();
        }
    }

    /// Drops those that no class index uses.
    pub fn forget_unused(&mut self) {
        self.parts.retain(|_, part| Arc::strong_count(part) > 1);
        self.in_use = self.parts.len();
    }
}
