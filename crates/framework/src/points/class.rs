//! Classes: sets of tasks whose filters and scores cannot differ. The kernel asks plugins about nodes
//! once a class, never once a task.
//!
//! What the model knows to matter (the template, what selectors see, volumes, devices) is in
//! [`ClassKey`]. A plugin whose answers depend on anything else of a task (its queue, its job, an
//! annotation, the time) writes that down in the class's [`Signature`]: the kernel asks for it each
//! time a task is to be placed, and tasks with different signatures are different classes. Answers of
//! filters and scores must follow from the class, so a plugin reads there what it wrote; what it keeps
//! from [`crate::Plugin::open`] may reach such an answer through the signature only, because the answer
//! outlives the cycle.

use std::sync::Arc;

use pumice_devices::DeviceRequest;
use pumice_model::AppearanceIx;
use pumice_model::{
    DeviceRequestIx, NeedIx, ResourceNeed, ResourceNeedIx, Rules, Shape, ShapeIx, State, TaskIx,
    VolumeNeed,
};

/// What tells classes apart in every configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassKey {
    /// Everything of the pod's template that decides about placement.
    pub shape: ShapeIx,
    /// What selectors see.
    pub appearance: AppearanceIx,
    /// What it asks of its volumes.
    pub volumes: NeedIx,
    /// What it asks of its resource claims.
    pub claims: ResourceNeedIx,
    /// What it asks of devices.
    pub devices: DeviceRequestIx,
}

impl ClassKey {
    /// The key of a task, as things stand: whether its group matters to its devices may change with what
    /// the group holds.
    pub fn of(state: &State, task: TaskIx) -> Self {
        let task = state.task(task);
        Self {
            shape: task.shape,
            appearance: task.appearance,
            volumes: task.volumes,
            claims: task.resource_claims,
            devices: state.supplies().devices().judged_as(task.demand),
        }
    }
}

/// What plugins tell classes apart by, each under its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature(Vec<(&'static str, String)>);

impl Signature {
    /// Adds what a plugin wrote; nothing if that is empty.
    pub fn add(&mut self, plugin: &'static str, text: String) {
        if !text.is_empty() {
            self.0.push((plugin, text));
        }
    }

    /// What a plugin wrote; empty if it wrote nothing.
    pub fn of(&self, plugin: &str) -> &str {
        let mut all = self.0.iter();
        let found = all.find(|(name, _)| *name == plugin);
        found.map_or("", |(_, text)| text)
    }

    /// No plugin wrote anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Adds to what classes are told apart by.
pub trait ClassSignature {
    /// Everything of the task, besides its [`ClassKey`], that the answers of this plugin about nodes
    /// depend on: equal texts, equal answers. Empty for nothing.
    fn signature(&self, state: &State, task: TaskIx) -> String;
}

/// A class while its points are collected.
pub struct Class {
    /// What tells it apart in every configuration.
    pub key: ClassKey,
    /// What pods of the class request.
    pub shape: Arc<Shape>,
    /// The rules of the shape.
    pub rules: Arc<Rules>,
    /// What it asks of its volumes; nothing for most.
    pub volumes: Arc<VolumeNeed>,
    /// What it asks of its resource claims; nothing for most.
    pub claims: Arc<ResourceNeed>,
    /// What it asks of devices; nothing for most.
    pub devices: Arc<DeviceRequest>,
    /// What tells it apart besides.
    pub signature: Arc<Signature>,
}

impl Class {
    /// The class of a task in a configuration whose plugins sign nothing.
    pub fn of(state: &State, task: TaskIx) -> Self {
        Self::new(state, ClassKey::of(state, task), Arc::default())
    }

    /// The class with a key and a signature.
    pub fn new(state: &State, key: ClassKey, signature: Arc<Signature>) -> Self {
        let shape = state.ground().shapes().share(key.shape);
        let rules = state.ground().shapes().rules(shape.rules).clone();
        let volumes = state.supplies().volumes().needs().get(key.volumes).clone();
        let claims = state
            .supplies()
            .resource_claims()
            .needs()
            .get(key.claims)
            .clone();
        Self {
            key,
            shape,
            rules,
            volumes,
            claims,
            devices: state.supplies().devices().demand(key.devices).clone(),
            signature,
        }
    }

    /// What static answers may depend on.
    pub fn fixed(&self) -> StaticClass<'_> {
        StaticClass {
            rules: &self.rules,
            signature: &self.signature,
        }
    }
}

/// What of a class static answers may depend on: classes that share it share the answers.
#[derive(Clone, Copy)]
pub struct StaticClass<'a> {
    /// The rules of the shape: selectors, affinities, tolerations, images.
    pub rules: &'a Rules,
    /// What plugins tell classes apart by.
    pub signature: &'a Signature,
}
