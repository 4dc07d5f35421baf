//! Manifests as what a scheduler would be told of them, once an API server had taken them and controllers had made
//! of Jobs what they are made into: for questions about objects that do not exist yet.

use pumice_model::Delta;

use crate::problem::InputProblem;
use crate::reader::{InputObjects, InputSource};
use crate::settings::SimulationSettings;
use crate::world::World;

/// The objects, PodGroups and pods of Jobs in the place of the Jobs; what every API server has besides is left out. Then what is
/// wrong with some of them: those are set aside, or told about and kept.
pub fn wanted(
    input: InputObjects,
    sources: &[InputSource],
    settings: &SimulationSettings,
) -> (Vec<Delta>, Vec<InputProblem>) {
    let (mut world, problems) = World::new(input.items, sources, settings, input.problems);
    world.make_all_job_pods(&settings.options);
    world.run_claims();
    let mut deltas = world.take_deltas();
    deltas.retain(|delta| match delta {
        Delta::QueueApply(queue) => world.place("Queue", &queue.name).is_some(),
        Delta::PriorityClassApply(class) => world.place("PriorityClass", &class.name).is_some(),
        _ => true,
    });
    (deltas, problems)
}
