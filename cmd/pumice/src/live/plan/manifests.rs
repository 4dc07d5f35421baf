//! Manifests of what there would be.

use std::path::PathBuf;

use pumice_ingest::Options;
use pumice_model::Delta;
use pumice_sim::reader::{InputObjects, InputSource};
use pumice_sim::{Mode, SimulationSettings};

use crate::simulate::found;

/// Manifests that were read; nothing was asked of a cluster yet.
#[derive(Default)]
pub struct PlanManifests {
    input: InputObjects,
    sources: Vec<InputSource>,
}

impl PlanManifests {
    /// Those of these files and folders. Kinds of which no pods are made are told.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(paths: &[PathBuf]) -> anyhow::Result<Self> {
        if paths.is_empty() {
            return Ok(Self::default());
        }
        let paths: Vec<&PathBuf> = paths.iter().collect();
        let manifests = Self::of(found(&paths)?.sources);
        for (kind, count) in &manifests.input.ignored {
            anstream::eprintln!(
                "warning: {count} {kind}: not made into pods here\n  = help: give Jobs, Deployments, StatefulSets, \
                 PodGroups or pods"
            );
        }
        Ok(manifests)
    }

    /// Those of a text.
    pub fn of_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::default();
        }
        Self::of(vec![InputSource {
            name: "manifests".to_owned(),
            bytes: text.as_bytes().to_vec(),
        }])
    }

    fn of(sources: Vec<InputSource>) -> Self {
        let mut input = InputObjects::default();
        for source in &sources {
            if let Err(problem) = input.read(source) {
                input.problems.push(problem);
            }
        }
        Self { input, sources }
    }

    /// What they say there would be; what names no namespace is in this one.
    ///
    /// # Errors
    /// What is wrong with them, a line each.
    pub fn objects(
        mut self,
        scheduler_names: &[String],
        namespace: &str,
    ) -> Result<Vec<Delta>, String> {
        if self.sources.is_empty() {
            return Ok(Vec::new());
        }
        for item in &mut self.input.items {
            item.object.default_namespace(namespace);
        }
        let settings = SimulationSettings {
            mode: Mode::FixedPoint,
            now_s: 0,
            default_queue: "default".to_owned(),
            options: Options {
                scheduler_names: scheduler_names.to_vec(),
                annotations: pumice_engine::annotations_read(),
            },
            ignored_provisioners: Vec::new(),
            shard: None,
            node_selector: Vec::new(),
        };
        let (objects, problems) = pumice_sim::wanted(self.input, &self.sources, &settings);
        // What is only doubtful is so because the cluster is not among the manifests.
        let wrong = problems.iter().filter(|problem| !problem.kept);
        let wrong: Vec<String> = wrong.map(ToString::to_string).collect();
        match wrong.is_empty() {
            true => Ok(objects),
            false => Err(wrong.join("\n")),
        }
    }
}
