//! The simulation loop.

use std::collections::BTreeMap;

use pumice_api::{Job, keys};
use pumice_conf::Config;
use pumice_devices::NodeReport;
use pumice_devices::binding::{BindingAnnotations, Sent, Sequences};
use pumice_engine::{Decisions, Engine, Eviction};
use pumice_model::object::Pairs;
use pumice_model::{Delta, DeviceNote, JobIx, NoteAbout, State, TaskIx};

use crate::extender;
use crate::reader::{DeviceMap, InputObjects, InputSource};
use crate::report::{BindLine, ClaimLine, EvictionLine, Ignored, ProblemLine, Report, VolumeLine};
use crate::settings::{Mode, SimulationSettings};
use crate::task_mix;
use crate::world::{World, jobs};

/// Most cycles of a run to a fixed point. A run ends long before: every cycle but the last binds a
/// pod, evicts one, changes a PodGroup or lets a pod end.
pub const MAX_CYCLES: u32 = 100_000;

/// Most seconds of a run to a fixed point in which nothing happens, before a plugin's answers change
/// with time, or a controller does what it waits for.
const MAX_WAIT_S: i64 = 60;

/// What comes of a simulation.
pub struct Simulated {
    /// What was decided.
    pub report: Report,
    /// What was wrong with the input.
    pub problems: Vec<crate::InputProblem>,
    /// The engine after the last cycle, for questions about how things stand.
    pub engine: Engine,
    /// The configuration that it has.
    pub config: Config,
    /// Jobs (`batch.volcano.sh`) as their controllers left them, by `namespace/name` of their PodGroups.
    pub jobs: BTreeMap<String, Job>,
}

/// Runs a simulation and tells what came of it. `progress` is called after every cycle with its number and the binds so
/// far.
pub fn simulate(
    config: &Config,
    input: InputObjects,
    sources: &[InputSource],
    settings: &SimulationSettings,
    progress: impl FnMut(u32, usize),
) -> (Report, Vec<crate::problem::InputProblem>) {
    let simulated = simulated(config, input, sources, settings, progress);
    (simulated.report, simulated.problems)
}

/// Runs a simulation as [`simulate`] does, and keeps the engine.
pub fn simulated(
    config: &Config,
    input: InputObjects,
    sources: &[InputSource],
    settings: &SimulationSettings,
    mut progress: impl FnMut(u32, usize),
) -> Simulated {
    let mut report = Report::default();
    let mut sequences = Sequences::default();
    let (mut world, mut problems) = World::new(input.items, sources, settings, input.problems);
    report.objects = world.given();
    let mut engine = Engine::new(config, &settings.default_queue);
    engine.ignore_provisioners(settings.ignored_provisioners.iter().cloned());
    let (fixed_point, most) = match settings.mode {
        Mode::Cycles(cycles) => (false, cycles),
        Mode::FixedPoint => (true, MAX_CYCLES),
    };
    if fixed_point {
        world.run_controllers(&settings.options, settings.now_s);
        world.run_storage();
    } else {
        world.make_all_job_pods(&settings.options);
    }
    world.run_claims();
    tell_devices(&input.device_maps, &input.node_reports, &mut engine);
    task_mix::tell(config, &input.mix_maps, &mut engine);
    world
        .take_deltas()
        .into_iter()
        .for_each(|delta| engine.apply(delta));
    // The next cycle is a second later, or when controllers have something to do.
    let (mut next_s, mut changed_s) = (settings.now_s, settings.now_s);
    while report.cycles < most {
        let now_s = next_s;
        next_s += 1;
        let decisions = engine.cycle(now_s);
        report.cycles += 1;
        let clock = (now_s, &mut sequences);
        record(&engine, &decisions, clock, &mut world, &mut report);
        progress(report.cycles, report.binds.len());
        if fixed_point {
            world.run_kubelet();
            world.run_controllers(&settings.options, now_s);
            world.run_supplies();
        }
        let mut news = world.take_deltas();
        news.extend(extender::answers(&mut engine));
        let changes = !decisions.settled || !news.is_empty();
        changed_s = if changes { now_s } else { changed_s };
        if fixed_point && !changes && !wakes_soon(&engine, changed_s) {
            let until_s = now_s.saturating_add(MAX_WAIT_S);
            let Some(at_s) = world.wait_for_controllers(&settings.options, now_s, until_s) else {
                break;
            };
            next_s = at_s.max(next_s);
            changed_s = next_s;
            news.extend(world.take_deltas());
        }
        if fixed_point || report.cycles < most {
            news.into_iter().for_each(|delta| engine.apply(delta));
        }
    }
    report.describe(&engine);
    tell_of(&world, settings, input.ignored, &mut report);
    problems.extend(world.misspelt_schedulers(&settings.options));
    problems.extend(world.doubtful_budgets());
    problems.extend(engine.extender().map(extender::problem));
    let maps: Vec<&DeviceMap> = input.device_maps.iter().chain(&input.mix_maps).collect();
    problems.extend(device_problems(&mut engine, &world, &maps));
    problems.extend(task_mix::problems(config, report.mix.as_ref()));
    report.problems = problems.iter().map(problem_line).collect();
    Simulated {
        report,
        problems,
        engine,
        config: config.clone(),
        jobs: jobs::by_group(world),
    }
}

/// Whether a plugin's answers change soon, of a cluster in which nothing has happened since. Orders of jobs are made anew
/// again and again as long as somebody waits, so what counts is not how soon after now.
fn wakes_soon(engine: &Engine, changed_s: i64) -> bool {
    let wakes_s = engine.plugins_wake_at_s();
    wakes_s.is_some_and(|at_s| at_s <= changed_s.saturating_add(MAX_WAIT_S))
}

/// What the report says of objects that the engine does not know.
fn tell_of(
    world: &World,
    settings: &SimulationSettings,
    ignored: BTreeMap<String, u64>,
    report: &mut Report,
) {
    report.jobs = world.job_lines();
    report.other_schedulers = world.stranger_lines(&settings.options);
    let ignored = ignored.into_iter();
    report.ignored = ignored
        .map(|(kind, count)| Ignored { kind, count })
        .collect();
}

/// What ConfigMaps tell of devices.
fn tell_devices(maps: &[DeviceMap], reports: &[NodeReport], engine: &mut Engine) {
    for map in maps {
        engine.apply(Delta::DeviceConfig {
            namespace: map.namespace.clone(),
            name: map.name.clone(),
            text: Some(map.text.clone()),
        });
    }
    for report in reports {
        engine.apply(Delta::NodeReport {
            node: report.node.clone(),
            topic: report.topic.to_owned(),
            text: Some(report.text.clone()),
        });
    }
}

/// Annotations that a Binding writes for the pod's devices, by key.
pub(crate) fn written_annotations(
    devices: Option<&BindingAnnotations>,
    node: &str,
    now_s: i64,
    sequences: &mut Sequences,
) -> Pairs {
    let nanos = now_s.saturating_mul(1_000_000_000);
    let sent = Sent {
        seconds: now_s,
        nanos,
        sequence: sequences.next(node, now_s),
        nano_sequence: sequences.next_nanos(node, nanos),
    };
    let written = devices.into_iter().flat_map(|written| &written.annotations);
    let mut annotations: Pairs = written
        .map(|annotation| (annotation.key.to_string(), annotation.value.text(sent)))
        .collect();
    annotations.sort();
    annotations
}

/// Writes the decisions of a cycle to the world and the report.
fn record(
    engine: &Engine,
    decisions: &Decisions,
    (now_s, sequences): (i64, &mut Sequences),
    world: &mut World,
    report: &mut Report,
) {
    let state = engine.state();
    for bind in &decisions.binds {
        let pod = state.population().task_key(bind.task);
        let node = state.nodes().object(bind.node).name.clone();
        let annotations = written_annotations(bind.devices.as_deref(), &node, now_s, sequences);
        world.bind(
            &pod,
            &node,
            (&bind.volumes, &bind.claims),
            &annotations,
            now_s,
        );
        let group = group_of(state, bind.task);
        report.binds.push(BindLine {
            pod,
            node,
            annotations: annotations.into_iter().collect(),
            volumes: bind.volumes.iter().map(VolumeLine::of).collect(),
            claims: bind.claims.iter().map(ClaimLine::of).collect(),
            cards: engine.known().card_names(bind.task),
            group,
        });
    }
    for claim in &decisions.device_returns {
        world.return_devices(claim);
        let claim = format!("{}/{}", claim.namespace, claim.claim);
        report.device_returns.push(claim);
    }
    for eviction in &decisions.evictions {
        let pod = state.population().task_key(eviction.task);
        let node = state.task(eviction.task).node;
        let by = eviction.by.map(|by| state.population().job_key(by));
        world.evict(&pod, mark(engine, eviction, by.as_deref()));
        report.evictions.push(EvictionLine {
            pod,
            by,
            action: eviction.reason.to_owned(),
            node: node.map_or_else(String::new, |node| state.nodes().object(node).name.clone()),
            cards: engine.known().held_cards(eviction.task),
            group: group_of(state, eviction.task),
        });
    }
    for task in &decisions.nominations_ended {
        world.nominate(&state.population().task_key(*task), None);
    }
    for (task, node) in &decisions.nominations {
        let node = &state.nodes().object(*node).name;
        world.nominate(&state.population().task_key(*task), Some(node));
    }
    for job in &decisions.groups {
        world.set_group_status(&state.population().job_key(*job), &state.job(*job).status);
    }
}

/// What the scheduler writes on a pod that it evicts.
fn mark(engine: &Engine, eviction: &Eviction, by: Option<&str>) -> String {
    let state = engine.state();
    let has_group = |by: JobIx| state.job(by).group().is_some();
    let kind = match eviction.by.is_some_and(has_group) {
        true => "PodGroup",
        false => "Pod",
    };
    let by = by.map_or_else(String::new, |by| format!(" for {kind} {by}"));
    format!(
        "{}: evicted because of {}{by}",
        keys::DEFAULT_SCHEDULER,
        eviction.reason
    )
}

/// The PodGroup of a pod, or the pod itself when it has none.
fn group_of(state: &State, task: TaskIx) -> String {
    let job = state.task(task).job;
    job.map_or_else(String::new, |job| state.population().job_key(job))
}

/// What was left out of devices or counts as used.
fn device_problems(
    engine: &mut Engine,
    world: &World,
    maps: &[&DeviceMap],
) -> Vec<crate::problem::InputProblem> {
    let notes = engine.take_device_notes().into_iter();
    notes
        .map(|note| device_problem(note, world, maps))
        .collect()
}

/// Something about devices that was left out or counts as used.
fn device_problem(
    note: DeviceNote,
    world: &World,
    maps: &[&DeviceMap],
) -> crate::problem::InputProblem {
    let (object, place) = match note.about {
        NoteAbout::Node(name) => (format!("Node {name}"), world.place("Node", &name)),
        NoteAbout::Pod {
            namespace, name, ..
        } => {
            let key = format!("{namespace}/{name}");
            (format!("Pod {key}"), world.place("Pod", &key))
        }
        NoteAbout::ConfigMap(namespace, name) => {
            let same = |map: &&&DeviceMap| (&map.namespace, &map.name) == (&namespace, &name);
            let place = maps.iter().find(same).map(|map| map.place.clone());
            (format!("ConfigMap {namespace}/{name}"), place)
        }
    };
    crate::problem::InputProblem {
        place: place.unwrap_or_default(),
        object,
        message: note.text,
        help: String::new(),
        kept: true,
    }
}

fn problem_line(problem: &crate::problem::InputProblem) -> ProblemLine {
    ProblemLine {
        place: problem.place.to_string(),
        object: problem.object.clone(),
        message: problem.message.clone(),
        help: problem.help.clone(),
        set_aside: !problem.kept,
    }
}

#[cfg(test)]
mod tests;
