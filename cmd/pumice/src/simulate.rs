//! `pumice simulate`: manifests in, decisions out.

mod cluster;
mod configuration;
mod page;
mod trace;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pumice_conf::CONF_KEY;
use pumice_sim::reader::{InputObjects, InputSource};
use pumice_sim::{InputProblem, Mode, Simulated, SimulationSettings};

use crate::bad_input::BadInput;
use crate::check::read;
use crate::output::{self, OutputFormat};
use crate::recordings;

pub use cluster::ClusterArguments;
pub use page::SimulatedSource;

/// Most errors, and most warnings, shown on standard error.
const MAX_SHOWN: usize = 50;

/// Prints what a simulation of a cluster needs, and nothing else: of ConfigMaps those that
/// schedulers read. Kinds that a cluster lacks are asked for one by one, because kubectl refuses a
/// whole list for one of them, and none that fails ends the rest. The guide has the same lines.
const DUMP: &str = r#"(
  set +e
  kubectl get nodes,pods,ns,priorityclasses,runtimeclasses,svc,rc,rs,sts,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,volumeattachments,pdb,quota -A -o yaml
  for kind in queues.scheduling podgroups.scheduling jobs.batch hypernodes.topology numatopologies.nodeinfo; do
    echo ---; kubectl get $kind.volcano.sh -A -o yaml
  done
  for kind in resourceclaims resourceclaimtemplates resourceslices deviceclasses devicetaintrules; do
    echo ---; kubectl get $kind.resource.k8s.io -A -o yaml
  done
  echo ---; kubectl get nodes.metrics.k8s.io -o yaml
  for name in volcano-scheduler-configmap volcano-vgpu-device-config hami-scheduler-device; do
    echo ---; kubectl get cm -A --field-selector metadata.name=$name -o yaml
  done
  echo ---; kubectl get cm -n mindx-dl -l mx-consumer-volcano=true -o yaml
) | pumice simulate -"#;

/// Arguments of `pumice simulate`.
#[derive(Args)]
pub struct SimulateArguments {
    /// Manifests: files, directories (with their volcano-scheduler.conf), or `-` for standard input
    paths: Vec<PathBuf>,
    /// Manifests too (same as a path)
    #[arg(long = "objects", value_name = "FILE")]
    objects: Vec<PathBuf>,
    /// Scheduler configuration; default: volcano-scheduler.conf of a directory that is named, else
    /// the ConfigMap among the manifests, else that of the dumped scheduler, else the built-in one.
    /// With a trace several may be named, to be compared
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Run exactly this many cycles without a kubelet, instead of until nothing changes
    #[arg(long, value_name = "N")]
    cycles: Option<u32>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    output: OutputFormat,
    /// Fail when something of the input was set aside or warned about (exit code 1)
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    trace: trace::TraceArguments,
}

/// Runs a simulation and prints its result.
pub fn run(arguments: &SimulateArguments) -> anyhow::Result<ExitCode> {
    let mut settings = arguments.cluster.settings()?;
    settings.mode = arguments.cycles.map_or(Mode::FixedPoint, Mode::Cycles);
    let paths: Vec<&PathBuf> = arguments.paths.iter().chain(&arguments.objects).collect();
    if arguments.trace.trace.is_some() {
        return trace::run(arguments, &settings, &paths);
    }
    if let [_, second, ..] = arguments.config.as_slice() {
        let text = format!(
            "error: --config {}: a second configuration\n  = help: several are compared over a trace (--trace)",
            second.display()
        );
        return Err(BadInput(text).into());
    }
    if paths.is_empty() {
        let text = format!(
            "error: no manifests given\n  = help: name files or directories, or `-` to read \
             standard input; of a cluster:\n{DUMP}"
        );
        return Err(BadInput(text).into());
    }
    let progress = Progress::new(arguments.output);
    let config = arguments.config.first();
    let done = simulated(&paths, config, &settings, |n, b| progress.show(n, b))?;
    progress.finish();
    output::print(&done.report, arguments.output, output::table)?;
    let told = output::told_to_owners(&done.report).len();
    let code = code(arguments.strict, &done.problems, told);
    if let Some(path) = &arguments.trace.html {
        page::write(path, SimulatedSource::new(&paths, done))?;
    }
    Ok(code)
}

/// What becomes of manifests. Problems of them are told.
///
/// # Errors
/// None of them can be read, or the configuration is not valid.
pub fn simulated(
    paths: &[&PathBuf],
    config: Option<&PathBuf>,
    settings: &SimulationSettings,
    progress: impl FnMut(u32, usize),
) -> anyhow::Result<Simulated> {
    let NamedFiles { sources, confs } = found(paths)?;
    let mut input = InputObjects::default();
    for source in &sources {
        // A source that is no text is set aside like a broken object: the others are read.
        if let Err(problem) = input.read(source) {
            input.problems.push(problem);
        }
    }
    if input.items.is_empty() && input.config.is_none() && input.ignored.is_empty() {
        print_problems(&input.problems);
        let text = "error: no object could be read\n  = help: give at least the Nodes and what to \
                    place on them, as `kubectl get … -o yaml` prints them";
        return Err(BadInput(text.to_owned()).into());
    }
    let (config, source) = configuration::choose(config, &confs, &input, &sources)?;
    let mut done = pumice_sim::simulated(&config, input, &sources, settings, progress);
    print_problems(&done.problems);
    if done.report.objects == 0 && done.problems.iter().any(|problem| !problem.kept) {
        let text = "error: every object was set aside, nothing was simulated\n  = help: correct \
                    the errors above";
        return Err(BadInput(text.to_owned()).into());
    }
    done.report.configuration = Some(source);
    Ok(done)
}

/// What the process ends with after a simulation in which owners were told so many warnings.
fn code(strict: bool, problems: &[InputProblem], told: usize) -> ExitCode {
    if !strict || (problems.is_empty() && told == 0) {
        return ExitCode::SUCCESS;
    }
    let aside = problems.iter().filter(|problem| !problem.kept).count();
    let warnings = problems.len() - aside + told;
    anstream::eprintln!("--strict: {aside} error(s), {warnings} warning(s) about the input");
    ExitCode::from(1)
}

/// Errors, then warnings; of each only the first ones, because what is wrong with thousands of
/// objects has one cause.
pub fn print_problems(problems: &[InputProblem]) {
    for (kept, word) in [(false, "errors"), (true, "warnings")] {
        let of_kind = || problems.iter().filter(|problem| problem.kept == kept);
        for problem in of_kind().take(MAX_SHOWN) {
            anstream::eprintln!("{problem}");
        }
        let hidden = of_kind().count().saturating_sub(MAX_SHOWN);
        if hidden > 0 {
            anstream::eprintln!(
                "… and {hidden} more {word}\n  = help: `--output json` lists all under `problems`"
            );
        }
    }
}

/// What was named on the command line.
#[derive(Default)]
pub struct NamedFiles {
    /// Manifests.
    pub sources: Vec<InputSource>,
    /// Configurations: named as such, or in directories that were.
    confs: Vec<PathBuf>,
}

/// Reads what is named on the command line.
///
/// # Errors
/// A path cannot be read.
pub fn found(paths: &[&PathBuf]) -> anyhow::Result<NamedFiles> {
    let mut found = NamedFiles::default();
    for path in paths {
        if path.file_name().is_some_and(|name| name == CONF_KEY) {
            found.confs.push(path.to_path_buf());
            continue;
        }
        let beside = path.join(CONF_KEY);
        if beside.is_file() {
            found.confs.push(beside);
        }
        let before = found.sources.len();
        gather(path, &mut found.sources)?;
        if found.sources.len() == before {
            anstream::eprintln!(
                "warning: {}: no .yaml, .yml or .json file in this directory\n  = help: name a \
                 directory with manifests",
                path.display()
            );
        }
    }
    Ok(found)
}

/// Reads a path; of a directory, every YAML and JSON file in it, in name order.
fn gather(path: &Path, sources: &mut Vec<InputSource>) -> anyhow::Result<()> {
    if !path.is_dir() {
        let mut bytes = read(path)?;
        if recordings::is_recording(&bytes) && path != Path::new("-") {
            let moment = recordings::moment_at(&[path.to_owned()], None)?;
            moment
                .notes()
                .iter()
                .for_each(|note| anstream::eprintln!("{note}"));
            bytes = recordings::state_document(&moment.replay, moment.configuration.as_deref())?;
        }
        let name = if path == Path::new("-") {
            "stdin".to_owned()
        } else {
            path.display().to_string()
        };
        sources.push(InputSource { name, bytes });
        return Ok(());
    }
    let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let wanted = matches!(extension, Some("yaml" | "yml" | "json")) && !path.is_dir();
        // A ConfigMap mount has its files twice, behind hidden folders; links could lead in circles.
        if !hidden && (wanted || entry.file_type()?.is_dir()) {
            gather(&path, sources)?;
        }
    }
    Ok(())
}

/// A line on standard error while a long run goes on; only on a terminal.
struct Progress(Option<indicatif::ProgressBar>);

impl Progress {
    fn new(format: OutputFormat) -> Self {
        let wanted = format == OutputFormat::Table && std::io::stderr().is_terminal();
        Self(wanted.then(indicatif::ProgressBar::new_spinner))
    }

    fn show(&self, cycle: u32, binds: usize) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("cycle {cycle}: {binds} pods bound"));
            bar.tick();
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
